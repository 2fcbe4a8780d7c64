//! Every mutating store call of every operation is a place to die. After each death another process must
//! find a whole graph: nothing acknowledged lost, nothing half visible, and the next write succeeds.

mod lineage;
mod upkeep;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::model::{Actor, Change, EdgePolicy, EntityWrite, LoadMode, Target, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Graph, Reason, Result};
use omnigraph_tests::{SOCIAL, content, create, engine, engine_with, head, knows, load, memory_root, person};

type Step = for<'a> fn(&'a Graph) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// An operation to interrupt: what is there before, and what it does.
struct Case {
    name: &'static str,
    before: &'static str,
    branch: &'static str,
    run: Step,
}

macro_rules! step {
    ($graph:ident => $body:expr) => {{
        fn step<'a>($graph: &'a Graph) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
            Box::pin(async move { $body.await.map(|_| ()) })
        }
        step as Step
    }};
}

fn three() -> String {
    person("x", 1) + &person("y", 2) + &knows("x", "y") + "{\"type\":\"Note\",\"data\":{\"id\":\"n\",\"text\":\"t\"}}\n"
}

fn mixed() -> Vec<Change> {
    let person = |slug: &str| EntityWrite {
        type_ref: TypeRef::node("Person"),
        id: None,
        endpoints: None,
        properties: BTreeMap::from([("slug".to_string(), Value::String(slug.to_string()))]),
    };
    let edge = EntityWrite {
        type_ref: TypeRef::edge("Knows"),
        id: Some("e".into()),
        endpoints: Some(("m".into(), "b".into())),
        properties: BTreeMap::new(),
    };
    vec![
        Change::Insert(person("m")),
        Change::Insert(edge),
        Change::Delete {
            type_ref: TypeRef::node("Person"),
            target: Target::Ids(vec!["a".into()]),
            edges: EdgePolicy::Cascade,
        },
    ]
}

/// Separates what is loaded as commits of their own.
const THEN: &str = "then\n";

/// Several fragments in two tables.
const CRUMBS: &str = "{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}\nthen\n{\"type\":\"Person\",\"data\":{\"slug\":\"b\"}}\n{\"type\":\"Note\",\"data\":{\"id\":\"n\",\"text\":\"t\"}}\nthen\n{\"type\":\"Person\",\"data\":{\"slug\":\"c\"}}\n{\"type\":\"Note\",\"data\":{\"id\":\"m\",\"text\":\"t\"}}\n";

const SEED: &str = "{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}\n{\"type\":\"Person\",\"data\":{\"slug\":\"b\"}}\n{\"edge\":\"Knows\",\"from\":\"a\",\"to\":\"b\"}\n";

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "append, one table, first write",
            before: "",
            branch: "main",
            run: step!(g => load(g, "main", LoadMode::Append, "{\"type\":\"Person\",\"data\":{\"slug\":\"x\"}}")),
        },
        Case {
            name: "append, three tables",
            before: SEED,
            branch: "main",
            run: step!(g => async move { load(g, "main", LoadMode::Append, &three()).await }),
        },
        Case {
            name: "merge",
            before: SEED,
            branch: "main",
            run: step!(g => async move { load(g, "main", LoadMode::Merge, &(person("a", 5) + &person("z", 6))).await }),
        },
        Case {
            name: "overwrite",
            before: SEED,
            branch: "main",
            run: step!(g => async move { load(g, "main", LoadMode::Overwrite, &(person("q", 5) + &knows("q", "q"))).await }),
        },
        Case {
            name: "mutate",
            before: SEED,
            branch: "main",
            run: step!(g => async move { g.mutate(mixed(), &WriteOptions::default()).await }),
        },
        Case {
            name: "first write on a branch",
            before: SEED,
            branch: "b",
            run: step!(g => async move { load(g, "b", LoadMode::Merge, &(person("a", 5) + &person("z", 6))).await }),
        },
        Case {
            name: "optimize",
            before: CRUMBS,
            branch: "main",
            run: step!(g => async move { g.optimize("main", 2).await }),
        },
        Case {
            name: "branch create",
            before: SEED,
            branch: "new",
            run: step!(g => async move { g.create_branch("new", &head("main"), &Actor::default()).await }),
        },
        Case {
            name: "branch delete",
            before: SEED,
            branch: "b",
            run: step!(g => async move { g.delete_branch("b", false, &Actor::default()).await }),
        },
    ]
}

/// What a reader finds on a branch: nothing if it does not exist.
async fn state(graph: &Graph, branch: &str) -> Option<Vec<String>> {
    match content(graph, &head(branch)).await {
        Ok(lines) => Some(lines),
        Err(e) if e.reason() == Reason::BranchNotFound => None,
        Err(e) => panic!("a read failed: {e}"),
    }
}

async fn prepare(case: &Case, root: &str) -> Graph {
    let graph = create(&engine(), root, SOCIAL).await.unwrap();
    for text in case.before.split(THEN).filter(|text| !text.is_empty()) {
        load(&graph, "main", LoadMode::Append, text).await.unwrap();
    }
    if case.branch == "b" {
        graph.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    }
    graph
}

