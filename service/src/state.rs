//! What all calls share: the engine, the graphs that were opened, and the work that outlives its call.
//!
//! Graphs are opened when they are first named. One that cannot be opened is quarantined: calls that name
//! it answer why, all others are served, and after a while it is tried again, so that a repaired graph comes
//! back without a restart. Only what is wrong with the graph itself quarantines it; a store that does not
//! answer, or a graph that does not exist, is asked for anew each time.

mod listing;
mod spool;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_engine::engine::graph_root;
use omnigraph_engine::error::{Error, Kind, Reason, Result};
use omnigraph_engine::store::root::Root;
use omnigraph_engine::{Access, Engine, EngineOptions, Graph};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::config::Config;
use crate::convert::required;
use crate::limits::QUARANTINE;
use crate::middleware::request_id;

pub use spool::{Spool, SpoolBudget};

/// See the module header. Cheap to clone.
#[derive(Clone, Debug)]
pub struct State {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    options: EngineOptions,
    storage: String,
    access: Access,
    graphs: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Slot>>>>,
    tasks: TaskTracker,
    draining: CancellationToken,
    budget: SpoolBudget,
    spool_dir: PathBuf,
    max_load_bytes: u64,
}

/// What is known of a graph.
#[derive(Clone, Debug, Default)]
enum Slot {
    #[default]
    Unknown,
    Ready(Graph),
    Quarantined {
        why: Error,
        until: Instant,
    },
}

/// A graph in a listing.
#[derive(Clone, Debug)]
pub enum Known {
    /// Not looked at yet.
    Unknown,
    /// Open.
    Ready,
    /// Cannot be opened, for this reason.
    Quarantined(Error),
}

impl State {
    /// Nothing is opened yet.
    pub fn new(config: &Config, options: EngineOptions) -> Self {
        let inner = Inner {
            engine: Engine::new(options.clone()),
            options,
            storage: canonical(config.storage_address()),
            access: config.access(),
            graphs: Mutex::default(),
            tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
            budget: SpoolBudget::new(config.max_spooled_bytes),
            spool_dir: config.spool_dir.clone().unwrap_or_else(std::env::temp_dir),
            max_load_bytes: config.max_load_bytes,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// What the engine takes from outside.
    pub fn options(&self) -> &EngineOptions {
        &self.inner.options
    }

    /// Where a graph is, or would be.
    ///
    /// # Errors
    /// [`Reason::InvalidArgument`] for no id, [`Reason::InvalidName`] for one that no graph can have.
    pub fn root(&self, id: &str) -> Result<String> {
        required("graph", id)?;
        graph_root(&self.inner.storage, id)
    }

    /// The open graph of this id.
    ///
    /// # Errors
    /// [`Reason::GraphNotFound`], what keeps the graph from being opened, or the store's.
    pub async fn graph(&self, id: &str) -> Result<Graph> {
        let root = self.root(id)?;
        let slot = self.slots().entry(id.to_string()).or_default().clone();
        let mut slot = slot.lock().await;
        match &*slot {
            Slot::Ready(graph) => return Ok(graph.clone()),
            Slot::Quarantined { why, until } if *until > Instant::now() => return Err(why.clone()),
            Slot::Quarantined { .. } | Slot::Unknown => {}
        }
        match self.inner.engine.open(&root, self.inner.access).await {
            Ok(graph) => {
                *slot = Slot::Ready(graph.clone());
                Ok(graph)
            }
            Err(e) if quarantines(&e) => {
                tracing::warn!(graph = id, reason = %e.reason(), error = %e, "a graph cannot be opened");
                let until = Instant::now() + QUARANTINE;
                *slot = Slot::Quarantined { why: e.clone(), until };
                Err(e)
            }
            Err(e) => {
                *slot = Slot::Unknown;
                drop(slot);
                // Nothing is remembered of names that nobody uses.
                self.slots().retain(|name, slot| name != id || Arc::strong_count(slot) > 1);
                Err(not_found_by_id(e, id))
            }
        }
    }

    /// The graphs that are open, by id. One that is being opened right now is not among them, and none is waited
    /// for.
    pub fn ready(&self) -> Vec<(String, Graph)> {
        let slots = self.slots().clone();
        let open = slots.into_iter().filter_map(|(id, slot)| {
            let slot = slot.try_lock().ok()?;
            match &*slot {
                Slot::Ready(graph) => Some((id, graph.clone())),
                Slot::Unknown | Slot::Quarantined { .. } => None,
            }
        });
        let mut open: Vec<(String, Graph)> = open.collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        open
    }

    /// Takes in a graph that was just made.
    pub async fn adopt(&self, id: &str, graph: Graph) {
        let slot = self.slots().entry(id.to_string()).or_default().clone();
        *slot.lock().await = Slot::Ready(graph);
    }

    /// Forgets a graph that was removed.
    pub fn forget(&self, id: &str) {
        self.slots().remove(id);
    }

    /// The ids of all graphs, sorted, with what is known of each.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<BTreeMap<String, Known>> {
        let stored = listing::graphs(&self.inner.storage).await?;
        let slots = self.slots().clone();
        let mut out: BTreeMap<String, Known> = stored.into_iter().flatten().map(|id| (id, Known::Unknown)).collect();
        for (id, slot) in slots {
            // One that is being opened right now is not known yet.
            let Ok(slot) = slot.try_lock() else { continue };
            let known = match &*slot {
                Slot::Unknown => continue,
                Slot::Ready(_) => Known::Ready,
                Slot::Quarantined { why, .. } => Known::Quarantined(why.clone()),
            };
            // A store without folders to list shows what this server has opened.
            if out.contains_key(&id) || !listing::can_list(&self.inner.storage) {
                out.insert(id, known);
            }
        }
        Ok(out)
    }

    /// Refuses writes where nothing may be written, before a call has any effect.
    ///
    /// # Errors
    /// [`Reason::ReadOnly`].
    pub fn ensure_writable(&self) -> Result<()> {
        match self.inner.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(Error::new(
                Reason::ReadOnly,
                "this server serves for reading only; send writes to one that does not",
            )),
        }
    }

