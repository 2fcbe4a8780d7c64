//! Streams that go to the server. A write is published when its stream ends, so a stream that fails half way
//! must not end: it stops for ever, and the call is given up, which the server sees as broken off.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::channel::oneshot;
use futures::future::{self, Either};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use tonic::{Response, Status};

use crate::error::{Error, Result};

/// A stream of messages that never ends early. Its failure, if any, comes out of the receiver.
pub(crate) struct Upload<T> {
    source: BoxStream<'static, Result<T>>,
    failure: Option<oneshot::Sender<Error>>,
}

impl<T> Upload<T> {
    pub(crate) fn new(source: BoxStream<'static, Result<T>>) -> (Self, oneshot::Receiver<Error>) {
        let (failure, failed) = oneshot::channel();
        (Self { source, failure: Some(failure) }, failed)
    }
}

impl<T> Stream for Upload<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if self.failure.is_none() {
            return Poll::Pending;
        }
        match self.source.poll_next_unpin(cx) {
            Poll::Ready(Some(Err(error))) => {
                if let Some(failure) = self.failure.take() {
                    // Nobody listens any more if the call is over; then there is nobody to tell.
                    let _ = failure.send(error);
                }
                Poll::Pending
            }
            Poll::Ready(Some(Ok(message))) => Poll::Ready(Some(message)),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Makes the call, and gives it up as soon as its upload fails. The failure of the upload wins.
pub(crate) async fn call<A>(
    call: impl Future<Output = std::result::Result<Response<A>, Status>>,
    failed: oneshot::Receiver<Error>,
) -> Result<A> {
    // A receiver without a sender means that the upload is complete or was no longer wanted.
    let failed = async {
        match failed.await {
            Ok(error) => error,
            Err(oneshot::Canceled) => future::pending().await,
        }
    };
    match future::select(std::pin::pin!(failed), std::pin::pin!(call)).await {
        Either::Left((error, _)) => Err(error),
        Either::Right((answer, _)) => Ok(answer?.into_inner()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    /// Reads its stream to the end, as a server would before it publishes.
    async fn serve(upload: Upload<u8>) -> std::result::Result<Response<Vec<u8>>, Status> {
        Ok(Response::new(upload.collect().await))
    }

    #[tokio::test]
    async fn a_complete_stream_ends() {
        let (upload, failed) = Upload::new(stream::iter([Ok(1), Ok(2)]).boxed());
        assert_eq!(call(serve(upload), failed).await.unwrap(), [1, 2]);
    }

    #[tokio::test]
    async fn a_stream_that_fails_never_ends_and_its_error_comes_out() {
        let source = stream::iter([Ok(1), Err(Error::invalid("disk")), Ok(2)]);
        let (upload, failed) = Upload::new(source.boxed());
        let error = call(serve(upload), failed).await.unwrap_err();
        assert_eq!(error.message(), "disk");
    }
}
