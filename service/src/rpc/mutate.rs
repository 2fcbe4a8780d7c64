//! Mutations: a few operations as one commit.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::Actor;
use omnigraph_proto::v1;

use crate::convert::{commit, write};
use crate::state::State;

/// `Mutate`. Finished even if the caller goes away.
pub(super) async fn mutate(state: &State, request: v1::MutateRequest, actor: Actor) -> Result<v1::MutateResponse> {
    let (graph, options) = write::options_to_engine(request.options, actor)?;
    let changes = write::operations_to_engine(request.operations)?;
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let branch = options.branch_name().to_string();
    let receipt = state.finish(async move { graph.mutate(changes, &options).await }).await?;
    let results =
        receipt.steps.iter().map(|s| v1::OperationResult { id: s.id.clone(), affected: s.affected }).collect();
    Ok(v1::MutateResponse { receipt: Some(commit::receipt_to_proto(receipt, &branch)), results })
}
