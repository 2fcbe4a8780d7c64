//! Three-way merges, and what is one in disguise: reverts, cherry-picks, restores.
//!
//! Both sides are compared with what they come from. Only entities that the source changed are looked at, and of the
//! target only what it changed itself, so cost follows the changes and not the tables. Deciding is pure ([`decide`]);
//! what needs the whole merged state is checked after it ([`check`]); staging writes what is left.

mod base;
mod check;
mod decide;
mod evolve;
mod pick;
mod plan;
mod schema;
mod settle;
mod stage;

use std::sync::Arc;

use async_trait::async_trait;

use self::base::{Bases, Tree};
use self::evolve::Sides;
use self::plan::{Input, Plan};
use self::settle::Words;
use crate::branch;
use crate::error::{Error, Reason, Result, Violation};
use crate::format::commit_row::{self, CommitExtras};
use crate::format::manifest_row::ManifestRow;
use crate::history::log;
use crate::intent::Held;
use crate::limits;
use crate::manifest::View;
use crate::manifest::ancestry;
use crate::manifest::heads::{Line, with_both};
use crate::model::branch::MAIN;
use crate::model::commit::MERGE;
use crate::model::{
    Conflict, MergeHow, MergeNote, MergeOutcome, MergePreview, MergeRequest, MergeResult, MergeSummary, Receipt,
    WriteOptions,
};
use crate::read::scan;
use crate::txn::commit::{Outcome, commit};
use crate::txn::{Action, Core, Prepared};

pub use pick::{cherry_pick, restore, revert};

/// See [`crate::Graph::merge`].
///
/// # Errors
/// See there.
pub async fn merge(core: &Arc<Core>, request: &MergeRequest, options: &WriteOptions) -> Result<MergeResult> {
    core.ensure_writable()?;
    // Before the source is looked at: a merge that was made already may have deleted it.
    if let Some(result) = answered(core, options).await? {
        return Ok(result);
    }
    let source = Source::capture(core, &request.source, options.branch_name()).await?;
    let head = source.view.snapshot.head();
    if !request.expected_source_head.is_empty() && request.expected_source_head != head {
        return Err(Error::new(
            Reason::HeadMoved,
            format!(
                "branch {:?} is at commit {head}, not at the expected {}; nothing was merged",
                request.source, request.expected_source_head
            ),
        )
        .with("branch", &request.source)
        .with("head", head)
        .with("expected_head", &request.expected_source_head));
    }
    let mut action = Merge { source, how: &request.how, done: None };
    let outcome = commit(core, &mut action, options).await?;
    // What was added to it since is in nothing else.
    let source_deleted = match request.delete_source {
        true => Some(branch::delete::delete_as_seen(core, &action.source.view.snapshot, &options.actor).await),
        false => None,
    };
    Ok(MergeResult { source_deleted, ..action.result(outcome) })
}

/// What an earlier call with the same request id did, if it was a merge.
async fn answered(core: &Arc<Core>, options: &WriteOptions) -> Result<Option<MergeResult>> {
    if options.request_id.is_empty() {
        return Ok(None);
    }
    let found = log::by_request(core, options.branch_name(), &options.request_id).await?;
    let Some(commit) = found.filter(|commit| commit.operation == MERGE) else {
        return Ok(None);
    };
    let Some(note) = commit.merge.as_deref().cloned() else {
        return Ok(None);
    };
    let receipt = Receipt { commit, changed: true, replayed: true, steps: Vec::new(), records: 0 };
    Ok(Some(result_of(note.outcome, note.base, note.source, note.settled, receipt)))
}

