//! Turns Lance's errors into the engine's, once. Nothing above sees a Lance error.

use lance_core::Error as LanceError;

use crate::error::redact::redact;
use crate::error::{Error, Reason};

/// Converts an error that has no more specific meaning where it arose.
pub(in crate::store) fn convert(error: LanceError) -> Error {
    let reason = match &error {
        LanceError::CorruptFile { .. } => Reason::DataCorrupt,
        LanceError::InvalidInput { .. } | LanceError::SchemaMismatch { .. } | LanceError::Arrow { .. } => {
            Reason::Internal
        }
        _ => Reason::StoreUnavailable,
    };
    let text = error.to_string();
    let short: String = redact(text.lines().next().unwrap_or_default()).chars().take(400).collect();
    let message = match reason {
        Reason::DataCorrupt => format!("stored data is damaged: {short}"),
        Reason::Internal => format!("the storage library refused the request: {short}"),
        _ => format!("the object store failed: {short}"),
    };
    Error::new(reason, message).caused_by(error)
}

/// Whether the error says that a dataset or a version of it does not exist.
pub(in crate::store) fn is_missing(error: &LanceError) -> bool {
    matches!(
        error,
        LanceError::DatasetNotFound { .. }
            | LanceError::NotFound { .. }
            | LanceError::VersionNotFound { .. }
            | LanceError::RefNotFound { .. }
    )
}

/// Whether the error says that another commit holds the version we tried to take.
pub(in crate::store) fn is_taken(error: &LanceError) -> bool {
    matches!(
        error,
        LanceError::CommitConflict { .. }
            | LanceError::RetryableCommitConflict { .. }
            | LanceError::TooMuchWriteContention { .. }
            | LanceError::IncompatibleTransaction { .. }
    )
}
