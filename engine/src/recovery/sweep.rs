//! Finding interrupted operations and deciding them.

use std::sync::Arc;

use super::classify::{Decision, ManifestState, Observed, classify};
use super::{audit, restore, unreadable};
use crate::error::{Error, Reason, Result};
use crate::format::commit_row::{self, CommitExtras};
use crate::format::intent_json::{EffectDoc, IntentDoc};
use crate::format::manifest_row::ManifestRow;
use crate::format::recovery_row::RecoveredTable;
use crate::id;
use crate::intent::process::{self, Holder};
use crate::limits;
use crate::manifest::heads::Line;
use crate::manifest::publish::{Published, publish};
use crate::manifest::{BranchIdentity, View, resolve};
use crate::model::commit::RECOVERY;
use crate::model::{Actor, CommitInfo, TypeRef};
use crate::store::lance::TableAt;
use crate::txn::Core;

/// Observations are repeated at most this often when somebody publishes in between.
const MAX_ROUNDS: usize = 16;

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Its commit stands.
    Committed,
    /// It never happened.
    Undone,
}

/// Meets a claim somebody else holds: recovers it if its holder is gone or its lease is over, else waits
/// a moment. Returns when it is worth looking again.
///
/// # Errors
/// The store's, or an intent nobody here can read.
pub async fn meet(core: &Arc<Core>, line: &Arc<Line>, claim: &str) -> Result<()> {
    let intent = match core.intents.read(claim).await {
        Ok(Some(intent)) => intent,
        Ok(None) => return Ok(()),
        Err(e) if e.reason() == Reason::DataCorrupt => return unreadable::meet(core, line, claim).await,
        Err(e) => return Err(e),
    };
    if may_recover(core, &intent) {
        settle(core, line, &intent).await?;
        return Ok(());
    }
    let mut wait = limits::CLAIM_POLL_MIN;
    loop {
        core.options.clock.sleep(id::jitter(core.options.ids.as_ref(), wait)).await;
        match core.intents.read(claim).await {
            Ok(None) => return Ok(()),
            Ok(Some(now)) if now.operation_id != intent.operation_id || may_recover(core, &now) => {
                return Ok(());
            }
            // It was damaged meanwhile: that is another case.
            Err(e) if e.reason() == Reason::DataCorrupt => return Ok(()),
            Err(e) => return Err(e),
            Ok(Some(_)) => wait = (wait * 2).min(limits::CLAIM_POLL_MAX),
        }
    }
}

/// Whether it is polite to decide somebody else's operation.
pub fn may_recover(core: &Core, intent: &IntentDoc) -> bool {
    if intent.writer.id == core.writer().id {
        return !core.live.contains(&intent.operation_id);
    }
    process::look_up(&intent.writer) == Holder::Gone || core.now() >= intent.writer.lease_until
}

/// Decides every interrupted operation that may be decided. An intent nobody can read is left to the next
/// writer of the branch whose turn it holds, or removed if it holds none.
///
/// # Errors
/// The store's.
pub async fn sweep(core: &Arc<Core>) -> Result<usize> {
    let mut settled = 0;
    for claim in core.intents.list().await? {
        let intent = match core.intents.read(&claim).await {
            Ok(Some(intent)) => intent,
            Ok(None) => continue,
            Err(e) if e.reason() == Reason::DataCorrupt => {
                tracing::error!(claim, error = %e, "an intent is unreadable");
                unreadable::forget(core, &claim).await?;
                continue;
            }
            Err(e) if e.reason() == Reason::StorageStampTooNew => {
                tracing::error!(claim, error = %e, "an intent was written by a newer release");
                continue;
            }
            Err(e) => return Err(e),
        };
        if may_recover(core, &intent) {
            let identity = identity(&intent);
            let line = Line::detached(core.store.clone(), identity);
            if settle(core, &line, &intent).await? == Settled::Undone {
                put_back(core, &intent).await;
            }
            settled += 1;
        }
    }
    Ok(settled)
}

/// Restores what an undone operation left on its tables. The next writer would do it too, so a failure is
/// only worth a line in the log.
async fn put_back(core: &Arc<Core>, intent: &IntentDoc) {
    let work = async {
        let (line, _) = core.heads.head(&intent.branch.name).await?;
        if line.identity.branch_id != intent.branch.branch_id {
            return Ok(());
        }
        restore::restore(core, &line, &types_of(intent)).await
    };
    match Box::pin(work).await {
        Ok(()) => {}
        Err(e) if e.reason() == Reason::BranchNotFound => {}
        Err(e) => tracing::warn!(
            branch = intent.branch.name,
            operation = intent.operation_id,
            error = %e,
            "the tables of an undone operation are put back by the next writer instead"
        ),
    }
}

fn identity(intent: &IntentDoc) -> BranchIdentity {
    BranchIdentity {
        name: intent.branch.name.clone(),
        branch_id: intent.branch.branch_id.clone(),
        lance_branch: intent.branch.lance_branch.clone(),
    }
}

