//! Mutations.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::model::{Change, Receipt, WriteOptions};
use crate::txn::Core;

/// Carries out steps as one commit.
///
/// # Errors
/// Every violation.
pub async fn mutate(_core: &Arc<Core>, _changes: Vec<Change>, _options: &WriteOptions) -> Result<Receipt> {
    Err(Error::new(Reason::NotImplemented, "mutate"))
}
