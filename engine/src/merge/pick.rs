//! Taking back a commit, making it again, going back to a state: three-way merges whose base is not the history's.

use std::sync::Arc;

use async_trait::async_trait;

use super::base::Bases;
use super::evolve::Sides;
use super::settle::Words;
use super::{result_of, staged};
use crate::error::{Error, Reason, Result};
use crate::history::log;
use crate::intent::Held;
use crate::manifest::{Snapshot, View};
use crate::model::commit::{CHERRY_PICK, RESTORE, REVERT};
use crate::model::{MergeHow, MergeNote, MergeOutcome, MergeResult, ReadSelector, WriteOptions};
use crate::read::{scan, snapshot};
use crate::txn::commit::{Outcome, commit};
use crate::txn::{Action, Core, OnChange, Prepared};

/// See [`crate::Graph::revert`].
///
/// # Errors
/// See there.
pub async fn revert(core: &Arc<Core>, id: &str, how: &MergeHow, options: &WriteOptions) -> Result<MergeResult> {
    let (after, before) = both_states(core, id, "taken back").await?;
    run(core, REVERT, Some(after), before, id, how, options).await
}

/// See [`crate::Graph::cherry_pick`].
///
/// # Errors
/// See there.
pub async fn cherry_pick(core: &Arc<Core>, id: &str, how: &MergeHow, options: &WriteOptions) -> Result<MergeResult> {
    let (after, before) = both_states(core, id, "made again").await?;
    run(core, CHERRY_PICK, Some(before), after, id, how, options).await
}

/// See [`crate::Graph::restore`].
///
/// # Errors
/// See there.
pub async fn restore(core: &Arc<Core>, to: &ReadSelector, options: &WriteOptions) -> Result<MergeResult> {
    let state = snapshot::resolve(core, to).await?;
    let id = state.head().to_string();
    run(core, RESTORE, None, state, &id, &MergeHow::default(), options).await
}

/// The states after and before a commit.
async fn both_states(core: &Arc<Core>, id: &str, what: &str) -> Result<(Snapshot, Snapshot)> {
    let found = log::commit(core, id).await?;
    let Some(parent) = found.parents.first() else {
        return Err(Error::new(
            Reason::InvalidArgument,
            format!("{id} is the first commit of the graph and changed nothing; it cannot be {what}"),
        )
        .with("commit_id", id));
    };
    let after = snapshot::resolve(core, &ReadSelector::Commit(found.id.clone())).await?;
    let before = snapshot::resolve(core, &ReadSelector::Commit(parent.clone())).await?;
    Ok((after, before))
}

async fn run(
    core: &Arc<Core>,
    label: &'static str,
    base: Option<Snapshot>,
    source: Snapshot,
    id: &str,
    how: &MergeHow,
    options: &WriteOptions,
) -> Result<MergeResult> {
    core.ensure_writable()?;
    let mut held = vec![scan::hold(core, &source).await?];
    if let Some(base) = &base {
        held.push(scan::hold(core, base).await?);
    }
    let mut action = Pick { label, base, source, id: id.to_string(), how, done: None, _held: held };
    let outcome = commit(core, &mut action, options).await?;
    Ok(action.result(outcome))
}

struct Pick<'a> {
    label: &'static str,
    /// What the source is compared with; `None` for the target itself.
    base: Option<Snapshot>,
    source: Snapshot,
    id: String,
    how: &'a MergeHow,
    // Of the attempt prepared last.
    done: Option<MergeNote>,
    _held: Vec<Held>,
}

impl Pick<'_> {
    fn result(self, outcome: Outcome) -> MergeResult {
        let base = self.base.as_ref().map(|b| b.head().to_string());
        match outcome {
            Outcome::Nothing(receipt) => {
                let base = base.unwrap_or_else(|| receipt.commit.id.clone());
                result_of(MergeOutcome::AlreadyUpToDate, base, self.id, 0, *receipt)
            }
            Outcome::Committed(receipt) => match receipt.commit.merge.as_deref().cloned().or(self.done) {
                Some(note) => result_of(note.outcome, note.base, note.source, note.settled, *receipt),
                None => result_of(MergeOutcome::Merged, base.unwrap_or_default(), self.id, 0, *receipt),
            },
        }
    }
}

#[async_trait]
impl Action for Pick<'_> {
    fn label(&self) -> &'static str {
        self.label
    }

    fn on_change(&self) -> OnChange {
        // A restore is about the state it was asked for, with nothing in between.
        if self.base.is_none() { OnChange::Refuse } else { OnChange::Prepare }
    }

    fn queues_first(&self) -> bool {
        false
    }

    fn writes_directly(&self) -> bool {
        true
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let _held = core.readers.hold(&view.snapshot);
        let base = self.base.clone().unwrap_or_else(|| view.snapshot.as_ref().clone());
        let mut sides = Sides::join(core, Bases::single(base), view, &self.source).await?;
        let (plan, mut prepared) = staged(core, view, &mut sides, self.how).await?;
        if prepared.effects.is_empty() && prepared.pins.is_empty() && prepared.declarations.is_empty() {
            return Ok(None);
        }
        let note = MergeNote {
            outcome: MergeOutcome::Merged,
            base: sides.bases.newest().to_string(),
            source: self.id.clone(),
            source_branch: String::new(),
            strategy: self.how.strategy,
            settled: plan.settled,
            resolutions: Words::used(self.how, &plan.words_used),
        };
        prepared.note = Some(note.clone());
        prepared.exact = self.base.is_none();
        self.done = Some(note);
        Ok(Some(prepared))
    }
}
