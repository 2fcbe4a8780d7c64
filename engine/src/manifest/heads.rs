//! The newest view of every branch in use, kept warm.
//!
//! A warm branch is confirmed with one existence check for the version after the one known. A branch that
//! was deleted ends in a closing version, so the same check discovers that, here and in every other
//! process, and the branch's document is then read again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, RwLock};

use tokio::sync::{Mutex as AsyncMutex, watch};

use super::branches::RefEntry;
use super::lineage::Lineage;
use super::snapshot::{BranchIdentity, Snapshot};
use super::{View, branches, resolve};
use crate::clock::Clock;
use crate::error::{Error, Reason, Result};
use crate::format::ref_json::RefDoc;
use crate::limits;
use crate::model::branch::MAIN;
use crate::store::Store;

/// A branch kept warm.
#[derive(Debug)]
pub struct Line {
    /// Which branch.
    pub identity: BranchIdentity,
    /// Its document; `None` for main.
    pub doc: Option<RefDoc>,
    /// Writers of this process queue here, first come first served.
    pub queue: Arc<AsyncMutex<()>>,
    store: Store,
    clock: Option<Arc<dyn Clock>>,
    view: RwLock<Option<View>>,
    // Tells whoever follows the branch of each newer version known.
    moved: watch::Sender<u64>,
    // When the view was last known to be the newest.
    confirmed: AtomicI64,
    lineage: AsyncMutex<Option<Lineage>>,
}

impl Line {
    fn new(store: Store, identity: BranchIdentity, doc: Option<RefDoc>, clock: Option<Arc<dyn Clock>>) -> Arc<Self> {
        Arc::new(Self {
            identity,
            doc,
            queue: Arc::default(),
            store,
            clock,
            view: RwLock::new(None),
            moved: watch::Sender::new(0),
            confirmed: AtomicI64::new(0),
            lineage: AsyncMutex::new(None),
        })
    }

    /// A branch looked at once, outside the registry.
    pub fn detached(store: Store, identity: BranchIdentity) -> Arc<Self> {
        Self::new(store, identity, None, None)
    }

    fn now(&self) -> i64 {
        self.clock.as_ref().map_or(0, |clock| clock.now_micros())
    }

    /// Whether the known view was confirmed a moment ago. A cleanup keeps versions for longer than that, so the next
    /// version, if there is one, can still be seen.
    fn is_fresh(&self) -> bool {
        let age = self.now().saturating_sub(self.confirmed.load(Ordering::SeqCst));
        u128::try_from(age).is_ok_and(|age| age < (limits::RETENTION_GRACE / 2).as_micros())
    }

    /// Drops the known view: it turned out not to be the newest although nothing follows it.
    pub fn doubt(&self) {
        if let Ok(mut known) = self.view.write() {
            *known = None;
        }
    }

    /// The newest view known. Makes no request: there may be a newer one.
    pub fn known(&self) -> Option<View> {
        self.view.read().ok().and_then(|v| v.clone())
    }

    /// Makes `view` the known one unless a newer one is known.
    pub fn offer(&self, view: &View) {
        if let Ok(mut known) = self.view.write()
            && known.as_ref().is_none_or(|k| k.snapshot.version < view.snapshot.version)
        {
            *known = Some(view.clone());
            self.moved.send_replace(view.snapshot.version);
        }
    }

