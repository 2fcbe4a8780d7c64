//! The way in: opens and creates graphs, and keeps one handle per root.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::archive::ImportReport;
use crate::data::Source;
use crate::error::{Error, Reason, Result};
use crate::graph::{self, Graph};
use crate::id;
use crate::intent::LiveOperations;
use crate::model::{Actor, Receipt, Schema};
use crate::options::EngineOptions;
use crate::store::root::Root;
use crate::store::{Store, Stores};
use crate::txn::Core;

/// Whether a graph is opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads and writes; interrupted operations are recovered at open.
    ReadWrite,
    /// Reads only; nothing is ever written, not even a recovery.
    ReadOnly,
}

/// One engine of one process. Cheap to clone; clones share caches, connections and open graphs.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: EngineOptions,
    stores: Stores,
    live: LiveOperations,
    id: String,
    open: Mutex<HashMap<(Root, Access), Arc<Core>>>,
}

impl Engine {
    /// An engine with nothing open. Makes no request.
    pub fn new(options: EngineOptions) -> Self {
        let stores = Stores::new(options.faults.clone());
        let id = id::fresh(options.ids.as_ref(), options.clock.now_micros());
        Self { inner: Arc::new(Inner { options, stores, live: LiveOperations::default(), id, open: Mutex::default() }) }
    }

    /// Creates a graph at `root` with this schema, in one atomic step: whatever interrupts it leaves no
    /// graph or a whole one.
    ///
    /// # Errors
    /// [`Reason::GraphExists`], [`Reason::InvalidSchema`], an unusable root, or the store's.
    pub async fn create(&self, root: &str, schema: Schema, actor: &Actor, message: &str) -> Result<(Graph, Receipt)> {
        let root = Root::parse(root)?;
        let core = self.core(root, Access::ReadWrite).await?;
        let receipt = graph::create::create(&core, schema, actor, message).await?;
        Ok((Graph::new(self.register(core, Access::ReadWrite)), receipt))
    }

    /// Makes a graph at `root` of an archive that [`Graph::export_all`] wrote, with a commit for each of its points:
    /// their actors and messages stay, their ids are new. The root must hold nothing; what was made is removed again
    /// if the import fails, so that a graph stands there only if it is whole.
    ///
    /// # Errors
    /// [`Reason::GraphExists`] or [`Reason::InvalidArgument`] for a root that is not empty; [`Reason::InvalidRecord`]
    /// for a damaged archive, with the number of the line as `line`, and [`Reason::StorageStampTooNew`] for one of a
    /// later format; the store's.
    pub async fn import(&self, root: &str, source: Source, actor: &Actor) -> Result<(Graph, ImportReport)> {
        let core = self.core(Root::parse(root)?, Access::ReadWrite).await?;
        match graph::import::import(&core, source, actor).await {
            Ok(report) => Ok((Graph::new(self.register(core, Access::ReadWrite)), report)),
            Err(e) => {
                self.inner.stores.renew();
                Err(e)
            }
        }
    }

    /// Opens the graph at `root`. The format stamp is checked before anything else is read.
    ///
    /// # Errors
    /// [`Reason::GraphNotFound`], a stamp this release does not serve, an unusable root, or the store's.
    pub async fn open(&self, root: &str, access: Access) -> Result<Graph> {
        let root = Root::parse(root)?;
        if let Some(core) = self.registered(&root, access) {
            return Ok(Graph::new(core));
        }
        let core = self.core(root, access).await?;
        graph::open::open(&core).await?;
        Ok(Graph::new(self.register(core, access)))
    }

    /// Removes the graph at `root` and everything below it. Irreversible. The manifest goes first, so an
    /// interrupted removal leaves no graph, only space.
    ///
    /// # Errors
    /// [`Reason::GraphNotFound`] or the store's.
    pub async fn remove(&self, root: &str) -> Result<()> {
        let root = Root::parse(root)?;
        let core = self.core(root.clone(), Access::ReadOnly).await?;
        match graph::open::open(&core).await {
            Ok(()) => {}
            // What cannot be opened can still be removed.
            Err(e) if matches!(e.reason(), Reason::TornInit | Reason::DataCorrupt | Reason::StorageStampTooOld) => {}
            Err(e) => return Err(e),
        }
        if let Ok(mut open) = self.inner.open.lock() {
            open.retain(|(r, _), _| *r != root);
        }
        let removed = core.store.remove_all(crate::format::paths::MANIFEST).await;
        self.inner.stores.renew();
        removed
    }

    async fn core(&self, root: Root, access: Access) -> Result<Arc<Core>> {
        let store: Store = self.inner.stores.open(root).await?;
        Ok(Core::new(
            store,
            self.inner.options.clone(),
            self.inner.live.clone(),
            &self.inner.id,
            access == Access::ReadOnly,
        ))
    }

    fn registered(&self, root: &Root, access: Access) -> Option<Arc<Core>> {
        self.inner.open.lock().ok()?.get(&(root.clone(), access)).cloned()
    }

    /// One handle per root: whoever registers first wins.
    fn register(&self, core: Arc<Core>, access: Access) -> Arc<Core> {
        let key = (core.store.root().clone(), access);
        match self.inner.open.lock() {
            Ok(mut open) => open.entry(key).or_insert(core).clone(),
            Err(_) => core,
        }
    }

    /// Forgets every open graph; handles in use stay usable.
    pub fn close(&self) {
        if let Ok(mut open) = self.inner.open.lock() {
            open.clear();
        }
    }
}

/// The storage address of a graph below a cluster's storage: `<storage>/graphs/<id>.omni`.
///
/// # Errors
/// [`Reason::InvalidName`] for an id that is not 1 to 63 of `a-z`, `0-9`, `-`, `_`, starting with a letter
/// or digit.
pub fn graph_root(storage: &str, id: &str) -> Result<String> {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let valid =
        id.len() <= 63 && id.bytes().next().is_some_and(ok) && id.bytes().all(|b| ok(b) || b == b'-' || b == b'_');
    if !valid {
        return Err(Error::new(
            Reason::InvalidName,
            format!(
                "{id:?} is not a usable graph id: use 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit"
            ),
        )
        .with("name", id));
    }
    Ok(format!("{}/graphs/{id}.omni", storage.trim_end_matches('/')))
}
