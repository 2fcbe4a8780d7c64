//! Checking every invariant.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::txn::Core;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Live branches checked.
    pub branches: usize,
    /// Table states checked.
    pub tables: usize,
    /// Commits checked.
    pub commits: usize,
    /// Operations under way or interrupted.
    pub pending: usize,
    /// What is broken, each naming the invariant.
    pub problems: Vec<Problem>,
}

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which invariant, as documented.
    pub invariant: &'static str,
    /// The branch.
    pub branch: String,
    /// What is wrong.
    pub detail: String,
}

impl VerifyReport {
    /// Whether nothing is broken.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks every live branch.
///
/// # Errors
/// The store's.
pub async fn verify(_core: &Arc<Core>) -> Result<VerifyReport> {
    Err(Error::new(Reason::NotImplemented, "verify"))
}
