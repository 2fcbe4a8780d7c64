//! A graph as it was left once, put back as often as wanted, and a time that only tests move.
//!
//! The store dates its objects by the machine's clock and knows nothing of this. So its dates are corrected on their
//! way: what was put back is as old as it was, and what is written after that is as young as the test's time says.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use omnigraph_engine::clock::{Clock, SystemClock};
use omnigraph_engine::failpoint::{Dates, FaultPlan};
use omnigraph_engine::model::{CommitInfo, ReadSelector};
use omnigraph_engine::{Access, Engine, EngineOptions, Error, Graph, Reason};
use omnigraph_tests::{content, memory_root};

/// A time that passes only when somebody waits for it or a test says so. Nothing happens in the background.
#[derive(Debug)]
pub(crate) struct Sandglass(AtomicI64);

impl Sandglass {
    pub(crate) fn at(micros: i64) -> Arc<Self> {
        Arc::new(Self(micros.into()))
    }

    pub(crate) fn later(&self, duration: Duration) {
        self.0.fetch_add(micros(duration), Ordering::SeqCst);
    }

    /// It is no earlier than this any more.
    pub(crate) fn reach(&self, micros: i64) {
        self.0.fetch_max(micros, Ordering::SeqCst);
    }
}

impl Clock for Sandglass {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.later(duration);
        tokio::task::yield_now().boxed()
    }

    fn pace(&self, _: Duration) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap()
}

/// When objects were stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dated {
    old: Arc<HashMap<String, i64>>,
    put_back: i64,
    ahead: i64,
}

impl Dates for Dated {
    fn stored_at(&self, path: &str, micros: i64) -> i64 {
        match self.old.get(path) {
            Some(then) if micros <= self.put_back => *then,
            _ => micros + self.ahead,
        }
    }
}

/// A graph that is there again, some time after it was left.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) root: String,
    pub(crate) clock: Arc<Sandglass>,
    pub(crate) dates: Dated,
}

impl Place {
    /// A graph that is made now, by the machine's time.
    pub(crate) fn new(name: &str) -> Self {
        let clock = Sandglass::at(SystemClock.now_micros());
        Self { root: memory_root(name), clock, dates: Dated::default() }
    }

    /// An engine that goes by the time here.
    pub(crate) fn engine(&self) -> Engine {
        self.by(&FaultPlan::counting(), EngineOptions::default().claim_lease)
    }

    /// The same, by this plan. Nobody honours its claims, since nobody can see that it died.
    pub(crate) fn doomed(&self, plan: &Arc<FaultPlan>) -> Engine {
        self.by(plan, Duration::ZERO)
    }

    fn by(&self, plan: &Arc<FaultPlan>, claim_lease: Duration) -> Engine {
        plan.date(Arc::new(self.dates.clone()));
        let (clock, faults) = (self.clock.clone(), Some(plan.clone()));
        Engine::new(EngineOptions { clock, faults, claim_lease, ..EngineOptions::default() })
    }

    /// Opens it as a process of its own.
    pub(crate) async fn open(&self) -> Graph {
        self.engine().open(&self.root, Access::ReadWrite).await.unwrap()
    }

    /// As [`Place::open`]. Tells how many mutating calls that took, which is what there was to recover.
    pub(crate) async fn recover(&self) -> (Graph, u64) {
        let plan = FaultPlan::counting();
        let graph = self.by(&plan, EngineOptions::default().claim_lease).open(&self.root, Access::ReadWrite).await;
        let made = plan.requests();
        (graph.unwrap(), made.puts + made.deletes)
    }

    /// Opens the graph with a process that dies at its `at`-th mutating call and does the work with it until then. The
    /// call itself never lands: had it, nobody could tell that from a death at the next one. Tells whether it died.
    pub(crate) async fn dying(&self, at: u64, work: impl AsyncFnOnce(Graph)) -> bool {
        let plan = FaultPlan::counting();
        let victim = self.doomed(&plan).open(&self.root, Access::ReadWrite).await.unwrap();
        plan.die_at(at, false);
        tokio::select! {
            () = work(victim) => {}
            () = plan.death() => {}
        }
        let died = plan.fired();
        plan.die();
        died
    }

    /// Opens it with a process that dies at its `at`-th mutating call, which it makes to recover what another left.
    /// Tells whether it died.
    pub(crate) async fn recover_dying(&self, at: u64) -> bool {
        let plan = FaultPlan::counting();
        plan.die_at(at, false);
        let engine = self.doomed(&plan);
        tokio::select! {
            opened = engine.open(&self.root, Access::ReadWrite) => {
                assert!(opened.is_ok() || plan.fired(), "{opened:?}");
            }
            () = plan.death() => {}
        }
        let died = plan.fired();
        plan.die();
        died
    }
}

/// The objects of a graph and what its commits show.
#[derive(Clone)]
pub(crate) struct Stock {
    pub(crate) root: String,
    /// Commits of live branches, oldest first, with their lines.
    pub(crate) history: Vec<(CommitInfo, Vec<String>)>,
    /// The heads of live branches.
    pub(crate) heads: BTreeMap<String, String>,
    store: Arc<dyn ObjectStore>,
    objects: Vec<(Path, Bytes)>,
    stored_at: Arc<HashMap<String, i64>>,
}

