//! Two processes that want different things of the same data at the same time. Whatever the order, the
//! result is one of the orders.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::{Actor, Change, EntityWrite, LoadMode, Target, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph, Reason};
use omnigraph_tests::{SOCIAL, content, engine, graph, head, knows, load, person};

const ROUNDS: usize = 12;

/// The same graph opened by another process.
async fn twin(graph: &Graph) -> Graph {
    engine().open(graph.root(), Access::ReadWrite).await.unwrap()
}

async fn sound(graph: &Graph) {
    let report = graph.verify().await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_and_the_loss_of_its_end_never_both_succeed() {
    for _ in 0..ROUNDS {
        let a = graph("skew", SOCIAL).await.unwrap();
        load(&a, "main", LoadMode::Append, &(person("alice", 1) + &person("bob", 1))).await.unwrap();
        let b = twin(&a).await;
        let (without, edge) = (person("alice", 2), knows("bob", "alice"));
        let (overwrite, insert) =
            tokio::join!(load(&a, "main", LoadMode::Overwrite, &without), load(&b, "main", LoadMode::Append, &edge));
        assert!(overwrite.is_ok() != insert.is_ok(), "{overwrite:?} {insert:?}");
        sound(&a).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_conditional_writes_one_wins() {
    let a = graph("claimed", SOCIAL).await.unwrap();
    load(&a, "main", LoadMode::Append, &person("task", 0)).await.unwrap();
    let b = twin(&a).await;
    for round in 1..=ROUNDS {
        let seen = a.snapshot(&head("main")).await.unwrap().head().to_string();
        let claim = |graph: Graph, by: &str| {
            let options = WriteOptions { expected_head: seen.clone(), ..WriteOptions::default() };
            let set = BTreeMap::from([
                ("name".to_string(), Value::String(by.to_string())),
                ("age".to_string(), Value::I64(round as i64)),
            ]);
            let target = Target::Ids(vec!["task".into()]);
            async move {
                graph.mutate(vec![Change::Update { type_ref: TypeRef::node("Person"), target, set }], &options).await
            }
        };
        let (first, second) = tokio::join!(claim(a.clone(), "a"), claim(b.clone(), "b"));
        let loser = match (first, second) {
            (Ok(_), Err(e)) | (Err(e), Ok(_)) => e,
            other => panic!("{other:?}"),
        };
        assert!(matches!(loser.reason(), Reason::HeadMoved | Reason::ReadSetChanged), "{loser}");
    }
    assert_eq!(a.commits("main", None, 100).await.unwrap().len(), 2 + ROUNDS);
    sound(&a).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_maximum_is_not_exceeded_by_two_at_once() {
    let schema = "node P { k: String @key }\nedge Owns: P -> P { @card(0..1) }";
    for _ in 0..ROUNDS {
        let a = graph("card", schema).await.unwrap();
        let people = "{\"type\":\"P\",\"data\":{\"k\":\"x\"}}\n{\"type\":\"P\",\"data\":{\"k\":\"y\"}}";
        load(&a, "main", LoadMode::Append, people).await.unwrap();
        let b = twin(&a).await;
        let own = |to: &str| {
            Change::Insert(EntityWrite {
                type_ref: TypeRef::edge("Owns"),
                id: None,
                endpoints: Some(("x".into(), to.into())),
                properties: BTreeMap::new(),
            })
        };
        let options = WriteOptions::default();
        let (first, second) = tokio::join!(a.mutate(vec![own("x")], &options), b.mutate(vec![own("y")], &options));
        assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
        let loser = first.err().or(second.err()).unwrap();
        assert_eq!(loser.reason(), Reason::CardinalityViolation, "{loser}");
        sound(&a).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_on_a_branch_that_is_being_deleted_lands_before_or_not_at_all() {
    for round in 0..ROUNDS {
        let a = graph("closing", SOCIAL).await.unwrap();
        let me = Actor::default();
        a.create_branch("b", &head("main"), &me).await.unwrap();
        let other = twin(&a).await;
        let text = person(&format!("p{round}"), 1);
        let (deleted, written) =
            tokio::join!(a.delete_branch("b", false, &me), load(&other, "b", LoadMode::Append, &text));
        deleted.unwrap();
        if let Err(e) = written {
            assert_eq!(e.reason(), Reason::BranchNotFound, "{e}");
        }
        for graph in [&a, &other] {
            assert_eq!(graph.snapshot(&head("b")).await.unwrap_err().reason(), Reason::BranchNotFound);
        }
        other.create_branch("b", &head("main"), &me).await.unwrap();
        load(&a, "b", LoadMode::Append, &text).await.unwrap();
        assert_eq!(content(&other, &head("b")).await.unwrap().len(), 1);
        sound(&a).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_initialisers_make_one_graph() {
    for _ in 0..ROUNDS {
        let root = omnigraph_tests::memory_root("race");
        let (a, b) = (engine(), engine());
        let (first, second) =
            tokio::join!(omnigraph_tests::create(&a, &root, SOCIAL), omnigraph_tests::create(&b, &root, SOCIAL));
        assert!(first.is_ok() != second.is_ok(), "{:?} {:?}", first.err(), second.err());
        let (winner, loser) = match (first, second) {
            (Ok(g), Err(e)) | (Err(e), Ok(g)) => (g, e),
            _ => unreachable!(),
        };
        assert_eq!(loser.reason(), Reason::GraphExists, "{loser}");
        assert_eq!(winner.commits("main", None, 10).await.unwrap().len(), 1);
        sound(&winner).await;
    }
}

/// Holds one of an engine's calls below the tables of nodes, counted from zero, until it is let go.
#[derive(Debug, Default)]
struct Stop {
    at: usize,
    seen: AtomicUsize,
    reached: tokio::sync::Notify,
    open: tokio::sync::Notify,
}

#[derive(Debug)]
struct Held(Arc<Stop>);

impl Gate for Held {
    fn pass(&self, _: &str, path: &str) -> BoxFuture<'static, ()> {
        let stop = self.0.clone();
        if !path.contains("/nodes/") || stop.seen.fetch_add(1, Ordering::SeqCst) != stop.at {
            return futures::future::ready(()).boxed();
        }
        async move {
            stop.reached.notify_one();
            stop.open.notified().await;
        }
        .boxed()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_write_is_not_held_up_by_another_at_whatever_moment_that_makes_the_table() {
    for at in 0.. {
        let a = graph("first", SOCIAL).await.unwrap();
        let (plan, stop) = (FaultPlan::counting(), Arc::new(Stop { at, ..Stop::default() }));
        let slow = Engine::new(EngineOptions { faults: Some(plan.clone()), ..EngineOptions::default() });
        let slow = slow.open(a.root(), Access::ReadWrite).await.unwrap();
        plan.set_gate(Some(Arc::new(Held(stop.clone()))));
        let writing = tokio::spawn(async move { load(&slow, "main", LoadMode::Append, &person("slow", 1)).await });
        let reached = tokio::time::timeout(Duration::from_secs(2), stop.reached.notified()).await;
        if reached.is_err() {
            writing.await.unwrap().unwrap();
            assert!(at > 3, "a first write has made only {at} calls");
            return;
        }
        let fast = person("fast", 1);
        // Not the call that holds the turn: who waits for that waits for its lease.
        let other = tokio::time::timeout(Duration::from_secs(1), load(&a, "main", LoadMode::Append, &fast));
        let other = other.await.map(|done| done.map(|_| ()));
        stop.open.notify_one();
        writing.await.unwrap().unwrap();
        let calls = stop.seen.load(Ordering::SeqCst);
        assert!(calls <= 40, "held at call {at}, a first write makes {calls}");
        if other.is_ok_and(|done| done.is_ok()) {
            assert_eq!(content(&a, &head("main")).await.unwrap().len(), 2, "{at}");
        }
        sound(&a).await;
    }
}
