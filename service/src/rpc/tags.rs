//! Tags: make, look at, list, protect, delete.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::Actor;
use omnigraph_proto::v1;

use crate::convert::{required, selector, tag};
use crate::page::{self, Listing, Position};
use crate::state::State;

/// `CreateTag`.
pub(super) async fn create(
    state: &State,
    request: v1::CreateTagRequest,
    actor: Actor,
) -> Result<v1::CreateTagResponse> {
    required("name", &request.name)?;
    let target = selector::to_engine("target", request.target)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let (name, message) = (request.name, request.message);
    let made = state.finish(async move { graph.create_tag(&name, &target, &message, &actor).await }).await?;
    Ok(v1::CreateTagResponse { tag: Some(tag::to_proto(made)) })
}

/// `GetTag`.
pub(super) async fn get(state: &State, request: v1::GetTagRequest) -> Result<v1::GetTagResponse> {
    required("name", &request.name)?;
    let graph = state.graph(&request.graph).await?;
    Ok(v1::GetTagResponse { tag: Some(tag::to_proto(graph.tag(&request.name).await?)) })
}

/// `ListTags`.
pub(super) async fn list(state: &State, mut request: v1::ListTagsRequest) -> Result<v1::ListTagsResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("ListTags", &request);
    let after = listing.open(&token)?.map(|p| p.after);
    let graph = state.graph(&request.graph).await?;
    let mut all = graph.tags().await?;
    all.retain(|tag| after.as_ref().is_none_or(|after| tag.name > *after));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let more = all.len() > size;
    all.truncate(size);
    let next_page_token = match all.last() {
        Some(last) if more => listing.seal(&Position { after: last.name.clone(), ..Position::default() }),
        _ => String::new(),
    };
    Ok(v1::ListTagsResponse { tags: all.into_iter().map(tag::to_proto).collect(), next_page_token })
}

/// `ProtectTag`.
pub(super) async fn protect(state: &State, request: v1::ProtectTagRequest) -> Result<v1::ProtectTagResponse> {
    required("name", &request.name)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let work = async move { graph.protect_tag(&request.name, request.protected).await };
    Ok(v1::ProtectTagResponse { tag: Some(tag::to_proto(state.finish(work).await?)) })
}

/// `DeleteTag`.
pub(super) async fn delete(state: &State, request: v1::DeleteTagRequest) -> Result<v1::DeleteTagResponse> {
    required("name", &request.name)?;
    let graph = state.graph(&request.graph).await?;
    state.ensure_writable()?;
    let deleted = state.finish(async move { graph.delete_tag(&request.name).await }).await?;
    Ok(v1::DeleteTagResponse { tag: Some(tag::to_proto(deleted)) })
}