/// Ids the engine draws differ from run to run.
fn anonymous(state: Option<Vec<String>>) -> Option<Vec<String>> {
    let strip = |line: &String| match (line.find("\"id\":\"01"), line.contains("\"edge\"")) {
        (Some(at), true) => format!("{}…{}", &line[..at], &line[at + 33..]),
        _ => line.clone(),
    };
    state.map(|lines| {
        let mut lines: Vec<String> = lines.iter().map(strip).collect();
        lines.sort();
        lines
    })
}

/// What an operation may leave, found once per case: the state without it and the state with it.
struct Reference {
    before: Option<Vec<String>>,
    after: Option<Vec<String>>,
}

async fn reference(case: &Case) -> Reference {
    let root = memory_root("cut-reference");
    let graph = prepare(case, &root).await;
    let before = anonymous(state(&graph, case.branch).await);
    (case.run)(&graph).await.unwrap();
    let after = anonymous(state(&graph, case.branch).await);
    engine().remove(&root).await.unwrap();
    Reference { before, after }
}

/// A place to die: at which mutating call, and whether that call still reaches the store.
#[derive(Clone, Copy, Debug)]
struct Cut {
    at: u64,
    lands: bool,
}

/// Where a first process and then its recoverer died.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    first: Cut,
    second: Option<Cut>,
}

/// Interrupts an operation, perhaps its recovery too, and checks what a last process finds. Tells whether
/// the first and the second death happened at all.
async fn survivors(case: &Case, reference: &Reference, cuts: Cuts) -> (bool, bool) {
    let root = memory_root("cut");
    let witness = prepare(case, &root).await;
    let plan = FaultPlan::counting();
    let victim = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    plan.die_at(cuts.first.at, cuts.first.lands);
    let outcome = tokio::select! {
        outcome = (case.run)(&victim) => Some(outcome),
        () = plan.death() => None,
    };
    let died = plan.fired();
    plan.die();
    let label = format!("{}: {cuts:?}, outcome: {outcome:?}", case.name);
    let mut died_again = false;
    if let Some(second) = cuts.second {
        let plan = FaultPlan::counting();
        plan.die_at(second.at, second.lands);
        // It may fail or be done before it dies.
        let engine = engine_with(&plan);
        tokio::select! {
            opened = engine.open(&root, Access::ReadWrite) => {
                assert!(opened.is_ok() || plan.fired(), "{label}: {opened:?}");
            }
            () = plan.death() => {}
        }
        died_again = plan.fired();
        plan.die();
    }
    // A process that comes later recovers by opening.
    let later = engine().open(&root, Access::ReadWrite).await.unwrap_or_else(|e| panic!("{label}: {e}"));
    let report = later.verify().await.unwrap();
    assert!(report.is_clean(), "{label}: {:#?}", report.problems);
    assert_eq!(report.pending, 0, "{label}");
    let after = anonymous(state(&later, case.branch).await);
    if matches!(outcome, Some(Ok(()))) {
        assert_eq!(after, reference.after, "{label}: an acknowledged operation is lost");
    }
    assert!(after == reference.before || after == reference.after, "{label}: half visible: {after:#?}");
    // Putting tables back is an operation of its own, which may be interrupted as well.
    let record = later.recoveries().await.unwrap();
    let own = record.iter().filter(|r| r.label != "recovery").count();
    assert!(own <= 1, "{label}: recorded more than once: {record:?}");
    // The process that watched all along sees the same and goes on without being opened again.
    assert_eq!(anonymous(state(&witness, case.branch).await), after, "{label}");
    load(&witness, "main", LoadMode::Merge, &person("next", 1))
        .await
        .unwrap_or_else(|e| panic!("{label}: next write: {e}"));
    if after.is_some() && case.branch != "main" {
        load(&witness, case.branch, LoadMode::Merge, &person("next", 1))
            .await
            .unwrap_or_else(|e| panic!("{label}: next write: {e}"));
    }
    if after == reference.before && case.branch != "new" {
        // What did not happen can be done now.
        (case.run)(&witness).await.unwrap_or_else(|e| panic!("{label}: again: {e}"));
    }
    let report = witness.verify().await.unwrap();
    assert!(report.is_clean(), "{label}: {:#?}", report.problems);
    engine().remove(&root).await.unwrap();
    (died, died_again)
}

/// Every place to die in one operation, and for each every place to die in its recovery.
async fn sweep(case: &Case, in_recovery: bool) -> u64 {
    let reference = reference(case).await;
    let mut points = 0;
    for lands in [false, true] {
        for at in 0.. {
            let first = Cut { at, lands };
            assert!(at < 200, "{} makes too many calls", case.name);
            if !in_recovery {
                if !survivors(case, &reference, Cuts { first, second: None }).await.0 {
                    break;
                }
                points += 1;
                continue;
            }
            let mut died = true;
            let mut calls = 0;
            for second_lands in [false, true] {
                // As many calls either way: a recovery that makes none is looked at once.
                if second_lands && calls == 0 {
                    break;
                }
                for at in 0.. {
                    let second = Some(Cut { at, lands: second_lands });
                    let (first_died, second_died) = survivors(case, &reference, Cuts { first, second }).await;
                    died = first_died;
                    if !second_died {
                        break;
                    }
                    calls += 1;
                    points += 1;
                }
            }
            if !died {
                break;
            }
        }
    }
    points
}

