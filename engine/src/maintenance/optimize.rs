//! Compacting the tables of a branch and bringing their indexes up to date, in one commit that changes no content.
//!
//! The work happens while everybody goes on writing. What was made of fragments that nobody touched meanwhile is
//! put in place; the rest waits for the next run. So no writer ever waits longer than for any other commit, and
//! no amount of writing keeps a table from getting better.

pub(super) mod rework;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::progress::{OWN_TABLES, Observer};
use super::recovered;
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::limits;
use crate::manifest::View;
use crate::manifest::snapshot::TablePin;
use crate::model::commit::OPTIMIZE;
use crate::model::{Actor, IndexMethod, TypeRef, WriteOptions, index};
use crate::recovery::{restore, sweep};
use crate::store::lance::commit::Committed;
use crate::txn::commit::Outcome;
use crate::txn::{Action, Core, Effect, Prepared, commit};
use rework::Rework;

/// What was done to one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStats {
    /// `node:<Type>`, `edge:<Type>` or the name of one of the graph's own tables.
    pub table_key: String,
    /// Fragments that were rewritten.
    pub fragments_removed: usize,
    /// Fragments that took their place.
    pub fragments_added: usize,
    /// Whether a new version of the table was made.
    pub committed: bool,
    /// Why it was left alone, if it was.
    pub skipped: Option<Skipped>,
    /// The version that is published; none while the type has no dataset.
    pub manifest_version: Option<u64>,
    /// The newest version of the dataset.
    pub lance_head_version: Option<u64>,
    /// Declared indexes that are not built, with the reason.
    pub pending_indexes: Vec<PendingIndex>,
}

/// Why a table was left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// Versions stand above the published one that omnigraph did not make: `omnigraph repair` is next.
    DriftNeedsRepair,
    /// The branch has not written to it: it shows another branch's versions, which are compacted there.
    Inherited,
    /// Other writers kept changing the rows that were being rewritten.
    Contended,
}

impl Skipped {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DriftNeedsRepair => "DriftNeedsRepair",
            Self::Inherited => "Inherited",
            Self::Contended => "Contended",
        }
    }
}

/// A declared index that is not built, or that does not cover every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingIndex {
    /// Its columns.
    pub columns: Vec<String>,
    /// Its kind.
    pub method: IndexMethod,
    /// Why.
    pub reason: String,
}

/// What an optimize did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptimizeReport {
    /// The branch.
    pub branch: String,
    /// The commit that published it; none if there was nothing to do.
    pub commit: Option<String>,
    /// Every table, by key, then the graph's own.
    pub tables: Vec<TableStats>,
}

/// Compacts every table that `branch` has written. Recovers interrupted operations first. At most
/// `concurrency` tables are rewritten at once. The observer is told of every table in the report, and of the recovery
/// log if there is none, too.
///
/// # Errors
/// [`Reason::BranchNotFound`], [`Reason::RecoveryRequired`] if an interrupted operation of the branch cannot be
/// decided, or the store's.
pub async fn optimize(
    core: &Arc<Core>,
    branch: &str,
    concurrency: usize,
    observer: &Arc<dyn Observer>,
) -> Result<OptimizeReport> {
    core.ensure_writable()?;
    sweep::sweep(core).await?;
    let (_, view) = core.heads.head(branch).await?;
    recovered::ensure_recovered(core, &view, "nothing was optimized").await?;
    let mut action = Optimize::new(core, &view, concurrency.max(1), observer.clone()).await?;
    let options = WriteOptions {
        branch: branch.to_string(),
        message: "compacted tables and updated indexes".to_string(),
        actor: Actor::maintenance(),
        ..WriteOptions::default()
    };
    let committed = match commit::commit(core, &mut action, &options).await? {
        Outcome::Committed(receipt) => Some(receipt.commit.id),
        Outcome::Nothing(_) => None,
    };
    let mut tables = action.conclude(core, branch, committed.is_some()).await?;
    tables.push(manifest_stats(core, branch).await?);
    observer.table_done(paths::MANIFEST);
    observer.table_begun(paths::RECOVERIES);
    tables.extend(compact_log(core).await?);
    observer.table_done(paths::RECOVERIES);
    Ok(OptimizeReport { branch: branch.to_string(), commit: committed, tables })
}

/// The manifest rewrites its own tail with every commit, so there is nothing left to do for it.
async fn manifest_stats(core: &Core, branch: &str) -> Result<TableStats> {
    let version = core.heads.head(branch).await?.1.snapshot.version;
    Ok(TableStats {
        table_key: paths::MANIFEST.to_string(),
        fragments_removed: 0,
        fragments_added: 0,
        committed: false,
        skipped: None,
        manifest_version: Some(version),
        lance_head_version: Some(version),
        pending_indexes: Vec::new(),
    })
}

