//! Removing what nobody needs any more: states of the graph that the policy lets go, the table versions that only they
//! show, and what deleted branches and abandoned writes left behind. Destructive; makes no commit.
//!
//! What goes is an exact set, computed from what existed at one look ([`crate::maintenance::retention`] decides), so
//! whatever is newer is never touched and writers go on. A look is taken before the retention marker is moved and again
//! a while after it, when every read that was running then has said what it holds; only what goes by both is removed.
//! Versions of the manifest go before the table versions that they show, so whatever can still be named can be read,
//! at every moment and after every crash, and another run finishes the work.

mod guard;
mod log;
mod look;
mod orphans;
mod pins;
mod plan;
mod rows;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::progress::Observer;
use super::retention::Policy;
use crate::error::{Error, Reason, Result};
use crate::intent::retention as marker;
use crate::limits;
use crate::txn::Core;

use look::Looker;

/// What to remove and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupOptions {
    /// The newest commits of every live branch that stay, inherited ones included.
    pub keep: Option<u64>,
    /// The age a commit must have to go. With `keep` set too, a commit goes only if both let it.
    pub older_than: Option<Duration>,
    /// Whether to remove anything. Without it, the report says what would be removed.
    pub confirm: bool,
    /// Tables worked on at once.
    pub concurrency: usize,
}

impl Default for CleanupOptions {
    fn default() -> Self {
        Self { keep: None, older_than: None, confirm: false, concurrency: limits::MAINTENANCE_CONCURRENCY }
    }
}

impl CleanupOptions {
    fn policy(&self) -> Result<Policy> {
        if self.keep.is_none() && self.older_than.is_none() {
            return Err(Error::new(
                Reason::InvalidArgument,
                "a cleanup needs a policy: how many commits to keep, or how old a commit must be to go, or both",
            ));
        }
        if self.keep == Some(0) {
            return Err(Error::new(
                Reason::InvalidArgument,
                "a cleanup keeps at least one commit of every branch; keep 1 or more",
            ));
        }
        Ok(Policy { keep: self.keep, older_than: self.older_than })
    }
}

/// What a cleanup did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// Whether nothing was removed because it was not confirmed. Bytes are estimates then: what several removals free
    /// only together is not counted.
    pub preview: bool,
    /// The live branches looked at, main first, then by name.
    pub branches: Vec<BranchStats>,
    /// Commits of live branches that can still be read, each counted once.
    pub commits_kept: u64,
    /// Commits of live branches that could be read before and cannot any more, each counted once. They stay in the
    /// history.
    pub commits_removed: u64,
    /// Every table, by key, then the graph's own.
    pub tables: Vec<TableStats>,
    /// What was reclaimed beside versions.
    pub reclaimed: Vec<Reclaimed>,
}

impl CleanupReport {
    /// How many entries carry an error.
    pub fn errors(&self) -> usize {
        let tables = self.tables.iter().filter(|t| t.error.is_some()).count();
        tables + self.reclaimed.iter().filter(|r| r.error.is_some()).count()
    }
}

/// What became of one live branch's commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchStats {
    /// The branch.
    pub branch: String,
    /// Commits of its lineage that can be read.
    pub commits_kept: u64,
    /// Commits of its lineage that go now.
    pub commits_removed: u64,
    /// The oldest commit of its lineage that can be read.
    pub oldest_kept: Option<String>,
}

/// What was removed of one table, over all its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// `node:<Type>`, `edge:<Type>` or the name of one of the graph's own tables.
    pub table_key: String,
    /// Bytes of the files removed.
    pub bytes_removed: u64,
    /// Versions removed.
    pub old_versions_removed: u64,
    /// Versions that stay, by reason. A version with several reasons is counted for each.
    pub versions_kept: BTreeMap<String, u64>,
    /// What went wrong. The rest was done all the same, and another run does what is missing.
    pub error: Option<String>,
}

/// Something that nothing referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclaimed {
    /// `branch`: the line of a branch that is no more; `fork`: a table's fork; `dataset`: a table's files; `records`:
    /// records of the recovery log; `marker`: the document that a deleted branch left.
    pub what: &'static str,
    /// Which.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// What went wrong. Another run tries again.
    pub error: Option<String>,
}

/// Removes what the policy lets go on every live branch, and what nothing refers to, or says what it would remove.
/// Recovers interrupted operations first. A second run right after finds nothing to do. Once it begins to remove, or to
/// find out what that would free, the observer is told of the manifest, every dataset of a table, and the recovery log.
///
/// # Errors
/// With nothing removed: [`Reason::InvalidArgument`] for a policy that says nothing, [`Reason::RecoveryRequired`]
/// naming an operation that is not decided, [`Reason::Drift`] naming a table, [`Reason::DataCorrupt`] naming a branch
/// or tag that cannot be read, [`Reason::TooMuchContention`] if branches or tags keep being made,
/// [`Reason::LimitExceeded`] if too many cleanups are not over; the store's. What fails later is in the report.
pub async fn cleanup(core: &Arc<Core>, options: &CleanupOptions, observer: &dyn Observer) -> Result<CleanupReport> {
    core.ensure_writable()?;
    let concurrency = options.concurrency.max(1);
    let policy = options.policy()?;
    guard::settle(core).await?;
    let mut looker = Looker::new(core, policy, concurrency);
    let first = looker.plan().await?;
    guard::ensure_no_drift(core, &first.look.views, concurrency).await?;
    if !options.confirm {
        return Ok(run::carry_out(core, first, concurrency, false, observer).await);
    }
    let (operation, now) = (core.fresh_id(), core.now());
    let cutoff = now.saturating_sub(orphans::micros(limits::RETENTION_GRACE));
    marker::bump(&core.store, &operation, now, cutoff).await?;
    // Reads that began before the marker moved have said by then what they hold.
    core.options.clock.sleep(limits::READ_LEASE_AFTER * 2).await;
    let mut earlier = first;
    for _ in 0..limits::MAX_CLEANUP_LOOKS {
        let plan = looker.plan_again(&earlier).await?;
        marker::announce(&core.store, &operation, core.now(), plan.going()).await?;
        match look::is_overtaken(core, &plan).await {
            Ok(false) => {
                marker::begin(&core.store, &operation).await?;
                return Ok(run::carry_out(core, plan, concurrency, true, observer).await);
            }
            Ok(true) => marker::take_back(&core.store, &operation).await?,
            Err(e) => {
                marker::take_back(&core.store, &operation).await?;
                return Err(e);
            }
        }
        earlier = plan;
    }
    Err(Error::new(
        Reason::TooMuchContention,
        format!(
            "branches, tags or reads of old states began during each of {} looks at the graph; nothing was removed, try \
             again",
            limits::MAX_CLEANUP_LOOKS
        ),
    ))
}
