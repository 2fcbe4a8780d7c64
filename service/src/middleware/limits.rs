//! Bounds how many calls are under way, and gives refusals of the transport the contract's form.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Code, Status};

use super::{Middleware, Next, Request, Response, is_health};
use crate::status;

/// A place among the calls under way. Streamed answers hold it until they end.
#[derive(Clone, Debug)]
pub struct Place(#[expect(dead_code, reason = "held, never read")] Arc<OwnedSemaphorePermit>);

/// See the module header.
#[derive(Clone, Debug)]
pub struct LimitCalls {
    places: Arc<Semaphore>,
    max: usize,
}

impl LimitCalls {
    /// At most `max` calls at once.
    pub fn new(max: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(max)), max }
    }
}

impl Middleware for LimitCalls {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        if !is_health(&request) {
            let Ok(permit) = self.places.clone().try_acquire_owned() else {
                return status::overloaded("calls", self.max as u64).into_http();
            };
            request.extensions_mut().insert(Place(Arc::new(permit)));
        }
        let response = next.run(request).await;
        match Status::from_header_map(response.headers()).as_ref().and_then(in_contract) {
            Some(status) => status.into_http(),
            None => response,
        }
    }
}

/// What the transport says about a request it could not read, with the contract's reason.
fn in_contract(status: &Status) -> Option<Status> {
    if !status.details().is_empty() {
        return None;
    }
    let message = status.message();
    match status.code() {
        Code::OutOfRange if message.contains("message length too large") => {
            let number = |after: &str| {
                let rest = message.split_once(after).map_or("", |(_, rest)| rest);
                rest.split(' ').next().unwrap_or_default().to_string()
            };
            let (found, max) = (number("found "), number("limit is: "));
            let what = format!("the request has {found} bytes and may have {max}; send less, or use a load");
            Some(status::limit_exceeded("message_bytes", &found, &max, &what))
        }
        Code::Internal if message.contains("recursion limit reached") => {
            let what = "the request is nested too deep; a filter this deep is not supported";
            Some(status::limit_exceeded("message_depth", "", "100", what))
        }
        Code::Internal if message.contains("failed to decode Protobuf message") => {
            Some(status::undecodable("it is not a message of the rpc's type"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{echo, request, status};
    use super::*;
    use omnigraph_proto::v1::ErrorReason;
    use std::time::Duration;
    use tonic_types::StatusExt;

    #[tokio::test]
    async fn one_call_too_many_is_told_to_wait() {
        let limit = LimitCalls::new(1);
        let call = |path: &str| limit.clone().handle(request(path, &[]), echo(Duration::from_millis(20)));
        let (first, second, health) = tokio::join!(call("/s/m"), call("/s/m"), call("/grpc.health.v1.Health/Check"));
        assert!(status(&first).is_none() && status(&health).is_none());
        let refused = status(&second).unwrap();
        assert_eq!(refused.get_details_error_info().unwrap().reason, ErrorReason::Overloaded.reason());
        assert!(refused.get_details_retry_info().is_some());
        // The answer holds its place until it is gone.
        let third = call("/s/m").await;
        assert!(status(&third).is_some());
        drop(first);
        assert!(status(&call("/s/m").await).is_none());
    }

    #[test]
    fn the_transports_refusals_get_reasons() {
        let large =
            Status::out_of_range("Error, decoded message length too large: found 20 bytes, the limit is: 10 bytes");
        let facts = in_contract(&large).unwrap().get_details_error_info().unwrap();
        assert_eq!(facts.reason, "LIMIT_EXCEEDED");
        assert_eq!((facts.metadata["value"].as_str(), facts.metadata["max"].as_str()), ("20", "10"));
        let deep = Status::internal("failed to decode Protobuf message: P.kind: recursion limit reached");
        assert_eq!(in_contract(&deep).unwrap().code(), Code::ResourceExhausted);
        let junk = Status::internal("failed to decode Protobuf message: invalid wire type");
        assert_eq!(in_contract(&junk).unwrap().code(), Code::InvalidArgument);
        assert!(in_contract(&Status::out_of_range("something else")).is_none());
    }
}
