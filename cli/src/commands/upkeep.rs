//! What the commands that look after a graph in files have in common: the branches they work on, and how much at once.

use omnigraph_engine::Graph;
use omnigraph_engine::limits::MAINTENANCE_CONCURRENCY;
use omnigraph_engine::model::branch::MAIN;

use crate::failure::{Failure, Result};

/// The environment variable that says how many tables are worked on at once.
const CONCURRENCY: &str = "OMNIGRAPH_MAINTENANCE_CONCURRENCY";

/// How many tables to work on at once.
pub(super) fn concurrency() -> Result<usize> {
    tables_at_once(&std::env::var(CONCURRENCY).unwrap_or_default())
}

fn tables_at_once(text: &str) -> Result<usize> {
    match text.parse() {
        _ if text.is_empty() => Ok(MAINTENANCE_CONCURRENCY),
        Ok(n) if n > 0 => Ok(n),
        _ => Err(Failure::usage(format!("{CONCURRENCY}={text:?} is no number of tables above 0"))),
    }
}

/// The branches that were asked for.
#[derive(Debug)]
pub(super) enum Branches {
    /// Main.
    Main,
    /// This one.
    Named(String),
    /// All that live.
    All,
}

impl Branches {
    pub(super) fn new(named: Option<String>, all: bool) -> Self {
        match (named, all) {
            (_, true) => Self::All,
            (Some(branch), false) => Self::Named(branch),
            (None, false) => Self::Main,
        }
    }

    /// Their names, main first.
    pub(super) async fn names(&self, graph: &Graph) -> Result<Vec<String>> {
        Ok(match self {
            Self::Main => vec![MAIN.to_string()],
            Self::Named(branch) => vec![branch.clone()],
            Self::All => graph.branches().await?.into_iter().map(|branch| branch.name).collect(),
        })
    }

    /// How a command asks for them, with a space before it.
    pub(super) fn flag(&self) -> String {
        match self {
            Self::Main => String::new(),
            Self::Named(branch) => format!(" --branch {branch}"),
            Self::All => " --all-branches".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_at_once_are_a_number_above_0() {
        assert_eq!(tables_at_once("").unwrap(), MAINTENANCE_CONCURRENCY);
        assert_eq!(tables_at_once("3").unwrap(), 3);
        for wrong in ["0", "-1", "x", "1.5", " 2"] {
            assert!(tables_at_once(wrong).unwrap_err().message().contains(CONCURRENCY), "{wrong}");
        }
    }
}