impl Stock {
    /// Remembers the graph at a root as it is. Nobody may use it any more.
    pub(crate) async fn of(root: &str) -> Self {
        let (store, _) = lance::io::ObjectStore::from_uri(root).await.unwrap();
        let store = store.inner.clone();
        let reader = reader(root).await;
        let (mut history, mut heads) = (BTreeMap::new(), BTreeMap::new());
        for branch in reader.branches().await.unwrap() {
            heads.insert(branch.name.clone(), branch.head);
            for commit in reader.commits(&branch.name, None, 1_000).await.unwrap() {
                let lines = shown(&reader, &commit).await.unwrap();
                history.insert(commit.id.clone(), (commit, lines));
            }
        }
        let (mut objects, mut stored_at) = (Vec::new(), HashMap::new());
        for path in paths(store.as_ref()).await {
            let found = store.get(&path).await.unwrap();
            stored_at.insert(path.to_string(), found.meta.last_modified.timestamp_micros());
            objects.push((path, found.bytes().await.unwrap()));
        }
        let (root, stored_at) = (root.to_string(), Arc::new(stored_at));
        Self { root, history: history.into_values().collect(), heads, store, objects, stored_at }
    }

    /// The same graph at a root of its own.
    pub(crate) async fn twin(&self, name: &str) -> Self {
        let root = memory_root(name);
        let (store, _) = lance::io::ObjectStore::from_uri(&root).await.unwrap();
        Self { root, store: store.inner.clone(), ..self.clone() }
    }

    /// Adds an object like one that is there. Returns its path.
    pub(crate) fn forge(&mut self, like: impl Fn(&str) -> bool, name: &str) -> String {
        let (path, bytes) = self.objects.iter().find(|(path, _)| like(path.as_ref())).unwrap().clone();
        let folder = path.as_ref().rsplit_once('/').unwrap().0;
        let forged = Path::from(format!("{folder}/{name}"));
        let mut stored_at = HashMap::clone(&self.stored_at);
        stored_at.insert(forged.to_string(), stored_at[path.as_ref()]);
        self.stored_at = Arc::new(stored_at);
        self.objects.push((forged.clone(), bytes));
        forged.to_string()
    }

    /// Makes everything as it was, so long ago.
    pub(crate) async fn put_back(&self, ago: Duration) -> Place {
        for path in paths(self.store.as_ref()).await {
            self.store.delete(&path).await.unwrap();
        }
        for (path, bytes) in &self.objects {
            self.store.put(path, bytes.clone().into()).await.unwrap();
        }
        let (put_back, ahead) = (SystemClock.now_micros(), micros(ago));
        let dates = Dated { old: self.stored_at.clone(), put_back, ahead };
        Place { root: self.root.clone(), clock: Sandglass::at(put_back + ahead), dates }
    }

    /// How many objects each folder holds, those left out whose path `but` names.
    pub(crate) async fn folders(&self, but: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
        let mut folders = BTreeMap::new();
        for path in paths(self.store.as_ref()).await.iter().filter(|path| !but(path.as_ref())) {
            let folder = path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
            *folders.entry(folder.to_string()).or_default() += 1;
        }
        folders
    }

    /// Which commits can still be read, by position. Those must show what they showed, and the others say that they
    /// are gone.
    pub(crate) async fn readable(&self) -> Result<Vec<usize>, String> {
        let reader = reader(&self.root).await;
        let mut readable = Vec::new();
        for (position, (commit, lines)) in self.history.iter().enumerate() {
            match shown(&reader, commit).await {
                Ok(found) if found == *lines => readable.push(position),
                Ok(found) => return Err(format!("commit {position} shows {found:#?} instead of {lines:#?}")),
                Err(e) if e.reason() == Reason::CommitNotFound => {}
                Err(e) => return Err(format!("commit {position}: {e} ({})", e.reason())),
            }
        }
        Ok(readable)
    }

    /// The lines of a branch's head, as it was.
    pub(crate) fn lines(&self, branch: &str) -> &[String] {
        let head = &self.heads[branch];
        self.history.iter().find(|(commit, _)| commit.id == *head).map(|(_, lines)| lines.as_slice()).unwrap()
    }
}

async fn paths(store: &dyn ObjectStore) -> Vec<Path> {
    store.list(None).map_ok(|object| object.location).try_collect().await.unwrap()
}

/// A process that only looks: no cleanup heeds it.
async fn reader(root: &str) -> Graph {
    omnigraph_tests::engine().open(root, Access::ReadOnly).await.unwrap()
}

async fn shown(graph: &Graph, commit: &CommitInfo) -> Result<Vec<String>, Error> {
    content(graph, &ReadSelector::Commit(commit.id.clone())).await
}

/// Removes the objects of a graph that are named, as a store does that loses them.
pub(crate) async fn lose(root: &str, which: impl Fn(&str) -> bool) {
    let (store, _) = lance::io::ObjectStore::from_uri(root).await.unwrap();
    for path in paths(store.inner.as_ref()).await.iter().filter(|path| which(path.as_ref())) {
        store.inner.delete(path).await.unwrap();
    }
}
