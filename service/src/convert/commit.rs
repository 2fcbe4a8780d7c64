//! Commits and receipts.

use omnigraph_engine::Snapshot;
use omnigraph_engine::model::{Actor, CommitInfo, Receipt, TypeCounts};
use omnigraph_proto::v1;

use super::{entity, merge, time};

/// The version a read used. `through_branch` is false if the version was named by a commit or a tag, so
/// that no branch led to it.
pub fn ref_to_proto(snapshot: &Snapshot, through_branch: bool) -> v1::CommitRef {
    let (branch, branch_id) = if through_branch {
        let identity = &snapshot.branch;
        // Main lives as long as its graph and has no incarnations.
        let incarnation = identity.lance_branch.as_ref().map(|_| identity.branch_id.clone());
        (identity.name.clone(), incarnation.unwrap_or_default())
    } else {
        Default::default()
    };
    v1::CommitRef { id: snapshot.head().to_string(), branch, branch_id, manifest_version: snapshot.version }
}

/// An actor as a message; `None` if nobody is known.
pub fn actor_to_proto(actor: &Actor) -> Option<v1::Actor> {
    (!actor.0.is_empty()).then(|| v1::Actor { id: actor.0.clone() })
}

/// A commit as a message.
pub fn to_proto(commit: CommitInfo) -> v1::Commit {
    v1::Commit {
        actor: actor_to_proto(&commit.actor),
        created_at: Some(time::to_proto(commit.created_at)),
        counts: counts_to_proto(&commit.counts),
        id: commit.id,
        parent_ids: commit.parents,
        branch: commit.branch,
        branch_id: commit.lance_branch.unwrap_or_default(),
        message: commit.message,
        request_id: commit.request_id,
        operation: commit.operation,
        manifest_version: commit.manifest_version,
        merge: commit.merge.map(|note| merge::note_to_proto(*note)),
    }
}

/// A receipt of a write to `branch` as a message.
pub fn receipt_to_proto(receipt: Receipt, branch: &str) -> v1::Receipt {
    let Receipt { commit, changed, replayed, .. } = receipt;
    if !changed {
        // The commit is the head that the write was evaluated against; what made it is not this write.
        let branch = branch.to_string();
        return v1::Receipt { commit_id: commit.id, branch, replayed, ..v1::Receipt::default() };
    }
    v1::Receipt {
        counts: counts_to_proto(&commit.counts),
        created_at: Some(time::to_proto(commit.created_at)),
        commit_id: commit.id,
        parent_ids: commit.parents,
        branch: branch.to_string(),
        changed,
        replayed,
    }
}

/// One entry per type that changed, nodes before edges, each by name.
pub fn counts_to_proto(counts: &[TypeCounts]) -> Vec<v1::TypeCounts> {
    let mut changed: Vec<&TypeCounts> =
        counts.iter().filter(|c| c.inserted != 0 || c.updated != 0 || c.deleted != 0).collect();
    changed.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
    let message = |c: &TypeCounts| v1::TypeCounts {
        kind: entity::kind_to_proto(c.type_ref.kind),
        type_name: c.type_ref.name.clone(),
        inserted: c.inserted,
        updated: c.updated,
        deleted: c.deleted,
    };
    changed.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests;
