//! Which states running reads hold, and the leases by which a cleanup learns of it.
//!
//! A read of a branch's head asks nobody: what was a head a moment ago is not removed. Reads are counted in memory,
//! and only if one goes on for longer than [`limits::READ_LEASE_AFTER`] does a document below `_refs/readers` say what
//! this process holds, renewed for as long as that is so. A read of an older state that may take long says so before it
//! begins. A graph that was opened for reading writes nothing, so its reads hold nothing.
//!
//! A cleanup announces which states it removes and then lists the leases; a reader writes its lease first and then asks
//! whether the state is announced or gone ([`retention::keeps`]). So whoever comes second sees the other: either the
//! cleanup sees the lease, or the reader sees that the state goes. What this module writes is never needed for a read
//! to be right, only for it to come to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;

use super::{process, retention};
use crate::clock::Clock;
use crate::error::{Error, Reason, Result};
use crate::format::intent_json::WriterDoc;
use crate::format::paths;
use crate::format::reader_json::{self, HeldState, ProcessDoc, ReaderDoc};
use crate::id::{self, IdSource};
use crate::limits;
use crate::manifest::Snapshot;
use crate::options::EngineOptions;
use crate::store::Store;
use crate::store::object_log::Put;

/// A lease is renewed when this part of it is over, so that one failed renewal does not lose it.
const RENEWALS_PER_LEASE: u32 = 3;

/// What the running reads of one open graph hold. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Readers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    reader: ProcessDoc,
    read_only: bool,
    pace: Pace,
    held: Mutex<Holds>,
    // Whoever writes the document has this.
    lease: AsyncMutex<Option<Lease>>,
}

#[derive(Clone, Copy, Debug)]
struct Pace {
    after: Duration,
    lease: Duration,
}

#[derive(Debug, Default)]
struct Holds {
    next: u64,
    holds: BTreeMap<u64, Hold>,
    keeper: Option<AbortHandle>,
}

#[derive(Debug)]
struct Hold {
    state: HeldState,
    pinned: bool,
}

/// The document as it was last written.
#[derive(Debug)]
struct Lease {
    id: String,
    until: i64,
    covers: BTreeSet<HeldState>,
    // Those seen to be there after the document said that they are held, which it has done since.
    checked: BTreeSet<HeldState>,
    rounds: u32,
}

impl Lease {
    fn covers(&self, state: &HeldState, now: i64) -> bool {
        self.until > now && self.covers.contains(state)
    }

    fn vouches(&self, state: &HeldState, now: i64) -> bool {
        self.until > now && self.checked.contains(state)
    }
}

/// Holds a snapshot until dropped.
#[derive(Debug)]
#[must_use = "dropping it lets the snapshot go"]
pub struct Held(Option<(Arc<Inner>, u64)>);

impl Held {
    /// The stream, holding the snapshot until it is dropped.
    pub fn over<T: 'static>(self, stream: BoxStream<'static, T>) -> BoxStream<'static, T> {
        stream
            .inspect(move |_| {
                let _held = &self;
            })
            .boxed()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((inner, number)) = &self.0 {
            inner.held().holds.remove(number);
        }
    }
}

impl Readers {
    /// Nothing held yet. `reader` is this process.
    pub fn new(store: Store, options: &EngineOptions, reader: &WriterDoc, read_only: bool) -> Self {
        Self::paced(
            store,
            options,
            reader,
            read_only,
            Pace { after: limits::READ_LEASE_AFTER, lease: limits::READ_LEASE },
        )
    }

    fn paced(store: Store, options: &EngineOptions, reader: &WriterDoc, read_only: bool, pace: Pace) -> Self {
        let WriterDoc { id, host, pid, started, .. } = reader.clone();
        Self(Arc::new(Inner {
            store,
            clock: options.clock.clone(),
            ids: options.ids.clone(),
            reader: ProcessDoc { id, host, pid, started },
            read_only,
            pace,
            held: Mutex::default(),
            lease: AsyncMutex::default(),
        }))
    }

    /// Counts a snapshot as in use. Makes no request and never fails: a lease is written in the background if it is
    /// held for longer than [`limits::READ_LEASE_AFTER`], and again if that did not work. For states that are a
    /// branch's head; for others see [`Readers::pin`]. On a read-only graph it holds nothing.
    pub fn hold(&self, snapshot: &Snapshot) -> Held {
        self.take(snapshot, false)
    }

