//! Which version a read looks at.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::ReadSelector;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_proto::v1;
use omnigraph_proto::v1::read_selector::Selector;

use super::{required, set, time};

/// A branch name, with main for the empty one.
pub fn branch_or_main(name: String) -> String {
    if name.is_empty() { MAIN.to_string() } else { name }
}

/// A selector of the engine. Not set, or with no arm set: the head of main.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming a missing or unusable part.
pub fn to_engine(field: &str, selector: Option<v1::ReadSelector>) -> Result<ReadSelector> {
    let Some(selector) = selector.and_then(|s| s.selector) else {
        return Ok(ReadSelector::default());
    };
    Ok(match selector {
        Selector::Branch(name) => ReadSelector::Branch(branch_or_main(name)),
        Selector::CommitId(id) => {
            required(&format!("{field}.commit_id"), &id)?;
            ReadSelector::Commit(id)
        }
        Selector::Tag(name) => {
            required(&format!("{field}.tag"), &name)?;
            ReadSelector::Tag(name)
        }
        Selector::BranchAsOf(v) => {
            let field = format!("{field}.branch_as_of.as_of");
            let micros = time::to_engine(&field, &set(&field, v.as_of)?)?;
            ReadSelector::BranchAsOf { branch: branch_or_main(v.branch), micros }
        }
        Selector::AtLeast(v) => {
            required(&format!("{field}.at_least.commit_id"), &v.commit_id)?;
            ReadSelector::AtLeast { branch: branch_or_main(v.branch), commit: v.commit_id }
        }
    })
}

/// A selector as a message; `None` for the one form the contract does not have, a branch at a version of
/// its manifest.
pub fn to_proto(selector: &ReadSelector) -> Option<v1::ReadSelector> {
    let selector = match selector {
        ReadSelector::Branch(name) => Selector::Branch(name.clone()),
        ReadSelector::Commit(id) => Selector::CommitId(id.clone()),
        ReadSelector::Tag(name) => Selector::Tag(name.clone()),
        ReadSelector::BranchAsOf { branch, micros } => {
            Selector::BranchAsOf(v1::BranchAsOf { branch: branch.clone(), as_of: Some(time::to_proto(*micros)) })
        }
        ReadSelector::AtLeast { branch, commit } => {
            Selector::AtLeast(v1::AtLeast { branch: branch.clone(), commit_id: commit.clone() })
        }
        ReadSelector::Version { .. } => return None,
    };
    Some(v1::ReadSelector { selector: Some(selector) })
}

/// Whether the version was found through a branch, so that an answer names it.
pub fn names_branch(selector: &ReadSelector) -> bool {
    !matches!(selector, ReadSelector::Commit(_) | ReadSelector::Tag(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_come_back() {
        let branch = || "Ω/a b%".to_string();
        for selector in [
            ReadSelector::Branch(branch()),
            ReadSelector::Commit("c".into()),
            ReadSelector::Tag("t/1".into()),
            ReadSelector::BranchAsOf { branch: branch(), micros: -1 },
            ReadSelector::AtLeast { branch: branch(), commit: "c".into() },
        ] {
            assert_eq!(to_engine("selector", to_proto(&selector)).unwrap(), selector);
        }
        assert_eq!(to_proto(&ReadSelector::Version { branch: branch(), version: 1 }), None);
    }

    #[test]
    fn nothing_said_is_the_head_of_main() {
        let branch = |name: &str| Some(v1::ReadSelector { selector: Some(Selector::Branch(name.into())) });
        for said in [None, Some(v1::ReadSelector { selector: None }), branch(""), branch("main")] {
            assert_eq!(to_engine("selector", said).unwrap(), ReadSelector::default());
        }
    }

    #[test]
    fn half_a_selector_is_refused() {
        for selector in [
            Selector::CommitId(String::new()),
            Selector::Tag(String::new()),
            Selector::BranchAsOf(v1::BranchAsOf::default()),
            Selector::AtLeast(v1::AtLeast::default()),
        ] {
            let message = Some(v1::ReadSelector { selector: Some(selector) });
            let error = to_engine("source", message).unwrap_err();
            assert!(error.metadata()["field"].starts_with("source."), "{error}");
        }
    }
}
