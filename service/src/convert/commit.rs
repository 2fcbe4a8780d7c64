//! Commits and receipts.

use omnigraph_engine::Snapshot;
use omnigraph_engine::model::{Actor, CommitInfo, Receipt, TypeCounts};
use omnigraph_proto::v1;

use super::{entity, time};

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
    }
}

/// A receipt of a write to `branch` as a message.
pub fn receipt_to_proto(receipt: Receipt, branch: &str) -> v1::Receipt {
    let Receipt { commit, changed, replayed } = receipt;
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
fn counts_to_proto(counts: &[TypeCounts]) -> Vec<v1::TypeCounts> {
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

/// Entities that a load put into the graph: what is known of its input once it is committed.
pub fn loaded(receipt: &Receipt) -> u64 {
    if !receipt.changed || receipt.replayed {
        return 0;
    }
    receipt.commit.counts.iter().map(|c| c.inserted.saturating_add(c.updated)).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::TypeRef;

    fn commit() -> CommitInfo {
        let counts = |type_ref, inserted| TypeCounts { type_ref, inserted, updated: 0, deleted: 0 };
        CommitInfo {
            id: "C2".into(),
            parents: vec!["C1".into()],
            branch: "review/ü".into(),
            actor: Actor("ada".into()),
            created_at: -1,
            message: "m".into(),
            request_id: "r".into(),
            operation: "load".into(),
            counts: vec![
                counts(TypeRef::edge("A"), u64::MAX),
                counts(TypeRef::node("Z"), 1),
                counts(TypeRef::node("Unchanged"), 0),
            ],
            manifest_version: u64::MAX,
            lance_branch: Some("L".into()),
        }
    }

    #[test]
    fn commits_keep_everything() {
        let message = to_proto(commit());
        assert_eq!((message.id.as_str(), message.parent_ids.len()), ("C2", 1));
        assert_eq!((message.branch.as_str(), message.branch_id.as_str()), ("review/ü", "L"));
        assert_eq!((message.message.as_str(), message.request_id.as_str()), ("m", "r"));
        assert_eq!((message.operation.as_str(), message.manifest_version), ("load", u64::MAX));
        assert_eq!(message.actor.unwrap().id, "ada");
        assert_eq!(time::to_engine("t", &message.created_at.unwrap()).unwrap(), -1);
        let counts: Vec<_> = message.counts.iter().map(|c| (c.type_name.as_str(), c.inserted)).collect();
        assert_eq!(counts, [("Z", 1), ("A", u64::MAX)]);
    }

    #[test]
    fn receipts_name_the_branch_written_to() {
        let changed = Receipt { commit: commit(), changed: true, replayed: true };
        assert_eq!(loaded(&changed), 0);
        let message = receipt_to_proto(changed, "main");
        assert_eq!((message.branch.as_str(), message.changed, message.replayed), ("main", true, true));
        assert_eq!((message.counts.len(), message.parent_ids.len()), (2, 1));
        let unchanged = Receipt { commit: commit(), changed: false, replayed: false };
        let message = receipt_to_proto(unchanged, "other");
        let expected = v1::Receipt { commit_id: "C2".into(), branch: "other".into(), ..Default::default() };
        assert_eq!(message, expected);
    }
}
