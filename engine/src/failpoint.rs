//! Counts every request to the store and fails chosen ones. Owned by one engine, so tests run in
//! parallel; never consulted in production, where no plan is installed.
//!
//! A plan can model a process that dies at the k-th mutating call: that call and all later ones fail,
//! reads included. The call itself either never reaches the store or lands and loses its reply. It knows
//! nothing of the store; the store's wrapper asks it about every call.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use futures::future::BoxFuture;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Get,
    Put,
    List,
    Delete,
}

/// A call must fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dead;

/// Requests so far, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads of objects or ranges, existence checks included.
    pub gets: u64,
    /// Writes of objects, parts included.
    pub puts: u64,
    /// Listings.
    pub lists: u64,
    /// Deletions.
    pub deletes: u64,
    /// Bytes read.
    pub bytes_got: u64,
    /// Bytes written.
    pub bytes_put: u64,
    /// Bytes written below `__manifest`.
    pub manifest_bytes_put: u64,
}

impl Requests {
    /// All requests.
    pub fn total(&self) -> u64 {
        self.gets + self.puts + self.lists + self.deletes
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            gets: self.gets - earlier.gets,
            puts: self.puts - earlier.puts,
            lists: self.lists - earlier.lists,
            deletes: self.deletes - earlier.deletes,
            bytes_got: self.bytes_got - earlier.bytes_got,
            bytes_put: self.bytes_put - earlier.bytes_put,
            manifest_bytes_put: self.manifest_bytes_put - earlier.manifest_bytes_put,
        }
    }
}

/// Whether a call of this verb changes nothing.
pub fn is_look(verb: &str) -> bool {
    matches!(verb, "GET" | "GET-RANGES" | "HEAD" | "LIST" | "LISTDIR")
}

/// Holds calls back until a test lets them go on, so that it decides the order in which several processes
/// change the store and look at it.
pub trait Gate: Debug + Send + Sync {
    /// Returns when the call may go on. The plan decides after that whether it fails. Asked about every call;
    /// [`is_look`] tells by its verb whether it only reads.
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()>;
}

/// Dates the objects of a store whose own clock is not the test's.
pub trait Dates: Debug + Send + Sync {
    /// When an object was stored, in microseconds since the epoch, given what the store says.
    fn stored_at(&self, path: &str, micros: i64) -> i64;
}

/// The counters and the planned failure of one engine's stores.
#[derive(Debug, Default)]
pub struct FaultPlan {
    gets: AtomicU64,
    puts: AtomicU64,
    lists: AtomicU64,
    deletes: AtomicU64,
    bytes_got: AtomicU64,
    bytes_put: AtomicU64,
    manifest_bytes_put: AtomicU64,
    // Mutating calls left before the failure; negative means none is planned.
    fuse: AtomicI64,
    lands: AtomicBool,
    once: AtomicBool,
    dead: AtomicBool,
    armed: AtomicBool,
    gone: AtomicBool,
    died: tokio::sync::Notify,
    trace: std::sync::Mutex<Option<Vec<String>>>,
    gate: std::sync::Mutex<Option<Arc<dyn Gate>>>,
    dates: std::sync::OnceLock<Arc<dyn Dates>>,
}