/// Decides one operation and carries the decision out. May be called by its own writer.
///
/// # Errors
/// The store's; the operation is then still open.
pub async fn settle(core: &Arc<Core>, line: &Arc<Line>, intent: &IntentDoc) -> Result<Settled> {
    for _ in 0..MAX_ROUNDS {
        let tables = observe_tables(core, intent).await?;
        let (state, view) = observe_manifest(core, line, intent).await?;
        let states: Vec<Observed> = tables.iter().map(|t| t.1).collect();
        let decision = classify(state, &states);
        let (rows, settled) = match (decision, &view) {
            (Decision::ClearCommitted, _) => {
                return close(core, intent, &tables, "completed", &intent.commit, Settled::Committed).await;
            }
            (Decision::ClearUndone, view) => {
                let by = view.as_ref().map(|v| v.snapshot.head().to_string()).unwrap_or_default();
                return close(core, intent, &tables, "superseded", &by, Settled::Undone).await;
            }
            (Decision::RollForward, Some(_)) => (intent.rows.clone(), Settled::Committed),
            (Decision::RollBack, Some(view)) => (vec![undo_row(core, intent, view)?], Settled::Undone),
            (_, None) => return Err(Error::internal("a decision without a manifest")),
        };
        let Some(view) = view else { continue };
        let decider = commit_of(&rows);
        match publish(&core.store, &view, rows, &intent.operation_id).await? {
            Published::Lost => {}
            Published::Landed(next) => {
                line.offer(&next);
                let outcome = if settled == Settled::Committed { "rolled_forward" } else { "rolled_back" };
                tracing::info!(
                    branch = intent.branch.name,
                    operation = intent.operation_id,
                    label = intent.label,
                    outcome,
                    "an interrupted operation was decided"
                );
                return close(core, intent, &tables, outcome, &decider, settled).await;
            }
        }
    }
    Err(Error::new(Reason::TooMuchContention, "the branch moved during every attempt to recover it; try again"))
}

fn commit_of(rows: &[ManifestRow]) -> String {
    rows.last().map(|r| r.object_id.clone()).unwrap_or_default()
}

/// What stands where each table's changes belong: the first that is not there, if any is missing.
async fn observe_tables<'a>(core: &Core, intent: &'a IntentDoc) -> Result<Vec<(&'a EffectDoc, Observed)>> {
    let mut out = Vec::with_capacity(intent.tables.len());
    for effect in &intent.tables {
        let mut observed = Observed::Ours;
        for (version, uuid) in (effect.base_version + 1..).zip(&effect.effects) {
            let at = TableAt { location: effect.location.clone(), branch: effect.lance_branch.clone(), version };
            observed = match core.store.open_table(&at).await? {
                None => Observed::Nothing,
                Some(table) => match table.standing().await? {
                    Some(standing) if standing.uuid == *uuid => Observed::Ours,
                    _ => Observed::Other,
                },
            };
            if observed != Observed::Ours {
                break;
            }
        }
        out.push((effect, observed));
    }
    Ok(out)
}

async fn observe_manifest(core: &Core, line: &Line, intent: &IntentDoc) -> Result<(ManifestState, Option<View>)> {
    let Some(view) = resolve::newest(&core.store, &line.identity).await? else {
        return Ok((ManifestState::Gone, None));
    };
    if view.snapshot.version <= intent.base.manifest_version {
        return Ok((ManifestState::AtBase, Some(view)));
    }
    // The version after the base says less: a cleanup may have removed it, and a late publish may have taken its place.
    let holds =
        view.snapshot.head() == intent.commit || line.with_lineage(&view, |l| l.get(&intent.commit).is_some()).await?;
    let state = if holds { ManifestState::PastWithCommit } else { ManifestState::PastWithoutCommit };
    Ok((state, Some(view)))
}

/// The commit that says an operation never happened. Its id follows from the operation, so that several
/// recoverers would publish the same.
pub(super) fn undo_row(core: &Core, intent: &IntentDoc, view: &View) -> Result<ManifestRow> {
    let head = view.snapshot.head();
    let version = intent.base.manifest_version.to_string();
    let commit = CommitInfo {
        id: id::derived_above(head, &["undo", &intent.operation_id, &version]),
        parents: vec![head.to_string()],
        branch: intent.branch.name.clone(),
        actor: Actor::recovery(),
        created_at: core.now(),
        message: format!("undo of an interrupted {}", intent.label),
        request_id: String::new(),
        operation: RECOVERY.to_string(),
        counts: Vec::new(),
        manifest_version: intent.base.manifest_version + 1,
        lance_branch: intent.branch.lance_branch.clone(),
        merge: None,
        imported: None,
    };
    commit_row::encode(&commit, &CommitExtras::default())
}

/// Writes the record, then gives the claim up. In this order: a claim may outlive its record, not the
/// other way round.
pub(super) async fn close(
    core: &Arc<Core>,
    intent: &IntentDoc,
    tables: &[(&EffectDoc, Observed)],
    outcome: &str,
    decider: &str,
    settled: Settled,
) -> Result<Settled> {
    let found = tables
        .iter()
        .map(|(effect, observed)| RecoveredTable {
            table_key: effect.table_key.clone(),
            location: effect.location.clone(),
            base_version: effect.base_version,
            observed: match observed {
                Observed::Nothing => "nothing",
                Observed::Ours => "applied",
                Observed::Other => "other",
            }
            .to_string(),
        })
        .collect();
    audit::record(core, intent, outcome, decider, found).await?;
    core.intents.clear(&intent.claim_id()).await?;
    Ok(settled)
}

/// The types whose tables an intent wrote.
pub fn types_of(intent: &IntentDoc) -> Vec<TypeRef> {
    intent.tables.iter().filter_map(|t| TypeRef::parse(&t.table_key)).collect()
}