    /// Runs a write so that it is finished even if its caller goes away.
    ///
    /// # Errors
    /// The write's own; [`Reason::Internal`] if it broke down.
    pub async fn finish<T: Send + 'static>(
        &self,
        write: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let work = request_id::carry(write).in_current_span();
        match self.inner.tasks.spawn(work).await {
            Ok(result) => result,
            Err(e) => Err(Error::internal("a write was torn down").caused_by(e)),
        }
    }

    /// Cancelled once the server takes no new connections and calls under way should come to their end. Answers
    /// that have none of their own end with it.
    pub fn draining(&self) -> &CancellationToken {
        &self.inner.draining
    }

    /// Waits until no write is under way. None may be started any more.
    pub async fn finished(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// A new spool file for a load.
    ///
    /// # Errors
    /// [`Reason::StoreUnavailable`] if the folder cannot be written.
    pub fn spool(&self) -> Result<Spool> {
        Spool::create(&self.inner.spool_dir, self.inner.budget.clone(), self.inner.max_load_bytes)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<Slot>>>> {
        // Every change of the map is a single step, so a panic elsewhere left it whole.
        self.inner.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one spelling of a storage that the engine uses for what is in it, so that answers agree.
fn canonical(storage: &str) -> String {
    let sample = graph_root(storage, "x").and_then(|root| Root::parse(&root));
    let found = sample.ok().and_then(|root| root.uri().strip_suffix("/graphs/x.omni").map(str::to_string));
    found.unwrap_or_else(|| storage.to_string())
}

/// Whether an error is about the graph itself and will be the same for the next caller.
fn quarantines(error: &Error) -> bool {
    match error.reason() {
        Reason::InvalidName | Reason::GraphNotFound => false,
        _ => matches!(error.kind(), Kind::FailedPrecondition | Kind::Data | Kind::Invalid | Kind::Unimplemented),
    }
}

/// Callers know graphs by id; where they are stored does not concern who asks for one that is not there.
fn not_found_by_id(error: Error, id: &str) -> Error {
    if error.reason() != Reason::GraphNotFound {
        return error;
    }
    Error::new(Reason::GraphNotFound, format!("there is no graph {id:?} on this server")).with("graph", id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(storage: &str) -> State {
        State::new(&Config::new(storage), EngineOptions::default())
    }

    #[test]
    fn ids_become_addresses_or_are_refused() {
        let state = state("s3://bucket/x/");
        assert_eq!(state.root("social").unwrap(), "s3://bucket/x/graphs/social.omni");
        assert_eq!(state.root("").unwrap_err().reason(), Reason::InvalidArgument);
        for bad in ["..", "a/b", "Social", "%2e", "ü"] {
            assert_eq!(state.root(bad).unwrap_err().reason(), Reason::InvalidName, "{bad}");
        }
    }

    #[test]
    fn only_the_graphs_own_faults_quarantine_it() {
        for (reason, expected) in [
            (Reason::TornInit, true),
            (Reason::StorageStampTooNew, true),
            (Reason::DataCorrupt, true),
            (Reason::GraphNotFound, false),
            (Reason::StoreUnavailable, false),
            (Reason::RecoveryRequired, false),
        ] {
            assert_eq!(quarantines(&Error::new(reason, "x")), expected, "{reason}");
        }
    }

    #[tokio::test]
    async fn a_write_is_finished_although_its_caller_left() {
        let state = state("data");
        let (tell, told) = tokio::sync::oneshot::channel();
        let write = state.finish(async move {
            tokio::task::yield_now().await;
            tell.send(()).map_err(|()| Error::internal("nobody listens"))
        });
        drop(tokio::time::timeout(std::time::Duration::ZERO, write).await);
        told.await.unwrap();
        state.finished().await;
    }

    #[tokio::test]
    async fn a_write_that_breaks_down_is_a_fault() {
        let state = state("data");
        let broken = state.finish(async { panic!("on purpose") as Result<()> }).await;
        assert_eq!(broken.unwrap_err().reason(), Reason::Internal);
    }
}