/// See [`crate::Graph::preview_merge`].
///
/// # Errors
/// See there.
pub async fn preview(core: &Arc<Core>, source: &str, target: &str, how: &MergeHow) -> Result<MergePreview> {
    let target = if target.is_empty() { MAIN } else { target };
    let source = Source::capture(core, source, target).await?;
    let (line, view) = core.heads.head(target).await?;
    let _held = core.readers.hold(&view.snapshot);
    let Some((tree, outcome)) = source.relation(&line, &view).await? else {
        return Ok(MergePreview { summary: source.up_to_date(&view), conflicts: Vec::new() });
    };
    let sides = Sides::join(core, Bases::open(core, tree).await?, &view, &source.view.snapshot).await?;
    let plan = planned(core, &sides, how).await;
    sides.dismiss(core).await;
    let plan = plan?;
    let summary = MergeSummary {
        outcome,
        base: sides.bases.newest().to_string(),
        source: source.view.snapshot.head().to_string(),
        target: view.snapshot.head().to_string(),
        counts: plan.counts(),
        settled: plan.settled,
    };
    Ok(MergePreview { summary, conflicts: plan.conflicts })
}

/// The branch that is merged, as it was when the merge began, whatever happens to it.
struct Source {
    line: Arc<Line>,
    view: View,
    _held: Held,
}

impl Source {
    async fn capture(core: &Arc<Core>, source: &str, target: &str) -> Result<Self> {
        let source = if source.is_empty() { MAIN } else { source };
        if source == target {
            return Err(Error::new(
                Reason::InvalidArgument,
                format!("branch {source:?} cannot be merged into itself; name another source or target"),
            )
            .with("branch", source));
        }
        let (line, view) = core.heads.head(source).await?;
        let held = scan::hold(core, &view.snapshot).await?;
        Ok(Self { line, view, _held: held })
    }

    /// What both sides come from and what the merge comes to; `None` if there is nothing to merge.
    async fn relation(&self, line: &Line, view: &View) -> Result<Option<(Tree, MergeOutcome)>> {
        let (target_head, source_head) = (view.snapshot.head(), self.view.snapshot.head());
        with_both((line, view), (&self.line, &self.view), |target, source| {
            if target.contains(source_head) {
                return Ok(None);
            }
            let tree = Tree::of(target, target_head, source, source_head)?;
            let base = tree.newest();
            if source.same_content(base, source_head) {
                return Ok(None);
            }
            let is_behind = matches!(tree, Tree::Commit(_)) && target.same_content(base, target_head);
            let outcome = if is_behind { MergeOutcome::FastForward } else { MergeOutcome::Merged };
            Ok(Some((tree, outcome)))
        })
        .await?
    }

    fn up_to_date(&self, view: &View) -> MergeSummary {
        MergeSummary {
            outcome: MergeOutcome::AlreadyUpToDate,
            base: self.view.snapshot.head().to_string(),
            source: self.view.snapshot.head().to_string(),
            target: view.snapshot.head().to_string(),
            counts: Vec::new(),
            settled: 0,
        }
    }

    /// The rows of the commits that the target has not seen.
    async fn new_ancestors(&self, line: &Line, view: &View) -> Result<Vec<ManifestRow>> {
        let head = self.view.snapshot.head();
        let missing =
            with_both((line, view), (&self.line, &self.view), |target, source| ancestry::missing(source, head, target))
                .await?;
        if missing.len() > limits::MAX_BROUGHT_IN {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "the source has {} commits the target has not seen; at most {} come in with one merge",
                    missing.len(),
                    limits::MAX_BROUGHT_IN
                ),
            ));
        }
        let extras = CommitExtras { brought_in: true, ..CommitExtras::default() };
        missing.iter().map(|commit| commit_row::encode(commit, &extras)).collect()
    }
}

/// Decides and checks everything.
async fn planned(core: &Arc<Core>, sides: &Sides, how: &MergeHow) -> Result<Plan> {
    let words = Words::new(how, &sides.target)?;
    // What contradictory schemas would make of entities is not known.
    if !sides.conflicts.is_empty() {
        return Ok(Plan::against_all(sides.conflicts.clone()));
    }
    let input = Input { core, bases: &sides.bases, target: &sides.target, source: &sides.source, how };
    let mut plan = Plan::make(&input, &words).await?;
    check::check(&input, &mut plan, &words).await?;
    sides.check(core, &mut plan).await?;
    Ok(plan)
}

