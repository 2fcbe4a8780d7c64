//! Differences between any two states: in order, as filtered, the same backwards, and blind to how rows are stored.

use std::collections::BTreeSet;

use futures::TryStreamExt;
use omnigraph_engine::model::{ChangeKind, DiffFilter, EntityChange};

use super::*;

pub(super) async fn between(g: &Graph, before: &ReadSelector, after: &ReadSelector) -> Vec<EntityChange> {
    filtered(g, before, after, &DiffFilter::default()).await
}

async fn filtered(g: &Graph, before: &ReadSelector, after: &ReadSelector, filter: &DiffFilter) -> Vec<EntityChange> {
    let diff = g.diff(before, after, filter).await.unwrap();
    assert_eq!(diff.after.head(), g.snapshot(after).await.unwrap().head());
    diff.changes.try_collect().await.unwrap()
}

async fn of_commit(g: &Graph, commit: &str) -> Vec<EntityChange> {
    let diff = g.changes_of(commit, &DiffFilter::default()).await.unwrap();
    diff.changes.try_collect().await.unwrap()
}

/// `update P/a a,b: a=1 b=x -> a=2`.
fn told(changes: &[EntityChange]) -> Vec<String> {
    let line = |c: &EntityChange| {
        let [before, after] = [&c.before, &c.after].map(|side| brief(side.as_ref()));
        let what = format!("{} {}/{}", c.kind().as_str(), c.type_ref.name, c.id);
        match c.kind() {
            ChangeKind::Insert => format!("{what}: {after}"),
            ChangeKind::Delete => format!("{what}: {before}"),
            ChangeKind::Update => format!("{what} {}: {before} -> {after}", c.changed.join(",")),
        }
    };
    changes.iter().map(line).collect()
}

/// The same changes seen from the other side.
fn mirrored(changes: Vec<EntityChange>) -> Vec<EntityChange> {
    changes.into_iter().map(|c| EntityChange { before: c.after, after: c.before, ..c }).collect()
}

/// Checks a difference, and its mirror.
async fn expect(g: &Graph, before: &ReadSelector, after: &ReadSelector, expected: &[&str]) {
    let found = between(g, before, after).await;
    assert_eq!(told(&found), expected);
    assert_eq!(between(g, after, before).await, mirrored(found));
}

