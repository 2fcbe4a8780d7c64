//! Looking at branches.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};

use crate::error::{Reason, Result};
use crate::format::ref_json::RefDoc;
use crate::manifest::{Snapshot, branches};
use crate::model::branch::MAIN;
use crate::model::{Actor, BranchInfo};
use crate::txn::Core;

/// Heads are resolved this many at once.
const PARALLELISM: usize = 8;

/// A live branch.
///
/// # Errors
/// [`Reason::BranchNotFound`] or the store's.
pub async fn get(core: &Arc<Core>, name: &str) -> Result<BranchInfo> {
    let (line, view) = core.heads.head(name).await?;
    match &line.doc {
        Some(doc) => Ok(describe(name, doc, &view.snapshot)),
        None => main(core).await,
    }
}

/// Every live branch by name, main first. One that is deleted meanwhile is left out.
///
/// # Errors
/// The store's.
pub async fn list(core: &Arc<Core>) -> Result<Vec<BranchInfo>> {
    let mut out = vec![main(core).await?];
    let found: Vec<Option<BranchInfo>> = futures::stream::iter(branches::list(&core.store).await?)
        .map(|entry| async move {
            match core.heads.head(&entry.name).await {
                Ok((_, view)) => Ok(Some(describe(&entry.name, &entry.doc, &view.snapshot))),
                Err(e) if e.reason() == Reason::BranchNotFound => Ok(None),
                Err(e) => Err(e),
            }
        })
        .buffered(PARALLELISM)
        .try_collect()
        .await?;
    out.extend(found.into_iter().flatten());
    Ok(out)
}

async fn main(core: &Arc<Core>) -> Result<BranchInfo> {
    let (line, view) = core.heads.head(MAIN).await?;
    let genesis = line.with_lineage(&view, |l| l.first()).await?;
    Ok(BranchInfo {
        name: MAIN.to_string(),
        branch_id: MAIN.to_string(),
        parent: String::new(),
        forked_from: String::new(),
        head: view.snapshot.head().to_string(),
        created_at: genesis.as_ref().map_or(0, |c| c.created_at),
        actor: genesis.map_or_else(Actor::default, |c| c.actor.clone()),
        protected: view.snapshot.is_protected(),
    })
}

/// What a branch is whose head shows this, or will once its document stands.
pub(super) fn describe(name: &str, doc: &RefDoc, head: &Snapshot) -> BranchInfo {
    BranchInfo {
        name: name.to_string(),
        branch_id: doc.branch_id.clone(),
        parent: doc.parent.clone(),
        forked_from: doc.forked_from.commit.clone(),
        head: head.head().to_string(),
        created_at: doc.created_at,
        actor: Actor(doc.actor.clone()),
        // Told by the incarnation, so what the origin of a fork says is not about the fork.
        protected: head.doc().protected.as_ref() == Some(&doc.branch_id),
    }
}
