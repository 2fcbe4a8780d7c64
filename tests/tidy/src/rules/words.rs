//! What comments must not say: tickets, dates, and promises of later work.

use regex::Regex;

use crate::comments::comments;
use crate::{Offence, Tree};

/// A forbidden pattern in comments.
struct Word {
    pattern: &'static str,
    what: &'static str,
    fix: &'static str,
    /// Quoted text and code samples may hold it.
    in_samples: bool,
}

const WORDS: [Word; 4] = [
    Word {
        pattern: r"\b(?:TODO|FIXME|XXX|HACK)\b",
        what: "a promise of later work",
        fix: "do it now, or describe what is deliberately absent",
        in_samples: false,
    },
    Word {
        pattern: r"\b(?:RFC|GH|ADR)-\d+|\b(?i:issue|ticket|bug|pull request|PR)s? #?\d+",
        what: "a ticket number",
        fix: "state the reason itself (a public standard is written `RFC 3339`)",
        in_samples: false,
    },
    Word { pattern: r"(?:^|[\s(\[])#\d+\b", what: "a ticket number", fix: "state the reason itself", in_samples: true },
    Word {
        pattern: r"\b20\d\d-(?:0\d|1[0-2])-[0-3]\d",
        what: "a date",
        fix: "history belongs to version control; a sample value goes between backticks",
        in_samples: true,
    },
];

/// Forbidden words in the comments of every source and configuration file.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    let patterns: Vec<(Regex, &Word)> =
        WORDS.iter().filter_map(|word| Some((Regex::new(word.pattern).ok()?, word))).collect();
    for file in &tree.texts {
        let mut fenced = false;
        for comment in comments(&file.path, &file.text) {
            if comment.text.starts_with("```") {
                fenced = !fenced;
            }
            let prose = if fenced { String::new() } else { without_samples(&comment.text) };
            for (pattern, word) in &patterns {
                let text = if word.in_samples { &prose } else { &comment.text };
                if let Some(found) = pattern.find(text) {
                    offences.push(Offence::new(
                        &file.path,
                        comment.line,
                        format!("comment holds {} (`{}`)", word.what, found.as_str().trim()),
                        word.fix,
                    ));
                }
            }
        }
    }
    offences
}

/// The text without what stands between backticks or double quotes.
fn without_samples(text: &str) -> String {
    let mut kept = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '`' || c == '"' => quote = Some(c),
            None => kept.push(c),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for word in WORDS {
            assert!(Regex::new(word.pattern).is_ok(), "{}", word.pattern);
        }
    }
}
