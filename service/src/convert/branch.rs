//! Branches.

use omnigraph_engine::Snapshot;
use omnigraph_engine::model::BranchInfo;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_proto::v1;

use super::{commit, time};

/// A branch whose head was resolved a moment later, as a message.
pub fn to_proto(branch: BranchInfo, head: &Snapshot) -> v1::Branch {
    v1::Branch {
        head: Some(commit::ref_to_proto(head, true)),
        branch_id: incarnation(&branch),
        created_at: Some(time::to_proto(branch.created_at)),
        actor: commit::actor_to_proto(&branch.actor),
        name: branch.name,
        parent: branch.parent,
        forked_from: branch.forked_from,
        protected: branch.protected,
    }
}

/// The incarnation of a branch; empty for main, which has only one.
pub fn incarnation(branch: &BranchInfo) -> String {
    if branch.name == MAIN { String::new() } else { branch.branch_id.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::format::snapshot_json::SnapshotDoc;
    use omnigraph_engine::manifest::BranchIdentity;
    use omnigraph_engine::model::Actor;

    fn info(name: &str) -> BranchInfo {
        BranchInfo {
            name: name.into(),
            branch_id: "B".into(),
            parent: "main".into(),
            forked_from: "C1".into(),
            head: "C2".into(),
            created_at: 1,
            actor: Actor("ada".into()),
            protected: true,
        }
    }

    fn snapshot(identity: BranchIdentity) -> Snapshot {
        let doc = SnapshotDoc::new("C2".into(), Vec::new(), Vec::new());
        Snapshot::from_doc(identity, 7, doc).unwrap()
    }

    #[test]
    fn branches_keep_everything() {
        let name = "review/ a%ü";
        let identity = BranchIdentity { name: name.into(), branch_id: "B".into(), lance_branch: Some("L".into()) };
        let message = to_proto(info(name), &snapshot(identity));
        assert_eq!((message.name.as_str(), message.branch_id.as_str()), (name, "B"));
        assert_eq!((message.parent.as_str(), message.forked_from.as_str()), ("main", "C1"));
        assert_eq!((message.actor.unwrap().id.as_str(), message.protected), ("ada", true));
        let head = message.head.unwrap();
        assert_eq!((head.id.as_str(), head.branch.as_str(), head.branch_id.as_str()), ("C2", name, "B"));
        assert_eq!(head.manifest_version, 7);
    }

    #[test]
    fn main_has_no_incarnation() {
        let message = to_proto(info("main"), &snapshot(BranchIdentity::main()));
        assert_eq!((message.branch_id.as_str(), message.head.unwrap().branch_id.as_str()), ("", ""));
    }
}
