//! What a graph does for a user, through the engine.

use std::collections::BTreeMap;

use omnigraph_engine::model::{Actor, CompareOp, ReadSelector};
use omnigraph_engine::model::{
    Change, EdgePolicy, EntityWrite, LoadMode, Predicate, Target, TypeRef, Value, WriteOptions,
};
use omnigraph_engine::{Access, Reason};
use omnigraph_tests::{SOCIAL, content, create, engine, graph, head, knows, load, memory_root, person};

fn write(type_ref: TypeRef, endpoints: Option<(&str, &str)>, properties: &[(&str, Value)]) -> EntityWrite {
    EntityWrite {
        type_ref,
        id: None,
        endpoints: endpoints.map(|(a, b)| (a.to_string(), b.to_string())),
        properties: properties.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect::<BTreeMap<_, _>>(),
    }
}

fn text(s: &str) -> Value {
    Value::String(s.to_string())
}

#[tokio::test]
async fn a_load_is_one_commit_and_reads_back_what_was_loaded() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let input = person("ada", 36) + &person("grace", 85) + &knows("ada", "grace");
    let receipt = load(&g, "main", LoadMode::Append, &input).await.unwrap();
    assert!(receipt.changed);
    let inserted: u64 = receipt.commit.counts.iter().map(|c| c.inserted).sum();
    assert_eq!(inserted, 3);
    let lines = content(&g, &head("main")).await.unwrap();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().any(|l| l.contains("\"ada\"") && l.contains("36")), "{lines:?}");
    let commits = g.commits("main", None, 10).await.unwrap();
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0].id, receipt.commit.id);
    assert_eq!(commits[0].parents, vec![commits[1].id.clone()]);
    assert!(g.verify().await.unwrap().is_clean());
    // What is exported loads into an empty graph and exports the same.
    let copy = graph("basics", SOCIAL).await.unwrap();
    load(&copy, "main", LoadMode::Append, &lines.join("\n")).await.unwrap();
    assert_eq!(content(&copy, &head("main")).await.unwrap(), lines);
}

