//! The rpcs of the contract. A service file receives a call, has it answered by the file of its topic, and
//! turns the outcome into an answer or a status.

mod branch_service;
mod branches;
mod catalog;
mod changes;
mod commit_service;
mod commits;
mod entities;
mod evolve;
mod export;
mod graph_service;
pub(crate) mod load;
mod maintenance_service;
mod merge;
mod mutate;
mod neighbors;
mod recoveries;
mod search;
mod stats;
pub(crate) mod stream;
mod tags;
mod versions;
mod watch;

use std::future::Future;

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::Actor;
use omnigraph_proto::v1;
use tonic::metadata::MetadataMap;
use tonic::{Code, Response, Status};

pub(crate) use versions::{Read, read};

use crate::convert::invalid;
use crate::limits::MAX_ACTOR_BYTES;
use crate::middleware::whole::BROKE_OFF;
use crate::status;

/// The header in which a caller says who acts.
const ACTOR: &str = "x-omnigraph-actor";

/// Identities that belong to the system.
const RESERVED: &str = "omnigraph:";

/// Answers a call about a graph. Errors name the graph.
pub(crate) async fn answer<T>(graph: &str, work: impl Future<Output = Result<T>>) -> Result<Response<T>, Status> {
    match work.await {
        Ok(message) => Ok(Response::new(message)),
        Err(e) => Err(status::from_error(about(graph, e))),
    }
}

/// The graph that a write is about; empty if it names none.
fn graph_of(options: Option<&v1::WriteOptions>) -> String {
    options.map(|o| o.graph.clone()).unwrap_or_default()
}

/// The error with the graph it is about.
pub(crate) fn about(graph: &str, error: Error) -> Error {
    if graph.is_empty() { error } else { error.with("graph", graph) }
}

/// Who acts, as the caller says: the server's token is one for all.
///
/// # Errors
/// [`Reason::InvalidArgument`] for an identity that is too long, no text, or the system's own.
pub(crate) fn actor(metadata: &MetadataMap) -> Result<Actor> {
    let Some(value) = metadata.get(ACTOR) else {
        return Ok(Actor::default());
    };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| invalid(ACTOR, "must be UTF-8 text"))?.trim();
    if text.len() > MAX_ACTOR_BYTES {
        return Err(invalid(ACTOR, format!("must have {MAX_ACTOR_BYTES} bytes at most, and has {}", text.len())));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid(ACTOR, "must not hold control characters"));
    }
    if text.starts_with(RESERVED) {
        return Err(invalid(ACTOR, format!("identities that start with {RESERVED:?} belong to the system")));
    }
    Ok(if text.is_empty() { Actor::default() } else { Actor(text.to_string()) })
}

/// The error for an upload that could not be read on.
pub(crate) fn broken_upload(status: &Status) -> Error {
    let message = status.message();
    if status.code() == Code::OutOfRange && message.contains("message length too large") {
        let what = "a message of the upload is too large; cut it into smaller ones. Nothing was written";
        return Error::new(Reason::LimitExceeded, what).with("limit", "message_bytes");
    }
    let problem = if message.contains(BROKE_OFF) { BROKE_OFF } else { "a message of the upload cannot be read" };
    Error::new(Reason::InvalidArgument, format!("{problem}; nothing was written")).with("field", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acting(value: &[u8]) -> Result<Actor> {
        let mut metadata = MetadataMap::new().into_headers();
        metadata.insert(ACTOR, http::HeaderValue::from_bytes(value).unwrap());
        actor(&MetadataMap::from_headers(metadata))
    }

    #[test]
    fn actors_are_texts_of_bounded_length() {
        assert_eq!(actor(&MetadataMap::new()).unwrap(), Actor("anonymous".into()));
        assert_eq!(acting(b"").unwrap(), Actor("anonymous".into()));
        assert_eq!(acting("job/7 für Ada".as_bytes()).unwrap(), Actor("job/7 für Ada".into()));
        assert!(acting(&[b'x'; MAX_ACTOR_BYTES]).is_ok());
        for bad in [&[b'x'; MAX_ACTOR_BYTES + 1][..], &[0xff, 0xfe], b"omnigraph:recovery", b"a\tb"] {
            let error = acting(bad).unwrap_err();
            assert_eq!(error.metadata()["field"], ACTOR);
        }
    }
}
