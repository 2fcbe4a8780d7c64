//! What must hold before a cleanup removes anything: every operation is decided, and no table has drifted.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};

use crate::error::{Error, Reason, Result};
use crate::format::intent_json::IntentDoc;
use crate::format::paths;
use crate::limits;
use crate::manifest::View;
use crate::recovery::{restore, sweep};
use crate::txn::Core;

/// How long an operation that somebody is carrying out may take to come to its end.
const PATIENCE: Duration = limits::CLAIM_LEASE.saturating_mul(2);

/// Recovers what is interrupted, and waits for operations that are under way. Those that begin meanwhile belong to
/// writers at work and are not waited for.
///
/// # Errors
/// [`Reason::RecoveryRequired`] naming an operation that is not over by then; the store's.
pub(super) async fn settle(core: &Arc<Core>) -> Result<()> {
    sweep::sweep(core).await?;
    let mut open = intents(core).await?;
    let (mut waited, mut pause) = (Duration::ZERO, limits::CLAIM_POLL_MIN);
    while let Some(first) = open.first() {
        if waited >= PATIENCE {
            return Err(undecided(first));
        }
        core.options.clock.sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(limits::CLAIM_POLL_MAX);
        sweep::sweep(core).await?;
        let standing = intents(core).await?;
        open.retain(|intent| standing.iter().any(|s| s.operation_id == intent.operation_id));
    }
    Ok(())
}

fn undecided(intent: &IntentDoc) -> Error {
    Error::new(
        Reason::RecoveryRequired,
        format!(
            "operation {} ({}) on branch {:?} is not over and could not be decided; nothing was removed, run the \
             cleanup again when it is",
            intent.operation_id, intent.label, intent.branch.name
        ),
    )
    .with("operation_id", &intent.operation_id)
    .with("commit_id", &intent.commit)
    .with("branch", &intent.branch.name)
}

/// The operations under way.
///
/// # Errors
/// [`Reason::RecoveryRequired`] naming an intent that nobody can read; the store's.
pub(super) async fn intents(core: &Core) -> Result<Vec<IntentDoc>> {
    let mut found = Vec::new();
    for claim in core.intents.list().await? {
        match core.intents.read(&claim).await {
            Ok(intent) => found.extend(intent),
            Err(e) if e.reason() == Reason::DataCorrupt => {
                let file = paths::intent(&claim);
                let what = format!(
                    "the intent {file} is unreadable, so what it names is not known; nothing was removed. The next \
                     write to its branch undoes the operation"
                );
                return Err(Error::new(Reason::RecoveryRequired, what).with("file", file).caused_by(e));
            }
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Checks that every version above what the heads show was made by this engine.
///
/// # Errors
/// [`Reason::Drift`] naming the table; the store's.
pub(super) async fn ensure_no_drift(core: &Core, views: &[View], concurrency: usize) -> Result<()> {
    let owned = views.iter().flat_map(|view| view.snapshot.pins().filter(|pin| pin.owned).cloned());
    futures::stream::iter(owned.collect::<Vec<_>>())
        .map(|pin| async move {
            let Some(at) = &pin.at else { return Ok(()) };
            match core.store.open_newest(&at.location, at.branch.as_deref()).await? {
                Some(newest) if newest.version() > at.version => {
                    restore::ensure_abandoned(core, &pin.type_ref, at, &newest).await
                }
                _ => Ok(()),
            }
        })
        .buffer_unordered(concurrency)
        .try_collect::<()>()
        .await
}
