//! Compacting the tables of a branch, in one commit that changes no content.
//!
//! The rewriting happens while everybody goes on writing. What was rewritten stays right when rows are added
//! meanwhile, so only a table whose rewritten rows were deleted or changed has to be rewritten again, and no
//! writer ever waits longer than for any other commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};

use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::limits;
use crate::manifest::View;
use crate::manifest::snapshot::TablePin;
use crate::model::commit::OPTIMIZE;
use crate::model::{Actor, TypeRef, WriteOptions};
use crate::recovery::{restore, sweep};
use crate::store::lance::commit::Committed;
use crate::store::lance::compact::Compacted;
use crate::txn::commit::Outcome;
use crate::txn::{Action, Core, Effect, Prepared, commit};

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

/// A declared index that is not built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingIndex {
    /// Its columns.
    pub columns: Vec<String>,
    /// Why it is not built.
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
/// `concurrency` tables are rewritten at once.
///
/// # Errors
/// [`Reason::BranchNotFound`], [`Reason::RecoveryRequired`] if an interrupted operation of the branch cannot be
/// decided, or the store's.
pub async fn optimize(core: &Arc<Core>, branch: &str, concurrency: usize) -> Result<OptimizeReport> {
    core.ensure_writable()?;
    sweep::sweep(core).await?;
    let (_, view) = core.heads.head(branch).await?;
    ensure_recovered(core, &view).await?;
    let mut action = Optimize::new(core, &view, concurrency.max(1)).await?;
    let options = WriteOptions {
        branch: branch.to_string(),
        message: "compacted tables".to_string(),
        actor: Actor::maintenance(),
        ..WriteOptions::default()
    };
    let committed = match commit::commit(core, &mut action, &options).await? {
        Outcome::Committed(receipt) => Some(receipt.commit.id),
        Outcome::Nothing(_) => None,
    };
    let mut tables = action.conclude(core, branch, committed.is_some()).await?;
    tables.extend(compact_log(core).await?);
    Ok(OptimizeReport { branch: branch.to_string(), commit: committed, tables })
}

/// Refuses while an operation of the branch is undecided that nobody is carrying out.
async fn ensure_recovered(core: &Arc<Core>, view: &View) -> Result<()> {
    for claim in core.intents.list().await? {
        let intent = match core.intents.read(&claim).await {
            Ok(Some(intent)) => intent,
            Ok(None) => continue,
            // Whose it is, nobody knows; the commit meets it if it is ours.
            Err(e) if e.reason() == Reason::DataCorrupt => continue,
            Err(e) => return Err(e),
        };
        if intent.branch.branch_id == view.snapshot.branch.branch_id && sweep::may_recover(core, &intent) {
            return Err(Error::new(
                Reason::RecoveryRequired,
                format!(
                    "operation {} on branch {:?} is interrupted and could not be decided; nothing was optimized, try \
                     again",
                    intent.operation_id, intent.branch.name
                ),
            )
            .with("operation_id", &intent.operation_id)
            .with("commit_id", &intent.commit)
            .with("branch", &intent.branch.name));
        }
    }
    Ok(())
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
        if let Some(staged) = table.stage_compacted(&compacted)
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
    stats: BTreeMap<TypeRef, TableStats>,
    done: BTreeMap<TypeRef, Rewritten>,
}

/// What is ready for a table, and how often it had to be made again.
#[derive(Default)]
struct Rewritten {
    compacted: Option<Compacted>,
    rounds: u32,
}

impl Optimize {
    /// Looks at every table once, before anything is written.
    async fn new(core: &Core, view: &View, concurrency: usize) -> Result<Self> {
        let stats = futures::stream::iter(view.snapshot.pins().cloned().collect::<Vec<_>>())
            .map(|pin| async move { Ok::<_, Error>((pin.type_ref.clone(), look_at(core, view, &pin).await?)) })
            .buffer_unordered(concurrency)
            .try_collect()
            .await?;
        Ok(Self { concurrency, stats, done: BTreeMap::new() })
    }

