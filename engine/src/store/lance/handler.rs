//! A commit handler that never lets Lance look for, or rebase on, newer versions.
//!
//! Lance's own commit loop lists what was committed meanwhile and rebases on it, whatever its retry
//! settings say. With that listing empty, a commit through a handle at version v can only create v + 1,
//! and the store's create-if-absent is the arbiter: either v + 1 is ours or the commit is refused.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use lance_core::{Error, Result};
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter,
};
use object_store::path::Path;

/// See the module header.
pub(super) struct StrictHandler {
    inner: ConditionalPutCommitHandler,
    // Lance turns the creation of a dataset that appeared meanwhile into an overwrite of it.
    creates: bool,
}

impl StrictHandler {
    /// For commits on top of an open version.
    pub(super) fn shared() -> Arc<dyn CommitHandler> {
        Arc::new(Self { inner: ConditionalPutCommitHandler, creates: false })
    }

    /// For the first version of a dataset and nothing else.
    pub(super) fn creating() -> Arc<dyn CommitHandler> {
        Arc::new(Self { inner: ConditionalPutCommitHandler, creates: true })
    }
}

impl fmt::Debug for StrictHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StrictHandler")
    }
}

#[async_trait]
impl CommitHandler for StrictHandler {
    fn is_version_not_found_definitive(&self) -> bool {
        self.inner.is_version_not_found_definitive()
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        self.inner.propagate_commit_error_after_success()
    }

    /// Where names are not listed in order, Lance follows a hint and then one version after the other. That ends at
    /// a gap, and a cleanup leaves gaps: a hint written late would make an old version the newest.
    async fn resolve_latest_location(&self, base_path: &Path, object_store: &ObjectStore) -> Result<ManifestLocation> {
        if !object_store.has_direct_local_paths() && !object_store.list_is_lexically_ordered {
            let newest = self.inner.list_manifest_locations(base_path, object_store, true).next().await;
            if let Some(newest) = newest.transpose()? {
                return Ok(newest);
            }
        }
        self.inner.resolve_latest_location(base_path, object_store).await
    }

    fn list_manifest_locations_since<'a>(
        &self,
        _base_path: &Path,
        _object_store: &'a ObjectStore,
        _since_version: u64,
    ) -> BoxStream<'a, Result<ManifestLocation>> {
        futures::stream::empty().boxed()
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &Path,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        // As a conflict, Lance would try the overwrite again and again for half a minute.
        if self.creates && manifest.version != 1 {
            return Err(CommitError::OtherError(Error::dataset_already_exists(base_path.to_string())));
        }
        self.inner.commit(manifest, indices, base_path, object_store, manifest_writer, naming_scheme, transaction).await
    }
}
