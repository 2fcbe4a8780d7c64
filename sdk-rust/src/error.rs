//! The client's one error type: what the server said, what the connection did, or what was wrong before a
//! call was made. It decides nothing; whether to repeat a call is the business of `retry`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::error::FlightError;
use omnigraph_proto::ERROR_DOMAIN;
use tonic::Status;
use tonic_types::StatusExt;

pub use omnigraph_proto::v1::ErrorReason;
pub use tonic::Code;

/// The client's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where an error comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The server answered it, with a reason.
    Server,
    /// The connection, a proxy or the deadline: there is a status code and no reason.
    Connection,
    /// The client, before or beside the call: a wrong argument, a file that cannot be read.
    Client,
}

/// One precise problem in a request that may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where: a path into the request, for loads `records[7].data.age`.
    pub field: String,
    /// What is wrong there.
    pub description: String,
    /// Why, by the name of an [`ErrorReason`]; empty if the server did not say.
    pub reason: String,
}

/// A failed call. Programs branch on [`Error::reason`], then on [`Error::code`]; the message is for people.
#[derive(Clone, Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    origin: Origin,
    code: Code,
    message: String,
    reason: String,
    metadata: BTreeMap<String, String>,
    violations: Vec<Violation>,
    retry_delay: Option<Duration>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Where the error comes from.
    pub fn origin(&self) -> Origin {
        self.inner.origin
    }

    /// The status code. For errors of the client itself, the one a server would have used.
    pub fn code(&self) -> Code {
        self.inner.code
    }

    /// Why the server refused, if it said so and this version of the client knows the reason. Otherwise go by
    /// [`Error::code`].
    pub fn reason(&self) -> Option<ErrorReason> {
        ErrorReason::from_reason(&self.inner.reason)
    }

    /// The reason as the server wrote it, known or not; empty if there is none.
    pub fn reason_text(&self) -> &str {
        &self.inner.reason
    }

    /// Whether the server gave this reason.
    pub fn is(&self, reason: ErrorReason) -> bool {
        self.reason() == Some(reason)
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Facts for programs, as the reason documents them: a name, a number, a commit id.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.inner.metadata
    }

    /// Every problem found, when there can be several.
    pub fn violations(&self) -> &[Violation] {
        &self.inner.violations
    }

    /// How long the server asks to wait before the same call can succeed. `None`: it did not ask.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.inner.retry_delay
    }

    /// Reads what the server or the connection said.
    pub fn from_status(status: Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info().filter(|info| info.domain == ERROR_DOMAIN);
        let (origin, code, message) = match info {
            Some(_) => (Origin::Server, status.code(), status.message().to_string()),
            None if timed_out(&status) => {
                let what = "the call took longer than its time limit; a write may still be finished";
                (Origin::Connection, Code::DeadlineExceeded, what.to_string())
            }
            None => {
                let said = with_causes(status.message().to_string(), &status);
                (Origin::Connection, status.code(), said)
            }
        };
        let violations = details.bad_request().into_iter();
        let violations = violations.flat_map(|bad| bad.field_violations.iter());
        Self {
            inner: Box::new(Inner {
                origin,
                code,
                message,
                reason: info.map(|info| info.reason.clone()).unwrap_or_default(),
                metadata: info.map(|info| info.metadata.clone().into_iter().collect()).unwrap_or_default(),
                violations: violations
                    .map(|v| Violation {
                        field: v.field.clone(),
                        description: v.description.clone(),
                        reason: v.reason.clone(),
                    })
                    .collect(),
                retry_delay: details.retry_info().and_then(|info| info.retry_delay),
                source: Some(Arc::new(status)),
            }),
        }
    }

    /// An argument the client can tell is wrong without asking.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::of_client(Code::InvalidArgument, message, None)
    }

    /// Something local failed: a file, a stream of the caller.
    pub(crate) fn local(message: impl Into<String>, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = format!("{}: {source}", message.into());
        Self::of_client(Code::Unknown, message, Some(Arc::new(source)))
    }

    /// An answer that breaks the contract.
    pub(crate) fn malformed(what: &str) -> Self {
        let message = format!(
            "the server's answer breaks the contract: {what}; is it an OmniGraph server of a matching release?"
        );
        Self::of_client(Code::Internal, message, None)
    }

    /// An answer that the client would have to keep in memory and that is too large for it.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::of_client(Code::ResourceExhausted, message, None)
    }

    /// A stream that stopped before its time, without saying why.
    pub(crate) fn broken_off(message: impl Into<String>) -> Self {
        let mut error = Self::of_client(Code::Unavailable, message, None);
        error.inner.origin = Origin::Connection;
        error
    }

    /// No connection.
    pub(crate) fn unreachable(url: &str, source: tonic::transport::Error) -> Self {
        let message = format!("cannot connect to {url}: {}", with_causes(source.to_string(), &source));
        let mut error = Self::of_client(Code::Unavailable, message, Some(Arc::new(source)));
        error.inner.origin = Origin::Connection;
        error
    }

    fn of_client(
        code: Code,
        message: impl Into<String>,
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            inner: Box::new(Inner {
                origin: Origin::Client,
                code,
                message: message.into(),
                reason: String::new(),
                metadata: BTreeMap::new(),
                violations: Vec::new(),
                retry_delay: None,
                source,
            }),
        }
    }
}

