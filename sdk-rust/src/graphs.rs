//! Graphs: make, look at, list, delete; and how a version is stored.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::schema_definition::Form;

use crate::client::{Client, Graph, Listing, pages, unary};
use crate::commits::CommitRef;
use crate::entity::{EntityKind, TypeRef};
use crate::error::{Error, ErrorReason, Result};
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};
use crate::time;

/// A graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphInfo {
    /// Its id.
    pub id: String,
    /// Where it is stored.
    pub root_uri: String,
    /// Version of its storage format.
    pub storage_stamp: u32,
    /// Newest commit of main.
    pub head: CommitRef,
    /// When it was made.
    pub created_at: SystemTime,
}

impl GraphInfo {
    fn read(graph: Option<wire::Graph>) -> Result<Self> {
        let graph = graph.ok_or_else(|| Error::malformed("no graph"))?;
        Ok(Self {
            id: graph.id,
            root_uri: graph.root_uri,
            storage_stamp: graph.storage_stamp,
            head: CommitRef::read(graph.head)?,
            created_at: time::from_wire(graph.created_at),
        })
    }
}

/// Whether a graph in a listing can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphState {
    /// Nobody has looked yet; the first call that names it will.
    Unknown,
    /// It is open or can be opened.
    Ready,
    /// It cannot be opened.
    Quarantined {
        /// Why, for programs; `None` for a reason this version does not know.
        reason: Option<ErrorReason>,
        /// Why, for people.
        detail: String,
    },
}

/// A graph in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphSummary {
    /// Its id.
    pub id: String,
    /// Where it is stored.
    pub root_uri: String,
    /// Whether it can be used.
    pub state: GraphState,
}

impl From<wire::GraphSummary> for GraphSummary {
    fn from(graph: wire::GraphSummary) -> Self {
        use wire::graph_summary::State;
        let state = match graph.state() {
            State::Unspecified => GraphState::Unknown,
            State::Ready => GraphState::Ready,
            State::Quarantined => {
                GraphState::Quarantined { reason: ErrorReason::try_from(graph.error).ok(), detail: graph.detail }
            }
        };
        Self { id: graph.id, root_uri: graph.root_uri, state }
    }
}

impl Client {
    /// Makes a graph with this schema, as `.pg` text, and no data. Atomic. Not repeated by the client: the
    /// second of two calls answers `GRAPH_EXISTS`.
    ///
    /// # Errors
    /// `GRAPH_EXISTS`, `INVALID_NAME`, `INVALID_SCHEMA` naming every offender.
    pub async fn create_graph(&self, id: impl Into<String>, schema: impl Into<String>) -> Result<GraphInfo> {
        let ask = wire::CreateGraphRequest {
            graph: id.into(),
            schema: Some(wire::SchemaDefinition { form: Some(Form::Source(schema.into())) }),
        };
        let answer = unary!(self.core(), Safety::Once, graph.create_graph(ask))?;
        GraphInfo::read(answer.graph)
    }

    /// The graphs of the server, by id. One that cannot be opened is listed with the reason.
    pub fn list_graphs(&self) -> Listing<GraphSummary> {
        let core = self.core().clone();
        pages(move |page_token| {
            let core = core.clone();
            async move {
                let ask = wire::ListGraphsRequest { page_size: 0, page_token };
                let answer = unary!(core, Safety::Repeatable, graph.list_graphs(ask))?;
                let graphs = answer.graphs.into_iter().map(Into::into).collect();
                Ok((graphs, answer.next_page_token))
            }
        })
    }

    /// Removes a graph with all its branches, history and data, for good.
    ///
    /// # Errors
    /// `GRAPH_NOT_FOUND`.
    pub async fn delete_graph(&self, id: impl Into<String>) -> Result<()> {
        let graph: String = id.into();
        let ask = wire::DeleteGraphRequest { confirm: graph.clone(), graph };
        unary!(self.core(), Safety::Once, graph.delete_graph(ask)).map(|_| ())
    }
}

/// How one version of a graph is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The version.
    pub read: CommitRef,
    /// Root of the graph's storage.
    pub root_uri: String,
    /// Version of the storage format.
    pub storage_stamp: u32,
    /// Lance branch of the manifest that holds the version; `None` is its main lineage.
    pub manifest_branch: Option<String>,
    /// Version of the manifest on that Lance branch.
    pub manifest_version: u64,
    /// The tables, nodes before edges, each by name.
    pub tables: Vec<TableSnapshot>,
}

/// The stored state of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSnapshot {
    /// The type.
    pub type_ref: TypeRef,
    /// Where its rows are; `None` if nothing was ever written to it.
    pub table: Option<TableVersion>,
    /// Rows at that version.
    pub rows: u64,
}

/// One version of one dataset. The three together name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableVersion {
    /// Path under the graph's root.
    pub location: String,
    /// Lance branch of the dataset; `None` is its main lineage.
    pub lance_branch: Option<String>,
    /// Version on that Lance branch.
    pub version: u64,
}

impl From<wire::TableSnapshot> for TableSnapshot {
    fn from(table: wire::TableSnapshot) -> Self {
        let stored = !table.location.is_empty() && table.version > 0;
        Self {
            type_ref: TypeRef { kind: EntityKind::from_wire(table.kind), name: table.type_name },
            table: stored.then_some(TableVersion {
                location: table.location,
                lance_branch: some(table.lance_branch),
                version: table.version,
            }),
            rows: table.rows,
        }
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A question for a [`Snapshot`], from [`Graph::snapshot`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct SnapshotRead {
    graph: Graph,
    selector: Selector,
}

impl SnapshotRead {
    choose_version!();

    /// Asks.
    ///
    /// # Errors
    /// The graph or the version does not exist.
    pub async fn send(self) -> Result<Snapshot> {
        let ask = wire::GetSnapshotRequest { graph: self.graph.id, selector: Some(self.selector.into()) };
        let answer = unary!(self.graph.core, Safety::Repeatable, graph.get_snapshot(ask))?;
        Ok(Snapshot {
            read: CommitRef::read(answer.read)?,
            root_uri: answer.root_uri,
            storage_stamp: answer.storage_stamp,
            manifest_branch: some(answer.manifest_branch),
            manifest_version: answer.manifest_version,
            tables: answer.tables.into_iter().map(Into::into).collect(),
        })
    }
}

impl Graph {
    /// Where the graph is and how far.
    ///
    /// # Errors
    /// `GRAPH_NOT_FOUND`.
    pub async fn info(&self) -> Result<GraphInfo> {
        let ask = wire::GetGraphRequest { graph: self.id.clone() };
        let answer = unary!(self.core, Safety::Repeatable, graph.get_graph(ask))?;
        GraphInfo::read(answer.graph)
    }

    /// Asks which stored table versions make up a version, for programs that read the tables themselves.
    pub fn snapshot(&self) -> SnapshotRead {
        SnapshotRead { graph: self.clone(), selector: Selector::default() }
    }
}
