//! Helpers shared by the test suite, the demo and the benchmark. Holds no test of its own.

pub mod bench;
pub mod servers;
pub mod soak;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::model::{Actor, LoadMode, ReadSelector, Receipt, WriteOptions};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_engine::{Engine, EngineOptions, Graph, Result};

/// A root in memory that no other test uses. It lives as long as the process.
pub fn memory_root(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("shared-memory://{name}-{}-{n}/g", std::process::id())
}

/// A schema with a keyed node, an unkeyed node, and edges between them.
pub const SOCIAL: &str = r#"
node Person {
    slug: String @key
    name: String?
    age: I32?
    email: String?
    role: enum(staff, guest)?
    @range(age, 0..150)
    @unique(email)
}
node Note { text: String }
edge Knows: Person -> Person { since: Date?  weight: F64?  @unique(src, dst) }
edge Wrote: Person -> Note { at: DateTime? }
"#;

/// An engine of its own, as another process would be.
pub fn engine() -> Engine {
    Engine::new(EngineOptions::default())
}

/// An engine whose requests pass a plan. It runs in this very process, so others cannot see that it died;
/// its claims are therefore nobody's from the start.
pub fn engine_with(plan: &Arc<FaultPlan>) -> Engine {
    let claim_lease = std::time::Duration::ZERO;
    Engine::new(EngineOptions { faults: Some(plan.clone()), claim_lease, ..EngineOptions::default() })
}

/// A fresh graph in memory.
///
/// # Errors
/// The engine's.
pub async fn graph(name: &str, schema: &str) -> Result<Graph> {
    create(&engine(), &memory_root(name), schema).await
}

/// Creates a graph from schema text.
///
/// # Errors
/// The engine's.
pub async fn create(engine: &Engine, root: &str, schema: &str) -> Result<Graph> {
    let schema = omnigraph_engine::schema::parse(schema)?;
    engine.create(root, schema, &Actor("test".into()), "").await.map(|c| c.0)
}

/// Text as the source of a load.
pub fn jsonl(text: impl Into<String>) -> LoadSource {
    LoadSource {
        bytes: LoadBytes::Memory(Bytes::from(text.into())),
        format: InputFormat::Jsonl,
        compression: Compression::Auto,
        type_ref: None,
    }
}

/// Loads text on a branch.
///
/// # Errors
/// The engine's.
pub async fn load(graph: &Graph, branch: &str, mode: LoadMode, text: &str) -> Result<Receipt> {
    graph.load(jsonl(text), mode, &WriteOptions::on(branch)).await
}

/// A branch's content as sorted lines of its export.
///
/// # Errors
/// The engine's.
pub async fn content(graph: &Graph, selector: &ReadSelector) -> Result<Vec<String>> {
    use futures::TryStreamExt;
    let snapshot = graph.snapshot(selector).await?;
    let chunks: Vec<Bytes> = graph.export(&snapshot).try_collect().await?;
    let text = String::from_utf8_lossy(&chunks.concat()).into_owned();
    let mut lines: Vec<String> = text.lines().map(ToString::to_string).collect();
    lines.sort();
    Ok(lines)
}

/// The head of a branch as a selector.
pub fn head(branch: &str) -> ReadSelector {
    ReadSelector::Branch(branch.to_string())
}

/// A person's record.
pub fn person(slug: &str, age: i32) -> String {
    format!("{{\"type\":\"Person\",\"data\":{{\"slug\":\"{slug}\",\"age\":{age}}}}}\n")
}

/// An edge's record.
pub fn knows(from: &str, to: &str) -> String {
    format!("{{\"edge\":\"Knows\",\"from\":\"{from}\",\"to\":\"{to}\"}}\n")
}
