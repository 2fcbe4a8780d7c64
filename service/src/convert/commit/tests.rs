//! Commits and receipts keep everything on the way to their messages.

use super::*;
use omnigraph_engine::model::{MergeNote, MergeOutcome, TypeRef};

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
        merge: None,
        imported: None,
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
    let changed = Receipt { commit: commit(), changed: true, replayed: true, steps: Vec::new(), records: 0 };
    let message = receipt_to_proto(changed, "main");
    assert_eq!((message.branch.as_str(), message.changed, message.replayed), ("main", true, true));
    assert_eq!((message.counts.len(), message.parent_ids.len()), (2, 1));
    let unchanged = Receipt { commit: commit(), changed: false, replayed: false, steps: Vec::new(), records: 0 };
    let message = receipt_to_proto(unchanged, "other");
    let expected = v1::Receipt { commit_id: "C2".into(), branch: "other".into(), ..Default::default() };
    assert_eq!(message, expected);
}

#[test]
fn merges_are_remembered() {
    let note = MergeNote {
        outcome: MergeOutcome::Merged,
        base: "B".into(),
        source: "S".into(),
        source_branch: String::new(),
        strategy: None,
        settled: 0,
        resolutions: Vec::new(),
    };
    let message = to_proto(CommitInfo { merge: Some(Box::new(note.clone())), ..commit() });
    assert_eq!(message.merge, Some(merge::note_to_proto(note)));
    assert_eq!(to_proto(commit()).merge, None);
}
