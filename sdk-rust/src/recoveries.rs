//! Recoveries: operations that were found interrupted, and what became of them.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, Listing, pages, unary};
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::time;

/// What became of an interrupted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecoveryOutcome {
    /// Something that this version has no name for.
    Unknown,
    /// Its commit was published before it was interrupted; only tidying up was left.
    Completed,
    /// Another commit was published in its place, or its branch was gone: it never happened.
    Superseded,
    /// Its commit was published for it: it happened.
    RolledForward,
    /// A commit that changes nothing was published in its place: it never happened.
    RolledBack,
}

impl RecoveryOutcome {
    /// Its name in lower case, `rolled_back`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Completed => "completed",
            Self::Superseded => "superseded",
            Self::RolledForward => "rolled_forward",
            Self::RolledBack => "rolled_back",
        }
    }

    fn from_wire(outcome: wire::RecoveryOutcome) -> Self {
        match outcome {
            wire::RecoveryOutcome::Unspecified => Self::Unknown,
            wire::RecoveryOutcome::Completed => Self::Completed,
            wire::RecoveryOutcome::Superseded => Self::Superseded,
            wire::RecoveryOutcome::RolledForward => Self::RolledForward,
            wire::RecoveryOutcome::RolledBack => Self::RolledBack,
        }
    }
}

/// What stood in a table where an interrupted operation was to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFound {
    /// Something that this version has no name for.
    Unknown,
    /// Nothing: it did not get that far.
    Nothing,
    /// What the operation wrote.
    Applied,
    /// What somebody else wrote.
    Other,
}

impl TableFound {
    /// Its name in lower case, `applied`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Nothing => "nothing",
            Self::Applied => "applied",
            Self::Other => "other",
        }
    }

    fn from_wire(found: wire::recovered_table::Found) -> Self {
        use wire::recovered_table::Found as F;
        match found {
            F::Unspecified => Self::Unknown,
            F::Nothing => Self::Nothing,
            F::Applied => Self::Applied,
            F::Other => Self::Other,
        }
    }
}

/// An operation that was found interrupted, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The operation's id, a ULID.
    pub operation_id: String,
    /// What kind of operation it was, for people.
    pub label: String,
    /// Who had asked for it; `None` if not known.
    pub actor: Option<String>,
    /// Name that its branch had then.
    pub branch: String,
    /// Incarnation of that branch; empty for main.
    pub branch_id: String,
    /// Version of the branch's manifest that it was to come after.
    pub base_version: u64,
    /// What became of it.
    pub outcome: RecoveryOutcome,
    /// The commit that decided it: its own if it happened, else the one that took it back, or the head that had
    /// left it behind. Empty if the branch was gone.
    pub commit_id: String,
    /// The tables it was to write.
    pub tables: Vec<RecoveredTable>,
    /// When it was recovered.
    pub recovered_at: SystemTime,
    /// The server or program that recovered it: an id that each has anew whenever it starts.
    pub recovered_by: String,
}

/// What an interrupted operation had done to one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTable {
    /// The declared type whose table it is, after its kind: `node:Person`, `edge:Knows`.
    pub table: String,
    /// Path of the Lance dataset below the graph's root.
    pub location: String,
    /// Version of the dataset that the operation was to write after.
    pub base_version: u64,
    /// What was found at the next version.
    pub found: TableFound,
}

impl From<wire::Recovery> for Recovery {
    fn from(recovery: wire::Recovery) -> Self {
        Self {
            outcome: RecoveryOutcome::from_wire(recovery.outcome()),
            operation_id: recovery.operation_id,
            label: recovery.label,
            actor: recovery.actor.map(|actor| actor.id),
            branch: recovery.branch,
            branch_id: recovery.branch_id,
            base_version: recovery.base_version,
            commit_id: recovery.commit_id,
            tables: recovery.tables.into_iter().map(Into::into).collect(),
            recovered_at: time::from_wire(recovery.recovered_at),
            recovered_by: recovery.recovered_by,
        }
    }
}

