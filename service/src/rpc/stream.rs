//! Streamed answers. They outlive the call that began them, and take along what was decided around it: its
//! deadline, its place among the calls under way, its name, its line of the log.
//!
//! A stream asks its source for more only when the transport has room, so a slow reader slows the work.
//! When the reader goes away the transport drops the stream, and with it the source and all it holds.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};
use omnigraph_engine::error::{Error, Result};
use tokio::time::Sleep;
use tonic::{Code, Extensions, Response, Status};

use super::about;
use crate::middleware::deadline::Deadline;
use crate::middleware::limits::Place;
use crate::middleware::request_id::{self, RequestId};
use crate::middleware::trace::{Record, Streaming};
use crate::status;

/// What a streaming rpc answers with.
pub(crate) type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What a stream takes along from its call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    graph: String,
    id: Option<RequestId>,
    deadline: Option<Deadline>,
    record: Option<Record>,
    place: Option<Place>,
}

impl Call {
    /// What is known of a call about a graph.
    pub(crate) fn of(extensions: &Extensions, graph: &str) -> Self {
        Self {
            graph: graph.to_string(),
            id: extensions.get().cloned(),
            deadline: extensions.get().copied(),
            record: extensions.get().cloned(),
            place: extensions.get().cloned(),
        }
    }

    /// An answer of these messages. Ends with the first error.
    pub(crate) fn respond<T: 'static>(
        self,
        source: impl Stream<Item = Result<T>> + Send + 'static,
    ) -> Response<Streamed<T>> {
        let timer = self.deadline.map(|d| Box::pin(tokio::time::sleep_until(d.0)));
        let answer: Streamed<T> = Box::pin(Answer { source: Some(source.boxed()), timer, call: self });
        let mut response = Response::new(answer);
        response.extensions_mut().insert(Streaming);
        response
    }
}

struct Answer<T> {
    /// Gone once the answer is over.
    source: Option<Pin<Box<dyn Stream<Item = Result<T>> + Send>>>,
    timer: Option<Pin<Box<Sleep>>>,
    call: Call,
}

impl<T> Answer<T> {
    fn end(&mut self, code: Code) {
        self.source = None;
        self.timer = None;
        self.call.place = None;
        if let Some(record) = self.call.record.take() {
            record.finish(code);
        }
    }

    fn fail(&mut self, error: Error) -> Status {
        let error = about(&self.call.graph, error);
        let status = request_id::with(self.call.id.as_ref(), || status::from_error(error));
        self.end(status.code());
        status
    }
}

impl<T> Stream for Answer<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(source) = &mut this.source else {
            return Poll::Ready(None);
        };
        if this.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready()) {
            this.end(Code::DeadlineExceeded);
            return Poll::Ready(Some(Err(status::deadline_exceeded())));
        }
        let next = request_id::with(this.call.id.as_ref(), || source.poll_next_unpin(context));
        match next {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(message))) => Poll::Ready(Some(Ok(message))),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(this.fail(error)))),
            Poll::Ready(None) => {
                this.end(Code::Ok);
                Poll::Ready(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::Reason;
    use std::time::Duration;
    use tokio::time::Instant;
    use tonic_types::StatusExt;

    async fn collect(call: Call, source: impl Stream<Item = Result<u8>> + Send + 'static) -> Vec<Result<u8, Code>> {
        let response = call.respond(source);
        assert!(response.extensions().get::<Streaming>().is_some());
        response.into_inner().map(|item| item.map_err(|s| s.code())).collect().await
    }

    #[tokio::test]
    async fn an_answer_ends_with_its_first_error() {
        let failed = || Err(Error::new(Reason::StoreUnavailable, "x"));
        let source = futures::stream::iter([Ok(1), failed(), Ok(2), failed()]);
        assert_eq!(collect(Call::default(), source).await, [Ok(1), Err(Code::Unavailable)]);
        let whole = futures::stream::iter([Ok(1), Ok(2)]);
        assert_eq!(collect(Call::default(), whole).await, [Ok(1), Ok(2)]);
    }

    #[tokio::test]
    async fn a_deadline_ends_a_stream_that_goes_on() {
        let deadline = Some(Deadline(Instant::now() + Duration::from_millis(20)));
        let stuck = futures::stream::iter([Ok(1)]).chain(futures::stream::pending());
        let seen = collect(Call { deadline, ..Call::default() }, stuck).await;
        assert_eq!(seen, [Ok(1), Err(Code::DeadlineExceeded)]);
    }

    #[tokio::test]
    async fn errors_name_the_graph() {
        let call = Call { graph: "social".into(), ..Call::default() };
        let source = futures::stream::iter([Err::<u8, _>(Error::new(Reason::CommitNotFound, "x"))]);
        let status = call.respond(source).into_inner().next().await.unwrap().unwrap_err();
        assert_eq!(status.get_details_error_info().unwrap().metadata["graph"], "social");
    }
}
