//! Looking commits up.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::branches;
use crate::model::CommitInfo;
use crate::model::branch::MAIN;
use crate::txn::Core;

/// A commit by id. Main is asked first, then the other live branches.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a text that is no commit id, [`Reason::CommitNotFound`], the store's.
pub async fn commit(core: &Arc<Core>, id: &str) -> Result<CommitInfo> {
    find(core, id).await?.map(|found| found.1).ok_or_else(|| not_found(id))
}

/// A commit by id with the name of a live branch whose lineage holds it.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a text that is no commit id; the store's.
pub async fn find(core: &Arc<Core>, id: &str) -> Result<Option<(String, CommitInfo)>> {
    check_id(id)?;
    if let Some(found) = on(core, MAIN, id).await? {
        return Ok(Some((MAIN.to_string(), found)));
    }
    for entry in branches::list(&core.store).await? {
        match on(core, &entry.name, id).await {
            Ok(Some(found)) => return Ok(Some((entry.name, found))),
            Ok(None) => {}
            Err(e) if e.reason() == Reason::BranchNotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

async fn on(core: &Arc<Core>, branch: &str, id: &str) -> Result<Option<CommitInfo>> {
    let (line, view) = core.heads.head(branch).await?;
    Ok(line.with_lineage(&view, |l| l.get(id)).await?.map(|c| c.as_ref().clone()))
}

/// The error for a commit that is not in any live lineage.
pub fn not_found(id: &str) -> Error {
    Error::new(
        Reason::CommitNotFound,
        format!("no live branch holds commit {id}; `commit list` shows those that exist"),
    )
    .with("commit_id", id)
}

/// Checks that a text can be a commit id.
///
/// # Errors
/// [`Reason::InvalidArgument`].
pub fn check_id(id: &str) -> Result<()> {
    ulid::Ulid::from_string(id)
        .map(|_| ())
        .map_err(|_| Error::new(Reason::InvalidArgument, format!("{id:?} is not a commit id: it has 26 characters")))
}

/// The commit a request made on a branch.
///
/// # Errors
/// [`Reason::BranchNotFound`]; the store's.
pub async fn by_request(core: &Arc<Core>, branch: &str, request_id: &str) -> Result<Option<CommitInfo>> {
    let (line, view) = core.heads.head(branch).await?;
    Ok(line.with_lineage(&view, |l| l.by_request(request_id)).await?.map(|c| c.as_ref().clone()))
}

/// One page of a branch's commits, newest first.
///
/// # Errors
/// [`Reason::BranchNotFound`]; the store's.
pub async fn page(core: &Arc<Core>, branch: &str, before: Option<&str>, limit: usize) -> Result<Vec<CommitInfo>> {
    let (line, view) = core.heads.head(branch).await?;
    let limit = limit.min(limits::MAX_PAGE_SIZE);
    let page = line.with_lineage(&view, |l| l.page(before, limit)).await?;
    Ok(page.into_iter().map(|c| c.as_ref().clone()).collect())
}
