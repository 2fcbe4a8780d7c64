//! Drift that other programs make with Lance alone: what a repair says of it, what it publishes, and what never.

mod warm;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use futures::FutureExt;
use futures::future::BoxFuture;
use lance::Dataset;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::dataset::{ColumnAlteration, InsertBuilder, WriteMode, WriteParams};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::format::snapshot_json;
use omnigraph_engine::maintenance::repair::{Classification, RepairAction, RepairOptions, RepairReport, TableRepair};
use omnigraph_engine::model::{Actor, Change, CommitInfo, LoadMode, Target, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph, Reason};
use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::{SOCIAL, content, create, engine, graph, head, load, memory_root, person};
use serde_json::Value as Json;

const NOTE: &str = "{\"type\":\"Note\",\"data\":{\"text\":\"t\"}}\n";

const LOOK: RepairOptions = RepairOptions { confirm: false, force: false };
const CONFIRM: RepairOptions = RepairOptions { confirm: true, force: false };
const FORCE: RepairOptions = RepairOptions { confirm: true, force: true };

fn people() -> TypeRef {
    TypeRef::node("Person")
}

fn notes() -> TypeRef {
    TypeRef::node("Note")
}

/// Every person in a fragment of its own.
async fn crowd(graph: &Graph, branch: &str, slugs: std::ops::Range<usize>) {
    for n in slugs {
        load(graph, branch, LoadMode::Append, &person(&format!("p{n}"), n as i32)).await.unwrap();
    }
}

/// The dataset of a type, as a program sees it that knows nothing of the graph.
async fn foreign(graph: &Graph, branch: &str, type_ref: &TypeRef) -> Dataset {
    let snapshot = graph.snapshot(&head(branch)).await.unwrap();
    let at = snapshot.pin(type_ref).unwrap().at.clone().unwrap();
    let dataset = Dataset::open(&format!("{}/{}", graph.root(), at.location)).await.unwrap();
    match &at.branch {
        Some(line) => dataset.checkout_branch(line).await.unwrap(),
        None => dataset,
    }
}

async fn compact(graph: &Graph, branch: &str) {
    let mut dataset = foreign(graph, branch, &people()).await;
    let done = compact_files(&mut dataset, CompactionOptions::default(), None).await.unwrap();
    assert!(done.fragments_removed > done.fragments_added, "{done:?}");
}

/// Appends one row: another one's, under this id.
async fn append(graph: &Graph, type_ref: &TypeRef, id: &str, properties: HashMap<String, String>) {
    let dataset = foreign(graph, "main", type_ref).await;
    let row = dataset.scan().limit(Some(1), None).unwrap().try_into_batch().await.unwrap();
    let schema = Arc::new(arrow_schema::Schema::from(dataset.schema()));
    let columns = schema.fields().iter().zip(row.columns()).map(|(field, column)| match field.name().as_str() {
        "id" | "slug" => Arc::new(StringArray::from(vec![id])) as ArrayRef,
        _ => column.clone(),
    });
    let batch = RecordBatch::try_new(schema.clone(), columns.collect()).unwrap();
    let params = WriteParams {
        mode: WriteMode::Append,
        transaction_properties: Some(Arc::new(properties)),
        ..WriteParams::default()
    };
    InsertBuilder::new(Arc::new(dataset)).with_params(&params).execute(vec![batch]).await.unwrap();
}

fn row<'a>(report: &'a RepairReport, key: &str) -> &'a TableRepair {
    report.tables.iter().find(|t| t.table_key == key).unwrap()
}

/// What a report says of the people.
fn said(report: &RepairReport) -> (Classification, RepairAction, Vec<&str>) {
    let row = row(report, "node:Person");
    (row.classification, row.action, row.operations.iter().map(String::as_str).collect())
}

async fn commits(graph: &Graph) -> Vec<CommitInfo> {
    graph.commits("main", None, 1_000).await.unwrap()
}

fn rename(to: &str) -> Vec<Change> {
    let set = BTreeMap::from([("name".to_string(), Value::String(to.to_string()))]);
    vec![Change::Update { type_ref: people(), target: Target::Ids(vec!["p1".into()]), set }]
}

