//! What operations cost in store requests. These numbers do not depend on the machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use omnigraph_engine::failpoint::{FaultPlan, Requests};
use omnigraph_engine::model::{Actor, Change, EntityWrite, LoadMode, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Graph};
use omnigraph_tests::{SOCIAL, create, engine_with, head, load, memory_root, person};

fn insert(slug: &str, age: i64) -> Vec<Change> {
    vec![Change::Upsert(EntityWrite {
        type_ref: TypeRef::node("Person"),
        id: None,
        endpoints: None,
        properties: BTreeMap::from([
            ("slug".to_string(), Value::String(slug.to_string())),
            ("age".to_string(), Value::I64(age)),
        ]),
    })]
}

async fn cost(plan: &FaultPlan, graph: &Graph, changes: Vec<Change>) -> Requests {
    let before = plan.requests();
    let receipt = graph.mutate(changes, &WriteOptions::default()).await.unwrap();
    assert!(receipt.changed);
    plan.requests().since(&before)
}

struct Measured {
    resolve: u64,
    insert: u64,
    upsert: u64,
    manifest_bytes: u64,
}

/// Costs at the present depth: a cold resolve, and medians over some writes on the warm handle.
async fn measure(plan: &std::sync::Arc<FaultPlan>, graph: &Graph, tag: &str) -> Measured {
    let mut inserts = Vec::new();
    let mut upserts = Vec::new();
    let mut bytes = 0;
    for n in 0..16 {
        let made = cost(plan, graph, insert(&format!("{tag}{n}"), 1)).await;
        inserts.push(made.total());
        bytes += made.manifest_bytes_put;
        let updated = cost(plan, graph, insert(&format!("{tag}{n}"), 2)).await;
        upserts.push(updated.total());
        bytes += updated.manifest_bytes_put;
    }
    if std::env::var_os("OG_TRACE").is_some() {
        plan.start_trace();
        cost(plan, graph, insert(&format!("{tag}t"), 1)).await;
        println!("insert:\n  {}", plan.take_trace().join("\n  "));
        plan.start_trace();
        cost(plan, graph, insert(&format!("{tag}t"), 2)).await;
        println!("upsert:\n  {}", plan.take_trace().join("\n  "));
    }
    let cold_plan = FaultPlan::counting();
    cold_plan.start_trace();
    let cold = engine_with(&cold_plan).open(graph.root(), Access::ReadOnly).await.unwrap();
    let resolve = cold_plan.requests().total();
    if std::env::var_os("OG_TRACE").is_some() {
        println!("resolve:\n  {}", cold_plan.take_trace().join("\n  "));
    }
    let before = cold_plan.requests();
    cold.snapshot(&head("main")).await.unwrap();
    assert!(cold_plan.requests().since(&before).total() <= 1, "a warm resolve is one check");
    Measured {
        resolve,
        insert: inserts.into_iter().max().unwrap(),
        upsert: upserts.into_iter().max().unwrap(),
        manifest_bytes: bytes / 32,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_writes_cost_the_same_at_any_depth() {
    let plan = FaultPlan::counting();
    let graph = create(&engine_with(&plan), &memory_root("counts"), SOCIAL).await.unwrap();
    let mut table = String::from("depth  resolve  insert  upsert  manifest bytes\n");
    let mut measured = Vec::new();
    for (depth, tag) in [(10, "a"), (2_000, "b")] {
        let have = graph.commits("main", None, 10_000).await.unwrap().len();
        for n in have..depth {
            graph.mutate(insert(&format!("f{n}"), 0), &WriteOptions::default()).await.unwrap();
        }
        let m = measure(&plan, &graph, tag).await;
        writeln!(table, "{depth:>5}  {:>7}  {:>6}  {:>6}  {:>14}", m.resolve, m.insert, m.upsert, m.manifest_bytes)
            .unwrap();
        measured.push(m);
    }
    println!("{table}");
    for m in &measured {
        assert!(m.resolve <= 3, "{table}");
        assert!(m.insert <= 12, "{table}");
        assert!(m.upsert <= 16, "{table}");
    }
    assert!(measured[1].manifest_bytes <= 2 * measured[0].manifest_bytes, "{table}");
}

#[tokio::test]
async fn making_and_deleting_a_branch_costs_the_same_with_any_number_of_types() {
    for types in [3, 112] {
        let schema: String = (0..types).map(|n| format!("node T{n} {{ k: String @key  v: I64? }}\n")).collect();
        let plan = FaultPlan::counting();
        let graph = create(&engine_with(&plan), &memory_root("branch-cost"), &schema).await.unwrap();
        let rows: String = (0..types).map(|n| format!("{{\"type\":\"T{n}\",\"data\":{{\"k\":\"a\"}}}}\n")).collect();
        load(&graph, "main", LoadMode::Append, &rows).await.unwrap();
        for n in 0..3 {
            let name = format!("b{n}");
            let before = plan.requests();
            graph.create_branch(&name, &head("main"), &Actor::default()).await.unwrap();
            let made = plan.requests().since(&before).total();
            // As written to, or as it was made.
            if n > 0 {
                load(&graph, &name, LoadMode::Merge, &rows).await.unwrap();
            }
            let before = plan.requests();
            plan.start_trace();
            graph.delete_branch(&name, false, &Actor::default()).await.unwrap();
            let trace = plan.take_trace();
            if std::env::var_os("OG_TRACE").is_some() {
                println!("delete:\n  {}", trace.join("\n  "));
            }
            let deleted = plan.requests().since(&before).total();
            println!("with {types} types: {made} requests to make a branch, {deleted} to delete it");
            // Of a branch nobody here ever looked at, the lineage and its newest rows have to be read first.
            let most = if n == 0 { 18 } else { 12 };
            assert!(made <= 12 && deleted <= most, "{types} types: {made} and {deleted} requests");
        }
    }
}

#[tokio::test]
async fn a_read_only_open_writes_nothing() {
    let plan = FaultPlan::counting();
    let graph = create(&engine_with(&plan), &memory_root("inert"), SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &person("a", 1)).await.unwrap();
    let watch = FaultPlan::counting();
    let reader = engine_with(&watch).open(graph.root(), Access::ReadOnly).await.unwrap();
    omnigraph_tests::content(&reader, &head("main")).await.unwrap();
    let requests = watch.requests();
    assert_eq!((requests.puts, requests.deletes), (0, 0));
}
