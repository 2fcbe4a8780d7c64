//! What differs between two versions, as a stream of batches.

use std::future::ready;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use omnigraph_engine::error::Result;
use omnigraph_engine::model::EntityChange;
use omnigraph_proto::v1;
use omnigraph_proto::v1::list_changes_request::Scope;
use omnigraph_proto::v1::list_changes_response::Part;

use crate::convert::change::{self, Gathered};
use crate::convert::{commit, evolve, required, selector, set};
use crate::state::State;

/// `ListChanges`: the header, then the batches. What fails before the first difference fails before the header.
pub(super) async fn list(
    state: &State,
    request: v1::ListChangesRequest,
) -> Result<impl Stream<Item = Result<v1::ListChangesResponse>> + Send + 'static> {
    let filter = change::filter_to_engine("filter", request.filter)?;
    let (diff, before_named, after_named) = match set("scope", request.scope)? {
        Scope::CommitId(id) => {
            required("commit_id", &id)?;
            let graph = state.graph(&request.graph).await?;
            (graph.changes_of(&id, &filter).await?, false, false)
        }
        Scope::Range(range) => {
            let before = selector::to_engine("range.before", range.before)?;
            let after = selector::to_engine("range.after", range.after)?;
            let graph = state.graph(&request.graph).await?;
            let diff = graph.diff(&before, &after, &filter).await?;
            (diff, selector::names_branch(&before), selector::names_branch(&after))
        }
    };
    let header = v1::ChangesHeader {
        before: diff.before.as_ref().map(|before| commit::ref_to_proto(before, before_named)),
        after: Some(commit::ref_to_proto(&diff.after, after_named)),
        schema_changes: diff.schema.into_iter().map(evolve::difference_to_proto).collect(),
    };
    let mut changes = diff.changes;
    let first = changes.try_next().await?;
    let batches = batches(stream::iter(first.map(Ok)).chain(changes));
    let parts = stream::once(ready(Ok(Part::Header(header)))).chain(batches.map_ok(Part::Batch));
    Ok(parts.map_ok(|part| v1::ListChangesResponse { part: Some(part) }))
}

/// Changes in batches that fit a message, the last with what is left. An error comes after what came before it.
fn batches(
    changes: impl Stream<Item = Result<EntityChange>> + Send + 'static,
) -> impl Stream<Item = Result<v1::ChangeBatch>> + Send + 'static {
    let ended = changes.map(Some).chain(stream::once(ready(None)));
    let cut = ended.scan(Gathered::default(), |gathered, next| {
        let out: Vec<Result<v1::ChangeBatch>> = match next {
            Some(Ok(change)) => gathered.push(change).map(Ok).into_iter().collect(),
            Some(Err(e)) => gathered.take().map(Ok).into_iter().chain([Err(e)]).collect(),
            None => gathered.take().map(Ok).into_iter().collect(),
        };
        ready(Some(stream::iter(out)))
    });
    cut.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::CHANGE_BATCH_ENTITIES;
    use omnigraph_engine::Reason;
    use omnigraph_engine::error::Error;
    use omnigraph_engine::model::TypeRef;

    fn change(n: usize) -> Result<EntityChange> {
        let (before, after) = (None, None);
        Ok(EntityChange { type_ref: TypeRef::node("P"), id: n.to_string(), before, after, changed: Vec::new() })
    }

    async fn sizes(changes: Vec<Result<EntityChange>>) -> Vec<Result<usize, Reason>> {
        let size = |batch: Result<v1::ChangeBatch>| batch.map(|b| b.changes.len()).map_err(|e| e.reason());
        batches(stream::iter(changes)).map(size).collect().await
    }

    #[tokio::test]
    async fn every_change_is_in_a_batch_and_an_error_comes_last() {
        assert_eq!(sizes(Vec::new()).await, []);
        assert_eq!(sizes((0..3).map(change).collect()).await, [Ok(3)]);
        let full = CHANGE_BATCH_ENTITIES;
        assert_eq!(sizes((0..full).map(change).collect()).await, [Ok(full)]);
        assert_eq!(sizes((0..full + 2).map(change).collect()).await, [Ok(full), Ok(2)]);
        let failing = (0..2).map(change).chain([Err(Error::new(Reason::StoreUnavailable, "x"))]).collect();
        assert_eq!(sizes(failing).await, [Ok(2), Err(Reason::StoreUnavailable)]);
    }
}