async fn is_settled(graph: &Graph, branch: &str) {
    let report = graph.repair(branch, FORCE).await.unwrap();
    assert!(report.commit.is_none() && report.refused() == 0, "{report:?}");
    assert!(report.tables.iter().all(|t| t.action == RepairAction::None), "{report:?}");
    let verified = graph.verify().await.unwrap();
    assert!(verified.is_clean() && verified.pending == 0, "{verified:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_by_others_is_published_and_keeps_the_content() {
    let root = memory_root("compacted");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crowd(&g, "main", 0..4).await;
    compact(&g, "main").await;
    let refused = load(&g, "main", LoadMode::Append, &person("x", 1)).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::Drift);
    // Other types are not affected.
    load(&g, "main", LoadMode::Append, NOTE).await.unwrap();

    let (lines, before) = (content(&g, &head("main")).await.unwrap(), commits(&g).await);
    let reader = engine().open(&root, Access::ReadOnly).await.unwrap();
    let preview = g.repair("main", LOOK).await.unwrap();
    assert_eq!(preview, reader.repair("main", LOOK).await.unwrap());
    assert_eq!(
        said(&preview),
        (Classification::VerifiedMaintenance, RepairAction::WouldPublish, vec!["ReserveFragments", "Rewrite"])
    );
    assert_eq!((preview.preview, &preview.commit, preview.open(), preview.refused()), (true, &None, 1, 0));
    assert_eq!(row(&preview, "node:Note").action, RepairAction::None);
    let stands = row(&preview, "node:Person").clone();
    assert_eq!(stands.manifest_version.map(|v| v + 2), stands.lance_head_version);
    assert_eq!(commits(&g).await, before);
    assert_eq!(reader.repair("main", CONFIRM).await.unwrap_err().reason(), Reason::ReadOnly);

    let done = g.repair("main", CONFIRM).await.unwrap();
    assert_eq!(row(&done, "node:Person"), &TableRepair { action: RepairAction::Published, ..stands.clone() });
    let newest = commits(&g).await.remove(0);
    assert_eq!(done.commit.as_deref(), Some(newest.id.as_str()));
    assert_eq!((newest.operation.as_str(), newest.actor.clone()), ("repair", Actor::maintenance()));
    assert_eq!(newest.parents, [before[0].id.clone()]);
    let pinned = g.snapshot(&head("main")).await.unwrap().pin(&people()).unwrap().clone();
    assert_eq!((pinned.at.map(|at| at.version), pinned.rows), (stands.lance_head_version, 4));
    assert_eq!(content(&g, &head("main")).await.unwrap(), lines);
    is_settled(&g, "main").await;

    // What was read before is what is there now, and everybody writes again.
    let options = WriteOptions { expected_head: before[0].id.clone(), ..WriteOptions::default() };
    g.mutate(rename("one"), &options).await.unwrap();
    load(&g, "main", LoadMode::Merge, &(person("p1", 9) + &person("x", 1))).await.unwrap();
    let optimized = g.optimize("main", 2).await.unwrap();
    assert!(optimized.tables.iter().all(|t| t.skipped.is_none()), "{optimized:?}");
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), lines.len() + 1);
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_others_added_is_refused_and_visible_once_it_is_forced() {
    let g = graph("added", SOCIAL).await.unwrap();
    crowd(&g, "main", 0..3).await;
    append(&g, &people(), "ghost", HashMap::new()).await;
    let (lines, before) = (content(&g, &head("main")).await.unwrap(), commits(&g).await);
    for options in [LOOK, CONFIRM] {
        let report = g.repair("main", options).await.unwrap();
        assert_eq!(said(&report), (Classification::Suspicious, RepairAction::Refused, vec!["Append"]));
        assert_eq!((report.commit.as_ref(), report.refused()), (None, 1));
    }
    let preview = g.repair("main", RepairOptions { confirm: false, force: true }).await.unwrap();
    assert_eq!(said(&preview), (Classification::Suspicious, RepairAction::WouldPublish, vec!["Append"]));
    assert_eq!((content(&g, &head("main")).await.unwrap(), commits(&g).await), (lines.clone(), before.clone()));

    let done = g.repair("main", FORCE).await.unwrap();
    assert_eq!(said(&done).1, RepairAction::Published);
    assert_eq!(commits(&g).await[0].operation, "repair_forced");
    let now = content(&g, &head("main")).await.unwrap();
    assert_eq!(now.len(), lines.len() + 1);
    assert!(now.iter().any(|line| line.contains("\"ghost\"")), "{now:?}");
    // What was read before is not what is there now.
    let options = WriteOptions { expected_head: before[0].id.clone(), ..WriteOptions::default() };
    assert_eq!(g.mutate(rename("one"), &options).await.unwrap_err().reason(), Reason::HeadMoved);
    // The row counts like any other, for this process and for the next.
    let fresh = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    for graph in [&g, &fresh] {
        let twice = load(graph, "main", LoadMode::Append, &person("ghost", 1)).await.unwrap_err();
        assert_eq!(twice.reason(), Reason::KeyConflict);
        load(graph, "main", LoadMode::Merge, &person("ghost", 7)).await.unwrap();
        assert_eq!(content(graph, &head("main")).await.unwrap().len(), now.len());
    }
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_refused_stops_no_other() {
    let g = graph("two", SOCIAL).await.unwrap();
    crowd(&g, "main", 0..3).await;
    load(&g, "main", LoadMode::Append, NOTE).await.unwrap();
    compact(&g, "main").await;
    append(&g, &notes(), "ghost", HashMap::new()).await;
    let lines = content(&g, &head("main")).await.unwrap();
    let report = g.repair("main", CONFIRM).await.unwrap();
    assert_eq!(said(&report).1, RepairAction::Published);
    let note = row(&report, "node:Note");
    assert_eq!((note.classification, note.action), (Classification::Suspicious, RepairAction::Refused));
    assert_eq!(report.refused(), 1);
    assert_eq!(commits(&g).await[0].operation, "repair");
    assert_eq!(content(&g, &head("main")).await.unwrap(), lines);
    load(&g, "main", LoadMode::Append, &person("x", 1)).await.unwrap();
    assert_eq!(load(&g, "main", LoadMode::Append, NOTE).await.unwrap_err().reason(), Reason::Drift);
    let forced = g.repair("main", FORCE).await.unwrap();
    assert_eq!(row(&forced, "node:Note").action, RepairAction::Published);
    load(&g, "main", LoadMode::Append, NOTE).await.unwrap();
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), lines.len() + 3);
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_has_drift_of_its_own() {
    let g = graph("branch", SOCIAL).await.unwrap();
    crowd(&g, "main", 0..2).await;
    load(&g, "main", LoadMode::Append, NOTE).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    crowd(&g, "b", 2..5).await;
    let (on_main, on_b) = (content(&g, &head("main")).await.unwrap(), content(&g, &head("b")).await.unwrap());
    compact(&g, "b").await;
    is_settled_but(&g, "main").await;
    let preview = g.repair("b", LOOK).await.unwrap();
    assert_eq!(said(&preview).0, Classification::VerifiedMaintenance);
    let note = row(&preview, "node:Note");
    assert_eq!((note.classification, note.action), (Classification::Inherited, RepairAction::None));
    assert_eq!(load(&g, "b", LoadMode::Append, &person("x", 1)).await.unwrap_err().reason(), Reason::Drift);
    let done = g.repair("b", CONFIRM).await.unwrap();
    assert_eq!((said(&done).1, done.branch.as_str()), (RepairAction::Published, "b"));
    assert_eq!(content(&g, &head("b")).await.unwrap(), on_b);
    load(&g, "b", LoadMode::Append, &person("x", 1)).await.unwrap();
    assert_eq!(content(&g, &head("b")).await.unwrap().len(), on_b.len() + 1);
    assert_eq!(content(&g, &head("main")).await.unwrap(), on_main);
    is_settled(&g, "b").await;
    let gone = g.repair("nobody", LOOK).await.unwrap_err();
    assert_eq!(gone.reason(), Reason::BranchNotFound);
}

