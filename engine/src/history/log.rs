//! Looking commits up.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::heads::Line;
use crate::manifest::{branches, resolve, tags};
use crate::model::CommitInfo;
use crate::model::branch::MAIN;
use crate::txn::Core;

/// A commit by id. Main is asked first, then the other live branches, then what tags name.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a text that is no commit id, [`Reason::CommitNotFound`], the store's.
pub async fn commit(core: &Arc<Core>, id: &str) -> Result<CommitInfo> {
    find(core, id).await?.map(|found| found.1).ok_or_else(|| not_found(id))
}

/// A commit by id with the name of a branch whose lineage holds it: a live one, or else one that is deleted, of which
/// a tag keeps a state that descends from the commit.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a text that is no commit id; the store's.
pub async fn find(core: &Arc<Core>, id: &str) -> Result<Option<(String, CommitInfo)>> {
    check_id(id)?;
    if let Some(found) = on(core, MAIN, id).await? {
        return Ok(Some((MAIN.to_string(), found)));
    }
    let mut searched = HashSet::from([None]);
    for entry in branches::list(&core.store).await? {
        match on(core, &entry.name, id).await {
            Ok(Some(found)) => return Ok(Some((entry.name, found))),
            Ok(None) => {
                searched.insert(Some(entry.doc.lance_branch));
            }
            Err(e) if e.reason() == Reason::BranchNotFound => {}
            Err(e) => return Err(e),
        }
    }
    under_tags(core, id, searched).await
}

/// A commit that no live branch leads to. One look at each line of the manifest on which something is tagged, at the
/// newest such state that is there.
async fn under_tags(
    core: &Arc<Core>,
    id: &str,
    mut searched: HashSet<Option<String>>,
) -> Result<Option<(String, CommitInfo)>> {
    let mut tagged = tags::list(&core.store).await?;
    // What a commit descends from has a smaller id.
    tagged.retain(|tag| tag.doc.commit.as_str() >= id);
    tagged.sort_by_key(|tag| std::cmp::Reverse(tag.doc.manifest_version));
    for tag in tagged {
        if searched.contains(&tag.doc.lance_branch) {
            continue;
        }
        let Some(view) = resolve::at(&core.store, &tag.identity(), tag.doc.manifest_version).await? else { continue };
        let line = Line::detached(core.store.clone(), tag.identity());
        if let Some(found) = line.with_lineage(&view, |l| l.get(id)).await? {
            return Ok(Some((tag.doc.branch, found.as_ref().clone())));
        }
        searched.insert(tag.doc.lance_branch);
    }
    Ok(None)
}

async fn on(core: &Arc<Core>, branch: &str, id: &str) -> Result<Option<CommitInfo>> {
    let (line, view) = core.heads.head(branch).await?;
    Ok(line.with_lineage(&view, |l| l.get(id)).await?.map(|c| c.as_ref().clone()))
}

/// The error for a commit that no live branch and no tag leads to.
pub fn not_found(id: &str) -> Error {
    Error::new(
        Reason::CommitNotFound,
        format!("neither a live branch nor a tag holds commit {id}; `commit list` shows those that exist"),
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

/// One page of the ancestors of a branch's head, newest first by id, those that merges brought in among them.
///
/// # Errors
/// [`Reason::BranchNotFound`]; the store's.
pub async fn ancestors(core: &Arc<Core>, branch: &str, before: Option<&str>, limit: usize) -> Result<Vec<CommitInfo>> {
    let (line, view) = core.heads.head(branch).await?;
    let limit = limit.min(limits::MAX_PAGE_SIZE);
    let page = line.with_lineage(&view, |l| l.ancestors(before, limit)).await?;
    Ok(page.into_iter().map(|c| c.as_ref().clone()).collect())
}