/// Whether the client's own time limit ended the call, which the transport calls a cancellation.
fn timed_out(status: &Status) -> bool {
    let first: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(status);
    std::iter::successors(first, |error| error.source()).any(|error| error.is::<tonic::TimeoutExpired>())
}

/// The message with those of its causes that say something new.
fn with_causes(mut text: String, error: &dyn std::error::Error) -> String {
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::from_status(status)
    }
}

impl From<FlightError> for Error {
    fn from(error: FlightError) -> Self {
        match error {
            FlightError::Tonic(status) => Self::from_status(*status),
            // What the caller's own stream of batches said.
            FlightError::ExternalError(error) => {
                Self::of_client(Code::Unknown, format!("the batches cannot be read: {error}"), Some(Arc::from(error)))
            }
            other => Self::local("Arrow data cannot be read or written", other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        if !self.inner.reason.is_empty() {
            write!(f, " [{}]", self.inner.reason)?;
        }
        for violation in &self.inner.violations {
            write!(f, "\n  {}: {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.inner.source.as_ref()?;
        Some(source.as_ref() as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use tonic_types::{ErrorDetails, FieldViolation};

    fn answered(domain: &str, reason: &str) -> Error {
        let mut details = ErrorDetails::new();
        let metadata = HashMap::from([("limit".to_string(), "9".to_string())]);
        details.set_error_info(reason, domain, metadata);
        details.set_retry_info(Some(Duration::from_millis(1500)));
        details.set_bad_request(vec![FieldViolation::new("records[7].data.age", "no number")]);
        Status::with_error_details(Code::ResourceExhausted, "too much", details).into()
    }

    #[test]
    fn details_are_decoded() {
        let error = answered("omnigraph", "OVERLOADED");
        assert_eq!(error.origin(), Origin::Server);
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert!(error.is(ErrorReason::Overloaded));
        assert_eq!(error.metadata()["limit"], "9");
        assert_eq!(error.retry_delay(), Some(Duration::from_millis(1500)));
        assert_eq!(error.violations()[0].field, "records[7].data.age");
        assert_eq!(error.to_string(), "too much [OVERLOADED]\n  records[7].data.age: no number");
    }

    #[test]
    fn an_unknown_reason_keeps_its_text_and_a_foreign_one_is_none() {
        let error = answered("omnigraph", "FROM_THE_FUTURE");
        assert_eq!((error.reason(), error.reason_text()), (None, "FROM_THE_FUTURE"));
        let error = answered("proxy.example", "OVERLOADED");
        assert_eq!((error.origin(), error.reason()), (Origin::Connection, None));
    }
}
