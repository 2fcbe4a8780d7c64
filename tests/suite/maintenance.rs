//! Compaction: that it changes nothing a reader can see, and that nobody is in its way or it in theirs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::maintenance::optimize::{OptimizeReport, Skipped, TableStats};
use omnigraph_engine::model::{Actor, Change, LoadMode, ReadSelector, Target, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Graph, Reason};
use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::{SOCIAL, content, create, engine, engine_with, graph, head, knows, load, memory_root, person};
use serde_json::Value as Json;

fn stats<'a>(report: &'a OptimizeReport, key: &str) -> &'a TableStats {
    report.tables.iter().find(|t| t.table_key == key).unwrap()
}

async fn crumbs(graph: &Graph, n: usize) {
    for i in 0..n {
        let text = person(&format!("p{i}"), i as i32) + &knows(&format!("p{i}"), &format!("p{}", i / 2));
        load(graph, "main", LoadMode::Merge, &text).await.unwrap();
    }
}

fn rename(to: &str) -> Vec<Change> {
    let set = BTreeMap::from([("name".to_string(), Value::String(to.to_string()))]);
    vec![Change::Update { type_ref: TypeRef::node("Person"), target: Target::Ids(vec!["p3".into()]), set }]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_keeps_everything_a_reader_sees_and_is_done_once() {
    let g = graph("compact", SOCIAL).await.unwrap();
    crumbs(&g, 12).await;
    g.mutate(rename("three"), &WriteOptions::default()).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let commits = g.commits("main", None, 100).await.unwrap();
    let mut seen = Vec::new();
    for commit in &commits {
        seen.push(content(&g, &ReadSelector::Commit(commit.id.clone())).await.unwrap());
    }
    let token = commits[0].id.clone();
    let report = g.optimize("main", 2).await.unwrap();
    let people = stats(&report, "node:Person");
    assert!(people.committed && people.fragments_removed > people.fragments_added, "{people:?}");
    assert_eq!(people.fragments_added, 1);
    assert_eq!(people.manifest_version, people.lance_head_version);
    assert!(!stats(&report, "node:Note").committed);
    let made = g.commits("main", None, 1).await.unwrap().remove(0);
    assert_eq!(report.commit.as_deref(), Some(made.id.as_str()));
    assert_eq!((made.actor, made.operation.as_str()), (Actor::maintenance(), "optimize"));
    assert!(made.counts.is_empty());

    assert_eq!(content(&g, &head("main")).await.unwrap(), seen[0]);
    let fresh = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    for (commit, lines) in commits.iter().zip(&seen) {
        let at = ReadSelector::Commit(commit.id.clone());
        assert_eq!(content(&g, &at).await.unwrap(), *lines);
        assert_eq!(content(&fresh, &at).await.unwrap(), *lines);
    }
    // A second run finds nothing to do and leaves no commit.
    let again = g.optimize("main", 2).await.unwrap();
    assert_eq!(again.commit, None);
    assert!(again.tables.iter().all(|t| !t.committed), "{again:?}");
    // What was read before is still what is there: the token is good for a conditional write.
    let options = WriteOptions { expected_head: token.clone(), ..WriteOptions::default() };
    g.mutate(rename("drei"), &options).await.unwrap();
    let stale = g.mutate(rename("trois"), &options).await.unwrap_err();
    assert_eq!(stale.reason(), Reason::HeadMoved);
    // Keys are found where the rows are now, in this process and in another.
    for graph in [&g, &fresh] {
        load(graph, "main", LoadMode::Merge, &(person("p1", 99) + &person("p7", 98))).await.unwrap();
        let lines = content(graph, &head("main")).await.unwrap();
        assert_eq!(lines.len(), seen[0].len());
    }
    // The branch shows what it showed, and says whose tables they are.
    assert_eq!(content(&g, &head("b")).await.unwrap(), seen[0]);
    let branch = g.optimize("b", 2).await.unwrap();
    assert_eq!(branch.commit, None);
    assert_eq!(stats(&branch, "node:Person").skipped, Some(Skipped::Inherited));
    load(&g, "b", LoadMode::Merge, &person("p1", 5)).await.unwrap();
    load(&g, "b", LoadMode::Merge, &person("p2", 5)).await.unwrap();
    let lines = content(&g, &head("b")).await.unwrap();
    assert!(stats(&g.optimize("b", 2).await.unwrap(), "node:Person").committed);
    assert_eq!(content(&g, &head("b")).await.unwrap(), lines);
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_optimize_loop_is_in_no_writers_way() {
    let g = graph("beside", SOCIAL).await.unwrap();
    crumbs(&g, 4).await;
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let maintainer = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let optimizing = {
        let done = done.clone();
        tokio::spawn(async move {
            let mut commits = 0;
            while !done.load(Ordering::SeqCst) {
                commits += usize::from(maintainer.optimize("main", 2).await.unwrap().commit.is_some());
            }
            commits
        })
    };
    const WRITES: usize = 20;
    let writers = [g.clone(), other].into_iter().enumerate().map(|(w, graph)| {
        tokio::spawn(async move {
            for i in 0..WRITES {
                let text = person(&format!("w{w}-{i}"), 1);
                load(&graph, "main", LoadMode::Append, &text).await.unwrap();
                let target = Target::Ids(vec![format!("w{w}-{i}")]);
                let set = BTreeMap::from([("age".to_string(), Value::I64(2))]);
                let update = Change::Update { type_ref: TypeRef::node("Person"), target, set };
                // The other writer may have been in between, but never the maintenance alone.
                loop {
                    match graph.mutate(vec![update.clone()], &WriteOptions::default()).await {
                        Ok(_) => break,
                        Err(e) => assert_eq!(e.reason(), Reason::ReadSetChanged, "{e}"),
                    }
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let commits = optimizing.await.unwrap();
    assert!(commits > 0);
    let lines = content(&g, &head("main")).await.unwrap();
    assert_eq!(lines.iter().filter(|l| l.contains("\"age\":2")).count(), 2 * WRITES + 1, "{lines:?}");
    assert!(g.verify().await.unwrap().is_clean());
    println!("optimized {commits} times beside {} writes", 4 * WRITES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_left_is_recovered_and_what_omnigraph_did_not_make_is_left_alone() {
    let root = memory_root("drift");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crumbs(&g, 3).await;
    // A dead writer's operation is decided first.
    let plan = FaultPlan::counting();
    let victim = engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    load(&victim, "main", LoadMode::Append, &person("v1", 1)).await.unwrap();
    let before = plan.requests();
    load(&victim, "main", LoadMode::Append, &person("v2", 1)).await.unwrap();
    plan.die_at(plan.requests().since(&before).puts - 1, false);
    load(&victim, "main", LoadMode::Append, &person("v3", 1)).await.unwrap_err();
    assert!(g.optimize("main", 2).await.unwrap().commit.is_some());
    assert_eq!(g.recoveries().await.unwrap().len(), 1);
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 9);

    // Somebody deletes a row behind omnigraph's back.
    load(&g, "main", LoadMode::Append, &person("x", 1)).await.unwrap();
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let at = snapshot.pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let mut dataset = lance::Dataset::open(&format!("{root}/{}", at.location)).await.unwrap();
    dataset.delete("slug = 'x'").await.unwrap();
    let report = g.optimize("main", 2).await.unwrap();
    let people = stats(&report, "node:Person");
    assert_eq!(people.skipped, Some(Skipped::DriftNeedsRepair), "{people:?}");
    assert_eq!((people.manifest_version, people.lance_head_version), (Some(at.version), Some(at.version + 1)));
    assert!(content(&g, &head("main")).await.unwrap().iter().any(|l| l.contains("\"x\"")));
}

/// Runs the command line as a process of its own.
async fn cli(home: &Path, words: &[&str]) -> Ended {
    let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), home, &[]);
    command.arg("cli").arg("optimize").args(words);
    Job::start(command).unwrap().ended(Duration::from_secs(60)).await.unwrap()
}

fn entry<'a>(answer: &'a Json, branch: &str) -> &'a Json {
    answer.as_array().unwrap().iter().find(|entry| entry["branch"] == branch).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_fails_stops_no_other_and_is_told_last() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("g").display().to_string();
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    crumbs(&g, 2).await;
    for branch in ["a", "b", "c"] {
        g.create_branch(branch, &head("main"), &Actor::default()).await.unwrap();
        for n in 0..2 {
            load(&g, branch, LoadMode::Append, &person(&format!("{branch}{n}"), 1)).await.unwrap();
        }
    }
    // What branch a shows of its people is gone.
    let at = g.snapshot(&head("a")).await.unwrap().pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let line = at.branch.unwrap();
    let file = format!("{}/{}/tree/{line}/_versions/{:020}.manifest", g.root(), at.location, u64::MAX - at.version);
    std::fs::remove_file(&file).unwrap_or_else(|e| panic!("{file}: {e}"));

    let run = cli(home.path(), &[&root, "--all-branches", "--json"]).await;
    assert_eq!(run.code, Some(1), "{run:?}");
    let answer: Json = serde_json::from_str(&run.out).unwrap();
    let branches: Vec<&str> = answer.as_array().unwrap().iter().map(|b| b["branch"].as_str().unwrap()).collect();
    assert_eq!(branches, ["main", "a", "b", "c"]);
    for fine in ["main", "b", "c"] {
        let entry = entry(&answer, fine);
        assert!(entry["commit"].is_string() && entry["error"].is_null(), "{entry}");
        let head = g.branch(fine).await.unwrap().head;
        assert_eq!(entry["commit"], head);
    }
    let failed = entry(&answer, "a");
    assert_eq!((&failed["commit"], &failed["tables"]), (&Json::Null, &Json::Array(Vec::new())));
    assert_eq!(failed["error"]["reason"], "DATA_CORRUPT");
    assert!(failed["error"]["message"].as_str().unwrap().contains(&at.location), "{failed}");
    // One line of JSON, after the line that says where it works.
    let error: Json = serde_json::from_str(run.err.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["exit_code"], 1);
    assert!(error["error"]["message"].as_str().unwrap().contains("1 of 4 branches"), "{error}");

    // For people, the reports and the failures apart; and what needs attention is worse than a failure.
    let at = g.snapshot(&head("c")).await.unwrap().pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let dataset = lance::Dataset::open(&format!("{root}/{}", at.location)).await.unwrap();
    let mut dataset = dataset.checkout_branch(at.branch.as_deref().unwrap()).await.unwrap();
    dataset.delete("slug = 'c0'").await.unwrap();
    let run = cli(home.path(), &[&root, "--all-branches"]).await;
    assert_eq!(run.code, Some(6), "{run:?}");
    for (text, times) in [("branch main: nothing to do", 1), ("branch b: nothing to do", 1), ("DriftNeedsRepair", 1)] {
        assert_eq!(run.out.matches(text).count(), times, "{text}: {run:?}");
    }
    assert!(!run.out.contains("branch a"), "{}", run.out);
    assert!(run.err.contains("1 of 4 branches") && run.err.contains("\n  a: "), "{}", run.err);
    assert!(run.err.contains(&format!("`omnigraph repair {root} --all-branches` is next")), "{}", run.err);

    // A branch that was asked for and fails is a failure like any other.
    let run = cli(home.path(), &[&root, "--branch", "a", "--json", "--quiet"]).await;
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{run:?}");
    let error: Json = serde_json::from_str(&run.err).unwrap();
    assert_eq!(error["error"]["reason"], "DATA_CORRUPT");
    let run = cli(home.path(), &[&root, "--branch", "nobody"]).await;
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{run:?}");
}