fn to(commit: &CommitInfo) -> ReadSelector {
    ReadSelector::Commit(commit.id.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_told_in_order_with_what_was_before_and_after() {
    let g = team().await;
    let empty = g.commits("main", None, 1).await.unwrap().remove(0);
    let first = write(&g, "main", &["P b a=1 b=x", "P a", "P c", "K z a b w=1", "C a b", "N n t=t", "M m n a"]).await;
    let second = write(&g, "main", &["P b a=2 b=null mail=m", "-P c", "P d", "K z b a w=2", "C a b w=1"]).await;
    let lines = [
        "insert N/n: t=t",
        "insert P/a: ",
        "insert P/b: a=1 b=x",
        "insert P/c: ",
        "insert C/[\"a\",\"b\"]: a->b",
        "insert K/z: a->b w=1",
        "insert M/m: n->a",
    ];
    expect(&g, &to(&empty), &to(&first), &lines).await;
    assert_eq!(told(&of_commit(&g, &first.id).await), lines);
    let lines = [
        "update P/b a,b,mail: a=1 b=x -> a=2 mail=m",
        "delete P/c: ",
        "insert P/d: ",
        "update C/[\"a\",\"b\"] w: a->b -> a->b w=1",
        "update K/z src,dst,w: a->b w=1 -> b->a w=2",
    ];
    expect(&g, &to(&first), &head("main"), &lines).await;
    assert_eq!(told(&of_commit(&g, &second.id).await), lines);
    for state in [&empty, &first, &second] {
        expect(&g, &to(state), &to(state), &[]).await;
    }
    // The first commit of all changed nothing and has nothing before it.
    let diff = g.changes_of(&empty.id, &DiffFilter::default()).await.unwrap();
    assert!(diff.before.is_none() && diff.changes.try_collect::<Vec<_>>().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_are_named_in_every_way() {
    let g = team().await;
    let first = write(&g, "main", &["P a a=1"]).await;
    g.create_tag("first", &head("main"), "", &Actor::default()).await.unwrap();
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=2"]).await;
    let snapshot = g.snapshot(&to(&first)).await.unwrap();
    let first_by = [
        to(&first),
        ReadSelector::Tag("first".into()),
        ReadSelector::BranchAsOf { branch: "b".into(), micros: first.created_at },
        ReadSelector::Version { branch: "main".into(), version: snapshot.version },
        head("main"),
    ];
    for before in first_by {
        expect(&g, &before, &head("b"), &["update P/a a: a=1 -> a=2"]).await;
    }
    for (before, after, reason) in [
        (head("b"), head("nobody"), Reason::BranchNotFound),
        (ReadSelector::Tag("nothing".into()), head("b"), Reason::TagNotFound),
    ] {
        let error = g.diff(&before, &after, &DiffFilter::default()).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_wanted_is_told() {
    let g = team().await;
    let first = write(&g, "main", &["P a", "P b", "P c", "K e a b", "N n t=t", "M m n a"]).await;
    write(&g, "main", &["P a a=1", "-P c", "P d", "K e a b w=1", "K f a b", "N n t=u"]).await;
    let everything = between(&g, &to(&first), &head("main")).await;
    assert_eq!(everything.len(), 6);
    let (person, knows) = (TypeRef::node("P"), TypeRef::edge("K"));
    let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let filters = [
        DiffFilter { types: vec![person.clone()], ..DiffFilter::default() },
        DiffFilter { types: vec![knows, TypeRef::node("N"), TypeRef::edge("M")], ..DiffFilter::default() },
        DiffFilter { kinds: BTreeSet::from([ChangeKind::Insert]), ..DiffFilter::default() },
        DiffFilter { kinds: BTreeSet::from([ChangeKind::Delete, ChangeKind::Update]), ..DiffFilter::default() },
        DiffFilter { ids: ids(&["a", "f", "nobody"]), ..DiffFilter::default() },
        DiffFilter { types: vec![person], kinds: BTreeSet::from([ChangeKind::Delete]), ids: ids(&["c", "a"]) },
        DiffFilter { ids: ids(&["nobody"]), ..DiffFilter::default() },
    ];
    let mut kept = Vec::new();
    for filter in &filters {
        let wanted = |c: &&EntityChange| {
            (filter.types.is_empty() || filter.types.contains(&c.type_ref))
                && (filter.kinds.is_empty() || filter.kinds.contains(&c.kind()))
                && (filter.ids.is_empty() || filter.ids.contains(&c.id))
        };
        let expected: Vec<EntityChange> = everything.iter().filter(wanted).cloned().collect();
        assert_eq!(filtered(&g, &to(&first), &head("main"), filter).await, expected, "{filter:?}");
        kept.push(expected.len());
    }
    assert_eq!(kept, [3, 3, 2, 4, 2, 1, 0]);
    for unknown in [TypeRef::node("Q"), TypeRef::node("K"), TypeRef::edge("P")] {
        let filter = DiffFilter { types: vec![unknown], ..DiffFilter::default() };
        let error = g.diff(&to(&first), &head("main"), &filter).await.unwrap_err();
        assert_eq!(error.reason(), Reason::TypeNotFound, "{error}");
        let error = g.changes_of(&first.id, &filter).await.unwrap_err();
        assert_eq!(error.reason(), Reason::TypeNotFound, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_rows_are_stored_is_no_difference() {
    let g = team().await;
    for i in 0..5 {
        write(&g, "main", &[&format!("P p{i} a={i}"), &format!("K k{i} p{i} p0")]).await;
    }
    write(&g, "main", &["-P p4", "P p3 a=9"]).await;
    fork(&g, "b", "main").await;
    let before = g.commits("main", None, 1).await.unwrap().remove(0);
    g.optimize("main", 2).await.unwrap();
    let physical = g.commits("main", None, 1).await.unwrap().remove(0);
    assert_eq!(physical.operation, "optimize");
    expect(&g, &to(&before), &to(&physical), &[]).await;
    assert!(of_commit(&g, &physical.id).await.is_empty());
    expect(&g, &head("b"), &head("main"), &[]).await;
    // Rows written again as they were, one by one and all of a type.
    write(&g, "b", &["P p0 a=7", "-P p1"]).await;
    write(&g, "b", &["P p0 a=0", "P p1 a=1", "K k1 p1 p0"]).await;
    expect(&g, &head("main"), &head("b"), &[]).await;
    let all = content(&g, &head("main")).await.unwrap().join("\n");
    omnigraph_tests::load(&g, "b", omnigraph_engine::model::LoadMode::Overwrite, &all).await.unwrap();
    let loaded = g.commits("b", None, 1).await.unwrap().remove(0);
    expect(&g, &head("main"), &head("b"), &[]).await;
    assert!(of_commit(&g, &loaded.id).await.is_empty());
    // After both were rewritten, only what differs is told.
    write(&g, "b", &["P p2 a=22"]).await;
    write(&g, "main", &["-K k3", "P p0 a=5"]).await;
    for branch in ["b", "main"] {
        g.optimize(branch, 2).await.unwrap();
    }
    let lines = ["update P/p0 a: a=5 -> a=0", "update P/p2 a: a=2 -> a=22", "insert K/k3: p3->p0"];
    expect(&g, &head("main"), &head("b"), &lines).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn branches_differ_in_what_they_show_wherever_they_got_it() {
    let g = team().await;
    let origin = write(&g, "main", &["P a a=0", "P b"]).await;
    for branch in ["one", "two"] {
        fork(&g, branch, "main").await;
    }
    // At the first write of a branch to its table.
    write(&g, "one", &["P a a=1"]).await;
    expect(&g, &to(&origin), &head("one"), &["update P/a a: a=0 -> a=1"]).await;
    // What both did alike is no difference, although each did it in a table of its own.
    write(&g, "two", &["P a a=1", "P n", "K e a b"]).await;
    write(&g, "one", &["P n", "K e a b"]).await;
    expect(&g, &head("one"), &head("two"), &[]).await;
    write(&g, "two", &["K f b a", "-P n"]).await;
    expect(&g, &head("one"), &head("two"), &["delete P/n: ", "insert K/f: b->a"]).await;
    // A type that one of them never had.
    expect(&g, &head("main"), &head("two"), &["update P/a a: a=0 -> a=1", "insert K/e: a->b", "insert K/f: b->a"])
        .await;
    fork(&g, "child", "two").await;
    write(&g, "child", &["-K e"]).await;
    let lines = ["delete P/n: ", "delete K/e: a->b", "insert K/f: b->a"];
    expect(&g, &head("one"), &head("child"), &lines).await;
    // What was deleted leaves its tables to whoever came from it.
    g.delete_branch("two", false, &Actor::default()).await.unwrap();
    expect(&g, &head("one"), &head("child"), &lines).await;
    fork(&g, "two", "main").await;
    expect(&g, &head("two"), &head("main"), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_changed_what_it_brought_into_its_own_branch() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P z"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=1", "-P z"]).await;
    write(&g, "b", &["P n"]).await;
    write(&g, "main", &["P a b=1", "P m"]).await;
    let before = [g.branch("main").await.unwrap().head, g.branch("b").await.unwrap().head];
    let merged = merge(&g, "b", "main").await.receipt.commit;
    let lines = ["update P/a a: a=0 b=1 -> a=1 b=1", "insert P/n: ", "delete P/z: "];
    assert_eq!(told(&of_commit(&g, &merged.id).await), lines);
    let [target, source] = before.map(ReadSelector::Commit);
    expect(&g, &target, &to(&merged), &lines).await;
    // From the other side it brought the target's.
    expect(&g, &source, &head("main"), &["update P/a b: a=1 b=0 -> a=1 b=1", "insert P/m: "]).await;
    merge(&g, "main", "b").await;
    expect(&g, &head("main"), &head("b"), &[]).await;
    // A merge that brought nothing changed nothing.
    write(&g, "b", &["P q"]).await;
    write(&g, "b", &["-P q"]).await;
    let merged = merge(&g, "b", "main").await.receipt.commit;
    assert!(of_commit(&g, &merged.id).await.is_empty());
}
