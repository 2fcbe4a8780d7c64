//! Graphs as upkeep finds them: neglected for long, or written to by others.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use lance::Dataset;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::{Actor, LoadMode, ReadSelector, TypeRef};
use omnigraph_engine::{Access, Graph};
use omnigraph_tests::{SOCIAL, content, create, head, load, person};

use crate::stock::{Place, Stock, lose};

/// Kills its process before the first call of this verb on a path like this.
#[derive(Debug)]
struct Reaper {
    plan: Weak<FaultPlan>,
    verb: &'static str,
    path: &'static str,
}

impl Gate for Reaper {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if verb == self.verb && path.contains(self.path) {
            self.plan.upgrade().unwrap().die();
        }
        futures::future::ready(()).boxed()
    }
}

/// Leaves what a process leaves that dies before it makes a call.
async fn interrupted<T>(place: &Place, call: (&'static str, &'static str), deed: impl AsyncFnOnce(Graph) -> T) {
    let plan = FaultPlan::counting();
    let victim = place.doomed(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
    plan.set_gate(Some(Arc::new(Reaper { plan: Arc::downgrade(&plan), verb: call.0, path: call.1 })));
    deed(victim).await;
    assert!(plan.fired(), "{call:?} is never made");
}

pub(crate) fn note(id: &str) -> String {
    format!("{{\"type\":\"Note\",\"data\":{{\"id\":\"{id}\",\"text\":\"t\"}}}}\n")
}

async fn append(graph: &Graph, branch: &str, text: &str) {
    load(graph, branch, LoadMode::Append, text).await.unwrap();
}

/// A graph on which every part of a cleanup finds something: states that nobody wants, forks and datasets of a deleted
/// branch, a deletion that stopped half-way, a recovery that is long over, and what others left when they died. No more
/// of each than it takes: every version is a place to die.
pub(crate) async fn neglected(name: &str) -> Stock {
    let place = Place::new(name);
    let me = Actor::default();
    let graph = create(&place.engine(), &place.root, SOCIAL).await.unwrap();
    for i in 0..2 {
        append(&graph, "main", &(person(&format!("p{i}"), i) + &note(&format!("n{i}")))).await;
    }
    let lost = person("lost", 1);
    interrupted(&place, ("PUT", "__manifest/_versions"), async |g| {
        load(&g, "main", LoadMode::Append, &lost).await.unwrap_err()
    })
    .await;
    let graph = place.open().await;
    assert_eq!(graph.recoveries().await.unwrap().len(), 1);
    place.clock.later(Duration::from_secs(1));
    interrupted(&place, ("DELETE", "/_versions/d"), async |g| g.optimize("main", 1).await.unwrap_err()).await;
    graph.optimize("main", 1).await.unwrap();
    graph.create_branch("b", &head("main"), &me).await.unwrap();
    append(&graph, "b", &person("b0", 1)).await;
    append(&graph, "b", &person("b1", 1)).await;
    graph.create_branch("gone", &head("b"), &me).await.unwrap();
    // Only this branch ever had such an edge.
    append(&graph, "gone", &(person("g", 1) + "{\"edge\":\"Wrote\",\"from\":\"g\",\"to\":\"n0\"}\n")).await;
    graph.delete_branch("gone", false, &me).await.unwrap();
    graph.create_branch("half", &head("main"), &me).await.unwrap();
    interrupted(&place, ("PUT", "g/_refs/branches/half"), async |g| {
        g.delete_branch("half", false, &Actor::default()).await.unwrap_err()
    })
    .await;
    append(&graph, "main", &(person("p2", 1) + &note("n2"))).await;
    // Whoever read this state has not said that it is over.
    let commits = graph.commits("main", None, 100).await.unwrap();
    content(&graph, &ReadSelector::Commit(commits[2].id.clone())).await.unwrap();
    Stock::of(&place.root).await
}

/// A graph with some commits on main: nobody; one person; another instead; that one and a third. The rows that the
/// second commit shows are nobody else's.
pub(crate) async fn storied(name: &str) -> Stock {
    let place = Place::new(name);
    let graph = create(&place.engine(), &place.root, SOCIAL).await.unwrap();
    append(&graph, "main", &person("p0", 0)).await;
    load(&graph, "main", LoadMode::Overwrite, &person("p1", 1)).await.unwrap();
    append(&graph, "main", &person("p2", 2)).await;
    let stock = Stock::of(&place.root).await;
    let people: Vec<usize> = stock.history.iter().map(|(_, lines)| lines.len()).collect();
    assert_eq!(people, [0, 1, 1, 2]);
    stock
}

/// What others did to a graph.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    /// They deleted a person, else they only put fragments together.
    pub(crate) delete: bool,
    /// And a process of ours left a note that nobody published, and no trace of its intent.
    pub(crate) abandoned: bool,
}

/// A graph whose people others have written to, with a branch that has people of its own.
pub(crate) async fn drifted(name: &str, others: Others) -> Stock {
    let place = Place::new(name);
    let graph = create(&place.engine(), &place.root, SOCIAL).await.unwrap();
    append(&graph, "main", &(person("p0", 0) + &note("n0"))).await;
    append(&graph, "main", &person("p1", 1)).await;
    graph.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    append(&graph, "b", &person("b0", 1)).await;
    if others.abandoned {
        let never = note("never");
        interrupted(&place, ("PUT", "__manifest/_versions"), async |g| {
            load(&g, "main", LoadMode::Append, &never).await.unwrap_err()
        })
        .await;
        lose(&place.root, |path| path.contains("/__recovery/")).await;
    }
    let snapshot = graph.snapshot(&head("main")).await.unwrap();
    let at = snapshot.pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let mut people = Dataset::open(&format!("{}/{}", place.root, at.location)).await.unwrap();
    if others.delete {
        people.delete("slug = 'p1'").await.unwrap();
    } else {
        compact_files(&mut people, CompactionOptions::default(), None).await.unwrap();
    }
    assert!(people.version().version > at.version);
    Stock::of(&place.root).await
}
