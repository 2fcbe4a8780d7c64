//! What bringing fifty changed rows together costs in a small and in a large table of wide rows.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use futures::TryStreamExt;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::model::{
    Actor, DiffFilter, LoadMode, MergeHow, MergeOutcome, MergeRequest, ReadSelector, WriteOptions,
};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph};

use super::{Outcome, Table};

const SCHEMA: &str = "node Doc { slug: String @key  n: I64?  v: Vector(128)? }";
const DIMENSIONS: u64 = 128;
const CHANGED: u64 = 50;

/// Measures preview, difference and merge over a small table and one of `large` rows, fast-forward and three-way, each
/// in an engine that has nothing warm.
///
/// # Errors
/// Anything that goes wrong.
pub async fn measure(folder: &Path, large: u64, table: &mut Table) -> Outcome {
    for diverged in [false, true] {
        for rows in [10_000, large] {
            let root = omnigraph_engine::engine::graph_root(
                &folder.display().to_string(),
                &format!("merging-{rows}-{diverged}"),
            )?;
            prepare(folder, &root, rows, diverged).await?;
            one(&root, rows, diverged, table).await?;
            std::fs::remove_dir_all(&root)?;
        }
    }
    Ok(())
}

async fn prepare(folder: &Path, root: &str, rows: u64, diverged: bool) -> Outcome {
    let engine = Engine::new(EngineOptions::default());
    let graph = engine.create(root, omnigraph_engine::schema::parse(SCHEMA)?, &Actor::default(), "").await?.0;
    load(&graph, folder, "main", 0..rows, 0).await?;
    graph.create_branch("b", &ReadSelector::default(), &Actor::default()).await?;
    load(&graph, folder, "b", 100..100 + CHANGED, 1).await?;
    if diverged {
        load(&graph, folder, "main", 500..500 + CHANGED, 2).await?;
    }
    Ok(())
}

async fn load(graph: &Graph, folder: &Path, branch: &str, rows: std::ops::Range<u64>, n: u64) -> Outcome {
    let path = folder.join("merging.jsonl");
    let mut out = BufWriter::new(std::fs::File::create(&path)?);
    for at in rows {
        write!(out, r#"{{"type":"Doc","data":{{"slug":"doc-{at:08}","n":{n},"v":["#)?;
        for d in 0..DIMENSIONS {
            write!(out, "{}{}", if d == 0 { "" } else { "," }, (at + d * (n + 3)) % 10)?;
        }
        writeln!(out, "]}}}}")?;
    }
    out.flush()?;
    let source = LoadSource {
        bytes: LoadBytes::File(path),
        format: InputFormat::Jsonl,
        compression: Compression::None,
        type_ref: None,
    };
    graph.load(source, LoadMode::Merge, &WriteOptions::on(branch)).await?;
    Ok(())
}

async fn one(root: &str, rows: u64, diverged: bool, table: &mut Table) -> Outcome {
    let how = if diverged { "three-way" } else { "fast-forward" };
    for what in ["preview", "diff", "merge"] {
        let plan = FaultPlan::counting();
        let engine = Engine::new(EngineOptions { faults: Some(plan.clone()), ..EngineOptions::default() });
        let graph = engine.open(root, Access::ReadWrite).await?;
        let (before, resident, begun) = (plan.requests(), forget_peak()?, Instant::now());
        run(&graph, what, diverged).await?;
        let (took, cost) = (begun.elapsed(), plan.requests().since(&before));
        table.row(
            format!("{what} of {CHANGED} rows, {how}, table of {rows}"),
            format!(
                "{:.1} ms, {} requests, {} KB read, {} MB more resident",
                took.as_secs_f64() * 1e3,
                cost.total(),
                cost.bytes_got / 1_000,
                peak()?.saturating_sub(resident) / 1_000
            ),
        );
    }
    Ok(())
}

async fn run(graph: &Graph, what: &str, diverged: bool) -> Outcome {
    let (main, b) = (ReadSelector::default(), ReadSelector::Branch("b".to_string()));
    match what {
        "preview" => {
            let preview = graph.preview_merge("b", "main", &MergeHow::default()).await?;
            if !preview.conflicts.is_empty() {
                return Err("a preview finds conflicts".into());
            }
        }
        "diff" => {
            let changes: Vec<_> = graph.diff(&main, &b, &DiffFilter::default()).await?.changes.try_collect().await?;
            if changes.len() as u64 != CHANGED * (1 + u64::from(diverged)) {
                return Err(format!("{} changes", changes.len()).into());
            }
        }
        _ => {
            let request = MergeRequest { source: "b".to_string(), ..MergeRequest::default() };
            let done = graph.merge(&request, &WriteOptions::default()).await?;
            let expected = if diverged { MergeOutcome::Merged } else { MergeOutcome::FastForward };
            if done.outcome != expected {
                return Err(format!("a merge came to {:?}", done.outcome).into());
            }
        }
    }
    Ok(())
}

/// Forgets how much memory was ever resident, and tells how much is now, in KB.
fn forget_peak() -> Outcome<u64> {
    std::fs::write("/proc/self/clear_refs", "5")?;
    peak()
}

fn peak() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}