/// Compacts the recovery log in place: it is always read at its newest version. `None` if there is no log.
async fn compact_log(core: &Core) -> Result<Option<TableStats>> {
    let Some(mut table) = core.store.open_newest(paths::RECOVERIES, None).await? else {
        return Ok(None);
    };
    let mut stats = TableStats {
        table_key: paths::RECOVERIES.to_string(),
        fragments_removed: 0,
        fragments_added: 0,
        committed: false,
        skipped: None,
        manifest_version: None,
        lance_head_version: Some(table.version()),
        pending_indexes: Vec::new(),
    };
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let Some(compacted) = table.compact().await? else {
            return Ok(Some(stats));
        };
        if let Some((_, staged)) = table.stage_compacted(&compacted)
            && let Committed::Landed(next) = table.commit(&core.store, staged).await?
        {
            stats.fragments_removed = compacted.removed();
            stats.fragments_added = compacted.added();
            stats.committed = true;
            stats.lance_head_version = Some(next.version());
            return Ok(Some(stats));
        }
        // Somebody recorded a recovery meanwhile.
        match core.store.open_newest(paths::RECOVERIES, None).await? {
            Some(newest) => table = newest,
            None => return Ok(None),
        }
    }
    stats.skipped = Some(Skipped::Contended);
    Ok(Some(stats))
}

struct Optimize {
    concurrency: usize,
    observer: Arc<dyn Observer>,
    // The types that the observer was told of: it is told once, however often a table is worked on.
    told: BTreeSet<TypeRef>,
    stats: BTreeMap<TypeRef, TableStats>,
    done: BTreeMap<TypeRef, Rewritten>,
    // The types the last preparation has something to commit for.
    effective: BTreeSet<TypeRef>,
}

/// What is ready for a table, what of it fits the version it was last asked for, and how often it was in vain.
#[derive(Default)]
struct Rewritten {
    work: Option<Rework>,
    fragments: (usize, usize),
    rounds: u32,
}

impl Optimize {
    /// Looks at every table once, before anything is written.
    async fn new(core: &Core, view: &View, concurrency: usize, observer: Arc<dyn Observer>) -> Result<Self> {
        observer.tables(view.snapshot.pins().count() + OWN_TABLES);
        let stats = futures::stream::iter(view.snapshot.pins().cloned().collect::<Vec<_>>())
            .map(|pin| async move { Ok::<_, Error>((pin.type_ref.clone(), look_at(core, view, &pin).await?)) })
            .buffer_unordered(concurrency)
            .try_collect()
            .await?;
        let (done, told, effective) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut action = Self { concurrency, observer, told, stats, done, effective };
        let wanted: BTreeSet<TypeRef> = action.wanted(view).into_iter().map(|pin| pin.type_ref).collect();
        action.tell_all_but(&wanted);
        Ok(action)
    }

    /// Says that all tables but these are done, as far as that was not said before.
    fn tell_all_but(&mut self, these: &BTreeSet<TypeRef>) {
        for type_ref in self.stats.keys().filter(|type_ref| !these.contains(*type_ref)) {
            if self.told.insert(type_ref.clone()) {
                self.observer.table_done(&type_ref.to_string());
            }
        }
    }

    /// The pins that are worth a look, given what is known of them.
    fn wanted(&self, view: &View) -> Vec<TablePin> {
        let open = |pin: &&TablePin| {
            pin.owned && pin.at.is_some() && self.stats.get(&pin.type_ref).is_none_or(|s| s.skipped.is_none())
        };
        view.snapshot.pins().filter(open).cloned().collect()
    }

    /// What to commit for one table on top of its newest version.
    async fn rewrite(
        core: &Core,
        view: &View,
        pin: &TablePin,
        mut known: Rewritten,
    ) -> Result<(Rewritten, Option<Effect>)> {
        let Some(at) = &pin.at else { return Ok((known, None)) };
        let base = core.table(at).await?;
        let mut staged = match &known.work {
            Some(work) => work.stage(&base).await?,
            None => None,
        };
        if staged.is_none() {
            // Only work that was in vain counts; a table that has nothing to do may be asked any number of times.
            known.rounds += u32::from(known.work.as_ref().is_some_and(|w| !w.is_empty()));
            if known.rounds > limits::MAX_COMPACTION_ROUNDS {
                return Ok((known, None));
            }
            let work = Box::pin(Rework::make(core, view.snapshot.ty(&pin.type_ref)?, &base)).await?;
            staged = work.stage(&base).await?;
            known.work = Some(work);
        }
        let Some(mut staged) = staged.filter(|s| !s.changes.is_empty()) else { return Ok((known, None)) };
        known.fragments = staged.fragments;
        let first = staged.changes.remove(0);
        let effect = Effect { then: staged.changes, ..Effect::in_place(pin.type_ref.clone(), base, first) };
        Ok((known, Some(effect)))
    }

