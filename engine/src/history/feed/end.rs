//! How a feed ends before its follower does: the branch is gone, or what comes next is.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::limits;
use crate::manifest::branches;
use crate::manifest::heads::Line;
use crate::model::CommitInfo;
use crate::txn::Core;

/// The error for a branch that was deleted while it was followed.
pub(super) fn closed(branch: &str) -> Error {
    Error::new(
        Reason::BranchClosed,
        format!("branch {branch:?} was deleted and its feed ends; a branch made again under the name is another one"),
    )
    .with("branch", branch)
}

/// Whether a branch's document is gone, says that it was deleted, or names another incarnation. One request.
pub(super) async fn is_removed(core: &Core, line: &Line) -> Result<bool> {
    let Some(doc) = &line.doc else {
        return Ok(false);
    };
    let now = branches::read(&core.store, &line.identity.name).await?;
    Ok(now.is_none_or(|entry| entry.doc.deleted || entry.doc.branch_id != doc.branch_id))
}

/// The error for a commit whose changes cannot be told, because `missing` is not retained: with the way to go on.
pub(super) async fn gap(core: &Core, line: &Line, told: Option<&str>, missing: &CommitInfo) -> Error {
    let branch = &line.identity.name;
    let oldest = match oldest_without_gap(core, line).await {
        Ok(Some(oldest)) => oldest,
        Ok(None) => return closed(branch),
        Err(e) => return e,
    };
    let after = told.map_or_else(|| "the beginning".to_string(), |told| format!("commit {told}"));
    let what = format!(
        "branch {branch:?} cannot be followed after {after}: a cleanup removed the state at commit {}",
        missing.id
    );
    let how = format!(
        "begin anew from a baseline: export the graph pinned at commit {oldest} or a later one, then watch after that \
         commit"
    );
    let error = Error::new(Reason::HistoryGap, format!("{what}; {how}"))
        .with("branch", branch)
        .with("commit_id", &missing.id)
        .with("oldest_retained", oldest);
    match told {
        Some(told) => error.with("after", told),
        None => error,
    }
}

/// The oldest commit of a branch's chain since which every state is retained; `None` if the branch is gone. One listing
/// for each line that the branch descends from, as far back as that.
async fn oldest_without_gap(core: &Core, line: &Line) -> Result<Option<String>> {
    let view = match line.newest().await {
        Ok(view) if view.snapshot.is_closed() => return Ok(None),
        Ok(view) => view,
        Err(e) if e.reason() == Reason::BranchNotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    if is_removed(core, line).await? {
        return Ok(None);
    }
    let mut there: HashMap<Option<String>, HashSet<u64>> = HashMap::new();
    let mut oldest = view.snapshot.head().to_string();
    let mut before: Option<String> = None;
    loop {
        let page = line.with_lineage(&view, |l| l.page(before.as_deref(), limits::FEED_PAGE)).await?;
        for commit in &page {
            before = Some(commit.id.clone());
            // What came after the view need not be in a listing.
            if commit.id.as_str() > view.snapshot.head() {
                continue;
            }
            if !there.contains_key(&commit.lance_branch) {
                let files = core.store.version_files(paths::MANIFEST, commit.lance_branch.as_deref()).await?;
                there.insert(commit.lance_branch.clone(), files.iter().map(|file| file.version).collect());
            }
            if !there.get(&commit.lance_branch).is_some_and(|versions| versions.contains(&commit.manifest_version)) {
                return Ok(Some(oldest));
            }
            oldest.clone_from(&commit.id);
        }
        if page.len() < limits::FEED_PAGE {
            return Ok(Some(oldest));
        }
    }
}
