//! Bounds how many calls are under way, and gives refusals of the transport the contract's form.
//!
//! Followers of branches stay for as long as they like, so they have places of their own: in the process, and on their
//! connection, whose transport counts them among its streams.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Code, Status};

use super::{Middleware, Next, Request, Response, is_health};
use crate::limits::WATCHER_SHARE;
use crate::status;

/// The rpc that follows a branch.
const WATCH: &str = "/omnigraph.v1.CommitService/WatchCommits";

/// A place among the calls under way. Streamed answers hold it until they end.
#[derive(Clone, Debug)]
pub struct Place(#[expect(dead_code, reason = "held, never read")] Arc<Vec<OwnedSemaphorePermit>>);

/// So many places, by their name in a refusal.
#[derive(Clone, Debug)]
struct Places {
    free: Arc<Semaphore>,
    name: &'static str,
    max: usize,
}

impl Places {
    fn new(name: &'static str, max: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(max)), name, max }
    }

    fn take(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.free.clone().try_acquire_owned().map_err(|_| status::overloaded(self.name, self.max as u64))
    }
}

/// The places for followers on one connection.
#[derive(Clone, Debug)]
pub struct ConnectionPlaces(Places);

impl ConnectionPlaces {
    /// Of a connection for `max_streams` calls at once.
    pub fn new(max_streams: u32) -> Self {
        let max = usize::try_from(max_streams).unwrap_or(usize::MAX) / WATCHER_SHARE;
        Self(Places::new("watchers_of_connection", max))
    }
}

/// See the module header.
#[derive(Clone, Debug)]
pub struct LimitCalls {
    calls: Places,
    watchers: Places,
}

impl LimitCalls {
    /// At most `max_calls` calls at once, and beside them `max_watchers` followers of branches.
    pub fn new(max_calls: usize, max_watchers: usize) -> Self {
        Self { calls: Places::new("calls", max_calls), watchers: Places::new("watchers", max_watchers) }
    }

    /// A place for a call; `None` for one that needs none.
    fn place(&self, request: &Request) -> Result<Option<Place>, Status> {
        if is_health(request) {
            return Ok(None);
        }
        let taken = if request.uri().path() == WATCH {
            let here = request.extensions().get::<ConnectionPlaces>().map(|places| places.0.take()).transpose()?;
            here.into_iter().chain([self.watchers.take()?]).collect()
        } else {
            vec![self.calls.take()?]
        };
        Ok(Some(Place(Arc::new(taken))))
    }
}

impl Middleware for LimitCalls {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        match self.place(&request) {
            Ok(Some(place)) => {
                request.extensions_mut().insert(place);
            }
            Ok(None) => {}
            Err(refused) => return refused.into_http(),
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
        let limit = LimitCalls::new(1, 1);
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

    #[tokio::test]
    async fn followers_and_other_calls_leave_each_other_room() {
        let limit = LimitCalls::new(1, 2);
        let connection = ConnectionPlaces::new(2);
        let on = |connection: &ConnectionPlaces, path: &str| {
            let mut request = request(path, &[]);
            request.extensions_mut().insert(connection.clone());
            limit.clone().handle(request, echo(Duration::ZERO))
        };
        let refused = |response: &Response| {
            status(response).map(|s| s.get_details_error_info().unwrap().metadata["limit"].clone())
        };
        let first = on(&connection, WATCH).await;
        assert_eq!(refused(&first), None);
        assert_eq!(refused(&on(&connection, WATCH).await).as_deref(), Some("watchers_of_connection"));
        let call = on(&connection, "/s/m").await;
        assert_eq!(refused(&call), None);
        assert_eq!(refused(&on(&connection, "/s/m").await).as_deref(), Some("calls"));
        let elsewhere = on(&ConnectionPlaces::new(2), WATCH).await;
        assert_eq!(refused(&elsewhere), None);
        assert_eq!(refused(&on(&ConnectionPlaces::new(2), WATCH).await).as_deref(), Some("watchers"));
        drop(first);
        assert_eq!(refused(&on(&connection, WATCH).await), None);
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
