//! From an action to its outcome: prepare, re-check, take the turn, and again if somebody came first.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::turn::{self, Turn, TurnOutcome};
use super::{Action, Core, OnChange, Prepared};
use crate::error::{Error, Reason, Result};
use crate::id;
use crate::limits;
use crate::manifest::View;
use crate::manifest::heads::Line;
use crate::model::{CommitInfo, Receipt, WriteOptions};
use crate::recovery;

/// How a write ended. A failing store is an error instead.
#[derive(Debug)]
pub enum Outcome {
    /// It was committed.
    Committed(Box<Receipt>),
    /// There was nothing to do; the branch's head is returned.
    Nothing(Box<Receipt>),
}

impl Outcome {
    /// The receipt either way.
    pub fn into_receipt(self) -> Receipt {
        match self {
            Self::Committed(receipt) | Self::Nothing(receipt) => *receipt,
        }
    }
}

/// Carries out `action` as one commit on the branch the options name.
///
/// # Errors
/// The action's own; [`Reason::HeadMoved`], [`Reason::BranchProtected`], [`Reason::ReadSetChanged`],
/// [`Reason::TooMuchContention`] with nothing changed; [`Reason::RecoveryRequired`] or [`Reason::InDoubt`] if the store
/// failed at the wrong moment, with the commit's id.
pub async fn commit(core: &Arc<Core>, action: &mut dyn Action, options: &WriteOptions) -> Result<Outcome> {
    core.ensure_writable()?;
    check_options(options)?;
    let mut pause = Pause::default();
    let mut queued: Option<Queued> = None;
    for attempt in 0..limits::MAX_COMMIT_ATTEMPTS {
        let queues = attempt > 0 || action.queues_first();
        if let (None, true, Some(warm)) = (&queued, queues, core.heads.warm(options.branch_name())) {
            queued = Some(Queued::wait(&warm).await);
        }
        let (line, mut view) = core.heads.head(options.branch_name()).await?;
        queued = queued.filter(|q| q.line.identity == line.identity);
        if queued.is_none() && queues {
            queued = Some(Queued::wait(&line).await);
            view = line.newest().await?;
        }
        if let Some(receipt) = answered(&line, &view, action.label(), options).await? {
            return Ok(Outcome::Committed(Box::new(receipt)));
        }
        check_head(&line, &view, options).await?;
        let direct = action.writes_directly();
        check_protection(direct, &view)?;
        let Some(prepared) = action.prepare(core, &view).await? else {
            return nothing(&line, &view).await;
        };
        let turn = Turn {
            options: options.clone(),
            label: action.label(),
            actor: action.actor(),
            restores: action.restores(),
        };
        // Who queued before preparing saw the newest head of this process; the turn itself checks the rest.
        let (place, is_newest) = match queued.take() {
            Some(place) => (place, true),
            None => (Queued::wait(&line).await, false),
        };
        let work = Work { view, prepared, turn, on_change: action.on_change(), direct, is_newest };
        match take_turns(core, &line, work, place).await? {
            Taken::Committed(receipt) => return Ok(Outcome::Committed(receipt)),
            Taken::Again(place) => queued = Some(place),
            Taken::AgainLater(place) => {
                queued = Some(place);
                pause.sleep(core).await;
            }
        }
    }
    Err(Error::new(
        Reason::TooMuchContention,
        format!(
            "other writers changed the same data in each of {} attempts; nothing was changed, try again",
            limits::MAX_COMMIT_ATTEMPTS
        ),
    )
    .with("branch", options.branch_name())
    .retry_after(Duration::from_millis(200)))
}

/// A place at the front of a branch's queue within this process.
struct Queued {
    line: Arc<Line>,
    guard: OwnedMutexGuard<()>,
}

impl Queued {
    async fn wait(line: &Arc<Line>) -> Self {
        let guard = line.queue.clone().lock_owned().await;
        Self { line: line.clone(), guard }
    }
}

enum Taken {
    Committed(Box<Receipt>),
    Again(Queued),
    AgainLater(Queued),
}

/// Prepared work and what it is for.
struct Work {
    view: View,
    prepared: Prepared,
    turn: Turn,
    on_change: OnChange,
    direct: bool,
    is_newest: bool,
}

