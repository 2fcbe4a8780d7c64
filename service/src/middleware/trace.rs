//! One span and one line of the log per call: method, code, how long it took.
//!
//! A unary call is over when its future is; a streamed answer when its last message is. The latter takes
//! its [`Record`] along. A call whose caller went away is reported as cancelled.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use tonic::{Code, Status};
use tracing::{Instrument, Span};

use super::request_id::RequestId;
use super::{Middleware, Next, Request, Response};
use crate::metrics::calls::Meter;

/// What is known of a call. Reports it once, at the latest when the last holder drops it.
#[derive(Clone, Debug)]
pub struct Record(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    span: Span,
    meter: Option<Meter>,
    started: Instant,
    open: Mutex<bool>,
}

/// Marks an answer that is still being streamed, and whose stream will report the call.
#[derive(Clone, Copy, Debug)]
pub struct Streaming;

impl Record {
    fn new(span: Span, meter: Option<Meter>) -> Self {
        Self(Arc::new(Inner { span, meter, started: Instant::now(), open: Mutex::new(true) }))
    }

    /// The call is over.
    pub fn finish(&self, code: Code) {
        self.0.finish(code);
    }
}

impl Inner {
    fn finish(&self, code: Code) {
        // A poisoned lock means a report panicked; there is nothing more to say then.
        let Ok(mut open) = self.open.lock() else {
            return;
        };
        if !std::mem::replace(&mut *open, false) {
            return;
        }
        let micros = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(meter) = &self.meter {
            meter.note(code, micros);
        }
        self.span.in_scope(|| match code {
            Code::Internal | Code::Unknown | Code::DataLoss => {
                tracing::error!(?code, micros, "call failed")
            }
            Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => {
                tracing::warn!(?code, micros, "call not served");
            }
            _ => tracing::info!(?code, micros, "call"),
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.finish(Code::Cancelled);
    }
}

/// See the module header.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceCalls;

impl Middleware for TraceCalls {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        let span = span(&request);
        let record = Record::new(span.clone(), request.extensions().get().cloned());
        request.extensions_mut().insert(record.clone());
        let response = next.run(request).instrument(span).await;
        if response.extensions().get::<Streaming>().is_none() {
            let status = Status::from_header_map(response.headers());
            record.finish(status.map_or(Code::Ok, |s| s.code()));
        }
        response
    }
}

fn span(request: &Request) -> Span {
    let id = request.extensions().get::<RequestId>().map_or("", |id| &*id.0);
    let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let method = request.uri().path().trim_start_matches('/');
    let span = tracing::info_span!("rpc", method, request_id = id, trace_id = tracing::field::Empty);
    if let Some(trace_id) = trace_id(header("traceparent")) {
        span.record("trace_id", trace_id);
    }
    span
}

/// The trace that a W3C `traceparent` names: `version-trace-parent-flags`.
fn trace_id(traceparent: &str) -> Option<&str> {
    let id = traceparent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{echo, request};
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn unary_calls_are_reported_at_once_and_streams_are_not() {
        let call = TraceCalls.handle(request("/s/m", &[]), echo(Duration::ZERO));
        let record = call.await.extensions().get::<Record>().unwrap().clone();
        assert!(!*record.0.open.lock().unwrap());

        let mut streamed = request("/s/m", &[]);
        streamed.extensions_mut().insert(Streaming);
        let response = TraceCalls.handle(streamed, echo(Duration::ZERO)).await;
        let record = response.extensions().get::<Record>().unwrap().clone();
        assert!(*record.0.open.lock().unwrap());
        record.finish(Code::Ok);
        assert!(!*record.0.open.lock().unwrap());
    }

    #[test]
    fn a_trace_is_followed_if_it_is_one() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(&format!("00-{id}-00f067aa0ba902b7-01")), Some(id));
        for bad in ["", "00", "00-xyz-1-01", &format!("00-{}-1-01", "g".repeat(32))] {
            assert_eq!(trace_id(bad), None, "{bad}");
        }
    }
}
