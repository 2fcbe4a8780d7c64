//! Following a branch: its commits one after the other, each with what it changed.
//!
//! The order is that of the branch's own chain of first parents, the part it inherited included, so a merge is one
//! commit with everything that it brought. A commit is told whole, between its begin and its end, and a cursor is handed
//! out at its end: who resumes with the last cursor misses nothing, and hears again at most of the commit that was not
//! told to its end. Nothing runs in the background, and who follows makes no promise to cleanups but for the two states
//! that are compared at the moment.

mod block;
mod cursor;
mod end;
mod walk;

use std::sync::Arc;

use futures::stream::BoxStream;

use self::cursor::{Cursor, Scope};
use self::walk::{Start, Walk};
use super::log;
use crate::error::{Error, Reason, Result};
use crate::manifest::View;
use crate::manifest::heads::Line;
use crate::model::branch::MAIN;
use crate::model::{FeedMessage, WatchRequest, WatchStart};
use crate::txn::Core;

/// Follows a branch. See [`crate::Graph::watch`].
///
/// The stream does nothing until it is polled, and dropping it ends everything. At the head it waits; from time to time
/// it says that nothing happened. A store that does not answer while it waits is asked again for a while.
///
/// # Errors
/// [`Reason::BranchNotFound`]; [`Reason::InvalidPageToken`] for a cursor that is damaged or made for another graph,
/// branch, incarnation or filter, saying which; for a start after a commit, [`Reason::CommitNotFound`] if the branch does
/// not have it and [`Reason::InvalidArgument`] if only a merge brought it in; [`Reason::TypeNotFound`] for a type in the
/// filter that the head does not declare, unless a cursor is resumed; the store's.
///
/// The stream ends with [`Reason::BranchClosed`] once the branch is deleted, with [`Reason::HistoryGap`] where states
/// that it has to compare are not retained, with the store's errors, and else never.
pub async fn watch(core: &Arc<Core>, request: &WatchRequest) -> Result<BoxStream<'static, Result<FeedMessage>>> {
    let branch = if request.branch.is_empty() { MAIN } else { &request.branch };
    let cursor = match &request.start {
        WatchStart::Cursor(text) => Some(Cursor::decode(text)?),
        _ => None,
    };
    let (line, view) = core.heads.head(branch).await?;
    let first = line.with_lineage(&view, |lineage| lineage.first()).await?;
    let first = first.ok_or_else(|| Error::new(Reason::DataCorrupt, "the manifest holds no commit"))?;
    let scope = Scope {
        graph: first.id.clone(),
        branch: branch.to_string(),
        incarnation: line.identity.branch_id.clone(),
        wants: cursor::wants(request),
    };
    if let Some(cursor) = &cursor {
        cursor.check(&scope)?;
    } else {
        request.filter.types.iter().try_for_each(|type_ref| view.snapshot.ty(type_ref).map(|_| ()))?;
    }
    let start = match (&request.start, cursor) {
        (_, Some(cursor)) => after_cursor(&line, &view, cursor).await?,
        (WatchStart::Beginning, _) => Start::First,
        (WatchStart::After(commit), _) => after_commit(&line, &view, commit).await?,
        (WatchStart::Now | WatchStart::Cursor(_), _) => Start::At(view.snapshot.head().to_string()),
    };
    let filter = request.changes.then(|| request.filter.clone());
    Ok(Walk::new(core.clone(), line, view, scope, filter).messages(start))
}

async fn after_cursor(line: &Line, view: &View, cursor: Cursor) -> Result<Start> {
    match line.with_lineage(view, |lineage| lineage.is_own(&cursor.told)).await? {
        true => Ok(Start::After(cursor.told)),
        false => Err(cursor::refuse(format!("the cursor stands at commit {}, which the branch lacks", cursor.told))),
    }
}

async fn after_commit(line: &Line, view: &View, commit: &str) -> Result<Start> {
    log::check_id(commit)?;
    let branch = &line.identity.name;
    let (is_own, is_known) = line.with_lineage(view, |l| (l.is_own(commit), l.contains(commit))).await?;
    if is_own {
        return Ok(Start::After(commit.to_string()));
    }
    if is_known {
        let what = format!(
            "commit {commit} came to branch {branch:?} by a merge and is not on its own chain of first parents; watch \
             after the merge, or the branch that the commit was made on"
        );
        return Err(Error::new(Reason::InvalidArgument, what).with("branch", branch).with("commit_id", commit));
    }
    let what = format!("branch {branch:?} has no commit {commit}; `commit list` shows those it has");
    Err(Error::new(Reason::CommitNotFound, what).with("branch", branch).with("commit_id", commit))
}