/// Decides and checks everything, and stages it if nothing stands against it.
async fn staged(core: &Arc<Core>, view: &View, sides: &mut Sides, how: &MergeHow) -> Result<(Plan, Prepared)> {
    let done = async {
        let plan = planned(core, sides, how).await?;
        refuse(&plan.conflicts)?;
        let prepared = stage::stage(core, sides, &plan).await?;
        Ok((plan, prepared))
    };
    let done = done.await;
    sides.dismiss(core).await;
    let (plan, mut prepared) = done?;
    sides.declare(core, view, &mut prepared)?;
    Ok((plan, prepared))
}

struct Merge<'a> {
    source: Source,
    how: &'a MergeHow,
    // Of the attempt prepared last.
    done: Option<MergeNote>,
}

impl Merge<'_> {
    fn result(self, outcome: Outcome) -> MergeResult {
        let head = self.source.view.snapshot.head().to_string();
        let (receipt, none) = match outcome {
            Outcome::Committed(receipt) => (*receipt, false),
            Outcome::Nothing(receipt) => (*receipt, true),
        };
        if none {
            let base = head.clone();
            return result_of(MergeOutcome::AlreadyUpToDate, base, head, 0, receipt);
        }
        // A replay tells what the first call did.
        match receipt.commit.merge.as_deref().cloned().or(self.done) {
            Some(note) => result_of(note.outcome, note.base, note.source, note.settled, receipt),
            None => result_of(MergeOutcome::Merged, String::new(), head, 0, receipt),
        }
    }
}

fn result_of(outcome: MergeOutcome, base: String, source: String, settled: u64, receipt: Receipt) -> MergeResult {
    MergeResult { outcome, base, source, settled, receipt, source_deleted: None }
}

#[async_trait]
impl Action for Merge<'_> {
    fn label(&self) -> &'static str {
        MERGE
    }

    fn queues_first(&self) -> bool {
        false
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let (line, _) = core.heads.head(&view.snapshot.branch.name).await?;
        let _held = core.readers.hold(&view.snapshot);
        let Some((tree, outcome)) = self.source.relation(&line, view).await? else {
            return Ok(None);
        };
        let source = &self.source.view.snapshot;
        let mut sides = Sides::join(core, Bases::open(core, tree).await?, view, source).await?;
        let (plan, mut prepared) = staged(core, view, &mut sides, self.how).await?;
        let note = MergeNote {
            outcome,
            base: sides.bases.newest().to_string(),
            source: source.head().to_string(),
            source_branch: source.branch.name.clone(),
            strategy: self.how.strategy,
            settled: plan.settled,
            resolutions: Words::used(self.how, &plan.words_used),
        };
        prepared.rows = self.source.new_ancestors(&line, view).await?;
        prepared.merged = Some(source.head().to_string());
        prepared.note = Some(note.clone());
        self.done = Some(note);
        Ok(Some(prepared))
    }
}

/// Fails if anything stands against a merge, with the first of it.
fn refuse(conflicts: &[Conflict]) -> Result<()> {
    if conflicts.is_empty() {
        return Ok(());
    }
    let violation = |conflict: &Conflict| {
        let properties =
            if conflict.properties.is_empty() { String::new() } else { format!(".{}", conflict.properties.join(",")) };
        Violation {
            field: format!("{}/{}{properties}", conflict.type_ref, conflict.id),
            description: format!("{}: {}", conflict.kind.as_str(), conflict.message),
            reason: Reason::MergeConflict,
        }
    };
    let listed: Vec<Violation> = conflicts.iter().take(limits::MAX_REPORTED_VIOLATIONS).map(violation).collect();
    Err(Error::new(
        Reason::MergeConflict,
        format!(
            "{} conflicts stand against it, the first: {}; nothing was changed. A preview lists them all; a strategy or \
             resolutions settle them",
            conflicts.len(),
            listed.first().map_or("", |v| v.description.as_str())
        ),
    )
    .with("conflicts", conflicts.len())
    .with_violations(listed))
}