    /// The pins that are worth a look, given what is known of them.
    fn wanted(&self, view: &View) -> Vec<TablePin> {
        let open = |pin: &&TablePin| {
            pin.owned && pin.at.is_some() && self.stats.get(&pin.type_ref).is_none_or(|s| s.skipped.is_none())
        };
        view.snapshot.pins().filter(open).cloned().collect()
    }

    /// What to commit for one table on top of its newest version.
    async fn rewrite(core: &Core, pin: &TablePin, mut known: Rewritten) -> Result<(Rewritten, Option<Effect>)> {
        let Some(at) = &pin.at else { return Ok((known, None)) };
        let base = core.table(at).await?;
        let fits = known.compacted.as_ref().and_then(|c| base.stage_compacted(c));
        let staged = match fits {
            Some(staged) => Some(staged),
            None => {
                // Only work that was in vain counts; a table that has nothing to rewrite may be asked any number of times.
                known.rounds += u32::from(known.compacted.is_some());
                if known.rounds > limits::MAX_COMPACTION_ROUNDS {
                    return Ok((known, None));
                }
                known.compacted = base.compact().await?;
                known.compacted.as_ref().and_then(|c| base.stage_compacted(c))
            }
        };
        Ok((known, staged.map(|staged| Effect::in_place(pin.type_ref.clone(), base, staged))))
    }

    /// The statistics, with the versions that stand now.
    async fn conclude(self, core: &Arc<Core>, branch: &str, committed: bool) -> Result<Vec<TableStats>> {
        let view = core.heads.head(branch).await?.1;
        let mut out = Vec::with_capacity(self.stats.len());
        for (type_ref, mut stats) in self.stats {
            if let Some(compacted) = self.done.get(&type_ref).and_then(|d| d.compacted.as_ref())
                && committed
                && stats.skipped.is_none()
            {
                stats.fragments_removed = compacted.removed();
                stats.fragments_added = compacted.added();
                stats.committed = true;
                stats.manifest_version =
                    view.snapshot.pin(&type_ref).ok().and_then(|p| p.at.as_ref()).map(|at| at.version);
                stats.lance_head_version = stats.lance_head_version.max(stats.manifest_version);
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

    async fn prepare(&mut self, core: &Core, view: &View) -> Result<Option<Prepared>> {
        let mut work = Vec::new();
        for pin in self.wanted(view) {
            let known = self.done.remove(&pin.type_ref).unwrap_or_default();
            work.push((pin, known));
        }
        let rewritten: Vec<(TypeRef, Rewritten, Option<Effect>)> = futures::stream::iter(work)
            .map(|(pin, known)| async move {
                let (known, effect) = Self::rewrite(core, &pin, known).await?;
                Ok::<_, Error>((pin.type_ref, known, effect))
            })
            .buffer_unordered(self.concurrency)
            .try_collect()
            .await?;
        let mut prepared = Prepared::default();
        for (type_ref, known, effect) in rewritten {
            if known.rounds > limits::MAX_COMPACTION_ROUNDS {
                if let Some(stats) = self.stats.get_mut(&type_ref) {
                    stats.skipped = Some(Skipped::Contended);
                }
                continue;
            }
            self.done.insert(type_ref, known);
            prepared.effects.extend(effect);
        }
        Ok((!prepared.effects.is_empty()).then_some(prepared))
    }
}

/// What is known of a table before anything is done to it.
async fn look_at(core: &Core, view: &View, pin: &TablePin) -> Result<TableStats> {
    let declared = view.snapshot.ty(&pin.type_ref)?.indexes.clone();
    let mut stats = TableStats {
        table_key: pin.type_ref.to_string(),
        fragments_removed: 0,
        fragments_added: 0,
        committed: false,
        skipped: None,
        manifest_version: pin.at.as_ref().map(|at| at.version),
        lance_head_version: pin.at.as_ref().map(|at| at.version),
        pending_indexes: declared
            .into_iter()
            .map(|columns| PendingIndex { columns, reason: "this release builds no indexes".to_string() })
            .collect(),
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
