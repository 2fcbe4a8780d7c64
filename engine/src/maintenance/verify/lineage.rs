//! The lineage of one branch, from the rows of its manifest. Pure.

use std::collections::HashSet;

use crate::format::commit_row;
use crate::format::manifest_row::{ManifestRow, ObjectType};
use crate::manifest::Snapshot;
use crate::model::CommitInfo;

/// What the rows of a manifest say about its commits.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The ids of the commits.
    pub commits: Vec<String>,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Checks that the commits are one chain that ends in the snapshot's head.
pub(super) fn check(rows: &[ManifestRow], snapshot: &Snapshot) -> Chain {
    let mut chain = Chain::default();
    let mut seen = HashSet::with_capacity(rows.len());
    for row in rows {
        if !seen.insert(row.object_id.as_str()) {
            chain.problems.push(format!("the manifest holds the row {} twice", row.object_id));
        }
    }
    let mut commits: Vec<CommitInfo> = Vec::new();
    let mut brought_in: Vec<CommitInfo> = Vec::new();
    for row in rows.iter().filter(|r| r.object_type == ObjectType::GraphCommit) {
        match commit_row::decode(row) {
            Ok((commit, extras)) if extras.brought_in => brought_in.push(commit),
            Ok((commit, _)) => commits.push(commit),
            Err(e) => chain.problems.push(e.message().to_string()),
        }
    }
    commits.sort_by(|a, b| a.id.cmp(&b.id));
    links(&commits, &mut chain.problems);
    ancestry(&commits, &brought_in, &mut chain.problems);
    head(rows, &commits, snapshot, &mut chain.problems);
    chain.commits = commits.into_iter().chain(brought_in).map(|c| c.id).collect();
    chain
}

/// Every ancestor of the head is in the manifest, and older than what descends from it.
fn ancestry(commits: &[CommitInfo], brought_in: &[CommitInfo], problems: &mut Vec<String>) {
    let known: HashSet<&str> = commits.iter().chain(brought_in).map(|c| c.id.as_str()).collect();
    let merged = commits.iter().flat_map(|c| c.parents.iter().skip(1).map(move |parent| (c, parent)));
    let inherited = brought_in.iter().flat_map(|c| c.parents.iter().map(move |parent| (c, parent)));
    for (commit, parent) in merged.chain(inherited) {
        if !known.contains(parent.as_str()) {
            problems.push(format!("commit {} descends from {parent}, which is not in the manifest", commit.id));
        } else if *parent >= commit.id {
            problems.push(format!("commit {} descends from {parent}, which is not older", commit.id));
        }
    }
}

/// Every commit but the first has the one before it as its first parent, and was made visible later.
fn links(commits: &[CommitInfo], problems: &mut Vec<String>) {
    if let Some(first) = commits.first()
        && let Some(parent) = first.parents.first()
    {
        problems.push(format!("the oldest commit {} has a parent {parent} that is not in the manifest", first.id));
    }
    for pair in commits.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        match after.parents.first() {
            Some(parent) if *parent == before.id => {}
            Some(parent) if commits.binary_search_by(|c| c.id.cmp(parent)).is_ok() => {
                problems.push(format!("commit {} follows {parent}, but {} lies between them", after.id, before.id));
            }
            Some(parent) => {
                problems.push(format!("commit {} follows {parent}, which is not in the manifest", after.id))
            }
            None => problems.push(format!("commit {} has no parent, but {} is older", after.id, before.id)),
        }
        if after.manifest_version <= before.manifest_version {
            problems.push(format!(
                "commit {} says manifest version {}, and {} before it says {}",
                after.id, after.manifest_version, before.id, before.manifest_version
            ));
        }
    }
}

fn head(rows: &[ManifestRow], commits: &[CommitInfo], snapshot: &Snapshot, problems: &mut Vec<String>) {
    let Some(newest) = commits.last() else {
        problems.push("the manifest holds no commit".to_string());
        return;
    };
    if newest.id != snapshot.head() {
        problems.push(format!("the head is {}, but the newest commit is {}", snapshot.head(), newest.id));
    }
    if newest.manifest_version != snapshot.version {
        problems.push(format!(
            "the newest commit {} says manifest version {}, but stands in version {}",
            newest.id, newest.manifest_version, snapshot.version
        ));
    }
    // Until its first commit a branch only has the heads it inherited, perhaps of an older branch of its name.
    if newest.lance_branch != snapshot.branch.lance_branch {
        return;
    }
    let wanted = commit_row::head(&snapshot.branch.name, snapshot.head());
    match rows.iter().find(|r| r.object_id == wanted.object_id) {
        Some(row) if row.metadata == wanted.metadata => {}
        Some(row) => problems.push(format!(
            "the row {} says {}, but the head is {}",
            row.object_id,
            row.metadata.as_deref().unwrap_or("nothing"),
            snapshot.head()
        )),
        None => problems.push(format!("the row {} is missing", wanted.object_id)),
    }
}

#[cfg(test)]
mod tests;
