//! Following a branch. The stream has no end of its own: it ends with its caller, with its branch, or with the server.

use std::future::ready;

use futures::{Stream, StreamExt, stream};
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::FeedMessage;
use omnigraph_proto::v1;
use tokio_util::sync::CancellationToken;

use crate::convert::feed;
use crate::state::State;

/// `WatchCommits`.
pub(super) async fn watch(
    state: &State,
    request: v1::WatchCommitsRequest,
) -> Result<impl Stream<Item = Result<v1::WatchCommitsResponse>> + Send + 'static> {
    let graph = request.graph.clone();
    let request = feed::to_engine(request)?;
    let graph = state.graph(&graph).await?;
    let messages = graph.watch(&request).await?;
    Ok(until(state.draining().clone(), messages).flat_map(|message| stream::iter(told(message))))
}

/// One message of the engine as messages of the answer.
fn told(message: Result<FeedMessage>) -> Vec<Result<v1::WatchCommitsResponse>> {
    match message {
        Ok(message) => feed::to_proto(message).into_iter().map(Ok).collect(),
        Err(e) => vec![Err(e)],
    }
}

/// The same, ended by an error that sends the follower elsewhere once the server drains: it would wait for ever.
fn until<T: Send + 'static>(
    draining: CancellationToken,
    messages: impl Stream<Item = Result<T>> + Send + 'static,
) -> impl Stream<Item = Result<T>> + Send + 'static {
    let farewell = draining.clone();
    let end = move || farewell.is_cancelled().then(|| Err(shutting_down()));
    let last = stream::once(async move { end() }).filter_map(ready);
    messages.take_until(draining.cancelled_owned()).chain(last)
}

fn shutting_down() -> Error {
    let what = "the server is shutting down; watch on at another, from the last cursor";
    Error::new(Reason::StoreUnavailable, what).with("operation", "serve").with("path", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_drains_sends_its_followers_elsewhere() {
        let draining = CancellationToken::new();
        let waiting = stream::iter([Ok(1)]).chain(stream::pending());
        let mut followed = Box::pin(until(draining.clone(), waiting));
        assert_eq!(followed.next().await.unwrap().unwrap(), 1);
        assert!(futures::poll!(followed.next()).is_pending());
        draining.cancel();
        assert_eq!(followed.next().await.unwrap().unwrap_err().reason(), Reason::StoreUnavailable);
        assert!(followed.next().await.is_none());
    }

    #[tokio::test]
    async fn what_ends_by_itself_ends_without_a_farewell() {
        let closed = || Err::<u8, _>(Error::new(Reason::BranchClosed, "x"));
        let seen: Vec<_> = until(CancellationToken::new(), stream::iter([Ok(1), closed()])).collect().await;
        assert_eq!(seen.len(), 2);
        assert_eq!(seen.into_iter().last().unwrap().unwrap_err().reason(), Reason::BranchClosed);
    }
}
