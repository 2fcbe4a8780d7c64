//! Writing: what a caller asks for, turned into staged effects. Nothing here commits for itself.

pub(crate) mod apply;
mod constraints;
pub mod load;
pub mod mutate;
pub(crate) mod overlay;
pub(crate) mod probe;
pub(crate) mod stage;
mod stream;
pub(crate) mod target;
mod work;

use std::sync::Arc;

use crate::data::Violations;
use crate::error::{Error, Reason, Result};

/// Fails if anything is wrong. When all problems have one reason the error has it too, so that a caller
/// can tell a taken key from a missing endpoint without reading the list.
fn ensure_none(violations: Violations) -> Result<()> {
    if violations.is_empty() {
        return Ok(());
    }
    let reasons: Vec<Reason> = violations.listed().iter().map(|v| v.reason).collect();
    let all = violations.into_error();
    match reasons.split_first() {
        Some((first, rest)) if rest.iter().all(|r| r == first) => Err(with_reason(&all, *first)),
        _ => Err(all),
    }
}

fn with_reason(error: &Error, reason: Reason) -> Error {
    Error::new(reason, error.message())
        .with("problems", error.violations().len())
        .with_violations(error.violations().to_vec())
}

/// A warm key index shared between operations.
type SharedIndex = Arc<tokio::sync::Mutex<crate::store::lance::keys::KeyIndex>>;