impl FaultPlan {
    /// Counts only.
    pub fn counting() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Dies at the `k`-th mutating call from now, counted from zero. With `lands` the call takes effect
    /// and its reply is lost.
    pub fn die_at(&self, k: u64, lands: bool) {
        self.fuse.store(i64::try_from(k).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.lands.store(lands, Ordering::SeqCst);
        self.once.store(false, Ordering::SeqCst);
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Fails the `k`-th mutating call from now and none after it.
    pub fn fail_once_at(&self, k: u64, lands: bool) {
        self.die_at(k, lands);
        self.once.store(true, Ordering::SeqCst);
    }

    /// Takes a planned failure back, unless it has happened.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }

    /// Whether the planned failure has happened.
    pub fn fired(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Returns once the planned failure has happened and its call, if it was to land, has landed. What the
    /// process does after that reaches no store, so nobody has to wait for it.
    pub async fn death(&self) {
        loop {
            let died = self.died.notified();
            if self.gone.load(Ordering::SeqCst) {
                return;
            }
            died.await;
        }
    }

    /// The planned call is over: it landed and its reply is lost, or it never reached the store.
    pub(crate) fn lost(&self) -> Dead {
        self.gone.store(true, Ordering::SeqCst);
        self.died.notify_waiters();
        Dead
    }

    /// Fails every call from now on.
    pub fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Requests so far.
    pub fn requests(&self) -> Requests {
        Requests {
            gets: self.gets.load(Ordering::SeqCst),
            puts: self.puts.load(Ordering::SeqCst),
            lists: self.lists.load(Ordering::SeqCst),
            deletes: self.deletes.load(Ordering::SeqCst),
            bytes_got: self.bytes_got.load(Ordering::SeqCst),
            bytes_put: self.bytes_put.load(Ordering::SeqCst),
            manifest_bytes_put: self.manifest_bytes_put.load(Ordering::SeqCst),
        }
    }

    /// Lets every call wait at `gate` from now on, or at none.
    pub fn set_gate(&self, gate: Option<Arc<dyn Gate>>) {
        if let Ok(mut slot) = self.gate.lock() {
            *slot = gate;
        }
    }

    /// Lets objects have these dates. Only the first call counts: an object is never dated twice.
    pub fn date(&self, dates: Arc<dyn Dates>) {
        let _ = self.dates.set(dates);
    }

    /// When an object was stored, if that is not for the store to say.
    pub(crate) fn stored_at(&self, path: &str, micros: i64) -> Option<i64> {
        self.dates.get().map(|dates| dates.stored_at(path, micros))
    }

    /// Starts recording one line per request.
    pub fn start_trace(&self) {
        if let Ok(mut trace) = self.trace.lock() {
            *trace = Some(Vec::new());
        }
    }

    /// The lines recorded since [`FaultPlan::start_trace`].
    pub fn take_trace(&self) -> Vec<String> {
        self.trace.lock().ok().and_then(|mut t| t.take()).unwrap_or_default()
    }

    fn note(&self, verb: &str, path: &str) {
        if let Ok(mut trace) = self.trace.lock()
            && let Some(lines) = trace.as_mut()
        {
            lines.push(format!("{verb} {path}"));
        }
    }

    /// Decides one reading call.
    ///
    /// # Errors
    /// The call must fail.
    pub(crate) fn read(&self, kind: Call, verb: &str, path: &str) -> Result<(), Dead> {
        self.counter(kind).fetch_add(1, Ordering::SeqCst);
        self.note(verb, path);
        if self.dead.load(Ordering::SeqCst) && !self.once.load(Ordering::SeqCst) {
            return Err(Dead);
        }
        Ok(())
    }

    fn counter(&self, kind: Call) -> &AtomicU64 {
        match kind {
            Call::Get => &self.gets,
            Call::Put => &self.puts,
            Call::List => &self.lists,
            Call::Delete => &self.deletes,
        }
    }

    /// Waits until a call may go on.
    pub(crate) async fn wait(&self, verb: &str, path: &str) {
        let gate = self.gate.lock().ok().and_then(|g| g.clone());
        if let Some(gate) = gate {
            gate.pass(verb, path).await;
        }
    }

    /// Decides one mutating call: `Ok(true)` means it must land and then fail.
    ///
    /// # Errors
    /// The call must fail without reaching the store.
    pub(crate) fn mutate(&self, kind: Call, verb: &str, path: &str) -> Result<bool, Dead> {
        self.counter(kind).fetch_add(1, Ordering::SeqCst);
        self.note(verb, path);
        if self.dead.load(Ordering::SeqCst) {
            return if self.once.load(Ordering::SeqCst) { Ok(false) } else { Err(Dead) };
        }
        if self.armed.load(Ordering::SeqCst) && self.fuse.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.dead.store(true, Ordering::SeqCst);
            return if self.lands.load(Ordering::SeqCst) { Ok(true) } else { Err(self.lost()) };
        }
        Ok(false)
    }

    pub(crate) fn got(&self, bytes: u64) {
        self.bytes_got.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(crate) fn wrote(&self, path: &str, bytes: usize) {
        self.bytes_put.fetch_add(bytes as u64, Ordering::SeqCst);
        if path.contains("__manifest") {
            self.manifest_bytes_put.fetch_add(bytes as u64, Ordering::SeqCst);
        }
    }
}
