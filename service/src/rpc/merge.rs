//! Merges, and what is one in disguise: reverts, cherry-picks, restores. Once begun, they are finished even if the
//! caller goes away; a preview is not.

use futures::{Stream, stream};
use omnigraph_engine::error::{Error, Result};
use omnigraph_engine::model::Actor;
use omnigraph_proto::v1;

use crate::convert::{invalid, merge, required, selector, write};
use crate::state::State;
use crate::status;

/// `MergeBranch`.
pub(super) async fn merge(
    state: &State,
    mut request: v1::MergeBranchRequest,
    actor: Actor,
) -> Result<v1::MergeBranchResponse> {
    let (graph, options) = write::options_to_engine(request.options.take(), actor)?;
    let branch = options.branch_name().to_string();
    let asked = merge::request_to_engine(request, &branch)?;
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let mut result = state.finish(async move { graph.merge(&asked, &options).await }).await?;
    let deletion = result.source_deleted.take().map(deletion);
    Ok(merge::merged_to_proto(result, &branch, deletion))
}

/// What became of a source that was to be deleted. The merge stands either way.
fn deletion(deleted: Result<(), Error>) -> v1::SourceDeletion {
    match deleted {
        Ok(()) => v1::SourceDeletion { deleted: true, ..v1::SourceDeletion::default() },
        Err(e) => {
            tracing::warn!(reason = %e.reason(), error = %e, "a merged branch could not be deleted");
            let (reason, message) = status::as_answer(&e);
            v1::SourceDeletion { deleted: false, error: reason.into(), message }
        }
    }
}

/// `PreviewMerge`. What fails fails before the summary.
pub(super) async fn preview(
    state: &State,
    request: v1::PreviewMergeRequest,
) -> Result<impl Stream<Item = Result<v1::PreviewMergeResponse>> + Send + 'static> {
    let target = selector::branch_or_main(request.target_branch);
    let source = merge::source_to_engine(request.source_branch, &target)?;
    let how = merge::how_to_engine("how", request.how)?;
    let graph = state.graph(&request.graph).await?;
    let preview = graph.preview_merge(&source, &target, &how).await?;
    Ok(stream::iter(merge::preview_to_proto(preview).map(Ok)))
}

/// `RevertCommit`.
pub(super) async fn revert(
    state: &State,
    request: v1::RevertCommitRequest,
    actor: Actor,
) -> Result<v1::RevertCommitResponse> {
    let (graph, options) = write::options_to_engine(request.options, actor)?;
    required("commit_id", &request.commit_id)?;
    let how = merge::how_to_engine("how", request.how)?;
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let branch = options.branch_name().to_string();
    let work = async move { graph.revert(&request.commit_id, &how, &options).await };
    Ok(merge::reverted_to_proto(state.finish(work).await?, &branch))
}

/// `CherryPickCommit`.
pub(super) async fn cherry_pick(
    state: &State,
    request: v1::CherryPickCommitRequest,
    actor: Actor,
) -> Result<v1::CherryPickCommitResponse> {
    let (graph, options) = write::options_to_engine(request.options, actor)?;
    required("commit_id", &request.commit_id)?;
    let how = merge::how_to_engine("how", request.how)?;
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let branch = options.branch_name().to_string();
    let work = async move { graph.cherry_pick(&request.commit_id, &how, &options).await };
    Ok(merge::picked_to_proto(state.finish(work).await?, &branch))
}

/// `RestoreBranch`.
pub(super) async fn restore(
    state: &State,
    request: v1::RestoreBranchRequest,
    actor: Actor,
) -> Result<v1::RestoreBranchResponse> {
    let (graph, options) = write::options_to_engine(request.options, actor)?;
    if request.to.as_ref().is_none_or(|to| to.selector.is_none()) {
        return Err(invalid("to", "must say which version to show"));
    }
    let to = selector::to_engine("to", request.to)?;
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let branch = options.branch_name().to_string();
    let work = async move { graph.restore(&to, &options).await };
    Ok(merge::restored_to_proto(state.finish(work).await?, &branch))
}
