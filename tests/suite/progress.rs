//! What maintenance tells of how far it is: every table once, whatever becomes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::maintenance::cleanup::CleanupOptions;
use omnigraph_engine::maintenance::progress::Observer;
use omnigraph_engine::maintenance::repair::RepairOptions;
use omnigraph_engine::model::{Actor, LoadMode};
use omnigraph_engine::{Access, Graph, Reason};
use omnigraph_tests::{SOCIAL, create, engine, engine_with, graph, head, knows, load, memory_root, person};

const MANIFEST: &str = "__manifest";
const LOG: &str = "_graph_commit_recoveries.lance";
const TYPES: [&str; 4] = ["edge:Knows", "edge:Wrote", "node:Note", "node:Person"];

/// Notes down what it is told.
#[derive(Debug, Default)]
struct Notes(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    totals: Vec<usize>,
    /// Tables that were begun and are not done.
    busy: Vec<String>,
    begun: BTreeSet<String>,
    done: BTreeMap<String, usize>,
}

impl Observer for Notes {
    fn tables(&self, total: usize) {
        self.0.lock().unwrap().totals.push(total);
    }

    fn table_begun(&self, key: &str) {
        let mut told = self.0.lock().unwrap();
        told.begun.insert(key.to_string());
        told.busy.push(key.to_string());
    }

    fn table_done(&self, key: &str) {
        let mut told = self.0.lock().unwrap();
        assert_eq!(told.totals.len(), 1, "{key} is done before anybody knows of how many");
        if let Some(at) = told.busy.iter().position(|busy| busy == key) {
            told.busy.remove(at);
        }
        *told.done.entry(key.to_string()).or_default() += 1;
    }
}

/// A handle that notes down what its maintenance tells.
fn watched(graph: &Graph) -> (Graph, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    (graph.observed(notes.clone()), notes)
}

impl Notes {
    /// What was told by an operation that succeeded.
    fn whole(&self) -> Told {
        let told = std::mem::take(&mut *self.0.lock().unwrap());
        assert_eq!(told.totals, [told.done.values().sum::<usize>()], "{told:?}");
        assert!(told.busy.is_empty() && told.begun.iter().all(|key| told.done.contains_key(key)), "{told:?}");
        told
    }
}

fn each(times: usize, keys: &[&[&str]]) -> BTreeMap<String, usize> {
    keys.iter().flat_map(|keys| keys.iter()).map(|key| (key.to_string(), times)).collect()
}

async fn crumbs(graph: &Graph, branch: &str, name: &str) {
    for n in 0..3 {
        let text = person(&format!("{name}{n}"), n) + &knows(&format!("{name}{n}"), &format!("{name}0"));
        load(graph, branch, LoadMode::Merge, &text).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_is_told_once() {
    let g = graph("told", SOCIAL).await.unwrap();
    crumbs(&g, "main", "p").await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    load(&g, "b", LoadMode::Append, &person("x", 1)).await.unwrap();
    let (graph, notes) = watched(&g);

    let report = graph.optimize("main", 2).await.unwrap();
    let told = notes.whole();
    assert_eq!(told.done, each(1, &[&TYPES, &[MANIFEST, LOG]]));
    assert!(report.tables.iter().all(|table| told.done.contains_key(&table.table_key)), "{report:?}");
    assert!(told.begun.contains("node:Person") && !told.begun.contains("node:Note"), "{told:?}");
    // With nothing to do, and for what a branch has only inherited.
    for branch in ["main", "b"] {
        graph.optimize(branch, 2).await.unwrap();
        assert_eq!(notes.whole().done, each(1, &[&TYPES, &[MANIFEST, LOG]]), "{branch}");
    }
    graph.repair("b", RepairOptions::default()).await.unwrap();
    let told = notes.whole();
    assert_eq!(told.done, each(1, &[&TYPES]));
    assert_eq!(told.begun, BTreeSet::from(["node:Person".to_string()]), "the rest is inherited");
    // A type of two branches is two tables, although they share most of what they show.
    assert!(graph.verify().await.unwrap().is_clean());
    assert_eq!(notes.whole().done, each(2, &[&TYPES]));

    for confirm in [false, true] {
        let options = CleanupOptions { keep: Some(1), confirm, ..CleanupOptions::default() };
        let report = graph.cleanup(&options).await.unwrap();
        assert_eq!(report.errors(), 0, "{report:?}");
        let told = notes.whole();
        assert_eq!(told.done, each(1, &[&["edge:Knows", "node:Person"], &[MANIFEST, LOG]]));
    }
    // The handle it was made from tells nobody.
    g.verify().await.unwrap();
    assert_eq!(notes.0.lock().unwrap().totals, [0; 0]);
    let refused = graph.optimize("nobody", 2).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::BranchNotFound);
    assert_eq!(notes.0.lock().unwrap().totals, [0; 0]);
}

/// Lets the first claim of a turn wait.
#[derive(Debug)]
struct Claim {
    reached: tokio::sync::Notify,
    goes_on: tokio::sync::Semaphore,
    met: AtomicBool,
}

#[derive(Debug)]
struct ClaimGate(Arc<Claim>);

impl Gate for ClaimGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if verb != "PUT" || !path.contains("__recovery/") || self.0.met.swap(true, Ordering::SeqCst) {
            return futures::future::ready(()).boxed();
        }
        let claim = self.0.clone();
        async move {
            claim.reached.notify_one();
            let _ = claim.goes_on.acquire().await;
        }
        .boxed()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_rewritten_again_is_told_once_all_the_same() {
    let root = memory_root("again");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crumbs(&g, "main", "p").await;
    let plan = FaultPlan::counting();
    let slow = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    let claim = Arc::new(Claim {
        reached: tokio::sync::Notify::new(),
        goes_on: tokio::sync::Semaphore::new(0),
        met: AtomicBool::new(false),
    });
    plan.set_gate(Some(Arc::new(ClaimGate(claim.clone()))));
    let (graph, notes) = watched(&slow);
    let optimizing = tokio::spawn(async move { graph.optimize("main", 2).await });
    tokio::time::timeout(Duration::from_secs(60), claim.reached.notified()).await.unwrap();
    // Everything that was being rewritten is changed meanwhile.
    let text: String = (0..3).map(|n| person(&format!("p{n}"), 9)).collect();
    load(&g, "main", LoadMode::Merge, &text).await.unwrap();
    claim.goes_on.add_permits(1);
    let report = optimizing.await.unwrap().unwrap();
    assert!(report.commit.is_some(), "{report:?}");
    assert_eq!(notes.whole().done, each(1, &[&TYPES, &[MANIFEST, LOG]]));
    assert!(g.verify().await.unwrap().is_clean());
}
