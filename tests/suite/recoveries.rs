//! What became of interrupted operations, as told over the wire, and servers that decide them unasked.

use std::path::Path;
use std::time::Duration;

use futures::TryStreamExt;
use omnigraph_client::{Client, ErrorReason, Recovery, RecoveryOutcome, TableFound, proto};
use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::model::{Actor, LoadMode, WriteOptions};
use omnigraph_engine::{Access, Graph};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::{SOCIAL, create, engine, engine_with, head, jsonl, load, memory_root, person};

/// A storage with one graph, and where that graph is.
async fn storage() -> (String, String) {
    let storage = memory_root("recoveries");
    let root = omnigraph_engine::engine::graph_root(&storage, "social").unwrap();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    graph.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    (storage, root)
}

/// Interrupts a load by another process after its table was written; returns the operation's id.
async fn interrupt(root: &str, branch: &str, slug: &str) -> String {
    let plan = FaultPlan::counting();
    let victim = engine_with(&plan).open(root, Access::ReadWrite).await.unwrap();
    load(&victim, branch, LoadMode::Append, &person(&format!("{slug}-1"), 1)).await.unwrap();
    let before = plan.requests();
    load(&victim, branch, LoadMode::Append, &person(&format!("{slug}-2"), 1)).await.unwrap();
    plan.die_at(plan.requests().since(&before).puts - 1, false);
    let options = WriteOptions { actor: Actor("ada".into()), ..WriteOptions::on(branch) };
    let text = jsonl(person(&format!("{slug}-3"), 1));
    let error = victim.load(text, LoadMode::Append, &options).await.unwrap_err();
    error.metadata()["operation_id"].clone()
}

async fn served(storage: &str, interval: u64, read_only: bool) -> (Running, omnigraph_client::Graph) {
    let config = Config { recovery_interval_seconds: interval, read_only, ..Config::new(storage) };
    let server = Server::bind(config).await.unwrap();
    let graph = Client::connect(server.uri()).await.unwrap().graph("social");
    (server, graph)
}

