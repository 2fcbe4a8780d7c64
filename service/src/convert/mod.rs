//! Between the contract and the engine's terms: pure, total, and without loss where both can say it.
//!
//! `to_engine` functions check what a message may get wrong and name the offending field; `to_proto`
//! functions cannot fail. Nothing here calls the engine, waits, or knows the transport.

pub mod branch;
pub mod change;
pub mod commit;
pub mod entity;
pub mod evolve;
pub mod feed;
pub mod index;
pub mod merge;
pub mod predicate;
pub mod recovery;
pub mod scan;
pub mod schema;
pub mod search;
pub mod selector;
pub mod snapshot;
pub mod stats;
pub mod tag;
pub mod time;
pub mod value;
pub mod write;

use omnigraph_engine::error::{Error, Reason, Result, Violation};

/// The error for a malformed field of a request.
pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
    let (field, problem) = (field.into(), problem.into());
    let violation = Violation { field: field.clone(), description: problem.clone(), reason: Reason::InvalidArgument };
    Error::new(Reason::InvalidArgument, format!("{field}: {problem}"))
        .with("field", field)
        .with_violations(vec![violation])
}

/// A text field that must not be empty.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming the field.
pub fn required<'a>(field: &str, text: &'a str) -> Result<&'a str> {
    if text.is_empty() {
        return Err(invalid(field, "must be set"));
    }
    Ok(text)
}

/// A message field that must be set.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming the field.
pub fn set<T>(field: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| invalid(field, "must be set"))
}
