//! The object store under one graph root: canonical addresses, conditional documents, Lance datasets.
//!
//! The only layer that names Lance or the object-store library. It knows paths and versions, not
//! graphs: what a table means, which version counts and who may write is decided above.

mod fault;
pub mod lance;
pub mod object_log;
pub mod root;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

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
    session: Arc<Mutex<Arc<Session>>>,
    faults: Option<Arc<FaultPlan>>,
    // Stores known to keep the conditions of writes.
    mannered: Mannered,
}

type Mannered = Arc<Mutex<HashSet<String>>>;

impl Stores {
    /// Fresh caches; every request of every store opened through it passes `faults`.
    pub fn new(faults: Option<Arc<FaultPlan>>) -> Self {
        Self { session: Arc::new(Mutex::new(fresh_session())), faults, mannered: Mannered::default() }
    }

    /// Starts new caches for what is opened from now on; what is open keeps its own. Their entries are
    /// told apart by address and version alone, so they must not outlive a graph that was removed.
    pub fn renew(&self) {
        *self.lock() = fresh_session();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Session>> {
        // The value is replaced whole, so a panic elsewhere cannot have left it half-way.
        self.session.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Opens the store under `root`. Makes no request.
    ///
    /// # Errors
    /// An unusable root or failing store configuration.
    pub async fn open(&self, root: Root) -> Result<Store> {
        let session = self.lock().clone();
        let params = ObjectStoreParams {
            object_store_wrapper: self
                .faults
                .clone()
                .map(|plan| Arc::new(fault::Shared(plan)) as Arc<dyn WrappingObjectStore>),
            ..ObjectStoreParams::default()
        };
        let (os, base) = ObjectStore::from_uri_and_params(session.store_registry(), root.uri(), &params)
            .await
            .map_err(lance::error::convert)?;
        let log = ObjectLog::new(os.inner.clone(), base.clone(), root.local_path());
        let mannered = self.mannered.clone();
        Ok(Store { inner: Arc::new(Inner { root, session, params, base, os, log, mannered }) })
    }
}

fn fresh_session() -> Arc<Session> {
    let registry = Arc::new(ObjectStoreRegistry::default());
    Arc::new(Session::new(limits::INDEX_CACHE_BYTES, limits::METADATA_CACHE_BYTES, registry))
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
    mannered: Mannered,
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

    /// Checks, once per process and bucket, that the store keeps the conditions that commits rely on. Local
    /// disk and memory are known to. `unique` names the document to try it with.
    ///
    /// # Errors
    /// [`crate::error::Reason::StoreLacksConditionalPut`], with nothing left behind, or the store's.
    pub async fn ensure_conditional(&self, unique: &str) -> Result<()> {
        let Some(bucket) = self.inner.root.remote_store() else {
            return Ok(());
        };
        let known = |set: &Mannered| set.lock().is_ok_and(|s| s.contains(bucket));
        if known(&self.inner.mannered) {
            return Ok(());
        }
        let name = crate::format::paths::probe(unique);
        self.log().probe(&name).await.map_err(|e| e.with("root", self.inner.root.uri()))?;
        if let Ok(mut set) = self.inner.mannered.lock() {
            set.insert(bucket.to_string());
        }
        Ok(())
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
