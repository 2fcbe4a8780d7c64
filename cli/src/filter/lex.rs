//! Words, texts and signs of a condition. Grammar is elsewhere.

use std::fmt;

/// One piece of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, digits and whatever is no sign: a name, a keyword or a value.
    Word(String),
    /// A name between backticks.
    Name(String),
    /// A value between quotes.
    Text(String),
    /// A sign.
    Symbol(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Name(text) | Self::Text(text) => write!(f, "{text:?}"),
            Self::Symbol(symbol) => f.write_str(symbol),
        }
    }
}

/// Longer ones first, so that none hides another.
const SYMBOLS: [&str; 11] = ["==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","];

/// Cuts a condition into pieces.
pub(super) fn lex(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if matches!(first, '\'' | '"' | '`') {
            let (inside, after) = quoted(&rest[first.len_utf8()..], first)?;
            tokens.push(if first == '`' { Token::Name(inside) } else { Token::Text(inside) });
            rest = after;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            let end = rest.find(ends_word).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("{first:?} has no meaning here"));
            }
            tokens.push(Token::Word(rest[..end].to_string()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>' | '(' | ')' | ',' | '\'' | '"' | '`')
}

/// What stands before the closing quote, which is written twice to stand for itself, and what follows it.
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut inside = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            inside.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            inside.push(quote);
        } else {
            return Ok((inside, &text[at + quote.len_utf8()..]));
        }
    }
    Err(format!("the closing {quote} is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_told_apart() {
        let word = |text: &str| Token::Word(text.into());
        let text = |text: &str| Token::Text(text.into());
        assert_eq!(
            lex("age>=-3 and `order`='it''s' or x in(a,\"b c\")").unwrap(),
            [
                word("age"),
                Token::Symbol(">="),
                word("-3"),
                word("and"),
                Token::Name("order".into()),
                Token::Symbol("="),
                text("it's"),
                word("or"),
                word("x"),
                word("in"),
                Token::Symbol("("),
                word("a"),
                Token::Symbol(","),
                text("b c"),
                Token::Symbol(")"),
            ]
        );
        assert!(lex("a = 'b").is_err());
        assert!(lex("a ! b").is_err());
    }
}
