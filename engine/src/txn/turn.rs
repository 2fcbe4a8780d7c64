//! One turn: claim, confirm, effects, publish, acknowledge, clear. Small, in this order, or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::{Core, Effect, Landed, Prepared};
use crate::error::{Error, Reason, Result};
use crate::format::intent_json::{BaseDoc, BranchDoc, EffectDoc, ForkDoc, IntentDoc};
use crate::format::manifest_row::ManifestRow;
use crate::format::{commit_row, snapshot_json};
use crate::id;
use crate::manifest::View;
use crate::manifest::heads::Line;
use crate::manifest::publish::{Published, publish};
use crate::manifest::snapshot::version_row;
use crate::model::{Actor, CommitInfo, TypeRef, WriteOptions};
use crate::recovery::sweep::{self, Settled};
use crate::store::lance::commit::Committed;
use crate::store::lance::{Table, TableAt};
use crate::store::object_log::Put;

/// What a turn is for.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub options: WriteOptions,
    pub label: &'static str,
    pub actor: Option<Actor>,
    pub restores: bool,
}

/// How a turn ended.
pub(super) enum TurnOutcome {
    /// The commit is published.
    Landed(Box<CommitInfo>),
    /// Somebody published first. Nothing happened; the work can be tried on the new head.
    Moved(Box<Prepared>),
    /// Somebody holds the turn. Nothing happened.
    Held(Box<Prepared>, String),
    /// Somebody decided the operation for us: it was rolled back.
    Undone,
    /// Tables stand ahead of what is published; the turn was given up.
    Ahead(Vec<TypeRef>),
    /// The same, while restoring just that.
    AheadWhileRestoring,
}

pub(super) async fn run(
    core: Arc<Core>,
    line: Arc<Line>,
    parent: View,
    prepared: Prepared,
    turn: Turn,
    guard: OwnedMutexGuard<()>,
) -> (Result<TurnOutcome>, OwnedMutexGuard<()>) {
    (take(&core, &line, &parent, prepared, &turn).await, guard)
}

async fn take(
    core: &Arc<Core>,
    line: &Arc<Line>,
    parent: &View,
    mut prepared: Prepared,
    turn: &Turn,
) -> Result<TurnOutcome> {
    prepared.effects.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
    let operation_id = core.fresh_id();
    let commit = commit_info(core, line, parent, &prepared, turn);
    let intent = intent(core, line, parent, &prepared, &commit, &operation_id, turn)?;
    let claim = intent.claim_id();
    let running = core.live.start(&operation_id);
    match core.intents.claim(&intent).await {
        Ok(Put::Done) => {}
        Ok(Put::Refused) => return Ok(TurnOutcome::Held(Box::new(prepared), claim)),
        // Whether the claim stands is unknown, and what stands will be decided.
        Err(e) => return Err(recovery_required(&e, &intent)),
    }
    let _lease = core.intents.keep_alive(&intent, &core.options.clock, core.options.claim_lease);
    match parent.has_successor().await {
        Ok(false) => {}
        Ok(true) => {
            core.intents.clear(&claim).await?;
            return Ok(TurnOutcome::Moved(Box::new(prepared)));
        }
        Err(e) => {
            drop(running);
            return after_failure(core, line, &intent, e, commit).await;
        }
    }
    let tables = match apply(core, line, parent, prepared.effects, &intent, turn).await {
        Ok(Applied::All(tables)) => tables,
        Ok(Applied::GivenUp(outcome)) => return Ok(*outcome),
        Ok(Applied::Decided) => return Ok(TurnOutcome::Landed(Box::new(commit))),
        Err(e) => {
            drop(running);
            return after_failure(core, line, &intent, e, commit).await;
        }
    };
    match publish(&core.store, parent, intent.rows.clone(), &operation_id).await {
        Ok(Published::Landed(view)) => {
            line.offer(&view);
            for (table, landed) in tables {
                core.keep_table(&table).await;
                if let Some(landed) = landed {
                    landed(&table);
                }
            }
            clear(core, &claim).await;
            Ok(TurnOutcome::Landed(Box::new(commit)))
        }
        Ok(Published::Lost) => {
            line.doubt();
            match sweep::settle(core, line, &intent).await {
                Ok(Settled::Committed) => Ok(TurnOutcome::Landed(Box::new(commit))),
                Ok(Settled::Undone) => Ok(TurnOutcome::Undone),
                Err(e) => Err(recovery_required(&e, &intent)),
            }
        }
        Err(e) => {
            drop(running);
            after_failure(core, line, &intent, e, commit).await
        }
    }
}

enum Applied {
    /// Every table has its change, with who wants to know.
    All(Vec<(Table, Option<Landed>)>),
    /// A table stood ahead, so the operation was undone.
    GivenUp(Box<TurnOutcome>),
    /// Somebody found every effect there and published for us.
    Decided,
}

/// Commits every effect strictly, in table-key order.
async fn apply(
    core: &Arc<Core>,
    line: &Arc<Line>,
    parent: &View,
    effects: Vec<Effect>,
    intent: &IntentDoc,
    turn: &Turn,
) -> Result<Applied> {
    let properties = HashMap::from([
        (snapshot_json::OPERATION.to_string(), intent.operation_id.clone()),
        (snapshot_json::COMMIT.to_string(), intent.commit.clone()),
        (snapshot_json::BASE.to_string(), parent.snapshot.version.to_string()),
    ]);
    let types: Vec<TypeRef> = effects.iter().map(|e| e.type_ref.clone()).collect();
    let mut tables = Vec::with_capacity(effects.len());
    for effect in effects {
        let mut table = effect.base;
        for mut staged in std::iter::once(effect.staged).chain(effect.then) {
            staged.set_properties(properties.clone());
            match table.commit(&core.store, staged).await? {
                Committed::Landed(next) => table = next,
                Committed::Taken => {
                    line.doubt();
                    match sweep::settle(core, line, intent).await.map_err(|e| recovery_required(&e, intent))? {
                        Settled::Committed => return Ok(Applied::Decided),
                        Settled::Undone => {}
                    }
                    let ahead =
                        if turn.restores { TurnOutcome::AheadWhileRestoring } else { TurnOutcome::Ahead(types) };
                    return Ok(Applied::GivenUp(Box::new(ahead)));
                }
            }
        }
        tables.push((table, effect.landed));
    }
    Ok(Applied::All(tables))
}