#[tokio::test]
async fn merge_loads_update_by_key_keep_what_is_absent_and_can_be_repeated() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let full = "{\"type\":\"Person\",\"data\":{\"slug\":\"ada\",\"age\":36,\"name\":\"Ada\"}}";
    load(&g, "main", LoadMode::Merge, full).await.unwrap();
    let partial = "{\"type\":\"Person\",\"data\":{\"slug\":\"ada\",\"age\":37}}";
    for _ in 0..3 {
        load(&g, "main", LoadMode::Merge, partial).await.unwrap();
    }
    let cleared = "{\"type\":\"Person\",\"data\":{\"slug\":\"ada\",\"age\":null}}\n{\"type\":\"Person\",\"data\":{\"slug\":\"bob\"}}";
    let receipt = load(&g, "main", LoadMode::Merge, cleared).await.unwrap();
    assert_eq!((receipt.commit.counts[0].inserted, receipt.commit.counts[0].updated), (1, 1));
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let ids = ["ada".to_string(), "nobody".to_string(), "bob".to_string()];
    let found = g.get(&snapshot, &TypeRef::node("Person"), &ids).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].properties["name"], text("Ada"));
    assert_eq!(found[0].properties["age"], Value::Null);
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn mutations_see_their_own_effects_and_are_one_commit() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let (p, k) = (TypeRef::node("Person"), TypeRef::edge("Knows"));
    let changes = vec![
        Change::Insert(write(p.clone(), None, &[("slug", text("ada")), ("email", text("temp"))])),
        Change::Insert(write(p.clone(), None, &[("slug", text("bob"))])),
        Change::Insert(write(k.clone(), Some(("ada", "bob")), &[])),
        Change::Update {
            type_ref: p.clone(),
            target: Target::Ids(vec!["ada".into()]),
            set: BTreeMap::from([("email".to_string(), text("final"))]),
        },
        Change::Insert(write(p.clone(), None, &[("slug", text("carol")), ("email", text("temp"))])),
    ];
    let receipt = g.mutate(changes, &WriteOptions::default()).await.unwrap();
    assert_eq!(g.commits("main", None, 10).await.unwrap().len(), 2);
    assert!(receipt.changed);
    // Deleting a node takes its edges along, in the same commit.
    let delete =
        Change::Delete { type_ref: p.clone(), target: Target::Ids(vec!["ada".into()]), edges: EdgePolicy::Cascade };
    let receipt = g.mutate(vec![delete.clone()], &WriteOptions::default()).await.unwrap();
    let deleted: u64 = receipt.commit.counts.iter().map(|c| c.deleted).sum();
    assert_eq!(deleted, 2);
    // Deleting it again changes nothing and makes no commit.
    let again = g.mutate(vec![delete], &WriteOptions::default()).await.unwrap();
    assert!(!again.changed);
    assert_eq!(again.commit.id, receipt.commit.id);
    let lines = content(&g, &head("main")).await.unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn updates_and_deletes_by_predicate_count_each_row_once() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let input: String = (0..50).map(|n| person(&format!("p{n}"), n)).collect();
    load(&g, "main", LoadMode::Append, &input).await.unwrap();
    let p = TypeRef::node("Person");
    let older =
        |n: i64| Target::Where(Predicate::Compare { property: "age".into(), op: CompareOp::Ge, value: Value::I64(n) });
    let delete = |t| Change::Delete { type_ref: p.clone(), target: t, edges: EdgePolicy::Cascade };
    let receipt = g.mutate(vec![delete(older(40)), delete(older(30))], &WriteOptions::default()).await.unwrap();
    assert_eq!(receipt.commit.counts[0].deleted, 20);
    let set = BTreeMap::from([("role".to_string(), text("staff"))]);
    let update = Change::Update { type_ref: p.clone(), target: older(25), set };
    let receipt = g.mutate(vec![update], &WriteOptions::default()).await.unwrap();
    assert_eq!(receipt.commit.counts[0].updated, 5);
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let staff = Predicate::Compare { property: "role".into(), op: CompareOp::Eq, value: text("staff") };
    assert_eq!(g.find(&snapshot, &p, Some(&staff), None, 100).await.unwrap().len(), 5);
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn wrong_input_is_refused_whole_with_the_reason() {
    let g = graph("basics", SOCIAL).await.unwrap();
    load(&g, "main", LoadMode::Append, &(person("ada", 1) + &person("bob", 2) + &knows("ada", "bob"))).await.unwrap();
    let before = g.snapshot(&head("main")).await.unwrap().head().to_string();
    let mail = |slug: &str, mail: &str| {
        format!("{{\"type\":\"Person\",\"data\":{{\"slug\":\"{slug}\",\"email\":\"{mail}\"}}}}\n")
    };
    let cases = [
        (LoadMode::Append, person("ada", 3), Reason::KeyConflict),
        (LoadMode::Append, person("x", 3) + &person("x", 4), Reason::DuplicateKeyInInput),
        (LoadMode::Merge, person("x", 3) + &person("x", 4), Reason::DuplicateKeyInInput),
        (
            LoadMode::Overwrite,
            person("ada", 1) + &person("bob", 1) + &person("x", 3) + &person("x", 4),
            Reason::DuplicateKeyInInput,
        ),
        (LoadMode::Append, person("x", 151), Reason::RangeViolation),
        (LoadMode::Append, knows("ada", "nobody"), Reason::EndpointMissing),
        (LoadMode::Append, knows("ada", "bob"), Reason::UniqueViolation),
        (LoadMode::Append, mail("x", "m") + &mail("y", "m"), Reason::UniqueViolation),
        (LoadMode::Append, "{\"type\":\"Note\",\"data\":{}}".into(), Reason::RequiredViolation),
        (LoadMode::Overwrite, person("ada", 3), Reason::EndpointMissing),
    ];
    for (mode, input, reason) in cases {
        let error = load(&g, "main", mode, &input).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{input} {error}");
    }
    let five = "{\"type\":\"Person\",\"data\":{\"slug\":\"a\",\"age\":\"x\"}}\n".repeat(5);
    let error = load(&g, "main", LoadMode::Append, &five).await.unwrap_err();
    assert_eq!(error.violations().len(), 5, "{error}");
    assert_eq!(g.snapshot(&head("main")).await.unwrap().head(), before);
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn an_overwrite_replaces_the_named_types_only() {
    let g = graph("basics", SOCIAL).await.unwrap();
    load(
        &g,
        "main",
        LoadMode::Append,
        &(person("a", 1) + &person("b", 2) + "{\"type\":\"Note\",\"data\":{\"text\":\"n\"}}"),
    )
    .await
    .unwrap();
    load(&g, "main", LoadMode::Overwrite, &(person("c", 3) + &knows("c", "c"))).await.unwrap();
    let lines = content(&g, &head("main")).await.unwrap();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(!lines.iter().any(|l| l.contains("\"a\"")), "{lines:?}");
    load(&g, "main", LoadMode::Append, &person("a", 9)).await.unwrap();
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn branches_are_isolated_and_remember_where_they_came_from() {
    let g = graph("basics", SOCIAL).await.unwrap();
    load(&g, "main", LoadMode::Append, &(person("a", 1) + &person("b", 2))).await.unwrap();
    let at_fork = content(&g, &head("main")).await.unwrap();
    let me = Actor("me".into());
    let info = g.create_branch("review/1", &head("main"), &me).await.unwrap();
    assert_eq!(info.parent, "main");
    assert_eq!(g.create_branch("review/1", &head("main"), &me).await.unwrap_err().reason(), Reason::BranchExists);
    assert_eq!(content(&g, &head("review/1")).await.unwrap(), at_fork);
    load(&g, "review/1", LoadMode::Merge, &(person("a", 10) + &person("c", 3))).await.unwrap();
    load(&g, "main", LoadMode::Append, &person("d", 4)).await.unwrap();
    assert_eq!(content(&g, &head("review/1")).await.unwrap().len(), 3);
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 3);
    // A branch of the branch, from before its last change.
    let commits = g.commits("review/1", None, 10).await.unwrap();
    g.create_branch("review", &ReadSelector::Commit(commits[1].id.clone()), &me).await.unwrap();
    assert_eq!(content(&g, &head("review")).await.unwrap(), at_fork);
    load(&g, "review", LoadMode::Append, &person("e", 5)).await.unwrap();
    // Another process sees the same.
    let other = engine().open(g.root(), Access::ReadOnly).await.unwrap();
    let names: Vec<String> = other.branches().await.unwrap().into_iter().map(|b| b.name).collect();
    assert_eq!(names, ["main", "review", "review/1"]);
    assert_eq!(content(&other, &head("review/1")).await.unwrap(), content(&g, &head("review/1")).await.unwrap());
    g.delete_branch("review/1", false, &me).await.unwrap();
    assert_eq!(g.snapshot(&head("review/1")).await.unwrap_err().reason(), Reason::BranchNotFound);
    assert_eq!(other.snapshot(&head("review/1")).await.unwrap_err().reason(), Reason::BranchNotFound);
    assert_eq!(content(&g, &head("review")).await.unwrap().len(), 3, "a child outlives its parent");
    g.create_branch("review/1", &head("main"), &me).await.unwrap();
    assert_eq!(content(&other, &head("review/1")).await.unwrap(), content(&g, &head("main")).await.unwrap());
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn every_retained_state_can_be_read_by_commit_version_and_time() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let mut states =
        vec![(g.commits("main", None, 1).await.unwrap()[0].clone(), content(&g, &head("main")).await.unwrap())];
    for n in 0..20 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        let receipt = load(&g, "main", LoadMode::Append, &person(&format!("p{n}"), n)).await.unwrap();
        states.push((receipt.commit, content(&g, &head("main")).await.unwrap()));
    }
    for (commit, lines) in &states {
        let by_commit = content(&g, &ReadSelector::Commit(commit.id.clone())).await.unwrap();
        assert_eq!(&by_commit, lines);
        let as_of = ReadSelector::BranchAsOf { branch: "main".into(), micros: commit.created_at };
        assert_eq!(&content(&g, &as_of).await.unwrap(), lines);
        let version = ReadSelector::Version { branch: "main".into(), version: commit.manifest_version };
        assert_eq!(&content(&g, &version).await.unwrap(), lines);
    }
    let early = ReadSelector::BranchAsOf { branch: "main".into(), micros: 0 };
    assert_eq!(g.snapshot(&early).await.unwrap_err().reason(), Reason::CommitNotFound);
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn conditions_and_request_ids_hold() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let options = WriteOptions { request_id: "r1".into(), ..WriteOptions::default() };
    let source = || omnigraph_tests::jsonl(person("a", 1));
    let first = g.load(source(), LoadMode::Append, &options).await.unwrap();
    let again = g.load(source(), LoadMode::Append, &options).await.unwrap();
    assert!(again.replayed);
    assert_eq!(first.commit, again.commit);
    // Another process answers the same.
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    assert_eq!(other.load(source(), LoadMode::Append, &options).await.unwrap().commit, first.commit);
    let error = g.mutate(vec![], &options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::RequestIdReused);
    let stale = WriteOptions { expected_head: first.commit.parents[0].clone(), ..WriteOptions::default() };
    let error = g.load(omnigraph_tests::jsonl(person("b", 1)), LoadMode::Append, &stale).await.unwrap_err();
    assert_eq!(error.reason(), Reason::HeadMoved);
    let fresh = WriteOptions { expected_head: first.commit.id.clone(), ..WriteOptions::default() };
    g.load(omnigraph_tests::jsonl(person("b", 1)), LoadMode::Append, &fresh).await.unwrap();
}

