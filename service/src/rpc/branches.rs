//! Branches: make, look at, list, protect, delete.

use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::Graph;
use omnigraph_engine::error::{Reason, Result};
use omnigraph_engine::model::{Actor, BranchInfo, ReadSelector};
use omnigraph_proto::v1;

use crate::convert::{branch, required, selector};
use crate::limits::HEADS_AT_ONCE;
use crate::page::{self, Listing, Position};
use crate::state::State;

/// `CreateBranch`.
pub(super) async fn create(
    state: &State,
    request: v1::CreateBranchRequest,
    actor: Actor,
) -> Result<v1::CreateBranchResponse> {
    required("name", &request.name)?;
    let source = selector::to_engine("source", request.source)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let (writer, name) = (graph.clone(), request.name);
    let info = state.finish(async move { writer.create_branch(&name, &source, &actor).await }).await?;
    Ok(v1::CreateBranchResponse { branch: Some(with_head(&graph, info).await?) })
}

/// `GetBranch`.
pub(super) async fn get(state: &State, request: v1::GetBranchRequest) -> Result<v1::GetBranchResponse> {
    let graph = state.graph(&request.graph).await?;
    let info = graph.branch(&selector::branch_or_main(request.name)).await?;
    Ok(v1::GetBranchResponse { branch: Some(with_head(&graph, info).await?) })
}

/// A branch with the version its head is at.
async fn with_head(graph: &Graph, info: BranchInfo) -> Result<v1::Branch> {
    let head = graph.snapshot(&ReadSelector::Branch(info.name.clone())).await?;
    Ok(branch::to_proto(info, &head))
}

/// `ListBranches`.
pub(super) async fn list(state: &State, mut request: v1::ListBranchesRequest) -> Result<v1::ListBranchesResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("ListBranches", &request);
    let after = listing.open(&token)?.map(|p| p.after);
    let graph = state.graph(&request.graph).await?;
    let mut all = graph.branches().await?;
    all.retain(|info| after.as_ref().is_none_or(|after| info.name > *after));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let more = all.len() > size;
    all.truncate(size);
    let next_page_token = match all.last() {
        Some(last) if more => listing.seal(&Position { after: last.name.clone(), ..Position::default() }),
        _ => String::new(),
    };
    let resolved = futures::stream::iter(all.into_iter().map(|info| still_there(&graph, info)));
    let branches: Vec<Option<v1::Branch>> = resolved.buffered(HEADS_AT_ONCE).try_collect().await?;
    Ok(v1::ListBranchesResponse { branches: branches.into_iter().flatten().collect(), next_page_token })
}

/// A branch with its head; `None` if it was deleted since it was listed.
async fn still_there(graph: &Graph, info: BranchInfo) -> Result<Option<v1::Branch>> {
    match with_head(graph, info).await {
        Ok(branch) => Ok(Some(branch)),
        Err(e) if e.reason() == Reason::BranchNotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// `ProtectBranch`.
pub(super) async fn protect(
    state: &State,
    request: v1::ProtectBranchRequest,
    actor: Actor,
) -> Result<v1::ProtectBranchResponse> {
    required("name", &request.name)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let writer = graph.clone();
    let work = async move { writer.protect_branch(&request.name, request.protected, &actor).await };
    let info = state.finish(work).await?;
    Ok(v1::ProtectBranchResponse { branch: Some(with_head(&graph, info).await?) })
}

/// `DeleteBranch`.
pub(super) async fn delete(
    state: &State,
    request: v1::DeleteBranchRequest,
    actor: Actor,
) -> Result<v1::DeleteBranchResponse> {
    required("name", &request.name)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let last = match graph.branch(&request.name).await {
        Ok(info) => Some(info),
        // Its lineage cannot be read; what can be told of it is nothing.
        Err(e) if request.force && e.reason() != Reason::BranchNotFound => None,
        Err(e) => return Err(e),
    };
    let (name, force) = (request.name, request.force);
    state.finish(async move { graph.delete_branch(&name, force, &actor).await }).await?;
    let (head_commit_id, branch_id) = last.map(|info| (info.head, info.branch_id)).unwrap_or_default();
    Ok(v1::DeleteBranchResponse { head_commit_id, branch_id })
}
