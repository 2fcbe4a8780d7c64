//! What must hold before maintenance begins on a branch: its operations are decided.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Reason, Result};
use crate::format::intent_json::IntentDoc;
use crate::format::paths;
use crate::limits;
use crate::manifest::View;
use crate::recovery::sweep;
use crate::txn::Core;

/// Refuses while an operation of the branch is undecided that nobody is carrying out. `nothing` says what was not
/// done.
pub(super) async fn ensure_recovered(core: &Arc<Core>, view: &View, nothing: &str) -> Result<()> {
    for claim in core.intents.list().await? {
        let intent = match core.intents.read(&claim).await {
            Ok(Some(intent)) => intent,
            Ok(None) => continue,
            // Whose it is, nobody knows; the commit meets it if it is ours.
            Err(e) if e.reason() == Reason::DataCorrupt => continue,
            Err(e) => return Err(e),
        };
        if intent.branch.branch_id == view.snapshot.branch.branch_id && sweep::may_recover(core, &intent) {
            let what = format!(
                "operation {} on branch {:?} is interrupted and could not be decided; {nothing}, try again",
                intent.operation_id, intent.branch.name
            );
            return Err(undecided(&intent, what));
        }
    }
    Ok(())
}

/// Recovers what is interrupted, unless the graph was opened for reading, and waits for at most a lease's time for the
/// operation that holds the branch's next turn. Operations that begin meanwhile belong to writers at work and are not
/// waited for.
///
/// # Errors
/// [`Reason::RecoveryRequired`] if the operation is not decided by then; the branch's and the store's.
pub(super) async fn settle(core: &Arc<Core>, branch: &str, nothing: &str) -> Result<()> {
    let Some(first) = holder(core, branch).await? else { return Ok(()) };
    let (mut waited, mut pause) = (Duration::ZERO, limits::CLAIM_POLL_MIN);
    let mut now = Some(first.clone());
    while now.as_ref() == Some(&first) {
        let in_vain = core.read_only && first.intent.as_ref().is_none_or(|intent| sweep::may_recover(core, intent));
        if in_vain || waited >= core.options.claim_lease {
            return Err(first.error(nothing));
        }
        core.options.clock.sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(limits::CLAIM_POLL_MAX);
        now = holder(core, branch).await?;
    }
    Ok(())
}

/// Who holds the next turn of a branch.
#[derive(Clone)]
struct Holder {
    claim: String,
    /// `None` if nobody can read it.
    intent: Option<IntentDoc>,
}

/// Its lease is renewed meanwhile, which makes it nobody else.
impl PartialEq for Holder {
    fn eq(&self, other: &Self) -> bool {
        let operation = |holder: &Self| holder.intent.as_ref().map(|intent| intent.operation_id.clone());
        self.claim == other.claim && operation(self) == operation(other)
    }
}

impl Holder {
    fn error(&self, nothing: &str) -> Error {
        let Some(intent) = &self.intent else {
            let file = paths::intent(&self.claim);
            let what = format!("the intent {file} cannot be read; {nothing}. The next write to the branch undoes it");
            return Error::new(Reason::RecoveryRequired, what).with("file", file);
        };
        let what = format!(
            "operation {} ({}) on branch {:?} is not decided; {nothing}. Somebody is carrying it out, or it was \
             interrupted: then the next write to the branch, or opening the graph for writing, decides it",
            intent.operation_id, intent.label, intent.branch.name
        );
        undecided(intent, what)
    }
}

async fn holder(core: &Arc<Core>, branch: &str) -> Result<Option<Holder>> {
    if !core.read_only {
        sweep::sweep(core).await?;
    }
    let snapshot = core.heads.head(branch).await?.1.snapshot;
    let claim = paths::claim_id(&snapshot.branch.branch_id, snapshot.version);
    match core.intents.read(&claim).await {
        Ok(None) => Ok(None),
        Ok(intent) => Ok(Some(Holder { claim, intent })),
        Err(e) if matches!(e.reason(), Reason::DataCorrupt | Reason::StorageStampTooNew) => {
            Ok(Some(Holder { claim, intent: None }))
        }
        Err(e) => Err(e),
    }
}

fn undecided(intent: &IntentDoc, what: String) -> Error {
    Error::new(Reason::RecoveryRequired, what)
        .with("operation_id", &intent.operation_id)
        .with("commit_id", &intent.commit)
        .with("branch", &intent.branch.name)
}
