//! What a long history of small commits costs, and what maintenance makes of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::maintenance::cleanup::CleanupOptions;
use omnigraph_engine::model::{Actor, Change, EntityWrite, ReadSelector, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph};

use super::{Outcome, Table, median, usage};

const SCHEMA: &str = "node Person { slug: String @key  name: String? @index }";
const COMMITS: usize = 2_000;

fn counting() -> (Engine, Arc<FaultPlan>) {
    let plan = FaultPlan::counting();
    (Engine::new(EngineOptions { faults: Some(plan.clone()), ..EngineOptions::default() }), plan)
}

fn one(n: usize) -> Vec<Change> {
    vec![Change::Insert(EntityWrite {
        type_ref: TypeRef::node("Person"),
        id: None,
        endpoints: None,
        properties: [
            ("slug".to_string(), Value::String(format!("p{n}"))),
            ("name".to_string(), Value::String(format!("name {n}"))),
        ]
        .into(),
    })]
}

/// Makes 2,000 one-row commits, then optimises, then keeps ten, and measures after each.
///
/// # Errors
/// Anything that goes wrong.
pub async fn measure(folder: &Path, table: &mut Table) -> Outcome {
    let root = omnigraph_engine::engine::graph_root(&folder.display().to_string(), "upkeep")?;
    let (engine, _) = counting();
    let graph = engine.create(&root, omnigraph_engine::schema::parse(SCHEMA)?, &Actor::default(), "").await?.0;
    for n in 0..COMMITS {
        graph.mutate(one(n), &WriteOptions::default()).await?;
    }
    let mut next = COMMITS;
    report(&root, "after 2,000 one-row commits", &mut next, table).await?;
    let begun = Instant::now();
    graph.optimize("main", 2).await?;
    let took = begun.elapsed();
    report(&root, &format!("after optimize ({:.1} s)", took.as_secs_f64()), &mut next, table).await?;
    // What was a head a minute ago stays, whatever the policy.
    tokio::time::sleep(omnigraph_engine::limits::RETENTION_GRACE).await;
    let begun = Instant::now();
    let options = CleanupOptions { keep: Some(10), confirm: true, ..CleanupOptions::default() };
    let cleaned = graph.cleanup(&options).await?;
    if cleaned.errors() > 0 {
        return Err(format!("the cleanup failed in part: {cleaned:?}").into());
    }
    let took = begun.elapsed();
    report(&root, &format!("after cleanup --keep 10 ({:.1} s)", took.as_secs_f64()), &mut next, table).await?;
    let verified = graph.verify().await?;
    table.row("  verify", if verified.is_clean() { "clean".to_string() } else { format!("{verified:?}") });
    Ok(())
}

async fn report(root: &str, what: &str, next: &mut usize, table: &mut Table) -> Outcome {
    let on_disk = Path::new(root);
    let (all, manifest) = (usage(on_disk)?, usage(&on_disk.join("__manifest"))?);
    let data = usage(&on_disk.join("nodes"))?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    table.row(
        what,
        format!(
            "{:.1} MB in {} files; data {:.1} MB in {}, manifest {:.1} MB in {}",
            megabytes(all.1),
            all.0,
            megabytes(data.1),
            data.0,
            megabytes(manifest.1),
            manifest.0
        ),
    );
    let (engine, plan) = counting();
    let before = plan.requests();
    let graph = engine.open(root, Access::ReadWrite).await?;
    let opened = plan.requests().since(&before).total();
    let before = plan.requests();
    let snapshot = graph.snapshot(&ReadSelector::default()).await?;
    let head = plan.requests().since(&before).total();
    let found = graph.get(&snapshot, &TypeRef::node("Person"), &["p7".to_string()]).await?;
    if found.len() != 1 {
        return Err("an entity is lost".into());
    }
    let lookup = lookups(&graph, &plan).await?;
    let mut times = Vec::new();
    let mut requests = 0;
    for _ in 0..20 {
        let before = plan.requests();
        let begun = Instant::now();
        graph.mutate(one(*next), &WriteOptions::default()).await?;
        times.push(begun.elapsed());
        requests = plan.requests().since(&before).total();
        *next += 1;
    }
    table.row(
        "  ",
        format!(
            "open {opened} requests, head {head}; keyed lookup {:.1} ms and {} requests; one-row commit {:.1} ms and {requests} requests",
            lookup.0.as_secs_f64() * 1e3,
            lookup.1,
            median(&times).as_secs_f64() * 1e3
        ),
    );
    Ok(())
}

async fn lookups(graph: &Graph, plan: &FaultPlan) -> Outcome<(Duration, u64)> {
    let snapshot = graph.snapshot(&ReadSelector::default()).await?;
    let mut times = Vec::new();
    let mut requests = 0;
    for n in 0..20 {
        let before = plan.requests();
        let begun = Instant::now();
        let found = graph.get(&snapshot, &TypeRef::node("Person"), &[format!("p{}", n * 97)]).await?;
        times.push(begun.elapsed());
        requests = plan.requests().since(&before).total();
        if found.len() != 1 {
            return Err("an entity is lost".into());
        }
    }
    Ok((median(&times), requests))
}