    /// Holds a snapshot that need not be a head any more: the lease stands when this returns, and no cleanup removes
    /// what it shows from then on. A few requests; none for a state that is held this way already, and none
    /// on a read-only graph, where it holds nothing.
    ///
    /// # Errors
    /// [`Reason::CommitNotFound`] if a cleanup removed the state before; the store's.
    pub async fn pin(&self, snapshot: &Snapshot) -> Result<Held> {
        let held = self.take(snapshot, true);
        if held.0.is_some() {
            self.0.ensure_kept(snapshot).await?;
        }
        Ok(held)
    }

    fn take(&self, snapshot: &Snapshot, pinned: bool) -> Held {
        if self.0.read_only {
            return Held(None);
        }
        let mut held = self.0.held();
        let number = held.next;
        held.next += 1;
        held.holds.insert(number, Hold { state: state_of(snapshot), pinned });
        if held.keeper.as_ref().is_none_or(AbortHandle::is_finished)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            held.keeper = Some(runtime.spawn(keep(Arc::downgrade(&self.0))).abort_handle());
        }
        Held(Some((self.0.clone(), number)))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nothing is held any more. A document that still stands runs out.
        if let Some(keeper) = &self.held().keeper {
            keeper.abort();
        }
    }
}

/// Writes and removes the document for as long as something is held.
async fn keep(readers: Weak<Inner>) {
    loop {
        let Some(inner) = readers.upgrade() else { return };
        let mark = inner.mark();
        let pause = inner.clock.pace(inner.pace.after);
        drop(inner);
        pause.await;
        let Some(inner) = readers.upgrade() else { return };
        if inner.round(mark).await {
            return;
        }
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, Holds> {
        // Every change is one insertion or removal, so a panic elsewhere cannot have left it half-way.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is held from now on has a number that is not less.
    fn mark(&self) -> u64 {
        self.held().next
    }

    /// Every state in use, and those among them that were in use at the mark or are pinned.
    fn states(&self, mark: u64) -> (BTreeSet<HeldState>, BTreeSet<HeldState>) {
        let held = self.held();
        let long = held.holds.iter().filter(|(number, hold)| **number < mark || hold.pinned);
        let long = long.map(|(_, hold)| hold.state.clone()).collect();
        (held.holds.values().map(|hold| hold.state.clone()).collect(), long)
    }

    /// One look at what is held, a pause after `mark` was taken. True if nothing is, and nobody will look again.
    async fn round(&self, mark: u64) -> bool {
        let mut lease = self.lease.lock().await;
        let (all, long) = self.states(mark);
        if long.is_empty() {
            if let Some(old) = lease.take()
                && let Err(e) = self.store.log().delete(&paths::reader(&old.id)).await
            {
                tracing::warn!(lease = old.id, error = %e, "a reader's lease could not be removed and will run out");
            }
            return self.stop_if_idle();
        }
        let renew_after =
            self.pace.lease.as_micros() / u128::from(RENEWALS_PER_LEASE) / self.pace.after.as_micros().max(1);
        let stands = lease.as_mut().is_some_and(|lease| {
            lease.rounds += 1;
            u128::from(lease.rounds) < renew_after && long.is_subset(&lease.covers)
        });
        if !stands && let Err(e) = self.publish(&mut lease, all).await {
            tracing::warn!(error = %e, "a reader's lease could not be written");
        }
        false
    }

    fn stop_if_idle(&self) -> bool {
        let mut held = self.held();
        let idle = held.holds.is_empty();
        if idle {
            held.keeper = None;
        }
        idle
    }

    /// Makes sure that a state which is held already stays.
    async fn ensure_kept(&self, snapshot: &Snapshot) -> Result<()> {
        let state = state_of(snapshot);
        {
            let mut lease = self.lease.lock().await;
            let now = self.clock.now_micros();
            if lease.as_ref().is_some_and(|lease| lease.vouches(&state, now)) {
                return Ok(());
            }
            if !lease.as_ref().is_some_and(|lease| lease.covers(&state, now)) {
                let (all, _) = self.states(0);
                self.publish(&mut lease, all).await?;
            }
        }
        // Only now: a cleanup that announces later what it removes finds the lease.
        let line = state.lance_branch.as_deref();
        if !retention::keeps(&self.store, line, state.manifest_version, self.clock.now_micros()).await? {
            return Err(gone(snapshot));
        }
        let mut lease = self.lease.lock().await;
        let now = self.clock.now_micros();
        if let Some(lease) = lease.as_mut().filter(|lease| lease.covers(&state, now)) {
            lease.checked.insert(state);
        }
        Ok(())
    }

    /// Writes that `held` is held, for the length of a lease from now.
    async fn publish(&self, lease: &mut Option<Lease>, held: BTreeSet<HeldState>) -> Result<()> {
        let now = self.clock.now_micros();
        let until = now.saturating_add(micros(self.pace.lease));
        let bytes = reader_json::encode(&ReaderDoc {
            format: ReaderDoc::FORMAT,
            reader: self.reader.clone(),
            lease_until_micros: until,
            held: held.iter().cloned().collect(),
        })?;
        if let Some(lease) = lease.as_mut()
            && self.replace(&paths::reader(&lease.id), bytes.clone()).await?
        {
            if lease.until > now {
                lease.checked.retain(|state| held.contains(state));
            } else {
                lease.checked.clear();
            }
            (lease.until, lease.covers, lease.rounds) = (until, held, 0);
            return Ok(());
        }
        // A name is used once, so that a write which is still on its way cannot bring back what is over.
        let id = id::fresh(self.ids.as_ref(), now);
        match self.store.log().create_if_absent(&paths::reader(&id), bytes).await? {
            Put::Done => {
                *lease = Some(Lease { id, until, covers: held, checked: BTreeSet::new(), rounds: 0 });
                Ok(())
            }
            Put::Refused => Err(Error::internal(format!("a lease of the fresh id {id} exists"))),
        }
    }

    /// False if the document is gone: a cleanup took it for abandoned.
    async fn replace(&self, name: &str, bytes: bytes::Bytes) -> Result<bool> {
        let Some(document) = self.store.log().read(name).await? else {
            return Ok(false);
        };
        Ok(self.store.log().replace_if_match(name, &document, bytes).await? == Put::Done)
    }
}

fn state_of(snapshot: &Snapshot) -> HeldState {
    HeldState {
        lance_branch: snapshot.branch.lance_branch.clone(),
        manifest_version: snapshot.version,
        branch_id: snapshot.branch.branch_id.clone(),
    }
}

/// The error for a state that a cleanup removes or removed.
pub fn gone(snapshot: &Snapshot) -> Error {
    Error::new(
        Reason::CommitNotFound,
        format!("the state at commit {} is not retained any more: a cleanup removed it", snapshot.head()),
    )
    .with("commit_id", snapshot.head())
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// What the live leases of every process hold at `now` (microseconds since the epoch), this one included; each state
/// once. A state is named by its Lance branch and version.
///
/// For a cleanup, which asks after it moved the retention marker ([`retention::bump`]), and once more between the
/// removal of manifest versions and that of what they show. A read of a head has no lease in its first moments: a
/// cleanup also keeps every version that was a head within the last [`limits::RETENTION_GRACE`].
///
/// # Errors
/// [`Reason::DataCorrupt`] or [`Reason::StorageStampTooNew`] naming a document that cannot be read: what it holds is
/// not known, so nothing may be removed. The store's.
pub async fn held_by_others(store: &Store, now: i64) -> Result<Vec<HeldState>> {
    let mut held = BTreeSet::new();
    for (_, lease) in list(store).await? {
        if is_live(&lease, now) {
            held.extend(lease.held);
        }
    }
    Ok(held.into_iter().collect())
}

/// Removes the documents of leases that are over or whose process is gone; says how many. Should one be renewed at
/// the same moment, its reader writes it again within a third of [`limits::READ_LEASE`].
///
/// # Errors
/// As [`held_by_others`].
pub async fn remove_expired(store: &Store, now: i64) -> Result<usize> {
    let mut removed = 0;
    for (file, lease) in list(store).await? {
        if !is_live(&lease, now) {
            store.log().delete(&file).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

async fn list(store: &Store) -> Result<Vec<(String, ReaderDoc)>> {
    let mut leases = Vec::new();
    for id in store.log().list(paths::READERS).await?.iter().filter_map(|file| file.strip_suffix(".json")) {
        let file = paths::reader(id);
        if let Some(document) = store.log().read(&file).await? {
            let lease = reader_json::decode(&file, &document.bytes)?;
            leases.push((file, lease));
        }
    }
    Ok(leases)
}

/// Clocks differ and renewals are late, so a lease counts for as long again after its end. Pure but for the look at
/// the process table.
fn is_live(lease: &ReaderDoc, now: i64) -> bool {
    if lease.lease_until_micros.saturating_add(micros(limits::READ_LEASE)) <= now {
        return false;
    }
    let ProcessDoc { id, host, pid, started } = lease.reader.clone();
    process::look_up(&WriterDoc { id, host, pid, started, lease_until: 0 }) != process::Holder::Gone
}

#[cfg(test)]
mod tests;
