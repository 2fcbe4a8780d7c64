//! From a selector to a fixed state.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::history::log;
use crate::manifest::{BranchIdentity, Snapshot, View, resolve};
use crate::model::{CommitInfo, ReadSelector};
use crate::txn::Core;

/// Fixes the state a selector names.
///
/// # Errors
/// The branch, commit or tag does not exist or is not retained; the store's.
pub async fn resolve(core: &Arc<Core>, selector: &ReadSelector) -> Result<Snapshot> {
    resolve_view(core, selector).await.map(|v| v.snapshot.as_ref().clone())
}

/// As [`resolve`], with the manifest version behind it.
pub(crate) async fn resolve_view(core: &Arc<Core>, selector: &ReadSelector) -> Result<View> {
    match selector {
        ReadSelector::Branch(name) => core.heads.head(name).await.map(|h| h.1),
        ReadSelector::Commit(id) => {
            let (branch, commit) = log::find(core, id).await?.ok_or_else(|| log::not_found(id))?;
            at_commit(core, &branch, &commit).await
        }
        ReadSelector::Tag(name) => Err(Error::new(
            Reason::TagNotFound,
            format!("there is no tag {name:?}: tags are not available in this release"),
        )
        .with("tag", name)),
        ReadSelector::BranchAsOf { branch, micros } => as_of(core, branch, *micros).await,
        ReadSelector::AtLeast { branch, commit } => {
            log::check_id(commit)?;
            let (line, view) = core.heads.head(branch).await?;
            if view.snapshot.head() == commit || line.with_lineage(&view, |l| l.get(commit)).await?.is_some() {
                return Ok(view);
            }
            Err(log::not_found(commit).with("branch", branch))
        }
        ReadSelector::Version { branch, version } => {
            let (line, view) = core.heads.head(branch).await?;
            if *version == view.snapshot.version {
                return Ok(view);
            }
            resolve::at(&core.store, &line.identity, *version).await?.ok_or_else(|| {
                Error::new(
                    Reason::CommitNotFound,
                    format!("branch {branch:?} has no manifest version {version}, or it is not retained"),
                )
                .with("branch", branch)
            })
        }
    }
}

async fn as_of(core: &Arc<Core>, branch: &str, micros: i64) -> Result<View> {
    let (line, view) = core.heads.head(branch).await?;
    let found = line.with_lineage(&view, |l| l.as_of(micros)).await?;
    match found {
        Some(commit) if commit.id == view.snapshot.head() => Ok(view),
        Some(commit) => at_commit(core, branch, &commit).await,
        None => Err(Error::new(
            Reason::CommitNotFound,
            format!("branch {branch:?} has no commit that old; `commit list` shows the oldest"),
        )
        .with("branch", branch)),
    }
}

/// The view a commit made visible: on the branch it was made on, which need not live any more.
async fn at_commit(core: &Arc<Core>, branch: &str, commit: &CommitInfo) -> Result<View> {
    let (line, head) = core.heads.head(branch).await?;
    if head.snapshot.head() == commit.id {
        return Ok(head);
    }
    let identity = if line.identity.lance_branch == commit.lance_branch {
        line.identity.clone()
    } else {
        BranchIdentity {
            name: commit.branch.clone(),
            branch_id: commit.lance_branch.clone().unwrap_or_else(|| commit.branch.clone()),
            lance_branch: commit.lance_branch.clone(),
        }
    };
    match resolve::at(&core.store, &identity, commit.manifest_version).await? {
        Some(view) if view.snapshot.head() == commit.id => Ok(view),
        _ => Err(Error::new(
            Reason::CommitNotFound,
            format!("commit {} is in the lineage but its state is not retained any more", commit.id),
        )
        .with("commit_id", &commit.id)),
    }
}

/// The state shown by one version of one line of the manifest.
///
/// # Errors
/// [`Reason::CommitNotFound`] if it is not retained; the store's.
pub async fn at(core: &Arc<Core>, lance_branch: Option<&str>, version: u64) -> Result<Snapshot> {
    let identity = match lance_branch {
        None => BranchIdentity::main(),
        Some(line) => {
            ulid::Ulid::from_string(line)
                .map_err(|_| Error::new(Reason::InvalidTicket, "the line is not one this engine made"))?;
            BranchIdentity { name: String::new(), branch_id: line.to_string(), lance_branch: Some(line.to_string()) }
        }
    };
    let view = resolve::at(&core.store, &identity, version).await?.ok_or_else(|| {
        Error::new(
            Reason::CommitNotFound,
            "the state the ticket was made for is not retained any more; plan the scan again",
        )
    })?;
    Ok(view.snapshot.as_ref().clone())
}
