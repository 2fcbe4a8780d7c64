//! The one error type of the engine.
//!
//! Errors are coarse by what the caller does next ([`Kind`]) and precise by why ([`Reason`]). The
//! message is for people and says what to do; programs read the kind, the reason and the metadata.
//! Outcomes a caller must handle in the normal course of work (a conflict, nothing to do) are values
//! inside the engine and become errors only at its edge.

mod reason;
pub mod redact;

pub use reason::Reason;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The engine's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong as it stands; change it.
    Invalid,
    /// Something the request names does not exist.
    NotFound,
    /// Something the request would create exists already.
    AlreadyExists,
    /// Another writer came first and nothing was done; run the whole operation again.
    Conflict,
    /// The state does not allow it; look first.
    FailedPrecondition,
    /// A limit is exceeded; the message carries the number.
    Exhausted,
    /// The store or the engine could not answer now; make the same call again.
    Unavailable,
    /// Stored data is verifiably wrong.
    Data,
    /// Not built yet.
    Unimplemented,
    /// A defect of the engine.
    Internal,
}

/// One precise problem inside a request, for errors that report several at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where: a property path, `line 3, column 7`, or `record 12`.
    pub field: String,
    /// What is wrong, what was found and what was expected.
    pub description: String,
    /// Why, machine readable.
    pub reason: Reason,
}

/// A typed failure. See the module header.
#[derive(Clone, Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    reason: Reason,
    message: String,
    metadata: BTreeMap<&'static str, String>,
    violations: Vec<Violation>,
    retry_after: Option<Duration>,
    source: Option<std::sync::Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `reason` with a message that says what to do next.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                reason,
                message: message.into(),
                metadata: BTreeMap::new(),
                violations: Vec::new(),
                retry_after: None,
                source: None,
            }),
        }
    }

    /// A defect of the engine: something that cannot happen, happened.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Reason::Internal, message)
    }

    /// Adds one machine-readable fact.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.inner.metadata.insert(key, value.to_string());
        self
    }

    /// Adds the underlying cause; it appears in logs, not in the message.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.inner.source = Some(std::sync::Arc::new(source));
        self
    }

    /// Says how long to wait before a retry can help.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.inner.retry_after = Some(delay);
        self
    }

    /// Attaches the full list of problems.
    #[must_use]
    pub fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.inner.violations = violations;
        self
    }

    /// What the caller does next.
    pub fn kind(&self) -> Kind {
        self.inner.reason.kind()
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.inner.reason
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Machine-readable facts: the offender's name, a measured number, a commit id.
    pub fn metadata(&self) -> &BTreeMap<&'static str, String> {
        &self.inner.metadata
    }

    /// Every problem found, when there can be several.
    pub fn violations(&self) -> &[Violation] {
        &self.inner.violations
    }

    /// How long to wait before a retry can help, if it can.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.inner.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        for violation in self.inner.violations.iter().take(crate::limits::MAX_REPORTED_VIOLATIONS) {
            write!(f, "\n  {}: {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_ref().map(|s| s.as_ref() as &(dyn std::error::Error + 'static))
    }
}
