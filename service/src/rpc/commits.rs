//! Commits: look one up, list a branch's.

use omnigraph_engine::Graph;
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::{CommitInfo, ReadSelector};
use omnigraph_proto::v1;
use omnigraph_proto::v1::get_commit_request::Target;

use crate::convert::{branch, commit, required, selector};
use crate::page::{self, Listing, Position};
use crate::state::State;

/// `GetCommit`.
pub(super) async fn get(state: &State, request: v1::GetCommitRequest) -> Result<v1::GetCommitResponse> {
    let found = match request.target {
        Some(Target::Request(wanted)) => {
            required("request.request_id", &wanted.request_id)?;
            let graph = state.graph(&request.graph).await?;
            by_request(&graph, wanted).await?
        }
        Some(Target::Selector(selector)) => {
            let selector = selector::to_engine("selector", Some(selector))?;
            let graph = state.graph(&request.graph).await?;
            by_selector(&graph, selector).await?
        }
        None => {
            let graph = state.graph(&request.graph).await?;
            by_selector(&graph, ReadSelector::default()).await?
        }
    };
    Ok(v1::GetCommitResponse { commit: Some(commit::to_proto(found)) })
}

async fn by_selector(graph: &Graph, selector: ReadSelector) -> Result<CommitInfo> {
    match selector {
        // The commit itself may be known although its state is not kept any more.
        ReadSelector::Commit(id) => graph.commit(&id).await,
        other => graph.commit(graph.snapshot(&other).await?.head()).await,
    }
}

async fn by_request(graph: &Graph, wanted: v1::RequestRef) -> Result<CommitInfo> {
    let name = selector::branch_or_main(wanted.branch);
    let found = graph.commit_by_request(&name, &wanted.request_id).await?;
    found.ok_or_else(|| {
        let what = format!("no kept commit of branch {name:?} was made by the request {:?}", wanted.request_id);
        Error::new(Reason::CommitNotFound, what)
            .with("commit", "")
            .with("branch", &name)
            .with("request_id", &wanted.request_id)
    })
}

/// `ListCommits`.
pub(super) async fn list(state: &State, mut request: v1::ListCommitsRequest) -> Result<v1::ListCommitsResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("ListCommits", &request);
    let position = listing.open(&token)?;
    let graph = state.graph(&request.graph).await?;
    let name = selector::branch_or_main(request.branch);
    let incarnation = branch::incarnation(&graph.branch(&name).await?);
    if let Some(position) = &position
        && position.read.as_ref().is_none_or(|read| read.branch_id != incarnation)
    {
        return Err(page::refused("token belongs to a branch of this name that was deleted"));
    }
    let before = position.map(|p| p.after);
    let mut commits = match request.all_ancestors {
        true => graph.ancestors(&name, before.as_deref(), size + 1).await?,
        false => graph.commits(&name, before.as_deref(), size + 1).await?,
    };
    let more = commits.len() > size;
    commits.truncate(size);
    let next_page_token = match commits.last() {
        Some(last) if more => {
            let read = v1::CommitRef { branch_id: incarnation, ..v1::CommitRef::default() };
            listing.seal(&Position { read: Some(read), after: last.id.clone(), ..Position::default() })
        }
        _ => String::new(),
    };
    Ok(v1::ListCommitsResponse { commits: commits.into_iter().map(commit::to_proto).collect(), next_page_token })
}