/// Nothing is to be done on this branch, whatever is wrong on another.
async fn is_settled_but(graph: &Graph, branch: &str) {
    let report = graph.repair(branch, FORCE).await.unwrap();
    assert_eq!(report.commit, None);
    assert!(report.tables.iter().all(|t| t.classification == Classification::None), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_omnigraph_left_is_put_back() {
    let g = graph("left", SOCIAL).await.unwrap();
    crowd(&g, "main", 0..2).await;
    let ours = HashMap::from([(snapshot_json::OPERATION.to_string(), "01J9".to_string())]);
    append(&g, &people(), "never", ours.clone()).await;
    append(&g, &people(), "never either", ours).await;
    let (lines, before) = (content(&g, &head("main")).await.unwrap(), commits(&g).await);
    let preview = g.repair("main", LOOK).await.unwrap();
    let left = vec!["Append", "Append"];
    assert_eq!(said(&preview), (Classification::Abandoned, RepairAction::WouldRestore, left.clone()));
    assert_eq!(commits(&g).await, before);
    let done = g.repair("main", CONFIRM).await.unwrap();
    assert_eq!(said(&done), (Classification::Abandoned, RepairAction::Restored, left));
    assert_eq!(commits(&g).await[0].operation, "recovery");
    assert_eq!(content(&g, &head("main")).await.unwrap(), lines);
    is_settled(&g, "main").await;
    load(&g, "main", LoadMode::Append, &person("never", 1)).await.unwrap();
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), lines.len() + 1);
    // With other programs' work on top, nobody can tell the one from the other.
    append(&g, &people(), "never", HashMap::from([(snapshot_json::OPERATION.to_string(), "01J9".into())])).await;
    compact(&g, "main").await;
    let mixed = g.repair("main", CONFIRM).await.unwrap();
    let made = vec!["Append", "ReserveFragments", "Rewrite"];
    assert_eq!(said(&mixed), (Classification::Suspicious, RepairAction::Refused, made));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_columns_are_never_published() {
    let dropped = graph("dropped", SOCIAL).await.unwrap();
    let cast = graph("cast", SOCIAL).await.unwrap();
    for g in [&dropped, &cast] {
        crowd(g, "main", 0..2).await;
    }
    foreign(&dropped, "main", &people()).await.drop_columns(&["age"]).await.unwrap();
    let wider = ColumnAlteration::new("age".into()).cast_to(arrow_schema::DataType::Int64);
    foreign(&cast, "main", &people()).await.alter_columns(&[wider]).await.unwrap();
    for g in [&dropped, &cast] {
        let (lines, before) = (content(g, &head("main")).await.unwrap(), commits(g).await);
        let report = g.repair("main", FORCE).await.unwrap();
        let found = row(&report, "node:Person");
        assert_eq!((found.classification, found.action), (Classification::Suspicious, RepairAction::Refused));
        let error = found.error.as_deref().unwrap();
        assert!(error.contains("cannot be published") && error.contains("age"), "{error}");
        assert_eq!(report.refused(), 1);
        assert_eq!((content(g, &head("main")).await.unwrap(), commits(g).await), (lines, before));
    }
}

/// A store that takes for ever to publish.
#[derive(Debug, Default)]
struct Stuck {
    reached: tokio::sync::Notify,
    released: Release,
}

#[derive(Debug)]
struct Release(tokio::sync::Semaphore);

impl Default for Release {
    fn default() -> Self {
        Self(tokio::sync::Semaphore::new(0))
    }
}

#[derive(Debug)]
struct StuckGate(Arc<Stuck>);

impl Gate for StuckGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if verb != "PUT" || !path.contains("__manifest/_versions") {
            return futures::future::ready(()).boxed();
        }
        let stuck = self.0.clone();
        async move {
            stuck.reached.notify_one();
            if let Ok(permit) = stuck.released.0.acquire().await {
                permit.forget();
            }
        }
        .boxed()
    }
}

