//! Claims whose intents cannot be read.
//!
//! Nobody can finish such an operation, but the turn it holds is known, and so it can be undone: the next
//! version of the branch says that nothing happened. Should its writer be alive, it finds its turn decided.
//! What it left on tables carries its mark and is put back by the next writer that meets it.

use std::sync::Arc;

use super::sweep;
use crate::error::Result;
use crate::format::intent_json::{BaseDoc, BranchDoc, IntentDoc};
use crate::format::paths;
use crate::manifest::heads::Line;
use crate::manifest::publish::{Published, publish};
use crate::manifest::{BranchIdentity, View, branches, resolve};
use crate::txn::Core;

/// What is written for what only the intent knew.
const UNKNOWN: &str = "unknown";

/// Undoes the operation if its intent is still unreadable after a lease's time. Returns when it is worth
/// looking again.
///
/// # Errors
/// The store's.
pub(super) async fn meet(core: &Arc<Core>, line: &Arc<Line>, claim: &str) -> Result<()> {
    let name = paths::intent(claim);
    let Some(found) = core.store.log().read(&name).await? else {
        return Ok(());
    };
    core.options.clock.sleep(core.options.claim_lease).await;
    match core.store.log().read(&name).await? {
        Some(now) if now.bytes == found.bytes => {}
        _ => return Ok(()),
    }
    let Some(view) = resolve::newest(&core.store, &line.identity).await? else {
        return Ok(());
    };
    if paths::claim_id(&line.identity.branch_id, view.snapshot.version) != claim {
        // Its turn is decided, so it blocks nobody.
        return core.intents.clear(claim).await;
    }
    let undone = stand_in(core, line, &view, claim);
    let row = sweep::undo_row(core, &undone, &view)?;
    let decider = row.object_id.clone();
    if let Published::Landed(next) = publish(&core.store, &view, vec![row], claim).await? {
        line.offer(&next);
        tracing::warn!(branch = line.identity.name, file = name, "an operation with an unreadable intent was undone");
        sweep::close(core, &undone, &[], "rolled_back", &decider, sweep::Settled::Undone).await?;
    }
    Ok(())
}

/// Removes a claim that holds no live branch's next turn: whatever it was for is decided.
///
/// # Errors
/// The store's.
pub(super) async fn forget(core: &Arc<Core>, claim: &str) -> Result<()> {
    let mut lines = vec![BranchIdentity::main()];
    lines.extend(branches::list(&core.store).await?.iter().map(|entry| entry.identity()));
    for identity in lines {
        if let Some(view) = resolve::newest(&core.store, &identity).await?
            && paths::claim_id(&identity.branch_id, view.snapshot.version) == claim
        {
            return Ok(());
        }
    }
    tracing::warn!(claim, "an unreadable intent that blocks nobody was removed");
    core.intents.clear(claim).await
}

/// What is known of the operation.
fn stand_in(core: &Core, line: &Line, view: &View, claim: &str) -> IntentDoc {
    IntentDoc {
        format: IntentDoc::FORMAT,
        operation_id: claim.to_string(),
        label: UNKNOWN.to_string(),
        actor: UNKNOWN.to_string(),
        writer: core.writer(),
        branch: BranchDoc {
            name: line.identity.name.clone(),
            branch_id: line.identity.branch_id.clone(),
            lance_branch: line.identity.lance_branch.clone(),
        },
        base: BaseDoc { manifest_version: view.snapshot.version, head: view.snapshot.head().to_string() },
        commit: String::new(),
        tables: Vec::new(),
        rows: Vec::new(),
    }
}
