//! One broken rule at one place, and the list a failed test prints.

use std::fmt;

/// A place that breaks a rule, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// Path from the root of the repository, with forward slashes.
    pub file: String,
    /// First line concerned, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Offence {
    /// An offence at `file:line`.
    pub fn new(file: impl Into<String>, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: file.into(), line, what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what, fix } = self;
        write!(out, "{file}:{line}: {what}; {fix}")
    }
}

/// All offences, one a line, in file order; empty when there are none.
pub fn report(offences: &[Offence]) -> String {
    let mut sorted: Vec<&Offence> = offences.iter().collect();
    sorted.sort();
    let lines: Vec<String> = sorted.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
