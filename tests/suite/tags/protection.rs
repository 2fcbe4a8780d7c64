//! Branches that take no direct writes, and tags that refuse to be deleted.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::{Change, EntityWrite, TypeRef, Value, WriteOptions};
use omnigraph_tests::jsonl;
use tokio::sync::Notify;

use super::*;

fn ada() -> Actor {
    Actor("ada".into())
}

async fn write(graph: &Graph, branch: &str, slug: &str) -> omnigraph_engine::Result<String> {
    load(graph, branch, LoadMode::Append, &person(slug, 1)).await.map(|receipt| receipt.commit.id)
}

fn insert(slug: &str) -> Change {
    Change::Insert(EntityWrite {
        type_ref: TypeRef::node("Person"),
        id: None,
        endpoints: None,
        properties: [("slug".to_string(), Value::String(slug.into()))].into(),
    })
}

/// Checks that nobody writes to the branch or deletes it, and that the error says which it is and what to do.
async fn expect_closed(graph: &Graph, branch: &str) {
    let before = graph.branch(branch).await.unwrap();
    assert!(before.protected);
    let load_error = write(graph, branch, "x").await.unwrap_err();
    let mutate_error = graph.mutate(vec![insert("x")], &WriteOptions::on(branch)).await.unwrap_err();
    for error in [load_error, mutate_error] {
        assert_eq!((error.reason(), error.metadata()["branch"].as_str()), (Reason::BranchProtected, branch), "{error}");
        assert!(error.message().contains(branch) && error.message().contains("lift the protection"), "{error}");
    }
    for force in [false, true] {
        let error = graph.delete_branch(branch, force, &ada()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::BranchProtected, "{error}");
    }
    assert_eq!(graph.branch(branch).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_branch_takes_no_direct_writes_and_stays() {
    let place = Place::memory("protected");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let other = place.open().await;
    // It knows both before they are protected.
    for branch in ["main", "b"] {
        assert!(!other.branch(branch).await.unwrap().protected);
    }
    for branch in ["main", "b"] {
        let before = history(&g, branch).await;
        let head_before = g.branch(branch).await.unwrap().head;
        let known = g.protect_branch(branch, true, &ada()).await.unwrap();
        assert!(known.protected && known.head != head_before);
        // Again changes nothing.
        assert_eq!(other.protect_branch(branch, true, &ada()).await.unwrap(), known);
        let after = history(&g, branch).await;
        let [made] = &after[before.len()..] else { panic!("one commit: {after:?}") };
        assert_eq!((made.operation.as_str(), made.actor.0.as_str()), ("protection", "ada"));
        assert!(made.keeps_content());
        for graph in [&g, &other, &place.open().await] {
            expect_closed(graph, branch).await;
        }
        // What was seen before still holds as a condition of what keeps the content.
        assert!(g.optimize(branch, 1).await.is_ok());
    }
    let listed: Vec<_> = other.branches().await.unwrap().into_iter().map(|b| (b.name, b.protected)).collect();
    assert_eq!(listed, [("main".to_string(), true), ("b".to_string(), true)]);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());

    for branch in ["main", "b"] {
        let known = other.protect_branch(branch, false, &ada()).await.unwrap();
        assert!(!known.protected);
        assert_eq!(g.protect_branch(branch, false, &ada()).await.unwrap(), known);
        for (graph, slug) in [(&g, "x"), (&other, "y"), (&place.open().await, "z")] {
            write(graph, branch, slug).await.unwrap();
        }
    }
    g.delete_branch("b", false, &ada()).await.unwrap();
    let error = g.delete_branch("main", true, &ada()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::BranchProtected);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protection_is_one_branchs_own() {
    let place = Place::memory("own");
    let g = place.create().await;
    for name in ["", "nobody"] {
        let error = g.protect_branch(name, true, &ada()).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::BranchNotFound | Reason::InvalidName), "{error}");
    }
    g.protect_branch("main", true, &ada()).await.unwrap();
    // A fork of a protected branch is not protected, wherever it begins, and can be on its own.
    let made = g.create_branch("b", &head("main"), &ada()).await.unwrap();
    assert!(!made.protected);
    write(&g, "b", "x").await.unwrap();
    g.protect_branch("b", true, &ada()).await.unwrap();
    assert!(!g.create_branch("c", &head("b"), &ada()).await.unwrap().protected);
    g.protect_branch("c", true, &ada()).await.unwrap();
    g.protect_branch("b", false, &ada()).await.unwrap();
    let told: Vec<_> = place.open().await.branches().await.unwrap().into_iter().map(|b| b.protected).collect();
    assert_eq!(told, [true, false, true]);
    write(&g, "b", "y").await.unwrap();
    expect_closed(&g, "c").await;
    expect_closed(&g, "main").await;
    // The next branch of the name has nothing to do with the one before.
    g.protect_branch("c", false, &ada()).await.unwrap();
    g.delete_branch("c", false, &ada()).await.unwrap();
    assert!(!g.create_branch("c", &head("main"), &ada()).await.unwrap().protected);
    write(&g, "c", "z").await.unwrap();
    let reader = place.engine().open(&place.root, Access::ReadOnly).await.unwrap();
    assert_eq!(reader.protect_branch("b", true, &ada()).await.unwrap_err().reason(), Reason::ReadOnly);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

/// Holds back what claims a turn.
#[derive(Debug)]
struct ClaimGate(Arc<(Notify, Notify)>);

impl Gate for ClaimGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if verb != "PUT" || !path.contains("__recovery/") {
            return futures::future::ready(()).boxed();
        }
        let both = self.0.clone();
        async move {
            both.0.notify_one();
            both.1.notified().await;
        }
        .boxed()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_about_to_write_or_delete_sees_the_protection() {
    let place = Place::memory("about");
    let g = place.create().await;
    g.create_branch("b", &head("main"), &ada()).await.unwrap();
    write(&g, "b", "first").await.unwrap();
    for deletes in [false, true] {
        let plan = FaultPlan::counting();
        let slow = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
        let gate = Arc::new((Notify::new(), Notify::new()));
        plan.set_gate(Some(Arc::new(ClaimGate(gate.clone()))));
        let at_it = tokio::spawn(async move {
            match deletes {
                true => slow.delete_branch("b", false, &ada()).await,
                false => {
                    slow.load(jsonl(person("late", 1)), LoadMode::Append, &WriteOptions::on("b")).await.map(|_| ())
                }
            }
        });
        gate.0.notified().await;
        let protected = g.protect_branch("b", true, &ada()).await.unwrap();
        plan.set_gate(None);
        gate.1.notify_one();
        let error = at_it.await.unwrap().unwrap_err();
        assert_eq!(error.reason(), Reason::BranchProtected, "{error}");
        assert_eq!(g.branch("b").await.unwrap().head, protected.head);
        g.protect_branch("b", false, &ada()).await.unwrap();
    }
    assert_eq!(content(&g, &head("b")).await.unwrap().len(), 1);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_was_made_before_is_still_answered() {
    let place = Place::memory("answered");
    let g = place.create().await;
    let options = WriteOptions { request_id: "r1".into(), ..WriteOptions::default() };
    let first = g.load(jsonl(person("a", 1)), LoadMode::Append, &options).await.unwrap();
    g.protect_branch("main", true, &ada()).await.unwrap();
    let again = g.load(jsonl(person("a", 1)), LoadMode::Append, &options).await.unwrap();
    assert!(again.replayed && again.commit == first.commit, "{again:?}");
    // Protection keeps the content, so it moves no head that a write expects.
    g.protect_branch("main", false, &ada()).await.unwrap();
    let options = WriteOptions { expected_head: first.commit.id, ..WriteOptions::default() };
    g.load(jsonl(person("b", 1)), LoadMode::Append, &options).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_tag_refuses_to_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    for place in [Place::memory("tag"), Place::disk(&folder)] {
        let (g, other) = (place.create().await, place.open().await);
        let made = tag(&g, "v1", &head("main")).await;
        let protected = other.protect_tag("v1", true).await.unwrap();
        assert_eq!(protected, TagInfo { protected: true, ..made.clone() });
        assert_eq!(g.protect_tag("v1", true).await.unwrap(), protected);
        for graph in [&g, &other] {
            assert_eq!(graph.tag("v1").await.unwrap(), protected);
            let error = graph.delete_tag("v1").await.unwrap_err();
            assert_eq!((error.reason(), error.metadata()["tag"].as_str()), (Reason::TagProtected, "v1"));
            assert!(error.message().contains("lift its protection first"), "{error}");
        }
        assert_eq!(g.protect_tag("v1", false).await.unwrap(), made);
        assert_eq!(other.delete_tag("v1").await.unwrap(), made);
        assert!(!tag(&g, "v1", &head("main")).await.protected);
    }
}
