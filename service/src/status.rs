//! The only place that makes a gRPC status.
//!
//! A status carries `google.rpc.ErrorInfo` with the contract's reason, `RetryInfo` where waiting can help,
//! and `BadRequest` where parts of the request are to blame. All of it travels in headers, so every part has
//! a bound; and none of it may hold what the caller has no business to know: credentials, or the inside of
//! a fault.

use std::collections::HashMap;
use std::time::Duration;

use omnigraph_engine::error::{Error, Kind, Reason};
use omnigraph_engine::format::stamp;
use omnigraph_proto::facts::Setting;
use omnigraph_proto::v1::ErrorReason;
use omnigraph_proto::{ERROR_DOMAIN, facts};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::limits::{MAX_STATUS_DETAIL_BYTES, MAX_STATUS_MESSAGE_BYTES, MAX_STATUS_VALUE_BYTES, RETRY_DELAY};
use crate::middleware::request_id;

pub use omnigraph_engine::error::redact::redact;

/// The status of an engine's error. A fault is logged here, and told without its inside.
pub fn from_error(error: Error) -> Status {
    let reason = match reason(error.reason()) {
        // A limit that waiting lifts is the server's load, not the request's size.
        ErrorReason::LimitExceeded if error.retry_delay().is_some() => ErrorReason::Overloaded,
        other => other,
    };
    let mut message = told(error.reason(), error.message());
    let mut metadata = metadata(&error, &message);
    if reason == ErrorReason::Internal {
        let id = request_id::current();
        tracing::error!(error = %chain(&error), request_id = %id, "a call met a fault");
        message = format!("the server met a fault; its log tells more under the request id {id:?}");
        metadata = HashMap::from([("trace_id".to_string(), id)]);
    }
    let retry = error.retry_delay().or_else(|| waiting_helps(reason).then_some(RETRY_DELAY));
    let tell = |text: &str| told(error.reason(), text);
    let violations = error.violations().iter().map(|v| (v.field.as_str(), tell(&v.description)));
    build(reason, &message, metadata, retry, violations.collect())
}

/// The metadata of the status for `error`, without credentials. `message` is what its caller is told.
fn metadata(error: &Error, message: &str) -> HashMap<String, String> {
    let setting = Setting {
        reason: reason(error.reason()),
        message,
        first_field: error.violations().first().map(|v| v.field.as_str()),
        served_stamp: stamp::CURRENT,
    };
    let known = error.metadata().iter().map(|(name, value)| (*name, told(error.reason(), value)));
    facts::named(setting, known).into_iter().collect()
}

/// What a caller may know of an error that is part of an answer: its reason and its text.
pub fn as_answer(error: &Error) -> (ErrorReason, String) {
    (reason(error.reason()), clip(&told(error.reason(), error.message()), MAX_STATUS_MESSAGE_BYTES))
}

/// The rpc is part of the contract and not offered. `rpc` is `package.Service/Method`.
pub fn not_implemented(rpc: &str) -> Status {
    let what = format!("{rpc} is not implemented in this release");
    plain(ErrorReason::NotImplemented, &what, &[("rpc", rpc)], None)
}

/// The call carries no usable credentials.
pub fn unauthenticated() -> Status {
    let what = "send the server's token in the `authorization` header, as `Bearer <token>`";
    plain(ErrorReason::Unauthenticated, what, &[("scheme", "bearer")], None)
}

/// The server has too much to do at the moment.
pub fn overloaded(limit: &str, max: u64) -> Status {
    let what = format!("the server is at its limit {limit} of {max}; try again a little later");
    let max = max.to_string();
    plain(ErrorReason::Overloaded, &what, &[("limit", limit), ("max", &max)], Some(RETRY_DELAY))
}

/// The request is larger than a fixed limit allows.
pub fn limit_exceeded(limit: &str, value: &str, max: &str, what: &str) -> Status {
    plain(ErrorReason::LimitExceeded, what, &[("limit", limit), ("value", value), ("max", max)], None)
}