async fn all(graph: &omnigraph_client::Graph, branch: &str) -> Vec<Recovery> {
    graph.recoveries(branch).try_collect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recoveries_are_listed_filtered_paged_and_shown() {
    let (storage, root) = storage().await;
    let mut operations = Vec::new();
    for (branch, slug) in [("main", "x"), ("b", "y"), ("main", "z")] {
        operations.push(interrupt(&root, branch, slug).await);
        engine().open(&root, Access::ReadWrite).await.unwrap();
    }
    let (server, graph) = served(&storage, 0, false).await;
    let listed = all(&graph, "").await;
    let ids: Vec<&str> = listed.iter().map(|r| r.operation_id.as_str()).collect();
    assert_eq!(ids, [&operations[2], &operations[1], &operations[0]].map(String::as_str), "newest first");
    assert_eq!(all(&graph, "b").await, listed[1..2]);
    let first = &listed[0];
    assert_eq!((first.label.as_str(), first.actor.as_deref()), ("load", Some("ada")));
    assert_eq!(first.outcome, RecoveryOutcome::RolledForward);
    assert_eq!((first.tables.len(), first.tables[0].found), (1, TableFound::Applied));
    let commit = graph.commit(omnigraph_client::Selector::Commit(first.commit_id.clone())).await.unwrap();
    assert_eq!(commit.actor.as_deref(), Some("ada"));
    assert_eq!(graph.recovery(&operations[1]).await.unwrap(), listed[1]);
    let error = graph.recovery("01J9Z3M2N4P6Q8R0S2T4V6W8X0").await.unwrap_err();
    assert!(error.is(ErrorReason::RecoveryNotFound), "{error}");

    let ask = |branch: &str, page_token: String| proto::ListRecoveriesRequest {
        graph: "social".into(),
        branch: branch.into(),
        page_size: 2,
        page_token,
    };
    let mut raw = graph.raw().maintenance();
    let page = raw.list_recoveries(ask("", String::new())).await.unwrap().into_inner();
    assert_eq!(page.recoveries.len(), 2);
    let rest = raw.list_recoveries(ask("", page.next_page_token.clone())).await.unwrap().into_inner();
    assert_eq!((rest.recoveries.len(), rest.next_page_token.as_str()), (1, ""));
    let foreign = raw.list_recoveries(ask("b", page.next_page_token)).await.unwrap_err();
    assert_eq!(foreign.code(), tonic::Code::InvalidArgument);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_decides_interrupted_operations_although_nobody_asks() {
    let (storage, root) = storage().await;
    let watching = engine().open(&root, Access::ReadOnly).await.unwrap();
    let (busy, graph) = served(&storage, 1, false).await;
    let (idle, other) = served(&storage, 0, false).await;
    let (reader, third) = served(&storage, 1, true).await;
    // A server looks after the graphs it has open.
    for graph in [&graph, &other, &third] {
        graph.info().await.unwrap();
    }
    let operation = interrupt(&root, "main", "x").await;
    let decided = async {
        loop {
            let record = watching.recoveries().await.unwrap();
            if !record.is_empty() {
                return record;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let record = tokio::time::timeout(Duration::from_secs(30), decided).await.unwrap();
    assert_eq!((record.len(), record[0].operation_id.as_str()), (1, operation.as_str()));
    assert_eq!(watching.verify().await.unwrap().pending, 0);
    for server in [busy, idle, reader] {
        server.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_must_not_write_or_look_leave_interrupted_operations_alone() {
    let (storage, root) = storage().await;
    let watching = engine().open(&root, Access::ReadOnly).await.unwrap();
    let (idle, first) = served(&storage, 0, false).await;
    let (reader, second) = served(&storage, 1, true).await;
    for graph in [&first, &second] {
        graph.info().await.unwrap();
    }
    interrupt(&root, "main", "x").await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(watching.verify().await.unwrap().pending, 1);
    assert!(watching.recoveries().await.unwrap().is_empty());
    // Reads are served all the while, and the next write decides it.
    assert_eq!(rows(&watching).await, 2);
    let text = omnigraph_client::LoadSource::from(person("next", 1));
    first.load(text).send().await.unwrap();
    assert_eq!(rows(&watching).await, 4);
    assert_eq!(watching.recoveries().await.unwrap().len(), 1);
    for server in [idle, reader] {
        server.shutdown().await.unwrap();
    }
}

/// Runs the command line as a process of its own.
async fn cli(home: &Path, words: &[&str]) -> Ended {
    let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), home, &[]);
    command.args(["cli", "recoveries", "list"]).args(words);
    Job::start(command).unwrap().ended(Duration::from_secs(60)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_says_how_many_recoveries_it_does_not_show() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().display().to_string();
    let root = omnigraph_engine::engine::graph_root(&storage, "social").unwrap();
    create(&engine(), &root, SOCIAL).await.unwrap();
    let mut operations = Vec::new();
    for slug in ["x", "y", "z"] {
        operations.push(interrupt(&root, "main", slug).await);
        engine().open(&root, Access::ReadWrite).await.unwrap();
    }
    let (server, _) = served(&storage, 0, false).await;
    let uri = server.uri();
    for place in [&[root.as_str()][..], &["--server", &uri, "--graph", "social"]] {
        let run = |words: &'static [&'static str]| {
            let words: Vec<&str> = place.iter().chain(words).copied().collect();
            let home = home.path();
            async move { cli(home, &words).await }
        };
        let some = run(&["--limit", "1", "--json"]).await;
        assert_eq!(some.code, Some(0), "{some:?}");
        let shown: serde_json::Value = serde_json::from_str(&some.out).unwrap();
        assert_eq!((shown.as_array().unwrap().len(), &shown[0]["operation"]), (1, &operations[2].as_str().into()));
        assert_eq!(some.err.trim(), "2 older recoveries are not shown; --limit 3 shows all");
        assert_eq!(run(&["--limit", "1", "--quiet"]).await.err, "");
        let all = run(&["--limit", "3"]).await;
        assert_eq!((all.code, all.err.as_str()), (Some(0), ""), "{all:?}");
        assert!(operations.iter().all(|operation| all.out.contains(operation.as_str())), "{}", all.out);
    }
    server.shutdown().await.unwrap();
}

async fn rows(graph: &Graph) -> usize {
    omnigraph_tests::content(graph, &head("main")).await.unwrap().len()
}
