//! A position in the tokens of a schema text: looking, stepping, and skipping to where reading can go
//! on after a mistake. It reports nothing.

use super::Keyword;
use crate::schema::lex::{Lexed, Lexeme, Token};

/// Characters of a token shown in messages.
const SHOWN_CHARS: usize = 40;

/// A position in the tokens.
pub(super) struct Cursor<'s> {
    source: &'s str,
    lexed: Lexed,
    at: usize,
}

impl<'s> Cursor<'s> {
    /// At the first token.
    pub(super) fn new(source: &'s str, lexed: Lexed) -> Self {
        Self { source, lexed, at: 0 }
    }

    /// The token `ahead` of this one; the end repeats for ever.
    fn lexeme(&self, ahead: usize) -> Lexeme {
        let end = Lexeme { token: Token::End, start: self.source.len(), end: self.source.len() };
        self.lexed.lexemes.get(self.at + ahead).copied().unwrap_or(end)
    }

    /// The token here.
    pub(super) fn token(&self) -> Token {
        self.lexeme(0).token
    }

    /// Whether `token` is here.
    pub(super) fn at(&self, token: Token) -> bool {
        self.token() == token
    }

    /// Whether `token` comes next after the one here.
    pub(super) fn next_is(&self, token: Token) -> bool {
        self.lexeme(1).token == token
    }

    /// The text of the token here.
    pub(super) fn text(&self) -> &'s str {
        let lexeme = self.lexeme(0);
        &self.source[lexeme.start..lexeme.end]
    }

    /// The first byte of the token here.
    pub(super) fn offset(&self) -> usize {
        self.lexeme(0).start
    }

    /// Which token this is.
    pub(super) fn index(&self) -> usize {
        self.at
    }

    /// Steps over the token here.
    pub(super) fn advance(&mut self) {
        if !self.at(Token::End) {
            self.at += 1;
        }
    }

    /// Steps over the token here if it is `token`.
    pub(super) fn take(&mut self, token: Token) -> bool {
        let found = self.at(token);
        if found {
            self.advance();
        }
        found
    }

    /// The token here as shown in messages.
    pub(super) fn describe(&self) -> String {
        if self.at(Token::End) {
            return "the end of the text".to_string();
        }
        let text = self.text();
        let (text, rest) = match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => (&text[..end], "…"),
            None => (text, ""),
        };
        if text.contains(char::is_control) {
            return format!("`{}{rest}`", text.escape_debug());
        }
        format!("`{text}{rest}`")
    }

    /// The text between the `(` here and its `)`; `None` if it is never closed.
    pub(super) fn enclosed(&self) -> Option<&'s str> {
        let close = self.lexed.closers.get(&self.at)?;
        let end = self.lexed.lexemes.get(*close)?.start;
        self.source.get(self.lexeme(0).end..end)
    }

    /// From inside the parentheses opened at `open`: steps behind their end if there is one.
    pub(super) fn leave(&mut self, open: usize) -> bool {
        match self.lexed.closers.get(&open) {
            Some(close) if *close >= self.at => {
                self.at = close + 1;
                true
            }
            _ => false,
        }
    }

    /// Whether a property starts here.
    pub(super) fn at_property(&self) -> bool {
        self.at(Token::Name) && self.next_is(Token::Colon)
    }

    /// Whether a declaration surely starts here, even where a property could.
    pub(super) fn at_declaration(&self) -> bool {
        if !self.at(Token::Name) || !self.next_is(Token::Name) {
            return false;
        }
        let third = self.lexeme(2);
        match Keyword::of(self.text()) {
            None => false,
            Some(Keyword::Edge) => third.token == Token::Colon,
            Some(Keyword::Interface | Keyword::Node) => {
                matches!(third.token, Token::OpenBrace | Token::At)
                    || &self.source[third.start..third.end] == "implements"
            }
        }
    }

    /// Whether a declaration without a body may end here.
    pub(super) fn at_declaration_end(&self) -> bool {
        self.at(Token::End) || (self.at(Token::Name) && Keyword::of(self.text()).is_some())
    }

    /// Skips what is no declaration, with its body.
    pub(super) fn skip_declaration(&mut self) {
        let mut depth = 0_usize;
        loop {
            let token = self.token();
            self.advance();
            match token {
                Token::End => return,
                Token::OpenBrace => depth += 1,
                Token::CloseBrace if depth <= 1 => return,
                Token::CloseBrace => depth -= 1,
                _ => {}
            }
            if self.at_declaration() {
                return;
            }
        }
    }

    /// Skips to the body of the declaration here, or to where it must be over.
    pub(super) fn skip_to_body(&mut self) {
        while !matches!(self.token(), Token::OpenBrace | Token::CloseBrace | Token::End)
            && !self.at_property()
            && !self.at_declaration()
        {
            self.advance();
        }
    }

    /// Skips to the next item of a body, or to the body's end. Closed parentheses are skipped whole.
    pub(super) fn skip_item(&mut self) {
        self.skip_until(Token::End);
    }

    /// As [`Cursor::skip_item`], but stops at `token` too.
    pub(super) fn skip_until(&mut self, token: Token) {
        while !self.at(token) && !self.at_item() {
            let open = self.at;
            if !(self.at(Token::OpenParen) && self.leave(open)) {
                self.advance();
            }
        }
    }

    fn at_item(&self) -> bool {
        let ends = matches!(self.token(), Token::Comma | Token::Semicolon | Token::CloseBrace | Token::At | Token::End);
        ends || self.at_property() || self.at_declaration()
    }
}
