//! Names every call: with the name the caller gave it in `x-request-id`, or with a new one. The name comes
//! back in the answer, stands in every line of the log, and is what a caller quotes about a fault.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use omnigraph_engine::clock::Clock;
use omnigraph_engine::id::{self, IdSource};

use super::{Middleware, Next, Request, Response};
use crate::limits::MAX_REQUEST_ID_BYTES;

/// The header, in both directions.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The name of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

/// The name of the call that runs here; empty outside of one.
pub fn current() -> String {
    CURRENT.try_with(|id| id.0.to_string()).unwrap_or_default()
}

/// Runs something as part of a call.
pub fn with<T>(id: Option<&RequestId>, work: impl FnOnce() -> T) -> T {
    match id {
        Some(id) => CURRENT.sync_scope(id.clone(), work),
        None => work(),
    }
}

/// Makes a future part of the call that runs here, wherever it is polled later.
pub fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let id = CURRENT.try_with(Clone::clone);
    async move {
        match id {
            Ok(id) => CURRENT.scope(id, work).await,
            Err(_) => work.await,
        }
    }
}

/// See the module header.
#[derive(Clone, Debug)]
pub struct NameCalls {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl NameCalls {
    /// Names made from these sources.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids }
    }

    fn name(&self, request: &Request) -> RequestId {
        let given = request.headers().get(HEADER).and_then(|v| v.to_str().ok());
        match given.filter(|text| is_usable(text)) {
            Some(given) => RequestId(given.into()),
            None => RequestId(id::fresh(self.ids.as_ref(), self.clock.now_micros()).into()),
        }
    }
}

/// Whether a caller's name is one that a log can hold: visible ASCII of bounded length.
fn is_usable(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_REQUEST_ID_BYTES && text.bytes().all(|b| b.is_ascii_graphic())
}

impl Middleware for NameCalls {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        let id = self.name(&request);
        request.extensions_mut().insert(id.clone());
        let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
        if let Ok(value) = HeaderValue::from_str(&id.0) {
            response.headers_mut().insert(HEADER, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{echo, request};
    use super::*;
    use omnigraph_engine::clock::ManualClock;
    use omnigraph_engine::id::SeededIds;
    use std::time::Duration;

    async fn named(given: Option<&str>) -> String {
        let middleware = NameCalls::new(ManualClock::at(1), Arc::new(SeededIds::new(1)));
        let headers: Vec<_> = given.map(|g| ("x-request-id", g)).into_iter().collect();
        let response = middleware.handle(request("/s/m", &headers), echo(Duration::ZERO)).await;
        let id = response.extensions().get::<RequestId>().unwrap().clone();
        assert_eq!(response.headers()[HEADER].to_str().unwrap(), &*id.0);
        id.0.to_string()
    }

    #[tokio::test]
    async fn a_given_name_comes_back_and_a_bad_one_is_replaced() {
        assert_eq!(named(Some("job-7/a")).await, "job-7/a");
        let long = "x".repeat(MAX_REQUEST_ID_BYTES + 1);
        for replaced in [None, Some("two words"), Some(""), Some(long.as_str())] {
            assert_eq!(named(replaced).await.len(), 26, "{replaced:?}");
        }
    }

    #[tokio::test]
    async fn work_knows_its_call() {
        assert_eq!(current(), "");
        let id = RequestId("r".into());
        assert_eq!(with(Some(&id), current), "r");
        let carried = CURRENT.sync_scope(id, || carry(async { current() }));
        let spawned = tokio::spawn(carried);
        assert_eq!(spawned.await.unwrap(), "r");
    }
}
