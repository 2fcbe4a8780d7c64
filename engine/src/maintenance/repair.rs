//! Settling drift: table versions above the published ones that no intent explains.
//!
//! What other programs left is classified by what made each version. What changes no row is published; what may have
//! changed rows is published only by force; what omnigraph itself left is put back. Publishing is one graph commit that
//! moves pins to versions that stand already: no row is read or written. Whoever asks without confirming only learns
//! what would be done.

mod classify;
mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::progress::{Nobody, Observer};
use super::recovered;
use crate::error::Result;
use crate::limits;
use crate::manifest::View;
use crate::manifest::heads::Line;
use crate::model::commit::{FORCED_REPAIR, REPAIR};
use crate::model::{Actor, TypeRef, WriteOptions};
use crate::recovery::restore;
use crate::txn::commit::Outcome;
use crate::txn::{Action, Core, Prepared, commit};
use classify::Step;
use look::{Looked, look};

pub use classify::Classification;

/// What may be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Whether to do anything. Without it, the report says what would be done.
    pub confirm: bool,
    /// Whether to publish what is suspicious or unverifiable, too.
    pub force: bool,
}

/// What was done about a table, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairAction {
    /// Nothing; if something had to be done, the row carries an error.
    None,
    /// Its newest version would become the published one.
    WouldPublish,
    /// Its newest version is the published one now.
    Published,
    /// The published content would be put back on top.
    WouldRestore,
    /// The published content was put back on top.
    Restored,
    /// It was left as it is, because nobody can know that publishing it is right, or because it cannot be published.
    Refused,
}

impl RepairAction {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::WouldPublish => "would_publish",
            Self::Published => "published",
            Self::WouldRestore => "would_restore",
            Self::Restored => "restored",
            Self::Refused => "refused",
        }
    }
}

/// One table of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRepair {
    /// `node:<Type>` or `edge:<Type>`.
    pub table_key: String,
    /// What stands above its published version.
    pub classification: Classification,
    /// What was done about that.
    pub action: RepairAction,
    /// The version that was published before; none while the type has no dataset.
    pub manifest_version: Option<u64>,
    /// The newest version before; none if it was not looked at.
    pub lance_head_version: Option<u64>,
    /// Lance's names of what made the versions above the published one, in order, at most
    /// [`limits::MAX_LISTED_OPERATIONS`]; `unreadable` for one that cannot be read. Empty if they are too many to be
    /// looked at.
    pub operations: Vec<String>,
    /// What went wrong or stands in the way: why it cannot be examined, cannot be published, or was not put back. Other
    /// tables are not affected.
    pub error: Option<String>,
}

/// What a repair did to a branch, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The branch.
    pub branch: String,
    /// Whether nothing was done because it was not confirmed.
    pub preview: bool,
    /// The commit that published table versions; none if there was none to publish.
    pub commit: Option<String>,
    /// Every table, by key.
    pub tables: Vec<TableRepair>,
}

impl RepairReport {
    /// How many tables were refused or failed.
    pub fn refused(&self) -> usize {
        let failed = |t: &&TableRepair| match t.action {
            RepairAction::Refused => true,
            RepairAction::None => t.error.is_some(),
            _ => false,
        };
        self.tables.iter().filter(failed).count()
    }

    /// How many tables a confirmed repair with the same options would do something about.
    pub fn open(&self) -> usize {
        let open = |t: &&TableRepair| matches!(t.action, RepairAction::WouldPublish | RepairAction::WouldRestore);
        self.tables.iter().filter(open).count()
    }
}

/// Classifies drift on the tables that `branch` has written and, if confirmed, settles it. Interrupted operations are
/// recovered first, unless the graph was opened for reading, which suffices for a preview. Costs a few requests for
/// every table and one or two for every version above a published one; reads no rows.
///
/// The commit that publishes only verified maintenance keeps the content: no strict or conditional write fails for it.
/// One that publishes anything else counts as a change of the graph. What others append while the repair looks stays
/// drift for the next one. The observer is told of the look at every table, which is where the time goes.
///
/// # Errors
/// With nothing published: [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::RecoveryRequired`] if an
/// operation on the branch is not decided, [`crate::error::Reason::ReadOnly`] for a confirmed repair of a graph that
/// was opened for reading; the store's. What concerns one table is in the report.
pub async fn repair(
    core: &Arc<Core>,
    branch: &str,
    options: RepairOptions,
    observer: &dyn Observer,
) -> Result<RepairReport> {
    if options.confirm {
        core.ensure_writable()?;
    }
    recovered::settle(core, branch, "nothing was repaired").await?;
    let (line, mut tables) = look_at_head(core, branch, observer).await?;
    let (mut done, mut committed) = (BTreeSet::new(), None);
    if options.confirm {
        put_back(core, &line, &mut tables, &mut done).await;
        committed = publish(core, branch, options.force, &mut tables, &mut done).await?;
    }
    let tables = tables.into_values().map(|looked| row(looked, options, &done)).collect();
    Ok(RepairReport { branch: branch.to_string(), preview: !options.confirm, commit: committed, tables })
}

