//! Compiles the patterns of checks, to see that they can be, and bounds what they cost together.
//!
//! A short pattern can compile to megabytes, so the bound is on the compiled size and not on the text.

use std::collections::HashMap;

use regex::{Error, RegexBuilder};

/// Bytes in a pattern. Unicode classes take thousands of times their text even before they are compiled.
const MAX_PATTERN_BYTES: usize = 4096;

/// Bytes that the different patterns of one schema may compile to.
const MAX_COMPILED_BYTES: usize = 256 * 1024 * 1024;

/// Compiled sizes tried in turn, so that a small pattern is charged little. The last is what one
/// pattern may take; it is the default of the `regex` crate, so that what passes here compiles anywhere.
const SIZES: [usize; 3] = [64 * 1024, 1024 * 1024, 10 * 1024 * 1024];

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Good,
    /// It is no regular expression, or one too large to compile.
    Wrong(String),
    /// It is one too many, or too long: a limit in words.
    Over(String),
}

/// The patterns seen so far.
#[derive(Default)]
pub(super) struct Patterns<'a> {
    verdicts: HashMap<&'a str, Verdict>,
    spent: usize,
}

impl<'a> Patterns<'a> {
    /// Judges `pattern`; the same one again costs nothing.
    pub(super) fn judge(&mut self, pattern: &'a str) -> Verdict {
        if let Some(verdict) = self.verdicts.get(pattern) {
            return verdict.clone();
        }
        let verdict = self.compile(pattern);
        self.verdicts.insert(pattern, verdict.clone());
        verdict
    }

    fn compile(&mut self, pattern: &str) -> Verdict {
        if pattern.len() > MAX_PATTERN_BYTES {
            let bytes = pattern.len();
            return Verdict::Over(format!("has {bytes} bytes, more than the {MAX_PATTERN_BYTES} allowed"));
        }
        if self.spent > MAX_COMPILED_BYTES {
            return Verdict::Over(format!(
                "and the patterns before it compile to more than the {MAX_COMPILED_BYTES} bytes allowed"
            ));
        }
        for size in SIZES {
            self.spent += size;
            match RegexBuilder::new(pattern).size_limit(size).build() {
                Ok(_) => return Verdict::Good,
                Err(Error::CompiledTooBig(_)) => {}
                Err(error) => return Verdict::Wrong(reason(&error)),
            }
        }
        let [.., largest] = SIZES;
        Verdict::Wrong(format!("it compiles to more than {largest} bytes"))
    }
}

/// Only the last line says why; the ones before draw the pattern.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    let why = text.lines().last().unwrap_or_default();
    why.trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::{MAX_PATTERN_BYTES, Patterns, Verdict};

    #[test]
    fn large_patterns_are_allowed_but_not_many() {
        let texts: Vec<String> = (1..100).map(|n| format!("x{{{n}}}\\w{{70}}")).collect();
        let mut patterns = Patterns::default();
        let verdicts: Vec<Verdict> = texts.iter().map(|t| patterns.judge(t)).collect();
        assert_eq!(verdicts[0], Verdict::Good);
        assert!(matches!(&verdicts[98], Verdict::Over(why) if why.contains("268435456")));
        assert_eq!(patterns.judge(&texts[0]), Verdict::Good);
    }

    #[test]
    fn one_pattern_is_bounded() {
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        let mut patterns = Patterns::default();
        assert!(matches!(patterns.judge(&long), Verdict::Over(_)));
        assert!(matches!(patterns.judge(r"\w{1000}"), Verdict::Wrong(why) if why.contains("10485760")));
        assert_eq!(patterns.judge("(a"), Verdict::Wrong("unclosed group".to_string()));
    }
}
