//! From a selector to a fixed state.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::history::log;
use crate::manifest::{BranchIdentity, Snapshot, View, resolve, tags};
use crate::model::{CommitInfo, ReadSelector};
use crate::txn::Core;

/// Fixes the state a selector names.
///
/// # Errors
/// The branch, commit or tag does not exist or is not retained; the store's.
pub async fn resolve(core: &Arc<Core>, selector: &ReadSelector) -> Result<Snapshot> {
    let state = resolve_view(core, selector).await?.snapshot.as_ref().clone();
    let head = core.heads.warm(&state.branch.name).and_then(|line| line.known());
    Ok(match head {
        // Whoever asks for an older state may know its types by the names they have now.
        Some(head) => state.known_as(&head.snapshot.schema),
        None => state,
    })
}

/// As [`resolve`], with the manifest version behind it.
pub(crate) async fn resolve_view(core: &Arc<Core>, selector: &ReadSelector) -> Result<View> {
    match selector {
        ReadSelector::Branch(name) => core.heads.head(name).await.map(|h| h.1),
        ReadSelector::Commit(id) => {
            let (branch, commit) = log::find(core, id).await?.ok_or_else(|| log::not_found(id))?;
            at_commit(core, &branch, &commit).await
        }
        ReadSelector::Tag(name) => at_tag(core, name).await,
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
            match resolve::at(&core.store, &line.identity, *version).await? {
                Some(view) => Ok(view),
                None => {
                    let what = format!("branch {branch:?} has no manifest version {version}, or a cleanup removed it");
                    Err(not_retained(core, branch, what).await)
                }
            }
        }
    }
}

/// The error for a state that is not there any more. Says what the oldest commit is that can be read, if that can be
/// found out.
async fn not_retained(core: &Arc<Core>, branch: &str, what: String) -> Error {
    match oldest_retained(core, branch).await {
        Ok(Some(oldest)) => Error::new(
            Reason::CommitNotFound,
            format!("{what}; the oldest commit of branch {branch:?} that is retained is {oldest}"),
        )
        .with("oldest_retained", oldest),
        _ => Error::new(Reason::CommitNotFound, what),
    }
    .with("branch", branch)
}

/// The oldest commit of a branch's lineage whose state is there. One listing for each branch it descends from.
async fn oldest_retained(core: &Arc<Core>, branch: &str) -> Result<Option<String>> {
    let (line, view) = core.heads.head(branch).await?;
    let newest_first = line.with_lineage(&view, |l| l.page(None, usize::MAX)).await?;
    let mut there: HashMap<Option<String>, HashSet<u64>> = HashMap::new();
    for commit in newest_first.iter().rev() {
        if !there.contains_key(&commit.lance_branch) {
            let files = core.store.version_files(paths::MANIFEST, commit.lance_branch.as_deref()).await?;
            there.insert(commit.lance_branch.clone(), files.iter().map(|file| file.version).collect());
        }
        if there.get(&commit.lance_branch).is_some_and(|versions| versions.contains(&commit.manifest_version)) {
            return Ok(Some(commit.id.clone()));
        }
    }
    Ok(None)
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

/// The view a tag names, also when the branch it was found on is deleted.
async fn at_tag(core: &Arc<Core>, name: &str) -> Result<View> {
    let tag = tags::live(&core.store, name).await?;
    match resolve::at(&core.store, &tag.identity(), tag.doc.manifest_version).await? {
        Some(view) if view.snapshot.head() == tag.doc.commit => Ok(view),
        _ => {
            let what = format!("the state of commit {}, which tag {name:?} names, is gone", tag.doc.commit);
            let error = not_retained(core, &tag.doc.branch, what).await;
            Err(error.with("commit_id", &tag.doc.commit).with("tag", name))
        }
    }
}

/// The view a commit made visible: on the branch it was made on, which need not live any more. Nor need `branch`, on
/// which the commit was found, if a tag led there.
async fn at_commit(core: &Arc<Core>, branch: &str, commit: &CommitInfo) -> Result<View> {
    match core.heads.head(branch).await {
        Ok((_, head)) if head.snapshot.head() == commit.id => return Ok(head),
        Ok(_) => {}
        Err(e) if e.reason() == Reason::BranchNotFound => {}
        Err(e) => return Err(e),
    }
    match of_commit(core, commit).await? {
        Some(view) => Ok(view),
        None => {
            let what = format!(
                "commit {} is in the history, but its state is not retained any more: a cleanup removed it",
                commit.id
            );
            Err(not_retained(core, branch, what).await.with("commit_id", &commit.id))
        }
    }
}

/// The view a commit made visible, on the line it was made on, whether or not a branch lives there; `None` if it is not
/// retained.
pub(crate) async fn of_commit(core: &Core, commit: &CommitInfo) -> Result<Option<View>> {
    let identity = BranchIdentity {
        name: commit.branch.clone(),
        branch_id: commit.lance_branch.clone().unwrap_or_else(|| commit.branch.clone()),
        lance_branch: commit.lance_branch.clone(),
    };
    let view = resolve::at(&core.store, &identity, commit.manifest_version).await?;
    Ok(view.filter(|view| view.snapshot.head() == commit.id))
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
    match resolve::at(&core.store, &identity, version).await? {
        // The end of a deleted branch is not removed, but what it shows may be.
        Some(view) if !view.snapshot.is_closed() => Ok(view.snapshot.as_ref().clone()),
        _ => Err(Error::new(
            Reason::CommitNotFound,
            "the state the ticket was made for is not retained any more; plan the scan again",
        )),
    }
}
