//! Setting and lifting a branch's protection.
//!
//! It is a commit of the branch, so that every writer and every deletion that takes effect later sees it, whichever
//! process makes it. It names the incarnation it is about, so a fork of a protected branch is not protected.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::format::commit_row::CommitExtras;
use crate::manifest::View;
use crate::model::commit::PROTECTION;
use crate::model::{Actor, BranchInfo, WriteOptions};
use crate::txn::{Action, Core, Prepared, commit};

/// Sets or lifts the protection of branch `name`; makes no commit if nothing changes.
///
/// # Errors
/// [`crate::error::Reason::BranchNotFound`]; see [`commit::commit`] for store failures.
pub async fn protect(core: &Arc<Core>, name: &str, protected: bool, actor: &Actor) -> Result<BranchInfo> {
    core.ensure_writable()?;
    let known = super::list::get(core, name).await?;
    if known.protected == protected {
        return Ok(known);
    }
    let message = if protected { "branch protected" } else { "protection lifted" };
    let options = WriteOptions {
        branch: name.to_string(),
        message: message.to_string(),
        actor: actor.clone(),
        ..WriteOptions::default()
    };
    commit::commit(core, &mut Protect { protected }, &options).await?;
    super::list::get(core, name).await
}

struct Protect {
    protected: bool,
}

#[async_trait]
impl Action for Protect {
    fn label(&self) -> &'static str {
        PROTECTION
    }

    async fn prepare(&mut self, _core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        if view.snapshot.is_protected() == self.protected {
            return Ok(None);
        }
        let incarnation = if self.protected { view.snapshot.branch.branch_id.clone() } else { String::new() };
        let extras = CommitExtras { protects: Some(incarnation), ..CommitExtras::default() };
        Ok(Some(Prepared { extras, ..Prepared::default() }))
    }
}