impl From<wire::RecoveredTable> for RecoveredTable {
    fn from(table: wire::RecoveredTable) -> Self {
        Self {
            found: TableFound::from_wire(table.found()),
            table: table.table,
            location: table.location,
            base_version: table.base_version,
        }
    }
}

impl Graph {
    /// The operations on a branch (empty: on any) that were found interrupted and were completed or taken back,
    /// newest first. A branch that is gone still has its recoveries; a name that no branch ever had answers none.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    /// use omnigraph_client::RecoveryOutcome;
    ///
    /// let mut recoveries = graph.recoveries("main");
    /// while let Some(recovery) = recoveries.try_next().await? {
    ///     if recovery.outcome == RecoveryOutcome::RolledBack {
    ///         println!("{} of {:?} did not happen", recovery.label, recovery.actor);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn recoveries(&self, branch: impl Into<String>) -> Listing<Recovery> {
        let (graph, branch) = (self.clone(), branch.into());
        pages(move |page_token| {
            let (graph, branch) = (graph.clone(), branch.clone());
            async move {
                let ask = wire::ListRecoveriesRequest { graph: graph.id, branch, page_size: 0, page_token };
                let answer = unary!(graph.core, Safety::Repeatable, maintenance.list_recoveries(ask))?;
                let recoveries = answer.recoveries.into_iter().map(Into::into).collect();
                Ok((recoveries, answer.next_page_token))
            }
        })
    }

    /// The recovery of one operation. `RECOVERY_REQUIRED` and `IN_DOUBT` name the operation in their metadata, so
    /// this is how a writer learns what became of it.
    ///
    /// ```no_run
    /// # use omnigraph_client::{Error, Graph, Result};
    /// # async fn example(graph: Graph, error: Error) -> Result<()> {
    /// if let Some(operation) = error.metadata().get("operation") {
    ///     println!("{}", graph.recovery(operation).await?.outcome.as_str());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `RECOVERY_NOT_FOUND` if it was not interrupted, or still waits to be recovered.
    pub async fn recovery(&self, operation_id: impl Into<String>) -> Result<Recovery> {
        let ask = wire::GetRecoveryRequest { graph: self.id.clone(), operation_id: operation_id.into() };
        let answer = unary!(self.core, Safety::Repeatable, maintenance.get_recovery(ask))?;
        let recovery = answer.recovery.ok_or_else(|| Error::malformed("no recovery"))?;
        Ok(recovery.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recoveries_keep_everything() {
        let table = wire::RecoveredTable {
            table: "edge:Knows".into(),
            location: "edges/1".into(),
            base_version: 7,
            found: wire::recovered_table::Found::Other.into(),
        };
        let message = wire::Recovery {
            operation_id: "O".into(),
            label: "load".into(),
            actor: Some(wire::Actor { id: "ada".into() }),
            branch: "review".into(),
            branch_id: "B".into(),
            base_version: 3,
            outcome: wire::RecoveryOutcome::RolledBack.into(),
            commit_id: "C".into(),
            tables: vec![table],
            recovered_at: Some(time::to_wire(time::from_micros(5))),
            recovered_by: "W".into(),
        };
        let expected = Recovery {
            operation_id: "O".into(),
            label: "load".into(),
            actor: Some("ada".into()),
            branch: "review".into(),
            branch_id: "B".into(),
            base_version: 3,
            outcome: RecoveryOutcome::RolledBack,
            commit_id: "C".into(),
            tables: vec![RecoveredTable {
                table: "edge:Knows".into(),
                location: "edges/1".into(),
                base_version: 7,
                found: TableFound::Other,
            }],
            recovered_at: time::from_micros(5),
            recovered_by: "W".into(),
        };
        assert_eq!(Recovery::from(message), expected);
    }

    #[test]
    fn what_this_version_does_not_know_is_told_apart() {
        let message = wire::Recovery { outcome: 99, ..wire::Recovery::default() };
        assert_eq!(Recovery::from(message).outcome.as_str(), "unknown");
        let table = wire::RecoveredTable { found: 99, ..wire::RecoveredTable::default() };
        assert_eq!(RecoveredTable::from(table).found.as_str(), "unknown");
    }
}
