//! Recoveries.

use omnigraph_engine::format::recovery_row::{RecoveredTable, RecoveryRow};
use omnigraph_engine::model::Actor;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_proto::v1;
use omnigraph_proto::v1::RecoveryOutcome;
use omnigraph_proto::v1::recovered_table::Found;

use super::{commit, time};

/// An entry of the recovery log as a message.
pub fn to_proto(row: RecoveryRow) -> v1::Recovery {
    v1::Recovery {
        // Main lives as long as its graph and has no incarnations.
        branch_id: if row.branch_id == MAIN { String::new() } else { row.branch_id },
        actor: commit::actor_to_proto(&Actor(row.actor)),
        outcome: outcome_to_proto(&row.outcome).into(),
        tables: row.tables.into_iter().map(table_to_proto).collect(),
        recovered_at: Some(time::to_proto(row.recovered_at)),
        operation_id: row.operation_id,
        label: row.label,
        branch: row.branch,
        base_version: row.base_version,
        commit_id: row.graph_commit_id,
        recovered_by: row.recovered_by,
    }
}

fn outcome_to_proto(outcome: &str) -> RecoveryOutcome {
    match outcome {
        "completed" => RecoveryOutcome::Completed,
        "superseded" => RecoveryOutcome::Superseded,
        "rolled_forward" => RecoveryOutcome::RolledForward,
        "rolled_back" => RecoveryOutcome::RolledBack,
        _ => RecoveryOutcome::Unspecified,
    }
}

fn table_to_proto(table: RecoveredTable) -> v1::RecoveredTable {
    let found = match table.observed.as_str() {
        "nothing" => Found::Nothing,
        "applied" => Found::Applied,
        "other" => Found::Other,
        _ => Found::Unspecified,
    };
    v1::RecoveredTable {
        table: table.table_key,
        location: table.location,
        base_version: table.base_version,
        found: found.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(branch_id: &str, outcome: &str, observed: &str) -> RecoveryRow {
        let table = RecoveredTable {
            table_key: "node:P".into(),
            location: "nodes/1".into(),
            base_version: 7,
            observed: observed.into(),
        };
        RecoveryRow {
            operation_id: "O".into(),
            base_version: u64::MAX,
            branch: "review/ü".into(),
            branch_id: branch_id.into(),
            label: "load".into(),
            actor: "ada".into(),
            outcome: outcome.into(),
            graph_commit_id: "C".into(),
            tables: vec![table],
            recovered_at: -1,
            recovered_by: "W".into(),
        }
    }

    #[test]
    fn recoveries_keep_everything() {
        let message = to_proto(row("B", "rolled_forward", "applied"));
        assert_eq!((message.operation_id.as_str(), message.label.as_str()), ("O", "load"));
        assert_eq!((message.branch.as_str(), message.branch_id.as_str()), ("review/ü", "B"));
        assert_eq!((message.commit_id.as_str(), message.recovered_by.as_str()), ("C", "W"));
        assert_eq!((message.base_version, message.outcome()), (u64::MAX, RecoveryOutcome::RolledForward));
        assert_eq!(time::to_engine("t", message.recovered_at.as_ref().unwrap()).unwrap(), -1);
        assert_eq!(message.actor.unwrap().id, "ada");
        let table = &message.tables[0];
        assert_eq!((table.table.as_str(), table.location.as_str(), table.base_version), ("node:P", "nodes/1", 7));
        assert_eq!((message.tables.len(), table.found()), (1, Found::Applied));
    }

    #[test]
    fn main_has_no_incarnation_and_what_has_no_name_is_left_open() {
        let message = to_proto(row(MAIN, "forgotten", "half"));
        assert_eq!((message.branch_id.as_str(), message.outcome()), ("", RecoveryOutcome::Unspecified));
        assert_eq!(message.tables[0].found(), Found::Unspecified);
    }
}