/// Tries to take effect for as long as the prepared work stays right.
async fn take_turns(core: &Arc<Core>, line: &Arc<Line>, work: Work, mut place: Queued) -> Result<Taken> {
    let Work { view: prepared_on, mut prepared, turn, on_change, direct, mut is_newest } = work;
    let mut parent = prepared_on.clone();
    let mut pause = Pause::default();
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let newest = if std::mem::take(&mut is_newest) { parent.clone() } else { line.newest().await? };
        if newest.snapshot.is_closed() {
            return Ok(Taken::Again(place));
        }
        if newest.snapshot.version != parent.snapshot.version {
            // Another attempt of the same request may have landed, and moved the head itself.
            if let Some(receipt) = answered(line, &newest, turn.label, &turn.options).await? {
                return Ok(Taken::Committed(Box::new(receipt)));
            }
            check_head(line, &newest, &turn.options).await?;
            check_protection(direct, &newest)?;
            parent = newest;
        }
        if let Some(changed) = changed_table(&prepared_on, &parent, &prepared) {
            return match on_change {
                OnChange::Prepare => Ok(Taken::Again(place)),
                // Only how its rows are stored has changed.
                OnChange::Refuse if same_content(line, &parent, prepared_on.snapshot.head()).await? => {
                    Ok(Taken::Again(place))
                }
                OnChange::Refuse => Err(read_set_changed(&changed, &parent)),
            };
        }
        if prepared.merged.is_some() && has_merged_since(line, &prepared_on, &parent).await? {
            return Ok(Taken::Again(place));
        }
        let Queued { guard, .. } = place;
        // The turn outlives a caller that goes away: once armed it is finished.
        let work = turn::run(core.clone(), line.clone(), parent.clone(), prepared, turn.clone(), guard);
        let (outcome, guard) =
            tokio::spawn(work).await.map_err(|e| Error::internal("a commit was torn down").caused_by(e))?;
        place = Queued { line: line.clone(), guard };
        match outcome? {
            TurnOutcome::Landed(commit) => {
                let commit = *commit;
                let receipt = Receipt { commit, changed: true, replayed: false, steps: Vec::new(), records: 0 };
                return Ok(Taken::Committed(Box::new(receipt)));
            }
            TurnOutcome::Moved(back) => {
                prepared = *back;
                pause.sleep(core).await;
            }
            TurnOutcome::Held(back, claim) => {
                prepared = *back;
                recovery::sweep::meet(core, line, &claim).await?;
            }
            TurnOutcome::Undone => return Ok(Taken::Again(place)),
            TurnOutcome::Ahead(types) => {
                drop(place);
                Box::pin(recovery::restore::restore(core, line, &types)).await?;
                return Ok(Taken::Again(Queued::wait(line).await));
            }
            TurnOutcome::AheadWhileRestoring => return Ok(Taken::AgainLater(place)),
        }
    }
    Ok(Taken::AgainLater(place))
}

/// A table the work read or writes that is not as it was.
fn changed_table(prepared_on: &View, parent: &View, prepared: &Prepared) -> Option<String> {
    if prepared_on.snapshot.version == parent.snapshot.version {
        return None;
    }
    if prepared.exact {
        return Some("the branch".to_string());
    }
    let written = prepared.effects.iter().map(|e| &e.type_ref).chain(prepared.pins.iter().map(|p| &p.type_ref));
    let touched = written.chain(&prepared.reads);
    for type_ref in touched {
        let before = prepared_on.snapshot.pin(type_ref).ok();
        let after = parent.snapshot.pin(type_ref).ok();
        // A type that neither declares comes with the work itself.
        if before.map(|p| &p.at) != after.map(|p| &p.at) || before.is_some() != after.is_some() {
            return Some(type_ref.to_string());
        }
    }
    if !Arc::ptr_eq(&prepared_on.snapshot.schema, &parent.snapshot.schema)
        && prepared_on.snapshot.schema != parent.snapshot.schema
    {
        return Some("the schema".to_string());
    }
    None
}

/// Whether the branch took in another branch's commits since a view. Two merges may bring in the same ones.
async fn has_merged_since(line: &Line, since: &View, view: &View) -> Result<bool> {
    if since.snapshot.version == view.snapshot.version {
        return Ok(false);
    }
    let head = since.snapshot.head();
    let newer = line.with_lineage(view, |l| l.following(head, usize::MAX)).await?;
    Ok(newer.is_none_or(|commits| commits.iter().any(|commit| commit.parents.len() > 1)))
}

