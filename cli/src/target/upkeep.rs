//! How a graph is, as the commands know it: what its tables take, and how far its indexes are. Pure.

use omnigraph_client as client;
use omnigraph_engine::maintenance::stats::{GraphStats, SpaceTotals, TableSpace};
use omnigraph_engine::model::{IndexMethod, IndexStatus, TypeRef};

use super::convert;

/// The indexes of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Indexes {
    pub(crate) commit: String,
    pub(crate) indexes: Vec<Index>,
}

/// How far one index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) type_ref: TypeRef,
    pub(crate) property: String,
    pub(crate) name: String,
    pub(crate) method: &'static str,
    /// `None` for anything but vectors.
    pub(crate) metric: Option<&'static str>,
    pub(crate) present: bool,
    /// Why it is not built or does not cover every row.
    pub(crate) pending: String,
    pub(crate) rows_covered: u64,
    pub(crate) rows_uncovered: u64,
    pub(crate) bytes: u64,
}

impl From<IndexStatus> for Index {
    fn from(status: IndexStatus) -> Self {
        let index = status.index;
        Self {
            type_ref: status.type_ref,
            property: index.column,
            name: index.name,
            method: index.method.as_str(),
            metric: (index.method == IndexMethod::Vector).then(|| index.metric.as_str()),
            present: status.present,
            pending: status.pending,
            rows_covered: status.rows_covered,
            rows_uncovered: status.rows_uncovered,
            bytes: status.bytes,
        }
    }
}

impl From<client::IndexStatus> for Index {
    fn from(status: client::IndexStatus) -> Self {
        Self {
            type_ref: convert::type_in(status.type_ref),
            property: status.property,
            name: status.name,
            method: status.method.as_str(),
            metric: status.metric.map(client::IndexMetric::as_str),
            present: status.present,
            pending: status.pending_reason,
            rows_covered: status.rows_covered,
            rows_uncovered: status.rows_uncovered,
            bytes: status.bytes,
        }
    }
}

/// A server's measurement in the engine's terms.
pub(super) fn stats_in(stats: client::GraphStats) -> GraphStats {
    GraphStats {
        tables: stats.tables.into_iter().map(table_in).collect(),
        manifests: stats.manifests.into_iter().map(table_in).collect(),
        recovery_log: stats.recovery_log.map(table_in),
        totals: SpaceTotals {
            files: stats.totals.files,
            bytes: stats.totals.bytes,
            orphaned_files: stats.totals.orphaned_files,
            orphaned_bytes: stats.totals.orphaned_bytes,
        },
        branches_live: stats.branches_live,
        intents_pending: stats.intents_pending,
        leases: stats.leases,
    }
}

fn table_in(space: client::TableSpace) -> TableSpace {
    TableSpace {
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

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::{Metric, WantedIndex};

    #[test]
    fn an_index_is_the_same_from_files_and_from_a_server() {
        let mut here = IndexStatus {
            type_ref: TypeRef::node("P"),
            index: WantedIndex {
                name: "p1_vector".into(),
                column: "face".into(),
                method: IndexMethod::Vector,
                metric: Metric::Dot,
            },
            present: false,
            pending: "why".into(),
            rows_covered: 1,
            rows_uncovered: 2,
            bytes: 3,
        };
        let there = client::IndexStatus {
            type_ref: client::TypeRef::node("P"),
            property: "face".into(),
            name: "p1_vector".into(),
            method: client::IndexMethod::Vector,
            metric: Some(client::IndexMetric::Dot),
            present: false,
            pending_reason: "why".into(),
            rows_covered: 1,
            rows_uncovered: 2,
            bytes: 3,
        };
        assert_eq!(Index::from(here.clone()), Index::from(there));
        here.index.method = IndexMethod::BTree;
        assert_eq!(Index::from(here).metric, None);
    }
}
