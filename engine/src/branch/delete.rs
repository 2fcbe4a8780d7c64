//! Deleting a branch: close its lineage, then mark its document.
//!
//! The closing commit comes first, so that a writer waiting for the branch finds it closed instead of
//! committing into the void. The files stay until a cleanup finds them unused: readers of this and other
//! processes may hold the branch's snapshots, and branches forked from it share its files.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{Error, Reason, Result};
use crate::format::commit_row::CommitExtras;
use crate::manifest::branches::{self, RefEntry};
use crate::manifest::{Snapshot, View, resolve};
use crate::model::branch::MAIN;
use crate::model::{Actor, WriteOptions};
use crate::store::object_log::Put;
use crate::txn::{Action, Core, Prepared, commit};

/// Deletes branch `name`. `force` removes a branch whose lineage cannot be read, and overrides no protection that can.
///
/// # Errors
/// [`Reason::BranchProtected`] for main and for a protected branch, [`Reason::BranchNotFound`], or the store's.
pub async fn delete(core: &Arc<Core>, name: &str, force: bool, actor: &Actor) -> Result<()> {
    core.ensure_writable()?;
    if name == MAIN {
        return Err(main_stays());
    }
    let entry = match branches::read(&core.store, name).await {
        Ok(Some(entry)) if !entry.doc.deleted => entry,
        Ok(_) => return Err(branches::not_found(&core.store, name).await),
        Err(e) if force && e.reason() == Reason::DataCorrupt => {
            return core.store.log().delete(&crate::format::paths::branch(name)).await;
        }
        Err(e) => return Err(e),
    };
    match close(core, &entry, "", actor).await {
        Err(e) if force && e.reason() != Reason::BranchProtected => {
            tracing::warn!(branch = name, error = %e, "a branch was removed without closing its lineage");
        }
        closed => closed?,
    }
    mark(core, &entry).await
}

/// Deletes a branch if it is still the one that was seen, with nothing added to it.
///
/// # Errors
/// As [`delete`]; [`Reason::HeadMoved`] with nothing changed.
pub async fn delete_as_seen(core: &Arc<Core>, seen: &Snapshot, actor: &Actor) -> Result<()> {
    core.ensure_writable()?;
    let name = &seen.branch.name;
    if name == MAIN {
        return Err(main_stays());
    }
    match branches::read(&core.store, name).await? {
        Some(entry) if !entry.doc.deleted && entry.doc.branch_id == seen.branch.branch_id => {
            close(core, &entry, seen.head(), actor).await?;
            mark(core, &entry).await
        }
        Some(entry) if !entry.doc.deleted => {
            let what = format!("branch {name:?} was deleted and made anew meanwhile; the new one stays");
            Err(Error::new(Reason::HeadMoved, what).with("branch", name))
        }
        _ => Err(branches::not_found(&core.store, name).await),
    }
}

/// The closed branch is gone from here on.
async fn mark(core: &Arc<Core>, entry: &RefEntry) -> Result<()> {
    let name = &entry.name;
    core.heads.forget(name);
    match branches::mark_deleted(&core.store, entry).await? {
        Put::Done => Ok(()),
        // Somebody else finished it, or made the name anew since.
        Put::Refused => match branches::read(&core.store, name).await? {
            Some(now) if !now.doc.deleted && now.doc.branch_id == entry.doc.branch_id => Err(Error::new(
                Reason::StoreUnavailable,
                format!("the document of branch {name:?} could not be marked; delete it again"),
            )),
            _ => Ok(()),
        },
    }
}

fn main_stays() -> Error {
    Error::new(Reason::BranchProtected, "main cannot be deleted").with("branch", MAIN)
}

fn protected(name: &str) -> Error {
    let what = format!("branch {name:?} is protected and cannot be deleted; lift its protection first");
    Error::new(Reason::BranchProtected, what).with("branch", name)
}

/// Publishes the closing commit, unless it stands already, after `expected_head` if that is not empty.
async fn close(core: &Arc<Core>, entry: &RefEntry, expected_head: &str, actor: &Actor) -> Result<()> {
    core.heads.take_note(entry);
    let options = WriteOptions {
        branch: entry.name.clone(),
        expected_head: expected_head.to_string(),
        message: "branch deleted".to_string(),
        actor: actor.clone(),
        ..WriteOptions::default()
    };
    let mut action = Close { branch_id: entry.doc.branch_id.clone() };
    match commit::commit(core, &mut action, &options).await {
        Ok(_) => Ok(()),
        // Closed already, or gone: the lineage tells which.
        Err(e) if e.reason() == Reason::BranchNotFound => {
            match resolve::newest(&core.store, &entry.identity()).await? {
                Some(_) => Ok(()),
                None => Err(Error::new(
                    Reason::DataCorrupt,
                    format!("the lineage of branch {:?} is gone; delete it with force", entry.name),
                )),
            }
        }
        Err(e) if e.reason() == Reason::BranchProtected => Err(protected(&entry.name)),
        Err(e) => Err(e),
    }
}

struct Close {
    branch_id: String,
}

#[async_trait]
impl Action for Close {
    fn label(&self) -> &'static str {
        "branch_delete"
    }

    fn writes_directly(&self) -> bool {
        true
    }

    async fn prepare(&mut self, _core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        if view.snapshot.branch.branch_id != self.branch_id {
            return Ok(None);
        }
        Ok(Some(Prepared {
            extras: CommitExtras { closes_branch: true, ..CommitExtras::default() },
            ..Prepared::default()
        }))
    }
}
