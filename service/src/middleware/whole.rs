//! Tells the end of an upload from its breaking off.
//!
//! The transport reports a stream that the caller cancelled as if it had ended, which would turn half an
//! input into a load. For rpcs that take uploads the body is watched here: only an end that the caller said
//! is an end, anything else is an error.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use tonic::body::Body;
use tonic::codegen::Body as HttpBody;
use tonic::service::AxumBody;

use super::{Middleware, Next, Request, Response};

/// The rpcs that take uploads.
const UPLOADS: [&str; 2] = ["/omnigraph.v1.GraphService/Load", "/arrow.flight.protocol.FlightService/DoPut"];

/// The message of the error, by which `rpc` recognises it: the transport keeps nothing else.
pub const BROKE_OFF: &str = "the upload broke off before its end";

/// See the module header.
#[derive(Clone, Copy, Debug, Default)]
pub struct WholeUploads;

impl Middleware for WholeUploads {
    async fn handle<N: Next>(self, request: Request, next: N) -> Response {
        if !UPLOADS.contains(&request.uri().path()) {
            return next.run(request).await;
        }
        let watch = |body| Body::new(AxumBody::from_stream(Watched { body, broke_off: false }));
        next.run(request.map(watch)).await
    }
}

/// The upload broke off.
#[derive(Clone, Copy, Debug)]
struct BrokeOff;

impl std::fmt::Display for BrokeOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(BROKE_OFF)
    }
}

impl std::error::Error for BrokeOff {}

struct Watched {
    body: Body,
    broke_off: bool,
}

impl Stream for Watched {
    type Item = Result<Bytes, BrokeOff>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while !self.broke_off {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                    // Requests have no trailers that mean anything.
                    Err(_) => continue,
                },
                None if self.body.is_end_stream() => return Poll::Ready(None),
                None | Some(Err(_)) => {
                    self.broke_off = true;
                    return Poll::Ready(Some(Err(BrokeOff)));
                }
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;

    fn watched(body: Body) -> Watched {
        Watched { body, broke_off: false }
    }

    #[tokio::test]
    async fn a_body_that_said_its_end_ends() {
        let whole = watched(Body::empty()).collect::<Vec<_>>().await;
        assert!(whole.is_empty());
    }

    #[tokio::test]
    async fn a_body_that_did_not_is_an_error_after_its_bytes() {
        // A stream as a body never says its end, just as a connection that is gone.
        let parts = [Ok(Bytes::from_static(b"a")), Err(BrokeOff)];
        let failing = Body::new(AxumBody::from_stream(futures::stream::iter(parts)));
        let seen = watched(failing).collect::<Vec<_>>().await;
        assert!(matches!(seen.as_slice(), [Ok(_), Err(BrokeOff)]));
        let parts = [Ok::<_, BrokeOff>(Bytes::from_static(b"a"))];
        let silent = Body::new(AxumBody::from_stream(futures::stream::iter(parts)));
        let seen = watched(silent).collect::<Vec<_>>().await;
        assert!(matches!(seen.as_slice(), [Ok(_), Err(BrokeOff)]));
    }
}
