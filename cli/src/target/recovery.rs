//! A recovery as the commands know it, and how one is named. Pure.

use omnigraph_engine::format::recovery_row::{RecoveredTable, RecoveryRow};
use omnigraph_engine::{Error, Reason};

use crate::failure::{Failure, Result};

/// Characters of an operation's id.
const ID: usize = 26;

/// Characters that name an operation at least: fewer say hardly more than about when it was.
const SHORTEST: usize = 8;

/// Ids told to someone whose word fits several.
const MAX_TOLD: usize = 5;

/// An operation that was found interrupted, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    pub(crate) operation: String,
    pub(crate) label: String,
    pub(crate) branch: String,
    pub(crate) branch_id: String,
    pub(crate) base_version: u64,
    pub(crate) actor: String,
    pub(crate) outcome: String,
    pub(crate) commit: String,
    pub(crate) tables: Vec<RecoveredTable>,
    /// Microseconds since the epoch.
    pub(crate) recovered_at: i64,
    pub(crate) recovered_by: String,
}

impl From<RecoveryRow> for Recovery {
    fn from(row: RecoveryRow) -> Self {
        Self {
            operation: row.operation_id,
            label: row.label,
            branch: row.branch,
            branch_id: row.branch_id,
            base_version: row.base_version,
            actor: row.actor,
            outcome: row.outcome,
            commit: row.graph_commit_id,
            tables: row.tables,
            recovered_at: row.recovered_at,
            recovered_by: row.recovered_by,
        }
    }
}

/// Whether a word is a whole id, and no beginning of one.
pub(super) fn is_whole(word: &str) -> bool {
    word.len() >= ID
}

/// Refuses a word that is too short to name an operation.
pub(super) fn ensure_long_enough(word: &str) -> Result<()> {
    if word.chars().count() >= SHORTEST {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{word:?} is too short; give the operation's id, or {SHORTEST} characters of it at least"
    )))
}

/// The one recovery whose operation's id is the word or begins with it.
pub(super) fn one_of(recoveries: Vec<Recovery>, word: &str) -> Result<Recovery> {
    let mut fitting: Vec<Recovery> = recoveries.into_iter().filter(|r| r.operation.starts_with(word)).collect();
    match (fitting.pop(), fitting.len()) {
        (Some(only), 0) => Ok(only),
        (Some(last), _) => {
            let ids = fitting.iter().chain([&last]).map(|r| r.operation.as_str());
            let ids: Vec<&str> = ids.take(MAX_TOLD).collect();
            Err(Failure::usage(format!("several recovered operations begin with {word}: {}", ids.join(", "))))
        }
        (None, _) => {
            let what = format!(
                "no operation {word:?} was ever recovered; it was not interrupted, or it still waits for a recovery"
            );
            Err(Error::new(Reason::RecoveryNotFound, what).with("operation_id", word).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn row(operation: &str) -> RecoveryRow {
        RecoveryRow {
            operation_id: operation.into(),
            base_version: 3,
            branch: "main".into(),
            branch_id: "main".into(),
            label: "load".into(),
            actor: "ada".into(),
            outcome: "rolled_back".into(),
            graph_commit_id: "C".into(),
            tables: Vec::new(),
            recovered_at: 5,
            recovered_by: "W".into(),
        }
    }

    #[test]
    fn an_operation_is_named_by_its_id_or_a_beginning_that_fits_one() {
        let log = || ["01J9Z3M2N4AA", "01J9Z3M2N4AB", "01J9Z3M2Q"].map(|id| Recovery::from(row(id))).to_vec();
        let named = |word: &str| one_of(log(), word).map(|r| r.operation);
        assert_eq!(named("01J9Z3M2N4AB").unwrap(), "01J9Z3M2N4AB");
        assert_eq!(named("01J9Z3M2Q").unwrap(), "01J9Z3M2Q");
        let several = named("01J9Z3M2N").unwrap_err();
        assert_eq!(several.exit(), Exit::Usage);
        assert!(several.message().contains("01J9Z3M2N4AA, 01J9Z3M2N4AB"), "{}", several.message());
        let none = named("01J9Z3M3").unwrap_err();
        assert_eq!((none.exit(), none.reason()), (Exit::NotFound, Some("RECOVERY_NOT_FOUND")));
        assert_eq!(none.metadata()["operation"], "01J9Z3M3");
    }

    #[test]
    fn a_word_has_to_have_some_length() {
        assert_eq!(ensure_long_enough("01J9Z3M").unwrap_err().exit(), Exit::Usage);
        assert!(ensure_long_enough("01J9Z3M2").is_ok());
        assert!(is_whole("01J9Z3M2N4P6Q8R0S2T4V6W8X0") && !is_whole("01J9Z3M2N4P6Q8R0S2T4V6W8X"));
    }
}
