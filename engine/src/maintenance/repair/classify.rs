//! What the versions above a published one amount to, and what a repair does about them. Pure.

/// What made one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MadeBy {
    /// An operation of this engine; `pending` while its intent stands.
    Us {
        /// Whether its intent stands.
        pending: bool,
    },
    /// Another program; `keeps_rows` if it only changed how rows are stored.
    Others {
        /// Whether it only changed how rows are stored.
        keeps_rows: bool,
    },
    /// Nobody can tell any more.
    Unknown,
}

/// What stands above the published version of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// Nothing.
    None,
    /// The branch never wrote the table: it shows a version of another branch, where drift would be.
    Inherited,
    /// What an operation is making that is not decided yet.
    InProgress,
    /// What operations of omnigraph left that never happened.
    Abandoned,
    /// What another program made without changing a row: fragments rewritten, and their ids reserved.
    VerifiedMaintenance,
    /// What another program made and what may have changed rows, columns, indexes or settings; or what abandoned
    /// operations left, with other programs' work on top.
    Suspicious,
    /// What cannot be examined: history that is missing or unreadable, or too long.
    Unverifiable,
}

impl Classification {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Inherited => "inherited",
            Self::InProgress => "in_progress",
            Self::Abandoned => "abandoned",
            Self::VerifiedMaintenance => "verified_maintenance",
            Self::Suspicious => "suspicious",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// What a repair does about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Leave,
    /// Put the published content back on top.
    Restore,
    /// Publish the newest version.
    Publish,
    /// Nothing, although something is wrong.
    Refuse,
}

/// What versions amount to, given what made each, in order, and whether the newest has as many rows as the published
/// one. The worst decides, but what is being made is left alone whatever else there is.
pub(super) fn classify(made: &[MadeBy], same_rows: bool) -> Classification {
    let any = |wanted: &dyn Fn(&MadeBy) -> bool| made.iter().any(wanted);
    let ours = |by: &MadeBy| matches!(by, MadeBy::Us { .. });
    if made.is_empty() {
        Classification::None
    } else if any(&|by| matches!(by, MadeBy::Us { pending: true })) {
        Classification::InProgress
    } else if any(&|by| *by == MadeBy::Unknown) {
        Classification::Unverifiable
    } else if made.iter().all(ours) {
        Classification::Abandoned
    } else if any(&ours) {
        // The newest version holds what never happened.
        Classification::Suspicious
    } else if same_rows && made.iter().all(|by| *by == MadeBy::Others { keeps_rows: true }) {
        Classification::VerifiedMaintenance
    } else {
        Classification::Suspicious
    }
}

/// What to do about it.
pub(super) fn step(classification: Classification, force: bool) -> Step {
    match classification {
        Classification::None | Classification::Inherited | Classification::InProgress => Step::Leave,
        Classification::Abandoned => Step::Restore,
        Classification::VerifiedMaintenance => Step::Publish,
        Classification::Suspicious | Classification::Unverifiable if force => Step::Publish,
        Classification::Suspicious | Classification::Unverifiable => Step::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Classification::{Abandoned, InProgress, Inherited, Suspicious, Unverifiable, VerifiedMaintenance};
    use MadeBy::{Others, Unknown, Us};

    const BEING_MADE: MadeBy = Us { pending: true };
    const LEFT: MadeBy = Us { pending: false };
    const REWRITE: MadeBy = Others { keeps_rows: true };
    const CHANGE: MadeBy = Others { keeps_rows: false };

    #[test]
    fn the_worst_version_decides() {
        let table: [(&[MadeBy], Classification); 17] = [
            (&[], Classification::None),
            (&[REWRITE], VerifiedMaintenance),
            (&[REWRITE, REWRITE], VerifiedMaintenance),
            (&[CHANGE], Suspicious),
            (&[REWRITE, CHANGE], Suspicious),
            (&[CHANGE, REWRITE], Suspicious),
            (&[LEFT], Abandoned),
            (&[LEFT, LEFT], Abandoned),
            (&[LEFT, REWRITE], Suspicious),
            (&[REWRITE, LEFT], Suspicious),
            (&[LEFT, CHANGE], Suspicious),
            (&[Unknown], Unverifiable),
            (&[REWRITE, Unknown], Unverifiable),
            (&[Unknown, CHANGE], Unverifiable),
            (&[LEFT, Unknown], Unverifiable),
            (&[BEING_MADE], InProgress),
            (&[BEING_MADE, Unknown, CHANGE], InProgress),
        ];
        for (made, expected) in table {
            assert_eq!(classify(made, true), expected, "{made:?}");
        }
    }

    #[test]
    fn rewrites_that_changed_the_number_of_rows_are_none() {
        assert_eq!(classify(&[REWRITE], false), Suspicious);
        assert_eq!(classify(&[LEFT], false), Abandoned);
        assert_eq!(classify(&[], false), Classification::None);
    }

    #[test]
    fn force_publishes_what_is_refused_otherwise_and_changes_nothing_else() {
        for (classification, plain, forced) in [
            (Classification::None, Step::Leave, Step::Leave),
            (Inherited, Step::Leave, Step::Leave),
            (InProgress, Step::Leave, Step::Leave),
            (Abandoned, Step::Restore, Step::Restore),
            (VerifiedMaintenance, Step::Publish, Step::Publish),
            (Suspicious, Step::Refuse, Step::Publish),
            (Unverifiable, Step::Refuse, Step::Publish),
        ] {
            assert_eq!((step(classification, false), step(classification, true)), (plain, forced));
        }
    }
}