    /// Changes whenever this process learns of a newer version.
    pub fn moves(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    /// Whether somebody has begun to ask for the newest version after a time, microseconds since the epoch, and got an
    /// answer. If it was newer than what was known, [`Line::moves`] tells.
    pub fn is_confirmed_after(&self, micros: i64) -> bool {
        self.confirmed.load(Ordering::SeqCst) > micros
    }

    /// The newest view.
    ///
    /// # Errors
    /// The store's; [`Reason::GraphNotFound`] or [`Reason::BranchNotFound`] if there is none.
    pub async fn newest(&self) -> Result<View> {
        let now = self.now();
        if let Some(known) = self.known()
            && self.is_fresh()
            && !known.has_successor().await?
        {
            self.confirmed.fetch_max(now, Ordering::SeqCst);
            return Ok(known);
        }
        let view = resolve::newest(&self.store, &self.identity).await?.ok_or_else(|| {
            let (reason, what) = match self.identity.lance_branch {
                None => (Reason::GraphNotFound, format!("there is no graph at {}", self.store.root().uri())),
                Some(_) => (
                    Reason::BranchNotFound,
                    format!(
                        "the lineage of branch {:?} is gone; `branch delete --force` removes its name",
                        self.identity.name
                    ),
                ),
            };
            Error::new(reason, what)
        })?;
        self.offer(&view);
        self.confirmed.fetch_max(now, Ordering::SeqCst);
        Ok(view)
    }

    /// Runs `f` on the lineage up to `view`, reading only what is not in memory yet.
    ///
    /// # Errors
    /// The store's, damage, or a lineage longer than the limit.
    pub async fn with_lineage<T>(&self, view: &View, f: impl FnOnce(&Lineage) -> T) -> Result<T> {
        let mut slot = self.lineage.lock().await;
        let lineage = slot.get_or_insert_with(Lineage::default);
        lineage.extend(view).await?;
        Ok(f(lineage))
    }
}

/// Runs `f` on the lineages of two branches, up to a view of each. Both may be the same branch's.
///
/// # Errors
/// As [`Line::with_lineage`].
pub async fn with_both<T>(
    (left, left_view): (&Line, &View),
    (right, right_view): (&Line, &View),
    f: impl FnOnce(&Lineage, &Lineage) -> T,
) -> Result<T> {
    if std::ptr::eq(left, right) {
        let newer = if left_view.snapshot.version >= right_view.snapshot.version { left_view } else { right_view };
        return left.with_lineage(newer, |lineage| f(lineage, lineage)).await;
    }
    // In one order, so that two callers never wait for each other.
    let is_first = left.identity.branch_id <= right.identity.branch_id;
    let (mut a, mut b);
    if is_first {
        a = left.lineage.lock().await;
        b = right.lineage.lock().await;
    } else {
        b = right.lineage.lock().await;
        a = left.lineage.lock().await;
    }
    let (a, b) = (a.get_or_insert_with(Lineage::default), b.get_or_insert_with(Lineage::default));
    a.extend(left_view).await?;
    b.extend(right_view).await?;
    Ok(f(a, b))
}

/// The branches of one graph.
#[derive(Debug)]
pub struct Heads {
    store: Store,
    clock: Arc<dyn Clock>,
    lines: RwLock<HashMap<String, Arc<Line>>>,
}

impl Heads {
    /// Nothing warm yet.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, lines: RwLock::new(HashMap::new()) }
    }

    fn line(&self, identity: BranchIdentity, doc: Option<RefDoc>) -> Arc<Line> {
        Line::new(self.store.clone(), identity, doc, Some(self.clock.clone()))
    }

    /// A live branch and its newest view.
    ///
    /// # Errors
    /// [`Reason::BranchNotFound`], or the store's.
    pub async fn head(&self, name: &str) -> Result<(Arc<Line>, View)> {
        if let Some(line) = self.cached(name) {
            match line.newest().await {
                Ok(view) if !view.snapshot.is_closed() => return Ok((line, view)),
                // Deleted, perhaps made again: look afresh.
                Ok(_) => self.forget(name),
                Err(e) if e.reason() == Reason::BranchNotFound => self.forget(name),
                Err(e) => return Err(e),
            }
        }
        let line = self.load(name).await?;
        let view = line.newest().await?;
        if view.snapshot.is_closed() {
            return Err(branches::not_found(&self.store, name).await);
        }
        if let Ok(mut lines) = self.lines.write() {
            if lines.len() >= limits::MAX_WARM_BRANCHES {
                lines.retain(|_, line| Arc::strong_count(line) > 1);
            }
            let kept = lines.entry(name.to_string()).or_insert_with(|| line.clone());
            if kept.identity == line.identity {
                return Ok((kept.clone(), view));
            }
            *kept = line.clone();
        }
        Ok((line, view))
    }

    async fn load(&self, name: &str) -> Result<Arc<Line>> {
        if name == MAIN {
            return Ok(self.line(BranchIdentity::main(), None));
        }
        match branches::read(&self.store, name).await? {
            Some(entry) if !entry.doc.deleted => Ok(self.line(entry.identity(), Some(entry.doc))),
            _ => Err(branches::not_found(&self.store, name).await),
        }
    }

    /// Remembers a live branch whose document was just read, so that it need not be read again.
    pub fn take_note(&self, entry: &RefEntry) {
        if let Ok(mut lines) = self.lines.write()
            && lines.get(&entry.name).is_none_or(|line| line.identity != entry.identity())
        {
            lines.insert(entry.name.clone(), self.line(entry.identity(), Some(entry.doc.clone())));
        }
    }

    /// A branch that is warm already, without looking whether it still lives.
    pub fn warm(&self, name: &str) -> Option<Arc<Line>> {
        self.cached(name)
    }

    /// Whether a snapshot is the newest this process knows of its line. Makes no request: another process may have
    /// moved the head since.
    pub fn is_known_head(&self, snapshot: &Snapshot) -> bool {
        let Ok(lines) = self.lines.read() else { return false };
        let newest = lines
            .values()
            .filter(|line| line.identity.lance_branch == snapshot.branch.lance_branch)
            .find_map(|line| line.known());
        newest.is_some_and(|view| view.snapshot.version == snapshot.version)
    }

    fn cached(&self, name: &str) -> Option<Arc<Line>> {
        self.lines.read().ok().and_then(|l| l.get(name).cloned())
    }

    /// Drops what is known of a branch.
    pub fn forget(&self, name: &str) {
        if let Ok(mut lines) = self.lines.write() {
            lines.remove(name);
        }
    }
}
