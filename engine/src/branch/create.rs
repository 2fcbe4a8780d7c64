//! Making a branch: a fork of the manifest, then the document that makes it exist.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::format::ref_json::{ForkPoint, RefDoc};
use crate::intent::{readers, retention};
use crate::limits;
use crate::manifest::{Snapshot, branches, resolve};
use crate::model::branch::{MAIN, check_name};
use crate::model::{Actor, BranchInfo, ReadSelector};
use crate::read;
use crate::txn::Core;

/// Makes branch `name` at a state of the graph. Copies nothing; costs the same at any size, history and
/// number of types.
///
/// # Errors
/// [`Reason::InvalidName`], [`Reason::BranchExists`], or the selector's.
pub async fn create(core: &Arc<Core>, name: &str, from: &ReadSelector, actor: &Actor) -> Result<BranchInfo> {
    core.ensure_writable()?;
    check_name(name)?;
    // Refused here for the price of one read; the document's own condition decides.
    if name == MAIN || lives(core, name).await? {
        return Err(Error::new(Reason::BranchExists, format!("branch {name:?} exists already")).with("branch", name));
    }
    let began = core.now();
    let view = read::snapshot::resolve_view(core, from).await?;
    let origin = &view.snapshot;
    // Until the document stands, nothing else tells a cleanup that a branch begins here.
    let is_head = core.heads.is_known_head(origin);
    let _held = match is_head {
        true => core.readers.hold(origin),
        false => core.readers.pin(origin).await?,
    };
    let lance_branch = core.fresh_id();
    core.store.fork_only(view.table(), &lance_branch).await?;
    let doc = RefDoc {
        branch_id: lance_branch.clone(),
        lance_branch,
        parent: origin.branch.name.clone(),
        forked_from: ForkPoint {
            lance_branch: origin.branch.lance_branch.clone(),
            manifest_version: origin.version,
            commit: origin.head().to_string(),
        },
        created_at: core.now(),
        actor: actor.0.clone(),
        root: origin.head().to_string(),
        deleted: false,
    };
    branches::create(&core.store, name, &doc).await?;
    core.heads.forget(name);
    // What was a head a moment ago is announced by no cleanup.
    let lasted = u128::try_from(core.now().saturating_sub(began)).unwrap_or(u128::MAX);
    if !is_head || lasted > (limits::RETENTION_GRACE / 2).as_micros() {
        ensure_kept(core, name, &doc, origin).await?;
    }
    Ok(super::list::describe(name, &doc, origin))
}

/// A cleanup that looked for branches just before this one was made may be about to remove what it begins with. Then
/// there is no branch.
async fn ensure_kept(core: &Core, name: &str, doc: &RefDoc, origin: &Snapshot) -> Result<()> {
    if retention::keeps(&core.store, origin.branch.lance_branch.as_deref(), origin.version, core.now()).await? {
        return Ok(());
    }
    if let Some(entry) = branches::read(&core.store, name).await?.filter(|e| e.doc.branch_id == doc.branch_id) {
        branches::mark_deleted(&core.store, &entry).await?;
    }
    Err(readers::gone(origin))
}

/// Whether the name belongs to a live branch. A deletion that stopped half-way, its lineage closed and its
/// document unmarked, is finished here.
async fn lives(core: &Core, name: &str) -> Result<bool> {
    let Some(entry) = branches::read(&core.store, name).await? else {
        return Ok(false);
    };
    if entry.doc.deleted {
        return Ok(false);
    }
    match resolve::newest(&core.store, &entry.identity()).await? {
        Some(view) if view.snapshot.is_closed() => {
            branches::mark_deleted(&core.store, &entry).await?;
            Ok(false)
        }
        _ => Ok(true),
    }
}