fn read_set_changed(table: &str, parent: &View) -> Error {
    Error::new(
        Reason::ReadSetChanged,
        format!("{table} changed before the write took effect; nothing was changed, read it again and retry"),
    )
    .with("table", table)
    .with("head", parent.snapshot.head())
}

fn check_options(options: &WriteOptions) -> Result<()> {
    if options.message.len() > limits::MAX_MESSAGE_BYTES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("the message has {} bytes; at most {} are kept", options.message.len(), limits::MAX_MESSAGE_BYTES),
        ));
    }
    if options.request_id.len() > limits::MAX_REQUEST_ID_BYTES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!(
                "the request id has {} bytes; at most {} are allowed",
                options.request_id.len(),
                limits::MAX_REQUEST_ID_BYTES
            ),
        ));
    }
    Ok(())
}

/// Whether nothing but maintenance and recovery happened on a branch since `head`.
async fn same_content(line: &Line, view: &View, head: &str) -> Result<bool> {
    line.with_lineage(view, |l| l.same_content(head, view.snapshot.head())).await
}

async fn check_head(line: &Line, view: &View, options: &WriteOptions) -> Result<()> {
    let head = view.snapshot.head();
    if options.expected_head.is_empty() || options.expected_head == head {
        return Ok(());
    }
    if same_content(line, view, &options.expected_head).await? {
        return Ok(());
    }
    Err(Error::new(
        Reason::HeadMoved,
        format!(
            "branch {:?} is at commit {head}, not at the expected {}; nothing was changed",
            options.branch_name(),
            options.expected_head
        ),
    )
    .with("branch", options.branch_name())
    .with("head", head)
    .with("expected_head", &options.expected_head))
}

/// Refuses a direct write to a branch that is protected at this view.
fn check_protection(direct: bool, view: &View) -> Result<()> {
    if !direct || !view.snapshot.is_protected() {
        return Ok(());
    }
    let branch = &view.snapshot.branch.name;
    Err(Error::new(
        Reason::BranchProtected,
        format!(
            "branch {branch:?} is protected and takes no direct writes; nothing was changed. Write to a branch made \
             from it and merge that, or lift the protection"
        ),
    )
    .with("branch", branch))
}

/// The receipt of an earlier call with the same request id.
async fn answered(line: &Line, view: &View, label: &str, options: &WriteOptions) -> Result<Option<Receipt>> {
    if options.request_id.is_empty() {
        return Ok(None);
    }
    let found = line.with_lineage(view, |l| l.by_request(&options.request_id)).await?;
    match found {
        None => Ok(None),
        Some(commit) if commit.operation == label => {
            let commit = commit.as_ref().clone();
            Ok(Some(Receipt { commit, changed: true, replayed: true, steps: Vec::new(), records: 0 }))
        }
        Some(commit) => Err(Error::new(
            Reason::RequestIdReused,
            format!(
                "request id {:?} belongs to commit {}, which is a {}; use a fresh id",
                options.request_id, commit.id, commit.operation
            ),
        )
        .with("request_id", &options.request_id)
        .with("commit_id", &commit.id)),
    }
}

async fn nothing(line: &Line, view: &View) -> Result<Outcome> {
    let commit = head_commit(line, view).await?;
    Ok(Outcome::Nothing(Box::new(Receipt { commit, changed: false, replayed: false, steps: Vec::new(), records: 0 })))
}

/// The commit at the head of a view.
///
/// # Errors
/// The store's, or [`Reason::DataCorrupt`] if the head's row is missing.
pub async fn head_commit(line: &Line, view: &View) -> Result<CommitInfo> {
    let head = view.snapshot.head();
    line.with_lineage(view, |l| l.get(head))
        .await?
        .map(|c| c.as_ref().clone())
        .ok_or_else(|| Error::new(Reason::DataCorrupt, format!("the head commit {head} has no row")))
}

/// Short, growing, jittered waits.
#[derive(Default)]
struct Pause {
    rounds: u32,
}

impl Pause {
    async fn sleep(&mut self, core: &Core) {
        let ceiling = limits::CLAIM_POLL_MIN.saturating_mul(1 << self.rounds.min(6)).min(limits::CLAIM_POLL_MAX);
        self.rounds += 1;
        core.options.clock.sleep(id::jitter(core.options.ids.as_ref(), ceiling)).await;
    }
}
