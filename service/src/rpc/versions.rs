//! From a selector to the version a read sees, and the reads that are about versions themselves.

use omnigraph_engine::error::Result;
use omnigraph_engine::{Graph, Snapshot, schema};
use omnigraph_proto::v1;

use crate::convert::{commit, schema as convert_schema, selector, snapshot};
use crate::state::State;

/// A version that a read sees, and how its answer names it.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The graph.
    pub(crate) graph: Graph,
    /// The version.
    pub(crate) snapshot: Snapshot,
    /// Its name.
    pub(crate) named: v1::CommitRef,
}

/// Fixes the version of `graph` that `selector` names.
///
/// # Errors
/// What the selector names does not exist; the graph cannot be opened; the store's.
pub(crate) async fn read(state: &State, graph: &str, selector: Option<v1::ReadSelector>) -> Result<Read> {
    let selector = selector::to_engine("selector", selector)?;
    let graph = state.graph(graph).await?;
    let snapshot = graph.snapshot(&selector).await?;
    let named = commit::ref_to_proto(&snapshot, selector::names_branch(&selector));
    Ok(Read { graph, snapshot, named })
}

/// `GetSchema`.
pub(super) async fn get_schema(state: &State, request: v1::GetSchemaRequest) -> Result<v1::GetSchemaResponse> {
    let read = read(state, &request.graph, request.selector).await?;
    let declared = &read.snapshot.schema;
    Ok(v1::GetSchemaResponse {
        schema: Some(convert_schema::to_proto(declared)),
        source: schema::print(declared),
        read: Some(read.named),
    })
}

/// `GetSnapshot`.
pub(super) async fn get_snapshot(state: &State, request: v1::GetSnapshotRequest) -> Result<v1::GetSnapshotResponse> {
    let read = read(state, &request.graph, request.selector).await?;
    Ok(snapshot::to_proto(&read.snapshot, read.graph.root(), read.named))
}
