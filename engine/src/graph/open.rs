//! Opening a graph: the stamp first, then, for writing, whatever an earlier writer left unfinished.

use std::sync::Arc;

use crate::error::Result;
use crate::model::branch::MAIN;
use crate::recovery::sweep;
use crate::txn::Core;

/// Checks that a graph this release serves stands below the core's root, and recovers it for writing.
/// Opening for reading writes nothing.
///
/// # Errors
/// [`crate::error::Reason::GraphNotFound`], a stamp this release does not serve,
/// [`crate::error::Reason::StoreLacksConditionalPut`] for writing, or the store's.
pub async fn open(core: &Arc<Core>) -> Result<()> {
    core.heads.head(MAIN).await?;
    if !core.read_only {
        core.store.ensure_conditional(&core.fresh_id()).await?;
        sweep::sweep(core).await?;
    }
    Ok(())
}
