//! How a graph is: what its tables take in the store, and how far its indexes are.

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, unary};
use crate::commits::CommitRef;
use crate::entity::{EntityKind, TypeRef};
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};

/// What one table takes on one branch. A branch has files of its own for a table from its first write on; until then
/// it refers to those of the branches it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSpace {
    /// `node:<Type>`, `edge:<Type>` or the name of one of the graph's own tables.
    pub table_key: String,
    /// The branch; empty for the recovery log, which all branches share.
    pub branch: String,
    /// Rows at the branch's head.
    pub rows: u64,
    /// Versions that the branch's own files make up; none if it never wrote to the table.
    pub versions: u64,
    /// Fragments at the branch's head.
    pub fragments: u64,
    /// Files that are the branch's own.
    pub files: u64,
    /// Bytes of the branch's own files that its head needs.
    pub bytes_live: u64,
    /// Bytes of the files of other branches that its head refers to.
    pub bytes_inherited: u64,
    /// Bytes of the branch's own files that only older versions, other branches or nothing refer to.
    pub bytes_history: u64,
    /// Indexes that should exist.
    pub indexes_declared: u64,
    /// How many of them do.
    pub indexes_present: u64,
    /// Rows that an index should cover and does not, over all indexes that should exist.
    pub index_rows_uncovered: u64,
}

impl From<wire::TableSpace> for TableSpace {
    fn from(space: wire::TableSpace) -> Self {
        Self {
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
}

/// Everything below a graph's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceTotals {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of the files that belong to no live branch. Branches made from a deleted one may still read some.
    pub orphaned_files: u64,
    /// Their bytes.
    pub orphaned_bytes: u64,
}

/// What a graph takes, and how it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphStats {
    /// Tables of types: main's first, then those of the other branches by name; nodes before edges, each by name.
    pub tables: Vec<TableSpace>,
    /// The manifest, one entry a branch, in the same order.
    pub manifests: Vec<TableSpace>,
    /// The recovery log; `None` if nothing was ever recovered.
    pub recovery_log: Option<TableSpace>,
    /// The whole graph, whichever branches were asked for.
    pub totals: SpaceTotals,
    /// Live branches, main included.
    pub branches_live: u64,
    /// Operations under way or interrupted.
    pub intents_pending: u64,
    /// Leases of long reads, those included that ran out and were not removed yet.
    pub leases: u64,
}

/// A question for [`GraphStats`], from [`Graph::stats`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct StatsRead {
    graph: Graph,
    branches: Vec<String>,
}

impl StatsRead {
    /// Asks for the tables of this branch, beside those named before. Without any it is all branches.
    pub fn branch(mut self, name: impl Into<String>) -> Self {
        self.branches.push(name.into());
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// `BRANCH_NOT_FOUND`; `LIMIT_EXCEEDED` if the answer would be too large.
    pub async fn send(self) -> Result<GraphStats> {
        let ask = wire::GetStatsRequest { graph: self.graph.id, branches: self.branches };
        let answer = unary!(self.graph.core, Safety::Repeatable, maintenance.get_stats(ask))?;
        let totals = answer.totals.ok_or_else(|| Error::malformed("no totals"))?;
        Ok(GraphStats {
            tables: answer.tables.into_iter().map(Into::into).collect(),
            manifests: answer.manifests.into_iter().map(Into::into).collect(),
            recovery_log: answer.recovery_log.map(Into::into),
            totals: SpaceTotals {
                files: totals.files,
                bytes: totals.bytes,
                orphaned_files: totals.orphaned_files,
                orphaned_bytes: totals.orphaned_bytes,
            },
            branches_live: answer.branches_live,
            intents_pending: answer.intents_pending,
            leases: answer.leases,
        })
    }
}

/// A physical kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexMethod {
    /// A kind that this version has no name for.
    Unknown,
    /// Sorted values: equality, ranges, prefixes.
    BTree,
    /// One bitmap a value.
    Bitmap,
    /// One bitmap a member of a list.
    LabelList,
    /// Words with the rows that hold them.
    Inverted,
    /// Runs of three letters with the rows that hold them.
    Ngram,
    /// Neighbours of vectors.
    Vector,
}

impl IndexMethod {
    /// Its name in lower case, `label_list`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::BTree => "btree",
            Self::Bitmap => "bitmap",
            Self::LabelList => "label_list",
            Self::Inverted => "inverted",
            Self::Ngram => "ngram",
            Self::Vector => "vector",
        }
    }

    fn from_wire(method: wire::index_status::Method) -> Self {
        use wire::index_status::Method as M;
        match method {
            M::Unspecified => Self::Unknown,
            M::Btree => Self::BTree,
            M::Bitmap => Self::Bitmap,
            M::LabelList => Self::LabelList,
            M::Inverted => Self::Inverted,
            M::Ngram => Self::Ngram,
            M::Vector => Self::Vector,
        }
    }
}

/// How an index compares two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexMetric {
    /// One minus the cosine of the angle between them.
    Cosine,
    /// The square of their Euclidean distance.
    L2,
    /// One minus their inner product.
    Dot,
}

impl IndexMetric {
    /// Its name in lower case, `cosine`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Dot => "dot",
        }
    }

    fn from_wire(metric: wire::VectorMetric) -> Option<Self> {
        match metric {
            wire::VectorMetric::Unspecified => None,
            wire::VectorMetric::Cosine => Some(Self::Cosine),
            wire::VectorMetric::L2 => Some(Self::L2),
            wire::VectorMetric::Dot => Some(Self::Dot),
        }
    }
}

