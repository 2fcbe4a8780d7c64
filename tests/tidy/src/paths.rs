//! Names in a token stream: every path with its groups spread out, every method and macro name.
//!
//! Tokens rather than syntax, because paths inside macro calls count too.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A path that is neither called nor a macro.
    Plain,
    /// Followed by an argument list; `empty` when it has no arguments.
    Call {
        /// No arguments.
        empty: bool,
    },
    /// A macro call.
    Macro,
}

/// A path such as `crate::write::insert`, or a name after a dot.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    pub(crate) usage: Use,
    /// It stands after a dot: a field or method.
    pub(crate) member: bool,
}

impl Name {
    pub(crate) fn first(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Whether the path ends in exactly these segments.
    pub(crate) fn ends_with(&self, tail: &[&str]) -> bool {
        let skip = self.segments.len().checked_sub(tail.len());
        skip.is_some_and(|skip| self.segments[skip..].iter().eq(tail))
    }
}

/// Every name in the stream, in order.
pub(crate) fn names(tokens: &TokenStream) -> Vec<Name> {
    let mut found = Vec::new();
    walk(tokens, &[], &mut found);
    found
}

fn walk(stream: &TokenStream, prefix: &[String], found: &mut Vec<Name>) {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => {
                walk(&group.stream(), &[], found);
                at += 1;
            }
            // In a use group, `as alias` names nothing that exists elsewhere.
            TokenTree::Ident(word) if !prefix.is_empty() && word == "as" => at += 2,
            TokenTree::Ident(word) => at = read_name(&tokens, at, word, prefix, found),
            _ => at += 1,
        }
    }
}

/// Reads the name that starts at `start` and answers where reading goes on.
fn read_name(tokens: &[TokenTree], start: usize, word: &Ident, prefix: &[String], found: &mut Vec<Name>) -> usize {
    let mut segments = prefix.to_vec();
    if continues_a_type(tokens, start) {
        // `Vec::<T>::new`: the tail of a path that is not spelled in one piece.
        segments.push(String::new());
    }
    segments.push(word.to_string());
    let mut at = start + 1;
    while is_double_colon(tokens, at) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(next)) => {
                segments.push(next.to_string());
                at += 3;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                walk(&group.stream(), &segments, found);
                return at + 3;
            }
            Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                segments.push("*".to_owned());
                at += 3;
            }
            _ => break,
        }
    }
    found.push(Name {
        segments,
        line: word.span().start().line,
        usage: usage(tokens, at),
        member: is_member(tokens, start),
    });
    at
}

fn usage(tokens: &[TokenTree], after: usize) -> Use {
    match tokens.get(after) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            Use::Call { empty: group.stream().is_empty() }
        }
        Some(TokenTree::Punct(bang)) if bang.as_char() == '!' => match tokens.get(after + 1) {
            Some(TokenTree::Group(_)) => Use::Macro,
            _ => Use::Plain,
        },
        _ => Use::Plain,
    }
}

fn punct(tokens: &[TokenTree], at: Option<usize>) -> Option<char> {
    match tokens.get(at?)? {
        TokenTree::Punct(punct) => Some(punct.as_char()),
        _ => None,
    }
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    punct(tokens, Some(at)) == Some(':') && punct(tokens, Some(at + 1)) == Some(':')
}

/// After a single dot; two dots are a range.
fn is_member(tokens: &[TokenTree], start: usize) -> bool {
    punct(tokens, start.checked_sub(1)) == Some('.') && punct(tokens, start.checked_sub(2)) != Some('.')
}

fn continues_a_type(tokens: &[TokenTree], start: usize) -> bool {
    let Some(colons) = start.checked_sub(2) else {
        return false;
    };
    is_double_colon(tokens, colons) && punct(tokens, colons.checked_sub(1)) == Some('>')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let tokens: TokenStream = text.parse().expect("sample is Rust");
        let names = names(&tokens);
        names.iter().map(|name| name.segments.join("::")).collect()
    }

    #[test]
    fn groups_are_spread_and_aliases_dropped() {
        let found = read("use crate::{model::{schema, value as v}, store::lance::open};");
        let paths: Vec<_> = found.iter().filter(|path| path.contains("::")).collect();
        let expected = ["crate::model::schema", "crate::model::value", "crate::store::lance::open"];
        assert_eq!(paths, expected);
    }

    #[test]
    fn macro_bodies_are_read() {
        assert!(read("wrap! { lance::dataset(1) }").contains(&"lance::dataset".to_owned()));
    }

    #[test]
    fn the_tail_of_a_qualified_path_is_no_path_of_its_own() {
        let found = read("Vec::<lance::X>::lance::y()");
        assert_eq!(found, ["Vec", "lance::X", "::lance::y"]);
    }

    #[test]
    fn members_and_ranges_are_told_apart() {
        let tokens: TokenStream = "a.lance; 0..lance::B".parse().expect("sample is Rust");
        let members: Vec<bool> = names(&tokens).iter().map(|name| name.member).collect();
        assert_eq!(members, [false, true, false]);
    }
}
