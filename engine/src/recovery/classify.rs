//! What to do about an intent, given what was observed. Pure.

/// What stands at the version after the one an effect was staged on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing.
    Nothing,
    /// The intent's own transaction.
    Ours,
    /// Something else.
    Other,
}

/// How far the branch's manifest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestState {
    /// At the version the intent claimed the turn after.
    AtBase,
    /// Past it, and the intent's commit is in the lineage.
    PastWithCommit,
    /// Past it, and the intent's commit is not in the lineage.
    PastWithoutCommit,
    /// The lineage does not exist any more.
    Gone,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is decided already: the commit stands.
    ClearCommitted,
    /// It is decided already: the commit will never stand.
    ClearUndone,
    /// Every effect is there: publish what the intent recorded.
    RollForward,
    /// Publish that it never happened.
    RollBack,
}

/// Decides. An operation without effects on tables is complete as soon as it is armed.
pub fn classify(manifest: ManifestState, tables: &[Observed]) -> Decision {
    match manifest {
        ManifestState::PastWithCommit => Decision::ClearCommitted,
        ManifestState::PastWithoutCommit | ManifestState::Gone => Decision::ClearUndone,
        ManifestState::AtBase if tables.iter().all(|t| *t == Observed::Ours) => Decision::RollForward,
        ManifestState::AtBase => Decision::RollBack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{ClearCommitted, ClearUndone, RollBack, RollForward};
    use ManifestState::{AtBase, Gone, PastWithCommit, PastWithoutCommit};
    use Observed::{Nothing, Other, Ours};

    #[test]
    fn every_combination_has_its_decision() {
        let tables: [&[Observed]; 13] = [
            &[],
            &[Nothing],
            &[Ours],
            &[Other],
            &[Nothing, Nothing],
            &[Nothing, Ours],
            &[Nothing, Other],
            &[Ours, Nothing],
            &[Ours, Ours],
            &[Ours, Other],
            &[Other, Nothing],
            &[Other, Ours],
            &[Other, Other],
        ];
        for observed in tables {
            let at_base = if observed.iter().all(|o| *o == Ours) { RollForward } else { RollBack };
            assert_eq!(classify(AtBase, observed), at_base, "{observed:?}");
            assert_eq!(classify(PastWithCommit, observed), ClearCommitted, "{observed:?}");
            assert_eq!(classify(PastWithoutCommit, observed), ClearUndone, "{observed:?}");
            assert_eq!(classify(Gone, observed), ClearUndone, "{observed:?}");
        }
    }
}