fn engine_with_lease(plan: Option<Arc<FaultPlan>>, lease: Duration) -> Engine {
    Engine::new(EngineOptions { faults: plan, claim_lease: lease, ..EngineOptions::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_somebody_is_writing_nothing_is_repaired() {
    let root = memory_root("busy");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crowd(&g, "main", 0..3).await;
    load(&g, "main", LoadMode::Append, NOTE).await.unwrap();
    append(&g, &people(), "ghost", HashMap::new()).await;
    let before = commits(&g).await;
    let plan = FaultPlan::counting();
    let slow = engine_with_lease(Some(plan.clone()), Duration::from_secs(3_600));
    let slow = slow.open(&root, Access::ReadWrite).await.unwrap();
    let stuck = Arc::new(Stuck::default());
    plan.set_gate(Some(Arc::new(StuckGate(stuck.clone()))));
    let writing = tokio::spawn(async move { load(&slow, "main", LoadMode::Append, NOTE).await });
    stuck.reached.notified().await;

    let impatient = engine_with_lease(None, Duration::from_millis(200));
    let writer = impatient.open(&root, Access::ReadWrite).await.unwrap();
    let reader = impatient.open(&root, Access::ReadOnly).await.unwrap();
    for (graph, options) in [(&writer, FORCE), (&writer, CONFIRM), (&writer, LOOK), (&reader, LOOK)] {
        let error = graph.repair("main", options).await.unwrap_err();
        assert_eq!(error.reason(), Reason::RecoveryRequired, "{error}");
        assert!(error.metadata().contains_key("operation_id"), "{error:?}");
    }
    assert_eq!(commits(&g).await, before);
    assert_eq!(reader.verify().await.unwrap().pending, 1);
    plan.set_gate(None);
    stuck.released.0.add_permits(1_000);
    writing.await.unwrap().unwrap();
    let done = writer.repair("main", FORCE).await.unwrap();
    assert_eq!(said(&done).1, RepairAction::Published);
    assert_eq!(row(&done, "node:Note").classification, Classification::None);
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_that_is_gone_is_refused_until_it_is_forced() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("g").display().to_string();
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crowd(&g, "main", 0..2).await;
    let at = g.snapshot(&head("main")).await.unwrap().pin(&people()).unwrap().at.clone().unwrap();
    append(&g, &people(), "a", HashMap::new()).await;
    append(&g, &people(), "b", HashMap::new()).await;
    let version = at.version + 1;
    let file = format!("{}/{}/_versions/{:020}.manifest", g.root(), at.location, u64::MAX - version);
    std::fs::remove_file(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let report = g.repair("main", CONFIRM).await.unwrap();
    let made = vec!["unreadable", "Append"];
    assert_eq!(said(&report), (Classification::Unverifiable, RepairAction::Refused, made));
    let error = row(&report, "node:Person").error.clone().unwrap();
    assert!(error.starts_with(&format!("version {version} cannot be read")), "{error}");
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 2);
    let forced = g.repair("main", FORCE).await.unwrap();
    assert_eq!((said(&forced).1, forced.refused()), (RepairAction::Published, 0));
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 4);
    load(&g, "main", LoadMode::Append, &person("x", 1)).await.unwrap();
    is_settled(&g, "main").await;
}

/// Runs the command line as a process of its own.
async fn cli(home: &Path, words: &[&str]) -> Ended {
    let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), home, &[]);
    command.arg("cli").arg("repair").args(words);
    Job::start(command).unwrap().ended(Duration::from_secs(60)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_shows_first_and_tells_what_is_next() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join("cluster").display().to_string();
    let root = omnigraph_engine::engine::graph_root(&storage, "social").unwrap();
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crowd(&g, "main", 0..2).await;
    append(&g, &people(), "ghost", HashMap::new()).await;
    let before = commits(&g).await;
    let run = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let home = home.path();
        async move { cli(home, &words.iter().map(String::as_str).collect::<Vec<_>>()).await }
    };

    let refused = run(&["--cluster", &storage, "--graph", "social", "--json"]).await;
    assert_eq!(refused.code, Some(6), "{refused:?}");
    let answer: Json = serde_json::from_str(&refused.out).unwrap();
    let found = answer[0]["tables"].as_array().unwrap().iter().find(|t| t["table_key"] == "node:Person").unwrap();
    assert_eq!((&found["classification"], &found["action"]), (&"suspicious".into(), &"refused".into()));
    assert_eq!((&answer[0]["branch"], &answer[0]["preview"]), (&"main".into(), &true.into()));
    assert!(refused.err.contains("social.omni --force"), "{}", refused.err);
    let preview = run(&[&root, "--force"]).await;
    assert_eq!(preview.code, Some(0), "{preview:?}");
    assert!(preview.out.contains("would_publish") && preview.err.contains(&root), "{preview:?}");
    assert!(preview.err.contains(&format!("omnigraph repair {root} --force --confirm")), "{}", preview.err);
    assert_eq!(run(&[&root, "--confirm"]).await.code, Some(6));
    assert_eq!(commits(&g).await, before);
    let done = run(&[&root, "--force", "--confirm", "--quiet"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.out.contains("published"), "{}", done.out);
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 3);
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let again = run(&[&root, "--all-branches", "--json"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    let answer: Json = serde_json::from_str(&again.out).unwrap();
    let branches: Vec<&str> = answer.as_array().unwrap().iter().map(|b| b["branch"].as_str().unwrap()).collect();
    assert_eq!(branches, ["main", "b"]);

    assert_eq!(run(&[&root, "--branch", "nobody"]).await.code, Some(3));
    for server in [&["--server", "http://127.0.0.1:1", "--graph", "social"][..], &["http://127.0.0.1:1"]] {
        let refused = run(server).await;
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("`repair` works on the files of a graph"), "{}", refused.err);
    }
}