/// How far one index is. It never changes an answer, only how fast it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// The type it belongs to.
    pub type_ref: TypeRef,
    /// The property, or `id`, `src` or `dst`.
    pub property: String,
    /// Its name in the table. Survives renames of the property.
    pub name: String,
    /// What it is.
    pub method: IndexMethod,
    /// How vectors are compared; `None` for anything but vectors.
    pub metric: Option<IndexMetric>,
    /// Whether it is built.
    pub present: bool,
    /// Why it is not built or does not cover every row, for people; empty if it does.
    pub pending_reason: String,
    /// Rows it covers.
    pub rows_covered: u64,
    /// Rows it does not cover. Questions about them read the rows.
    pub rows_uncovered: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

impl From<wire::IndexStatus> for IndexStatus {
    fn from(status: wire::IndexStatus) -> Self {
        Self {
            method: IndexMethod::from_wire(status.method()),
            metric: IndexMetric::from_wire(status.metric()),
            type_ref: TypeRef { kind: EntityKind::from_wire(status.kind), name: status.type_name },
            property: status.property,
            name: status.name,
            present: status.present,
            pending_reason: status.pending_reason,
            rows_covered: status.rows_covered,
            rows_uncovered: status.rows_uncovered,
            bytes: status.bytes,
        }
    }
}

/// The indexes of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexes {
    /// The version.
    pub read: CommitRef,
    /// The indexes, by type in declared order.
    pub indexes: Vec<IndexStatus>,
}

/// A question for [`Indexes`], from [`Graph::index_status`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct IndexStatusRead {
    graph: Graph,
    selector: Selector,
}

impl IndexStatusRead {
    choose_version!();

    /// Asks.
    ///
    /// # Errors
    /// The graph or the version does not exist.
    pub async fn send(self) -> Result<Indexes> {
        let ask = wire::GetIndexStatusRequest { graph: self.graph.id, selector: Some(self.selector.into()) };
        let answer = unary!(self.graph.core, Safety::Repeatable, maintenance.get_index_status(ask))?;
        let indexes = answer.indexes.into_iter().map(Into::into).collect();
        Ok(Indexes { read: CommitRef::read(answer.read)?, indexes })
    }
}

impl Graph {
    /// Asks what the graph's tables take in the store, and how the graph is. The server lists every object of the
    /// graph for it.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let stats = graph.stats().branch("main").send().await?;
    /// for table in &stats.tables {
    ///     println!("{}: {} of {} bytes are history", table.table_key, table.bytes_history, stats.totals.bytes);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> StatsRead {
        StatsRead { graph: self.clone(), branches: Vec::new() }
    }

    /// Asks how far every index is that the schema of a version asks for.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let status = graph.index_status().branch("main").send().await?;
    /// for index in status.indexes.iter().filter(|index| index.rows_uncovered > 0) {
    ///     println!("{} of {}: {}", index.method.as_str(), index.property, index.pending_reason);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn index_status(&self) -> IndexStatusRead {
        IndexStatusRead { graph: self.clone(), selector: Selector::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_indexes_keep_everything() {
        let space = wire::TableSpace {
            table_key: "node:P".into(),
            branch: "b".into(),
            rows: 1,
            versions: 2,
            fragments: 3,
            files: 4,
            bytes_live: 5,
            bytes_inherited: 6,
            bytes_history: 7,
            indexes_declared: 8,
            indexes_present: 9,
            index_rows_uncovered: 10,
        };
        let read = TableSpace::from(space);
        assert_eq!((read.table_key.as_str(), read.branch.as_str()), ("node:P", "b"));
        let numbers = [read.rows, read.versions, read.fragments, read.files];
        let bytes = [read.bytes_live, read.bytes_inherited, read.bytes_history];
        let indexes = [read.indexes_declared, read.indexes_present, read.index_rows_uncovered];
        let all: Vec<u64> = numbers.into_iter().chain(bytes).chain(indexes).collect();
        assert_eq!(all, (1..=10).collect::<Vec<u64>>());
        let status = wire::IndexStatus {
            kind: wire::EntityKind::Edge.into(),
            type_name: "Knows".into(),
            property: "since".into(),
            name: "p1_vector".into(),
            method: wire::index_status::Method::Vector.into(),
            metric: wire::VectorMetric::Dot.into(),
            present: true,
            pending_reason: "why".into(),
            rows_covered: 1,
            rows_uncovered: 2,
            bytes: 3,
        };
        let expected = IndexStatus {
            type_ref: TypeRef::edge("Knows"),
            property: "since".into(),
            name: "p1_vector".into(),
            method: IndexMethod::Vector,
            metric: Some(IndexMetric::Dot),
            present: true,
            pending_reason: "why".into(),
            rows_covered: 1,
            rows_uncovered: 2,
            bytes: 3,
        };
        assert_eq!(IndexStatus::from(status), expected);
    }

    #[test]
    fn what_this_version_does_not_know_is_told_apart() {
        let status = wire::IndexStatus { method: 99, metric: 99, ..wire::IndexStatus::default() };
        let read = IndexStatus::from(status);
        assert_eq!((read.method.as_str(), read.metric), ("unknown", None));
    }
}