/// A request that is no message of its type.
pub fn undecodable(problem: &str) -> Status {
    let what = format!("the request cannot be read: {problem}");
    plain(ErrorReason::InvalidArgument, &what, &[("field", "")], None)
}

/// The caller's deadline has passed. A write that was under way may still be finished.
pub fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("the call's deadline has passed; a write may still be finished, look it up")
}

/// The server shuts down and takes no further calls.
pub fn shutting_down() -> Status {
    let what = "the server is shutting down; try another, or try again";
    plain(ErrorReason::StoreUnavailable, what, &[("operation", "serve"), ("path", "")], Some(RETRY_DELAY))
}

fn plain(reason: ErrorReason, message: &str, facts: &[(&str, &str)], retry: Option<Duration>) -> Status {
    let metadata = facts.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    build(reason, message, metadata, retry, Vec::new())
}

fn build(
    reason: ErrorReason,
    message: &str,
    metadata: HashMap<String, String>,
    retry: Option<Duration>,
    violations: Vec<(&str, String)>,
) -> Status {
    let clipped = |(key, value): (String, String)| (key, clip(&value, MAX_STATUS_VALUE_BYTES));
    let metadata: HashMap<_, _> = metadata.into_iter().map(clipped).collect();
    let mut spent: usize = metadata.iter().map(|(k, v)| k.len() + v.len() + FRAMING).sum();
    let mut details = ErrorDetails::with_error_info(reason.reason(), ERROR_DOMAIN, metadata);
    if retry.is_some() {
        details.set_retry_info(retry);
    }
    let mut listed = Vec::new();
    for (field, description) in violations {
        let field = clip(field, MAX_STATUS_VALUE_BYTES);
        let description = clip(&description, MAX_STATUS_VALUE_BYTES);
        spent += field.len() + description.len() + FRAMING;
        if spent > MAX_STATUS_DETAIL_BYTES {
            break;
        }
        listed.push(FieldViolation::new(field, description));
    }
    if !listed.is_empty() {
        details.set_bad_request(listed);
    }
    Status::with_error_details(code(reason), clip(message, MAX_STATUS_MESSAGE_BYTES), details)
}

/// A text as a caller may see it. What speaks of the request is the caller's own; what may quote the storage
/// below loses its credentials.
fn told(reason: Reason, text: &str) -> String {
    match reason.kind() {
        Kind::Invalid if reason != Reason::UnsupportedScheme => text.to_string(),
        Kind::NotFound | Kind::AlreadyExists | Kind::Conflict | Kind::Exhausted => text.to_string(),
        _ => redact(text),
    }
}

/// Bytes of tags and lengths around one entry of the details, rounded up.
const FRAMING: usize = 12;

/// The code that follows from a reason.
fn code(reason: ErrorReason) -> Code {
    reason.code()
}

/// The contract's reason for an engine's. What the contract does not tell apart becomes its general case.
fn reason(reason: Reason) -> ErrorReason {
    if let Some(known) = ErrorReason::from_reason(reason.as_str()) {
        return known;
    }
    match reason.kind() {
        Kind::Invalid | Kind::NotFound | Kind::AlreadyExists => ErrorReason::InvalidArgument,
        Kind::Conflict => ErrorReason::ReadSetChanged,
        Kind::FailedPrecondition => ErrorReason::ConfirmationRequired,
        Kind::Exhausted => ErrorReason::LimitExceeded,
        Kind::Unavailable => ErrorReason::StoreUnavailable,
        Kind::Data => ErrorReason::DataCorrupt,
        Kind::Unimplemented => ErrorReason::NotImplemented,
        Kind::Internal => ErrorReason::Internal,
    }
}

fn waiting_helps(reason: ErrorReason) -> bool {
    use ErrorReason as R;
    matches!(reason, R::StoreUnavailable | R::Overloaded | R::TooMuchContention)
}

/// The error and its causes, for the log.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    redact(&text)
}

/// At most `max` bytes of a text, cut between characters and marked as cut.
fn clip(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max {
        return text.to_string();
    }
    let end = (0..=max.saturating_sub(MARK.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
mod tests;
