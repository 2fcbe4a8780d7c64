//! Cuts schema text into tokens. It knows spelling, not grammar.
//!
//! Every input gives tokens: what cannot be one becomes [`Token::Unknown`], and text or comments that
//! do not end are reported here and end where they must. Nothing recurses.

use std::collections::HashMap;

use logos::{FilterResult, Lexer, Logos};

use super::problem::Problems;

/// One kind of token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = Fault)]
#[logos(skip r"[ \t\r\n\x0c\u{feff}]+")]
pub(super) enum Token {
    /// A name or a keyword; keywords are names with a meaning in their place.
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    /// A decimal number.
    #[regex(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")]
    Number,
    /// Quoted text, quotes included.
    #[token("\"", text)]
    Text,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(":")]
    Colon,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token("?")]
    Question,
    #[token("@")]
    At,
    #[token("*")]
    Star,
    #[token("=")]
    Equals,
    #[token("..")]
    Dots,
    #[token("->")]
    Arrow,
    /// Never produced; its callbacks skip comments.
    #[token("//", line_comment)]
    #[token("/*", block_comment)]
    Comment,
    /// Characters that begin no token.
    Unknown,
    /// The end of the text.
    End,
}

/// Why a token could not be cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    /// A character that begins no token.
    #[default]
    Unknown,
    /// Quoted text without its closing quote on the line.
    OpenText,
    /// A block comment without its end.
    OpenComment,
}

fn text(lexer: &mut Lexer<'_, Token>) -> Result<(), Fault> {
    let mut escaped = false;
    for (i, c) in lexer.remainder().char_indices() {
        match c {
            '\n' => {
                lexer.bump(i);
                return Err(Fault::OpenText);
            }
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                lexer.bump(i + 1);
                return Ok(());
            }
            _ => {}
        }
    }
    lexer.bump(lexer.remainder().len());
    Err(Fault::OpenText)
}

fn line_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), Fault> {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
    FilterResult::Skip
}

fn block_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), Fault> {
    let rest = lexer.remainder();
    match rest.find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            FilterResult::Skip
        }
        None => {
            lexer.bump(rest.len());
            FilterResult::Error(Fault::OpenComment)
        }
    }
}

/// A token with the bytes it covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    /// Its kind.
    pub(super) token: Token,
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after its last.
    pub(super) end: usize,
}

/// A whole text in tokens.
#[derive(Debug)]
pub(super) struct Lexed {
    /// All tokens; the last is [`Token::End`].
    pub(super) lexemes: Vec<Lexeme>,
    /// For the index of each `(` that is closed, the index of its `)`. Known up front so that skipping
    /// arguments stays linear whatever the input.
    pub(super) closers: HashMap<usize, usize>,
}

/// Cuts `source`, reporting text and comments that do not end.
pub(super) fn lex(source: &str, problems: &mut Problems<'_>) -> Lexed {
    let mut lexed = Lexed { lexemes: Vec::new(), closers: HashMap::new() };
    let mut open = Vec::new();
    for (result, span) in Token::lexer(source).spanned() {
        let token = match result {
            Ok(token) => token,
            Err(Fault::Unknown) => Token::Unknown,
            Err(Fault::OpenText) => {
                problems.report_at(span.start, || {
                    "this text is not closed; expected `\"` before the end of the line".to_string()
                });
                Token::Text
            }
            Err(Fault::OpenComment) => {
                problems.report_at(span.start, || "this comment is not closed; expected `*/`".to_string());
                continue;
            }
        };
        match token {
            Token::OpenParen => open.push(lexed.lexemes.len()),
            Token::CloseParen => {
                if let Some(opener) = open.pop() {
                    lexed.closers.insert(opener, lexed.lexemes.len());
                }
            }
            Token::Unknown => {
                // One report for a run of them, not one for each.
                if let Some(last) = lexed.lexemes.last_mut()
                    && last.token == Token::Unknown
                    && last.end == span.start
                {
                    last.end = span.end;
                    continue;
                }
            }
            _ => {}
        }
        lexed.lexemes.push(Lexeme { token, start: span.start, end: span.end });
    }
    let end = source.len();
    lexed.lexemes.push(Lexeme { token: Token::End, start: end, end });
    lexed
}

/// Whether `@name(arguments)` would be read back as exactly these arguments.
pub(super) fn is_closed(arguments: &str) -> bool {
    let source = format!("({arguments})");
    let mut problems = Problems::in_text(&source);
    let lexed = lex(&source, &mut problems);
    // The last lexeme is the end, the one before must be the closing parenthesis.
    problems.is_empty() && lexed.closers.get(&0) == Some(&(lexed.lexemes.len() - 2))
}

/// Whether `name` is spelled like a name.
pub(super) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