/// Cases are independent of each other: each runs on a thread of its own, as many at once as can.
fn sweep_all(in_recovery: bool) -> u64 {
    let left = std::sync::Mutex::new(cases());
    let points = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                loop {
                    let Some(case) = left.lock().unwrap().pop() else { return };
                    let found = runtime.block_on(sweep(&case, in_recovery));
                    assert!(found > 0 || in_recovery, "{} makes no call", case.name);
                    points.fetch_add(found, std::sync::atomic::Ordering::SeqCst);
                }
            });
        }
    });
    points.into_inner()
}

#[test]
fn every_call_of_every_write_can_be_the_last() {
    crate::tell(&format!("{} places to die in writes", sweep_all(false)));
}

#[test]
fn every_call_of_every_recovery_can_be_the_last() {
    let points = sweep_all(true);
    assert!(points > 0);
    crate::tell(&format!("{points} places to die in recoveries"));
}

#[tokio::test]
async fn an_interrupted_init_leaves_no_graph_or_a_whole_one() {
    for lands in [false, true] {
        for k in 0.. {
            let root = memory_root("init");
            let plan = FaultPlan::counting();
            plan.die_at(k, lands);
            let outcome = create(&engine_with(&plan), &root, SOCIAL).await;
            let label = format!("init dies at {k}, landed: {lands}: {:?}", outcome.as_ref().err());
            match engine().open(&root, Access::ReadWrite).await {
                Ok(graph) => {
                    assert!(graph.verify().await.unwrap().is_clean(), "{label}");
                    assert_eq!(create(&engine(), &root, SOCIAL).await.unwrap_err().reason(), Reason::GraphExists);
                }
                Err(e) => {
                    assert_eq!(e.reason(), Reason::GraphNotFound, "{label}: {e}");
                    assert!(outcome.is_err(), "{label}");
                    create(&engine(), &root, SOCIAL).await.unwrap_or_else(|e| panic!("{label}: again: {e}"));
                }
            }
            if !plan.fired() {
                assert!(outcome.is_ok());
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_store_that_fails_once_costs_at_most_one_error_and_no_restart() {
    for case in cases() {
        for lands in [false, true] {
            for k in 0.. {
                let root = memory_root("once");
                let _ = prepare(&case, &root).await;
                let plan = FaultPlan::counting();
                let graph = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
                plan.fail_once_at(k, lands);
                let outcome = (case.run)(&graph).await;
                plan.disarm();
                let label = format!("{} fails once at {k}, landed: {lands}: {outcome:?}", case.name);
                load(&graph, "main", LoadMode::Merge, &person("next", 1))
                    .await
                    .unwrap_or_else(|e| panic!("{label}: next write: {e}"));
                let report = graph.verify().await.unwrap();
                assert!(report.is_clean(), "{label}: {:#?}", report.problems);
                if !plan.fired() {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_recovery_keeps_the_writers_commit_and_actor_and_is_on_record_once() {
    let root = memory_root("audit");
    let plan = FaultPlan::counting();
    create(&engine(), &root, SOCIAL).await.unwrap();
    let victim = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    load(&victim, "main", LoadMode::Append, &person("first", 1)).await.unwrap();
    // Count the calls of a load, then die at the last but one: the table is written, the manifest is not.
    let before = plan.requests();
    load(&victim, "main", LoadMode::Append, &person("second", 1)).await.unwrap();
    let made = plan.requests().since(&before);
    let options = WriteOptions { actor: Actor("ada".into()), request_id: "r".into(), ..WriteOptions::default() };
    plan.die_at(made.puts - 1, false);
    let source = omnigraph_tests::jsonl(person("third", 1));
    let error = victim.load(source, LoadMode::Append, &options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::RecoveryRequired, "{error}");
    let promised = error.metadata()["commit_id"].clone();
    // Two processes open at once; both succeed and the outcome is recorded once.
    let (a, b) = (engine(), engine());
    let (a, b) = tokio::join!(a.open(&root, Access::ReadWrite), b.open(&root, Access::ReadWrite));
    let (a, b) = (a.unwrap(), b.unwrap());
    let commit = a.commit(&promised).await.unwrap();
    assert_eq!((commit.actor.0.as_str(), commit.operation.as_str()), ("ada", "load"));
    assert_eq!(b.commit_by_request("main", "r").await.unwrap(), Some(commit));
    let record = a.recoveries().await.unwrap();
    assert_eq!(record.len(), 1, "{record:?}");
    assert_eq!((record[0].actor.as_str(), record[0].label.as_str()), ("ada", "load"));
    assert_eq!(record[0].graph_commit_id, promised);
    // The same request is answered, not repeated.
    let source = omnigraph_tests::jsonl(person("third", 1));
    assert!(b.load(source, LoadMode::Append, &options).await.unwrap().replayed);
    assert!(a.verify().await.unwrap().is_clean());
}
