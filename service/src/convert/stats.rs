//! What a graph takes, and how it is.

use omnigraph_engine::maintenance::stats::{GraphStats, SpaceTotals, TableSpace};
use omnigraph_proto::v1;

/// A measurement as a message.
pub fn to_proto(stats: GraphStats) -> v1::GetStatsResponse {
    v1::GetStatsResponse {
        tables: stats.tables.into_iter().map(table).collect(),
        manifests: stats.manifests.into_iter().map(table).collect(),
        recovery_log: stats.recovery_log.map(table),
        totals: Some(totals(stats.totals)),
        branches_live: stats.branches_live,
        intents_pending: stats.intents_pending,
        leases: stats.leases,
    }
}

fn table(space: TableSpace) -> v1::TableSpace {
    v1::TableSpace {
        table_key: space.table_key,
        branch: space.branch,
        rows: space.rows,
        versions: space.versions,
        fragments: space.fragments,
        files: space.files,
        bytes_live: space.bytes_live,
        bytes_inherited: space.bytes_inherited,
        bytes_history: space.bytes_history,
        indexes_declared: space.indexes_declared,
        indexes_present: space.indexes_present,
        index_rows_uncovered: space.index_rows_uncovered,
    }
}

fn totals(totals: SpaceTotals) -> v1::SpaceTotals {
    v1::SpaceTotals {
        files: totals.files,
        bytes: totals.bytes,
        orphaned_files: totals.orphaned_files,
        orphaned_bytes: totals.orphaned_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(table_key: &str, n: u64) -> TableSpace {
        TableSpace {
            table_key: table_key.into(),
            branch: "review/ü".into(),
            rows: n,
            versions: n + 1,
            fragments: n + 2,
            files: n + 3,
            bytes_live: n + 4,
            bytes_inherited: n + 5,
            bytes_history: n + 6,
            indexes_declared: n + 7,
            indexes_present: n + 8,
            index_rows_uncovered: n + 9,
        }
    }

    #[test]
    fn measurements_keep_everything() {
        let stats = GraphStats {
            tables: vec![space("node:P", 100)],
            manifests: vec![space("__manifest", 200)],
            recovery_log: Some(space("log", 300)),
            totals: SpaceTotals { files: 1, bytes: 2, orphaned_files: 3, orphaned_bytes: 4 },
            branches_live: 5,
            intents_pending: 6,
            leases: 7,
        };
        let message = to_proto(stats.clone());
        for (message, space) in [
            (&message.tables[0], &stats.tables[0]),
            (&message.manifests[0], &stats.manifests[0]),
            (message.recovery_log.as_ref().unwrap(), stats.recovery_log.as_ref().unwrap()),
        ] {
            assert_eq!((&message.table_key, &message.branch), (&space.table_key, &space.branch));
            let numbers = [message.rows, message.versions, message.fragments, message.files];
            let bytes = [message.bytes_live, message.bytes_inherited, message.bytes_history];
            let indexes = [message.indexes_declared, message.indexes_present, message.index_rows_uncovered];
            let all: Vec<u64> = numbers.into_iter().chain(bytes).chain(indexes).collect();
            assert_eq!(all, (space.rows..space.rows + 10).collect::<Vec<u64>>());
        }
        let totals = message.totals.unwrap();
        let found = (totals.files, totals.bytes, totals.orphaned_files, totals.orphaned_bytes);
        assert_eq!(found, (1, 2, 3, 4));
        assert_eq!((message.branches_live, message.intents_pending, message.leases), (5, 6, 7));
    }
}
