//! Why a command did not do what it was asked, and the exit code that follows. Embedded and remote failures
//! become the same thing here, so that scripts need not know which it was.

use std::collections::BTreeMap;

use omnigraph_client as client;
use omnigraph_client::{Code, ErrorReason};
use omnigraph_engine as engine;
use omnigraph_engine::format::stamp;
use omnigraph_proto::facts::{self, Setting};

/// The command's result.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Exit codes, part of the documented interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Failed in a way no other code describes.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Something that was named does not exist.
    NotFound = 3,
    /// Another writer, an existing thing or the state stands against it.
    Conflict = 4,
    /// It destroys something and nobody agreed.
    Consent = 5,
    /// An interrupted write or drift needs attention.
    Attention = 6,
}

/// A failed command. Errors of all kinds are told in this form.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    exit: Exit,
    message: String,
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    violations: Vec<Violation>,
    /// Whether it only says that nobody reads the output any more.
    unheard: bool,
}

/// One precise problem of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) field: String,
    pub(crate) description: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let inner = Inner {
            exit,
            message: message.into(),
            reason: None,
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            unheard: false,
        };
        Self { inner: Box::new(inner) }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something local failed.
    pub(crate) fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failed,
        };
        Self::new(exit, format!("{what}: {error}"))
    }

    /// Nobody reads the output any more, as after `| head`.
    pub(crate) fn unheard() -> Self {
        let mut failure = Self::new(Exit::Failed, "nobody reads the output any more");
        failure.inner.unheard = true;
        failure
    }

    /// Names the reason, and takes the exit code from it.
    pub(crate) fn because(mut self, reason: ErrorReason) -> Self {
        self.inner.exit = exit_of(Some(reason), reason.code());
        self.inner.reason = Some(reason.reason().to_string());
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.inner.exit
    }

    pub(crate) fn message(&self) -> &str {
        &self.inner.message
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        self.inner.reason.as_deref()
    }

    /// Whether this is the reason.
    pub(crate) fn is(&self, reason: ErrorReason) -> bool {
        self.reason() == Some(reason.reason())
    }

    pub(crate) fn metadata(&self) -> &BTreeMap<String, String> {
        &self.inner.metadata
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        &self.inner.violations
    }

    pub(crate) fn is_unheard(&self) -> bool {
        self.inner.unheard
    }
}

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        let reason = error.reason();
        let known = ErrorReason::from_reason(reason.as_str());
        let setting = Setting {
            reason: known.unwrap_or_default(),
            message: error.message(),
            first_field: error.violations().first().map(|v| v.field.as_str()),
            served_stamp: stamp::CURRENT,
        };
        let own = error.metadata().iter().map(|(name, value)| (*name, value.clone()));
        let violations = error.violations().iter();
        let inner = Inner {
            exit: exit_of(known, known.map_or(Code::Unknown, ErrorReason::code)),
            message: error.message().to_string(),
            reason: Some(reason.as_str().to_string()),
            // What the contract calls them, so that a script need not know whether there was a server.
            metadata: facts::named(setting, own),
            violations: violations
                .map(|v| Violation { field: v.field.clone(), description: v.description.clone() })
                .collect(),
            unheard: false,
        };
        Self { inner: Box::new(inner) }
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        let reason = error.reason_text();
        let violations = error.violations().iter();
        let inner = Inner {
            exit: exit_of(error.reason(), error.code()),
            message: error.message().to_string(),
            reason: (!reason.is_empty()).then(|| reason.to_string()),
            metadata: error.metadata().clone(),
            violations: violations
                .map(|v| Violation { field: v.field.clone(), description: v.description.clone() })
                .collect(),
            unheard: false,
        };
        Self { inner: Box::new(inner) }
    }
}

/// The exit code of an error with this reason, if it has one that is known, and this status code.
fn exit_of(reason: Option<ErrorReason>, code: Code) -> Exit {
    match reason {
        Some(ErrorReason::RecoveryRequired | ErrorReason::Drift) => return Exit::Attention,
        Some(ErrorReason::ConfirmationRequired) => return Exit::Consent,
        _ => {}
    }
    match code {
        Code::NotFound => Exit::NotFound,
        Code::Aborted | Code::AlreadyExists | Code::FailedPrecondition => Exit::Conflict,
        _ => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::Reason;

    #[test]
    fn exit_codes_follow_from_reasons() {
        for (reason, exit) in [
            (Reason::BranchNotFound, Exit::NotFound),
            (Reason::KeyConflict, Exit::Conflict),
            (Reason::HeadMoved, Exit::Conflict),
            (Reason::ReadSetChanged, Exit::Conflict),
            (Reason::InDoubt, Exit::Conflict),
            (Reason::RecoveryRequired, Exit::Attention),
            (Reason::Drift, Exit::Attention),
            (Reason::ConfirmationRequired, Exit::Consent),
            (Reason::InvalidRecord, Exit::Failed),
            (Reason::BranchProtected, Exit::Conflict),
            (Reason::TagProtected, Exit::Conflict),
            (Reason::MergeConflict, Exit::Conflict),
            (Reason::SchemaRefused, Exit::Conflict),
            (Reason::HistoryGap, Exit::Conflict),
            (Reason::StoreUnavailable, Exit::Failed),
        ] {
            assert_eq!(Failure::from(engine::Error::new(reason, "")).exit(), exit, "{reason}");
        }
    }

    #[test]
    fn facts_have_the_same_names_as_from_a_server() {
        let error = engine::Error::new(Reason::HeadMoved, "").with("expected_head", "A").with("head", "B");
        let facts = Failure::from(error).metadata().clone();
        assert_eq!((facts["expected"].as_str(), facts["actual"].as_str(), facts.len()), ("A", "B", 2));
    }

    #[test]
    fn every_reason_of_the_engine_is_in_the_contract() {
        let foreign = |r: &&Reason| ErrorReason::from_reason(r.as_str()).is_none();
        let foreign: Vec<&Reason> = Reason::ALL.iter().filter(foreign).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
}
