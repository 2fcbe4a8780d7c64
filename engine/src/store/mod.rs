//! The object store under one graph root: canonical addresses, conditional documents, Lance datasets.
//!
//! The only layer that names Lance or the object-store library. It knows paths and versions, not
//! graphs: what a table means, which version counts and who may write is decided above.

mod fault;
pub mod lance;
pub mod object_log;
pub mod root;

use std::sync::Arc;

use ::lance::session::Session;
use lance_io::object_store::{ObjectStore, ObjectStoreParams, ObjectStoreRegistry, WrappingObjectStore};
use object_store::path::Path;

use crate::error::Result;
use crate::failpoint::FaultPlan;
use crate::limits;
use object_log::ObjectLog;
use root::Root;

/// What several graph roots of one process share: caches, connections, injected faults.
#[derive(Clone, Debug)]
pub struct Stores {
    session: Arc<Session>,
    faults: Option<Arc<FaultPlan>>,
}

impl Stores {
    /// Fresh caches; every request of every store opened through it passes `faults`.
    pub fn new(faults: Option<Arc<FaultPlan>>) -> Self {
        let registry = Arc::new(ObjectStoreRegistry::default());
        let session = Session::new(limits::INDEX_CACHE_BYTES, limits::METADATA_CACHE_BYTES, registry);
        Self { session: Arc::new(session), faults }
    }

    /// Opens the store under `root`. Makes no request.
    ///
    /// # Errors
    /// An unusable root or failing store configuration.
    pub async fn open(&self, root: Root) -> Result<Store> {
        let params = ObjectStoreParams {
            object_store_wrapper: self
                .faults
                .clone()
                .map(|plan| Arc::new(fault::Shared(plan)) as Arc<dyn WrappingObjectStore>),
            ..ObjectStoreParams::default()
        };
        let (os, base) = ObjectStore::from_uri_and_params(self.session.store_registry(), root.uri(), &params)
            .await
            .map_err(lance::error::convert)?;
        let log = ObjectLog::new(os.inner.clone(), base.clone(), root.local_path());
        Ok(Store { inner: Arc::new(Inner { root, session: self.session.clone(), params, base, os, log }) })
    }
}

/// The store under one root. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: Root,
    session: Arc<Session>,
    params: ObjectStoreParams,
    base: Path,
    os: Arc<ObjectStore>,
    log: ObjectLog,
}

impl Store {
    /// Where it is.
    pub fn root(&self) -> &Root {
        &self.inner.root
    }

    /// The small conditional documents under the root.
    pub fn log(&self) -> &ObjectLog {
        &self.inner.log
    }

    pub(in crate::store) fn session(&self) -> Arc<Session> {
        self.inner.session.clone()
    }

    pub(in crate::store) fn params(&self) -> &ObjectStoreParams {
        &self.inner.params
    }

    /// Removes everything under the root. Not atomic: the manifest goes first, so that what is left of
    /// an interrupted removal is no graph.
    ///
    /// # Errors
    /// The store's.
    pub async fn remove_all(&self, first: &str) -> Result<()> {
        let os = &self.inner.os;
        for path in [self.inner.base.clone().join(first), self.inner.base.clone()] {
            match os.remove_dir_all(path).await {
                Ok(()) | Err(lance_core::Error::NotFound { .. }) => {}
                Err(e) => return Err(lance::error::convert(e)),
            }
        }
        Ok(())
    }
}