/// The store failed after the turn was armed. Recovery decides what became of it, now if the store lets
/// us, else at the next call.
async fn after_failure(
    core: &Arc<Core>,
    line: &Arc<Line>,
    intent: &IntentDoc,
    failure: Error,
    commit: CommitInfo,
) -> Result<TurnOutcome> {
    line.doubt();
    match sweep::settle(core, line, intent).await {
        Ok(Settled::Committed) => Ok(TurnOutcome::Landed(Box::new(commit))),
        Ok(Settled::Undone) => Err(failure),
        Err(_) => Err(recovery_required(&failure, intent)),
    }
}

fn recovery_required(cause: &Error, intent: &IntentDoc) -> Error {
    Error::new(
        Reason::RecoveryRequired,
        format!(
            "the store failed while commit {} was being made ({}); the next call on the branch finishes or \
             undoes it, and looking the commit up tells which",
            intent.commit,
            cause.message()
        ),
    )
    .with("operation_id", &intent.operation_id)
    .with("commit_id", &intent.commit)
    .with("branch", &intent.branch.name)
    .retry_after(std::time::Duration::from_millis(500))
    .caused_by(cause.clone())
}

async fn clear(core: &Core, claim: &str) {
    if let Err(e) = core.intents.clear(claim).await {
        // The operation is decided; a claim on a past version blocks nobody and the next sweep drops it.
        tracing::warn!(claim, error = %e, "a finished claim could not be cleared");
    }
}

fn commit_info(core: &Core, line: &Line, parent: &View, prepared: &Prepared, turn: &Turn) -> CommitInfo {
    let head = parent.snapshot.head();
    let now = core.now();
    CommitInfo {
        id: id::fresh_above(core.options.ids.as_ref(), now, prepared.merged.as_deref().map_or(head, |m| m.max(head))),
        parents: std::iter::once(head.to_string()).chain(prepared.merged.clone()).collect(),
        branch: line.identity.name.clone(),
        actor: turn.actor.clone().unwrap_or_else(|| turn.options.actor.clone()),
        created_at: now,
        message: turn.options.message.clone(),
        request_id: turn.options.request_id.clone(),
        operation: turn.label.to_string(),
        counts: prepared.counts.clone(),
        manifest_version: parent.snapshot.version + 1,
        lance_branch: line.identity.lance_branch.clone(),
        merge: prepared.note.clone().map(Box::new),
        imported: prepared.imported.clone().map(Box::new),
    }
}

fn intent(
    core: &Core,
    line: &Line,
    parent: &View,
    prepared: &Prepared,
    commit: &CommitInfo,
    operation_id: &str,
    turn: &Turn,
) -> Result<IntentDoc> {
    let tables = prepared.effects.iter().map(effect_doc).collect();
    let mut rows: Vec<ManifestRow> = prepared.rows.clone();
    let on = line.identity.lance_branch.as_deref();
    // A table that is only declared now can have no version before that.
    let (known, new): (Vec<&Effect>, Vec<&Effect>) =
        prepared.effects.iter().partition(|effect| parent.snapshot.pin(&effect.type_ref).is_ok());
    let version_of = |effect: &Effect| {
        let at = TableAt { version: effect.last_version(), ..effect.base.at().clone() };
        version_row(&effect.type_ref, &at, effect.rows_after(), &commit.id, on)
    };
    for effect in known {
        rows.push(version_of(effect)?);
    }
    rows.extend(prepared.declarations.iter().cloned());
    for effect in new {
        rows.push(version_of(effect)?);
    }
    for pin in &prepared.pins {
        let made_by = pin.inherited_from.as_ref().map_or(on, |line| line.as_deref());
        rows.push(version_row(&pin.type_ref, &pin.at, pin.rows, &commit.id, made_by)?);
    }
    rows.push(commit_row::encode(commit, &prepared.extras)?);
    Ok(IntentDoc {
        format: IntentDoc::FORMAT,
        operation_id: operation_id.to_string(),
        label: turn.label.to_string(),
        actor: commit.actor.0.clone(),
        writer: core.writer(),
        branch: BranchDoc {
            name: line.identity.name.clone(),
            branch_id: line.identity.branch_id.clone(),
            lance_branch: line.identity.lance_branch.clone(),
        },
        base: BaseDoc { manifest_version: parent.snapshot.version, head: parent.snapshot.head().to_string() },
        commit: commit.id.clone(),
        tables,
        rows,
    })
}

fn effect_doc(effect: &Effect) -> EffectDoc {
    let at = effect.base.at();
    EffectDoc {
        table_key: effect.type_ref.to_string(),
        location: at.location.clone(),
        lance_branch: at.branch.clone(),
        fork_from: effect.fork_from.as_ref().map(|f| ForkDoc { lance_branch: f.branch.clone(), version: f.version }),
        create: effect.create,
        base_version: at.version,
        effects: effect.changes().map(|staged| staged.uuid().to_string()).collect(),
    }
}
