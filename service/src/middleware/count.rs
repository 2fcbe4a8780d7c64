//! Gives every call the meter that counts it. It is read when the call is reported (`trace`), which for streamed
//! answers is later than the call's future.

use std::sync::Arc;

use super::{Middleware, Next, Request, Response};
use crate::metrics::calls::Calls;

/// See the module header.
#[derive(Clone, Debug)]
pub struct CountCalls(pub Arc<Calls>);

impl Middleware for CountCalls {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        let meter = self.0.meter(request.uri().path());
        request.extensions_mut().insert(meter);
        next.run(request).await
    }
}
