//! Which version a word names: a branch, `commit:ID`, `tag:NAME`, or `BRANCH@TIME`. Pure.

use omnigraph_engine::model::ReadSelector;
use omnigraph_engine::model::branch::MAIN;

use crate::args::moment;
use crate::failure::{Failure, Result};

/// How the help of a command tells which versions it compares.
pub(crate) const VERSIONS: &str = "FROM and TO name versions: a branch by its name, a commit as commit:ID, a tag as \
                                   tag:NAME, a branch at a time as NAME@2013-01-31T09:30:00Z or NAME@2013-01-31. \
                                   branch:NAME is a branch whatever its name looks like. One word alone is TO, and \
                                   FROM is main.";

/// Reads a word. A branch whose name looks like something else is written `branch:NAME`.
///
/// # Errors
/// A usage failure for a word that names nothing.
pub(crate) fn read(word: &str) -> Result<ReadSelector> {
    let named = |name: &str, what: &str| match name {
        "" => Err(Failure::usage(format!("{word:?} names no {what}"))),
        name => Ok(name.to_string()),
    };
    if let Some(id) = word.strip_prefix("commit:") {
        return Ok(ReadSelector::Commit(named(id, "commit")?));
    }
    if let Some(name) = word.strip_prefix("tag:") {
        return Ok(ReadSelector::Tag(named(name, "tag")?));
    }
    if let Some(name) = word.strip_prefix("branch:") {
        return Ok(ReadSelector::Branch(named(name, "branch")?));
    }
    // A name may hold an @ as well; only what can be read as a time is one.
    if let Some((branch, time)) = word.rsplit_once('@')
        && let Ok(micros) = moment(time)
    {
        let branch = if branch.is_empty() { MAIN } else { branch };
        return Ok(ReadSelector::BranchAsOf { branch: branch.to_string(), micros });
    }
    Ok(ReadSelector::Branch(named(word, "version")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_branch_unless_it_says_otherwise() {
        let branch = |name: &str| ReadSelector::Branch(name.into());
        let then = |branch: &str, micros| ReadSelector::BranchAsOf { branch: branch.into(), micros };
        for (word, selector) in [
            ("main", branch("main")),
            ("review/spring", branch("review/spring")),
            ("ada@example.org", branch("ada@example.org")),
            ("commit:01J9", ReadSelector::Commit("01J9".into())),
            ("tag:release-1", ReadSelector::Tag("release-1".into())),
            ("tag:v1@1970-01-02", ReadSelector::Tag("v1@1970-01-02".into())),
            ("branch:tag:odd", branch("tag:odd")),
            ("branch:main@1970-01-02", branch("main@1970-01-02")),
            ("main@1970-01-02", then("main", 86_400_000_000)),
            ("a@b@1970-01-01T00:00:01Z", then("a@b", 1_000_000)),
            ("@1970-01-02", then("main", 86_400_000_000)),
        ] {
            assert_eq!(read(word).unwrap(), selector, "{word}");
        }
        for wrong in ["", "commit:", "tag:", "branch:"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