fn row(looked: Looked, options: RepairOptions, done: &BTreeSet<TypeRef>) -> TableRepair {
    let action = match (looked.step(options.force), options.confirm, done.contains(&looked.type_ref)) {
        (Step::Leave, ..) => RepairAction::None,
        (Step::Refuse, ..) => RepairAction::Refused,
        (Step::Publish, false, _) => RepairAction::WouldPublish,
        (Step::Restore, false, _) => RepairAction::WouldRestore,
        (Step::Publish, true, true) => RepairAction::Published,
        (Step::Restore, true, true) => RepairAction::Restored,
        (Step::Publish | Step::Restore, true, false) => RepairAction::None,
    };
    TableRepair {
        table_key: looked.type_ref.to_string(),
        classification: looked.classification,
        action,
        manifest_version: looked.pinned.map(|at| at.version),
        lance_head_version: looked.head,
        operations: looked.operations,
        error: looked.error,
    }
}

/// Every table of the branch. One that a writer published between the look at the head and the look at the table is
/// looked at again: its version seemed to be nobody's.
async fn look_at_head(
    core: &Arc<Core>,
    branch: &str,
    observer: &dyn Observer,
) -> Result<(Arc<Line>, BTreeMap<TypeRef, Looked>)> {
    let (mut line, mut view) = core.heads.head(branch).await?;
    observer.tables(view.snapshot.pins().count());
    let mut tables = look(core, &view, None, observer).await?;
    for _ in 1..limits::MAX_REPAIR_LOOKS {
        if !tables.values().any(Looked::drifts) {
            break;
        }
        (line, view) = core.heads.head(branch).await?;
        let moved = |looked: &&Looked| {
            looked.drifts() && view.snapshot.pin(&looked.type_ref).ok().is_none_or(|pin| pin.at != looked.pinned)
        };
        let moved: BTreeSet<TypeRef> = tables.values().filter(moved).map(|looked| looked.type_ref.clone()).collect();
        if moved.is_empty() {
            break;
        }
        tables.retain(|type_ref, _| !moved.contains(type_ref));
        tables.extend(look(core, &view, Some(&moved), &Nobody).await?);
    }
    Ok((line, tables))
}

/// Puts the published content back where abandoned operations left something: all in one commit, or, if that fails,
/// each in its own, so that one table stops no other.
async fn put_back(
    core: &Arc<Core>,
    line: &Arc<Line>,
    tables: &mut BTreeMap<TypeRef, Looked>,
    done: &mut BTreeSet<TypeRef>,
) {
    let wanted: Vec<TypeRef> =
        tables.values().filter(|t| t.step(false) == Step::Restore).map(|t| t.type_ref.clone()).collect();
    let together = wanted.len() > 1 && Box::pin(restore::restore(core, line, &wanted)).await.is_ok();
    for type_ref in wanted {
        let one = std::slice::from_ref(&type_ref);
        let outcome = if together { Ok(()) } else { Box::pin(restore::restore(core, line, one)).await };
        match (outcome, tables.get_mut(&type_ref)) {
            (Ok(()), _) => {
                done.insert(type_ref);
            }
            (Err(e), Some(looked)) => looked.error = Some(format!("{} [{}]", e.message(), e.reason())),
            (Err(_), None) => {}
        }
    }
}

/// Publishes what is to be published, in one commit.
async fn publish(
    core: &Arc<Core>,
    branch: &str,
    force: bool,
    tables: &mut BTreeMap<TypeRef, Looked>,
    done: &mut BTreeSet<TypeRef>,
) -> Result<Option<String>> {
    let wanted: BTreeSet<TypeRef> =
        tables.values().filter(|t| t.step(force) == Step::Publish).map(|t| t.type_ref.clone()).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut action = Publish { force, wanted, looked: BTreeMap::new(), keeps_content: true };
    let options = WriteOptions {
        branch: branch.to_string(),
        message: "published table versions that other programs made".to_string(),
        actor: Actor::maintenance(),
        ..WriteOptions::default()
    };
    let outcome = commit::commit(core, &mut action, &options).await?;
    let published = action.publishable().map(|looked| looked.type_ref.clone()).collect::<Vec<_>>();
    if !action.keeps_content {
        tracing::warn!(branch, tables = ?published, "table versions that nobody vouches for were published by force");
    }
    tables.extend(action.looked);
    match outcome {
        Outcome::Nothing(_) => Ok(None),
        Outcome::Committed(receipt) => {
            done.extend(published);
            Ok(Some(receipt.commit.id))
        }
    }
}

/// Moves the pins of some tables to their newest versions, as far as these are still what they were taken for.
struct Publish {
    force: bool,
    wanted: BTreeSet<TypeRef>,
    looked: BTreeMap<TypeRef, Looked>,
    keeps_content: bool,
}

impl Publish {
    fn publishable(&self) -> impl Iterator<Item = &Looked> {
        self.looked.values().filter(|looked| looked.step(self.force) == Step::Publish)
    }
}

#[async_trait]
impl Action for Publish {
    fn label(&self) -> &'static str {
        if self.keeps_content { REPAIR } else { FORCED_REPAIR }
    }

    fn queues_first(&self) -> bool {
        false
    }

    fn actor(&self) -> Option<Actor> {
        Some(Actor::maintenance())
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        self.looked = look(core, view, Some(&self.wanted), &Nobody).await?;
        let harmless = self.publishable().all(|t| t.classification == Classification::VerifiedMaintenance);
        self.keeps_content = harmless;
        let pins: Vec<_> = self.publishable().filter_map(|looked| looked.candidate.clone()).collect();
        Ok((!pins.is_empty()).then(|| Prepared { pins, ..Prepared::default() }))
    }
}
