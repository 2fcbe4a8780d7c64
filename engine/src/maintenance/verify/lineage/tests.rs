//! Chains of commits, whole and broken.

use super::*;
use crate::format::commit_row::{CommitExtras, encode, head};
use crate::format::snapshot_json::SnapshotDoc;
use crate::manifest::BranchIdentity;
use crate::model::Actor;

fn commit(id: &str, parent: Option<&str>, version: u64, line: Option<&str>) -> ManifestRow {
    let commit = CommitInfo {
        id: id.into(),
        parents: parent.map(Into::into).into_iter().collect(),
        branch: "main".into(),
        actor: Actor::default(),
        created_at: 0,
        message: String::new(),
        request_id: String::new(),
        operation: "load".into(),
        counts: Vec::new(),
        manifest_version: version,
        lance_branch: line.map(Into::into),
        merge: None,
        imported: None,
    };
    encode(&commit, &CommitExtras::default()).unwrap()
}

fn snapshot(head: &str, version: u64, line: Option<&str>) -> Snapshot {
    let identity = BranchIdentity { name: "b".into(), branch_id: "b".into(), lance_branch: line.map(Into::into) };
    Snapshot::from_doc(identity, version, SnapshotDoc::new(head.into(), Vec::new(), Vec::new())).unwrap()
}

fn chain() -> Vec<ManifestRow> {
    vec![commit("A", None, 1, None), commit("B", Some("A"), 2, None), commit("C", Some("B"), 3, None), head("b", "C")]
}

#[test]
fn a_chain_is_a_chain_whatever_the_order_of_its_rows() {
    let mut rows = chain();
    for _ in 0..rows.len() {
        rows.rotate_left(1);
        let found = check(&rows, &snapshot("C", 3, None));
        assert_eq!(found.problems, Vec::<String>::new());
        assert_eq!(found.commits, ["A", "B", "C"]);
    }
}

#[test]
fn a_fresh_fork_has_only_inherited_heads() {
    let inherited = vec![commit("A", None, 1, None), head("main", "A"), head("b", "Z")];
    assert!(check(&inherited, &snapshot("A", 1, Some("L"))).problems.is_empty());
    let mut written = inherited;
    written[2] = head("b", "B");
    written.push(commit("B", Some("A"), 2, Some("L")));
    assert!(check(&written, &snapshot("B", 2, Some("L"))).problems.is_empty());
}

fn merge(id: &str, parents: [&str; 2], version: u64) -> ManifestRow {
    let (commit, extras) = crate::format::commit_row::decode(&commit(id, None, version, None)).unwrap();
    encode(&CommitInfo { parents: parents.map(Into::into).to_vec(), ..commit }, &extras).unwrap()
}

fn brought_in(id: &str, parent: &str) -> ManifestRow {
    let (commit, extras) = crate::format::commit_row::decode(&commit(id, Some(parent), 9, Some("L"))).unwrap();
    encode(&commit, &CommitExtras { brought_in: true, ..extras }).unwrap()
}

#[test]
fn what_a_merge_brought_in_is_no_part_of_the_chain_but_all_of_it_is_there() {
    let mut rows = chain();
    rows[2] = merge("D", ["B", "C"], 3);
    rows[3] = head("b", "D");
    rows.insert(2, brought_in("C", "A"));
    let found = check(&rows, &snapshot("D", 3, None));
    assert_eq!(found.problems, Vec::<String>::new());
    rows.remove(2);
    let found = check(&rows, &snapshot("D", 3, None));
    assert_eq!(found.problems, ["commit D descends from C, which is not in the manifest"]);
    rows.insert(2, brought_in("C", "AA"));
    let found = check(&rows, &snapshot("D", 3, None));
    assert_eq!(found.problems, ["commit C descends from AA, which is not in the manifest"]);
}

#[test]
fn every_break_is_named() {
    let with = |at: usize, row: ManifestRow| {
        let mut rows = chain();
        rows[at] = row;
        rows
    };
    let without = |at: usize| {
        let mut rows = chain();
        rows.remove(at);
        rows
    };
    let mut twice = chain();
    twice.push(commit("B", Some("A"), 2, None));
    let damaged = ManifestRow { metadata: Some("{}".into()), ..commit("B", Some("A"), 2, None) };
    let cases: [(Vec<ManifestRow>, &str, u64, &str); 13] = [
        (without(1), "C", 3, "C follows B, which is not in the manifest"),
        (without(0), "C", 3, "the oldest commit B has a parent A"),
        (without(2), "C", 3, "the head is C, but the newest commit is B"),
        (without(3), "C", 3, "the row graph_head:b is missing"),
        (with(2, commit("C", Some("A"), 3, None)), "C", 3, "C follows A, but B lies between"),
        (with(2, commit("C", None, 3, None)), "C", 3, "C has no parent"),
        (with(1, commit("B", Some("A"), 1, None)), "C", 3, "B says manifest version 1, and A before it says 1"),
        (with(3, head("b", "B")), "C", 3, "the head is C"),
        (with(1, damaged), "C", 3, "the commit row B is damaged"),
        (chain(), "B", 3, "the head is B, but the newest commit is C"),
        (chain(), "C", 4, "C says manifest version 3, but stands in version 4"),
        (twice, "C", 3, "the row B twice"),
        (Vec::new(), "C", 3, "holds no commit"),
    ];
    for (rows, head, version, expected) in cases {
        let found = check(&rows, &snapshot(head, version, None));
        assert!(found.problems.iter().any(|p| p.contains(expected)), "{expected}: {:?}", found.problems);
    }
}
