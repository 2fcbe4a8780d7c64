//! Many clients at once, through one server and through two on one store; and callers who leave midway.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use omnigraph_client::{Client, Commit, ErrorReason, LoadMode, LoadSource, Target, node};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::{LoadMode as Mode, WriteOptions};
use omnigraph_engine::{Access, Graph};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{SOCIAL, content, create, engine, engine_with, graph, head, jsonl, load, memory_root, person};

const CLIENTS: usize = 16;
const WRITES: usize = 4;

/// Servers over one store, each with an engine of its own as on machines of their own.
async fn servers(n: usize) -> (Vec<Running>, Vec<Client>) {
    let storage = memory_root("clients");
    let (mut running, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let server = Server::bind(Config::new(&storage)).await.unwrap();
        clients.push(Client::connect(server.uri()).await.unwrap());
        running.push(server);
    }
    clients[0].create_graph("social", SOCIAL).await.unwrap();
    clients[0].graph("social").load(LoadSource::from(person("shared", 0))).send().await.unwrap();
    (running, clients)
}

async fn history(client: &Client) -> Vec<Commit> {
    client.graph("social").list_commits("main").try_collect().await.unwrap()
}

/// Every client upserts rows of its own; all succeed and the history is one chain.
async fn disjoint_upserts(n: usize) {
    let (running, clients) = servers(n).await;
    let writers = (0..CLIENTS).map(|c| {
        let graph = clients[c % n].graph("social");
        tokio::spawn(async move {
            for w in 0..WRITES {
                let text = person(&format!("c{c}-{w}"), 1) + &person(&format!("c{c}"), w as i32);
                let load = graph.load(LoadSource::from(text)).mode(LoadMode::Merge);
                load.send().await.unwrap_or_else(|e| panic!("client {c} was refused: {e}"));
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for client in &clients {
        let commits = history(client).await;
        assert_eq!(commits.len(), 2 + CLIENTS * WRITES);
        for pair in commits.windows(2) {
            assert_eq!(pair[0].parents, [pair[1].id.clone()]);
            assert!(pair[0].id > pair[1].id);
        }
        let batches = client.graph("social").scan("Person").send().await.unwrap().collect_all().await.unwrap();
        assert_eq!(batches.iter().map(|b| b.num_rows()).sum::<usize>(), 1 + CLIENTS * (WRITES + 1));
    }
    for server in running {
        server.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_clients_of_one_server_all_succeed_in_one_chain() {
    disjoint_upserts(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_clients_of_two_servers_all_succeed_in_one_chain() {
    disjoint_upserts(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_strict_updates_of_one_row_one_wins_each_round() {
    for servers_used in [1, 2] {
        let (running, clients) = servers(servers_used).await;
        for round in 0..4 {
            let seen = clients[0].graph("social").branch("main").await.unwrap().head;
            let claims = (0..CLIENTS).map(|c| {
                let (graph, seen) = (clients[c % servers_used].graph("social"), seen.clone());
                tokio::spawn(async move {
                    let set = [("name", format!("{round}-{c}"))];
                    let target = Target::ids("Person", ["shared"]);
                    graph.mutate().update(target, set).expected_head(seen.id).send().await
                })
            });
            let mut won = 0;
            for claim in claims.collect::<Vec<_>>() {
                match claim.await.unwrap() {
                    Ok(_) => won += 1,
                    Err(e) => assert!(e.is(ErrorReason::HeadMoved) || e.is(ErrorReason::ReadSetChanged), "{e}"),
                }
            }
            assert_eq!(won, 1, "round {round} with {servers_used} servers");
        }
        for server in running {
            server.shutdown().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_is_one_commit_however_often_its_request_is_sent_and_to_whom() {
    let (running, clients) = servers(2).await;
    let sent = (0..CLIENTS).map(|c| {
        let graph = clients[c % 2].graph("social");
        tokio::spawn(async move {
            let note = node("Note").set("text", "once");
            graph.mutate().insert(note).request_id("the-same").send().await.unwrap().receipt.commit_id
        })
    });
    let mut answers = BTreeSet::new();
    for answer in sent.collect::<Vec<_>>() {
        answers.insert(answer.await.unwrap());
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(history(&clients[0]).await.len(), 3);
    for server in running {
        server.shutdown().await.unwrap();
    }
}

/// Polls work a given number of times and then drops it, as a runtime does with a caller that left.
async fn leave_after<T>(mut work: BoxFuture<'_, T>, polls: usize) -> Option<T> {
    let mut left = polls;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.poll_unpin(cx).map(Some)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_at_any_point_leaves_nothing_or_a_whole_commit() {
    let (mut landed, mut vanished) = (0, 0);
    let mut polls = 0;
    loop {
        let g = graph("leave", SOCIAL).await.unwrap();
        load(&g, "main", Mode::Append, &person("a", 1)).await.unwrap();
        let options = WriteOptions { request_id: "r".into(), ..WriteOptions::default() };
        let both = person("b", 1) + "{\"type\":\"Note\",\"data\":{\"id\":\"n\",\"text\":\"t\"}}\n";
        let work = g.load(jsonl(both.clone()), Mode::Append, &options).boxed();
        let finished = leave_after(work, polls).await.map(Result::unwrap).is_some();
        // The next write works, and by then the one before is decided.
        load(&g, "main", Mode::Append, &person("c", 1)).await.unwrap();
        let lines = content(&g, &head("main")).await.unwrap();
        let found = ["\"b\"", "\"n\""].map(|text| lines.iter().filter(|l| l.contains(text)).count());
        let commit = g.commit_by_request("main", "r").await.unwrap();
        assert!(found == [0, 0] || found == [1, 1], "half a commit after {polls} polls: {lines:?}");
        assert_eq!(commit.is_some(), found == [1, 1]);
        assert!(g.verify().await.unwrap().is_clean());
        // Asked again, it is done once.
        g.load(jsonl(both), Mode::Append, &options).await.unwrap();
        assert_eq!(content(&g, &head("main")).await.unwrap().len(), 4);
        landed += usize::from(commit.is_some() && !finished);
        vanished += usize::from(commit.is_none());
        if finished {
            break;
        }
        polls += 1;
        assert!(polls < 2_000);
    }
    assert!(vanished > 0);
    println!("left after each of {polls} polls: {vanished} vanished, {landed} were finished without their caller");
}

/// A store that takes for ever over some writes.
#[derive(Debug)]
struct Stuck {
    at: &'static str,
    reached: tokio::sync::Notify,
    released: tokio::sync::Semaphore,
}

#[derive(Debug)]
struct StuckGate(Arc<Stuck>);

impl Gate for StuckGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if verb != "PUT" || !path.contains(self.0.at) {
            return futures::future::ready(()).boxed();
        }
        let stuck = self.0.clone();
        async move {
            stuck.reached.notify_one();
            if let Ok(permit) = stuck.released.acquire().await {
                permit.forget();
            }
        }
        .boxed()
    }
}

async fn reads(graph: &Graph, branch: &str) -> usize {
    let read = async { content(graph, &head(branch)).await.unwrap().len() };
    tokio::time::timeout(Duration::from_secs(20), read).await.expect("a read waits for a writer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_and_other_branches_wait_for_no_writer_no_lease_and_no_recovery() {
    for at in ["__manifest/_versions", "nodes/", "__recovery/"] {
        let root = memory_root("stuck");
        let g = create(&engine(), &root, SOCIAL).await.unwrap();
        load(&g, "main", Mode::Append, &person("a", 1)).await.unwrap();
        g.create_branch("b", &head("main"), &Default::default()).await.unwrap();
        let plan = FaultPlan::counting();
        // A long lease: whoever honours it would wait for an hour.
        let slow = omnigraph_engine::Engine::new(omnigraph_engine::EngineOptions {
            faults: Some(plan.clone()),
            claim_lease: Duration::from_secs(3_600),
            ..Default::default()
        });
        let slow = slow.open(&root, Access::ReadWrite).await.unwrap();
        let stuck = Arc::new(Stuck { at, reached: Default::default(), released: tokio::sync::Semaphore::new(0) });
        plan.set_gate(Some(Arc::new(StuckGate(stuck.clone()))));
        let writer = slow.clone();
        let x = person("x", 1);
        let writing = tokio::spawn(async move { load(&writer, "main", Mode::Append, &x).await });
        stuck.reached.notified().await;
        // The same process, another one, and one that opens now, with a recovery to consider.
        let other = engine().open(&root, Access::ReadWrite).await.unwrap();
        for reader in [&slow, &g, &other] {
            assert_eq!(reads(reader, "main").await, 1, "at {at}");
            assert_eq!(reads(reader, "b").await, 1, "at {at}");
        }
        let y = person("y", 1);
        let write = load(&other, "b", Mode::Append, &y);
        tokio::time::timeout(Duration::from_secs(20), write).await.expect("branches wait for each other").unwrap();
        plan.set_gate(None);
        stuck.released.add_permits(1_000);
        writing.await.unwrap().unwrap();
        assert_eq!(reads(&g, "main").await, 2, "at {at}");
        assert!(g.verify().await.unwrap().is_clean());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_intent_blocks_nobody_for_longer_than_a_lease() {
    use omnigraph_engine::format::paths;
    use omnigraph_engine::store::{Stores, root::Root};
    let root = memory_root("garbled");
    let plan = FaultPlan::counting();
    create(&engine(), &root, SOCIAL).await.unwrap();
    let g = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    load(&g, "main", Mode::Append, &person("a", 1)).await.unwrap();
    g.create_branch("b", &head("main"), &Default::default()).await.unwrap();
    let version = g.commits("main", None, 1).await.unwrap()[0].manifest_version;
    let store = Stores::new(None).open(Root::parse(&root).unwrap()).await.unwrap();
    let garbled = paths::intent(&paths::claim_id("main", version));
    store.log().create_if_absent(&garbled, "no intent at all".into()).await.unwrap();
    let report = g.verify().await.unwrap();
    assert!(report.problems.iter().any(|p| p.detail.contains(&garbled)), "{report:?}");
    assert_eq!(reads(&g, "main").await, 1);
    load(&g, "b", Mode::Append, &person("x", 1)).await.unwrap();
    load(&g, "main", Mode::Append, &person("y", 1)).await.unwrap();
    let record = g.recoveries().await.unwrap();
    assert_eq!((record.len(), record[0].outcome.as_str()), (1, "rolled_back"));
    let report = g.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}");
    assert_eq!(reads(&g, "main").await, 2);
    // One whose turn is decided already blocks nobody, and goes with the next look.
    store.log().create_if_absent(&garbled, "no intent at all".into()).await.unwrap();
    load(&g, "main", Mode::Append, &person("z", 1)).await.unwrap();
    assert_eq!(g.verify().await.unwrap().pending, 1);
    g.recover().await.unwrap();
    assert_eq!(g.verify().await.unwrap().pending, 0);
}