    /// The statistics, with the versions that stand now.
    async fn conclude(mut self, core: &Arc<Core>, branch: &str, committed: bool) -> Result<Vec<TableStats>> {
        self.tell_all_but(&BTreeSet::new());
        let view = core.heads.head(branch).await?.1;
        let mut out = Vec::with_capacity(self.stats.len());
        for (type_ref, mut stats) in self.stats {
            if let Some(done) = self.done.get(&type_ref)
                && let Some(work) = &done.work
            {
                stats.pending_indexes = work.pending.clone();
                if committed && stats.skipped.is_none() && self.effective.contains(&type_ref) {
                    (stats.fragments_removed, stats.fragments_added) = done.fragments;
                    stats.committed = true;
                    stats.manifest_version =
                        view.snapshot.pin(&type_ref).ok().and_then(|p| p.at.as_ref()).map(|at| at.version);
                    stats.lance_head_version = stats.lance_head_version.max(stats.manifest_version);
                }
            }
            out.push(stats);
        }
        Ok(out)
    }
}

#[async_trait]
impl Action for Optimize {
    fn label(&self) -> &'static str {
        OPTIMIZE
    }

    fn queues_first(&self) -> bool {
        false
    }

    fn actor(&self) -> Option<Actor> {
        Some(Actor::maintenance())
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let _held = core.readers.hold(&view.snapshot);
        let mut work = Vec::new();
        for pin in self.wanted(view) {
            let known = self.done.remove(&pin.type_ref).unwrap_or_default();
            let observer = self.told.insert(pin.type_ref.clone()).then(|| self.observer.clone());
            work.push((pin, known, observer));
        }
        let rewrite = async |(pin, known, observer): (TablePin, Rewritten, Option<Arc<dyn Observer>>)| {
            let key = pin.type_ref.to_string();
            if let Some(observer) = &observer {
                observer.table_begun(&key);
            }
            let (known, effect) = Self::rewrite(core, view, &pin, known).await?;
            if let Some(observer) = &observer {
                observer.table_done(&key);
            }
            Ok::<_, Error>((pin.type_ref, known, effect))
        };
        // Boxed one by one: a closure in the stream would have to be good for any lifetime.
        let work: Vec<_> = work.into_iter().map(|one| rewrite(one).boxed()).collect();
        let rewritten: Vec<(TypeRef, Rewritten, Option<Effect>)> =
            futures::stream::iter(work).buffer_unordered(self.concurrency).try_collect().await?;
        let mut prepared = Prepared::default();
        self.effective.clear();
        for (type_ref, known, effect) in rewritten {
            if known.rounds > limits::MAX_COMPACTION_ROUNDS {
                if let Some(stats) = self.stats.get_mut(&type_ref) {
                    stats.skipped = Some(Skipped::Contended);
                }
                continue;
            }
            if effect.is_some() {
                self.effective.insert(type_ref.clone());
            }
            self.done.insert(type_ref, known);
            prepared.effects.extend(effect);
        }
        Ok((!prepared.effects.is_empty()).then_some(prepared))
    }
}

/// What is known of a table before anything is done to it.
async fn look_at(core: &Core, view: &View, pin: &TablePin) -> Result<TableStats> {
    let declared = index::wanted(view.snapshot.ty(&pin.type_ref)?);
    let mut stats = TableStats {
        table_key: pin.type_ref.to_string(),
        fragments_removed: 0,
        fragments_added: 0,
        committed: false,
        skipped: None,
        manifest_version: pin.at.as_ref().map(|at| at.version),
        lance_head_version: pin.at.as_ref().map(|at| at.version),
        // For a table without a dataset; otherwise the work on it finds out.
        pending_indexes: match &pin.at {
            None => declared.into_iter().map(|w| rework::pending(&w, rework::NO_ROWS)).collect(),
            Some(_) => Vec::new(),
        },
    };
    let Some(at) = &pin.at else { return Ok(stats) };
    if !pin.owned {
        stats.skipped = Some(Skipped::Inherited);
        return Ok(stats);
    }
    let Some(newest) = core.store.open_newest(&at.location, at.branch.as_deref()).await? else {
        return Ok(stats);
    };
    stats.lance_head_version = Some(newest.version());
    if newest.version() > at.version {
        match restore::ensure_abandoned(core, &pin.type_ref, at, &newest).await {
            // A writer at work, or what an interrupted one left: the commit settles it.
            Ok(()) => {}
            Err(e) if e.reason() == Reason::Drift => stats.skipped = Some(Skipped::DriftNeedsRepair),
            Err(e) => return Err(e),
        }
    }
    Ok(stats)
}
