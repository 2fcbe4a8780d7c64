//! Versions that only their maker sees: staged work put in place so that more can be built on top of it.
//!
//! Such a version has a random number that no look for the newest one finds. It is removed as soon as what was
//! built over it is staged; if its maker dies first, a small file is left that nothing refers to.

use ::lance::dataset::CommitBuilder;
use object_store::ObjectStoreExt;

use super::stage::Staged;
use super::{Table, error};
use crate::error::Result;
use crate::store::Store;

impl Table {
    /// This version with staged work on top, for nobody else to see.
    ///
    /// # Errors
    /// The store's.
    pub async fn shadow(&self, store: &Store, staged: &Staged) -> Result<Table> {
        let mut transaction = staged.transaction.clone();
        transaction.read_version = self.version();
        let dataset = CommitBuilder::new(self.dataset.clone())
            .with_detached(true)
            .with_skip_auto_cleanup(true)
            .execute(transaction)
            .await
            .map_err(error::convert)?;
        Ok(store.wrap(dataset, &self.at.location, self.at.branch.as_deref()))
    }
}

impl Store {
    /// Takes back a version that was made where a removed one had stood. A failure leaves a version that nothing
    /// refers to.
    pub async fn withdraw(&self, stray: &Table) {
        self.discard_shadow(stray).await;
    }

    /// Removes a version made by [`Table::shadow`]. A failure leaves a file that hurts nobody.
    pub async fn discard_shadow(&self, shadow: &Table) {
        let path = &shadow.dataset.manifest_location().path;
        if let Err(e) = self.inner.os.inner.delete(path).await {
            tracing::debug!(%path, error = %e, "a scratch version could not be removed");
        }
    }
}