#[tokio::test]
async fn what_does_not_exist_is_named_with_the_near_miss() {
    let g = graph("basics", SOCIAL).await.unwrap();
    g.create_branch("feature", &head("main"), &Actor::default()).await.unwrap();
    let error = g.snapshot(&head("featur")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::BranchNotFound);
    assert!(error.message().contains("\"feature\""), "{error}");
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let error = g.get(&snapshot, &TypeRef::node("Persn"), &[]).await.unwrap_err();
    assert!(error.message().contains("\"Person\""), "{error}");
    let error = g.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV").await.unwrap_err();
    assert_eq!(error.reason(), Reason::CommitNotFound);
    assert_eq!(g.commit("nonsense").await.unwrap_err().reason(), Reason::InvalidArgument);
    let missing = engine().open(&memory_root("nothing"), Access::ReadWrite).await.unwrap_err();
    assert_eq!(missing.reason(), Reason::GraphNotFound);
    let twice = create(&engine(), g.root(), SOCIAL).await.unwrap_err();
    assert_eq!(twice.reason(), Reason::GraphExists);
}

#[tokio::test]
async fn concurrent_writers_in_and_across_processes_make_one_chain() {
    let g = graph("basics", SOCIAL).await.unwrap();
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let mut tasks = Vec::new();
    for n in 0..16 {
        let graph = if n % 2 == 0 { g.clone() } else { other.clone() };
        tasks.push(tokio::spawn(
            async move { load(&graph, "main", LoadMode::Append, &person(&format!("p{n}"), n)).await },
        ));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 16);
    let commits = g.commits("main", None, 100).await.unwrap();
    let made: Vec<(&str, &str)> = commits.iter().map(|c| (c.operation.as_str(), c.message.as_str())).collect();
    assert_eq!(commits.len(), 17, "{made:?}");
    for pair in commits.windows(2) {
        assert_eq!(pair[0].parents, vec![pair[1].id.clone()]);
    }
    let report = g.verify().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}
