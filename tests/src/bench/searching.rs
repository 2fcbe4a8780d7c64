//! Search with and without indexes: how fast, and how much of what is nearest is found.

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::model::{Actor, LoadMode, ReadSelector, TypeRef, WriteOptions};
use omnigraph_engine::read::search::{SearchRequest, TextQuery, VectorQuery};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_engine::{Engine, EngineOptions, Graph};

use super::{Outcome, Table, median};

const DIMENSIONS: usize = 384;
const CLUSTERS: usize = 200;
const QUERIES: usize = 30;
const TOP: u64 = 10;
const WORDS: usize = 20_000;

/// Loads `rows` vectors and texts, searches them unindexed, optimises, and searches again.
///
/// # Errors
/// Anything that goes wrong.
pub async fn measure(folder: &Path, rows: usize, table: &mut Table) -> Outcome {
    let root = omnigraph_engine::engine::graph_root(&folder.display().to_string(), "searching")?;
    let schema = format!(
        "node Passage {{ slug: String @key  text: String? @index(kind=\"text\")  face: Vector({DIMENSIONS})? @index }}"
    );
    let engine = Engine::new(EngineOptions::default());
    let graph = engine.create(&root, omnigraph_engine::schema::parse(&schema)?, &Actor::default(), "").await?.0;
    let mut random = fastrand::Rng::with_seed(11);
    let centres: Vec<Vec<f32>> = (0..CLUSTERS).map(|_| noise(&mut random)).collect();
    let file = folder.join("passages.jsonl");
    generate(&file, rows, &centres, &mut random)?;
    let source = LoadSource {
        bytes: LoadBytes::File(file),
        format: InputFormat::Jsonl,
        compression: Compression::Auto,
        type_ref: None,
    };
    graph.load(source, LoadMode::Append, &WriteOptions::default()).await?;
    let vectors: Vec<Vec<f32>> = (0..QUERIES).map(|_| near(&centres, &mut random)).collect();
    let texts: Vec<String> = (0..QUERIES).map(|_| sentence(&mut random, 3)).collect();
    let (flat_vectors, flat_time) = run(&graph, vectors.iter().map(|v| nearest(v))).await?;
    let (flat_texts, flat_text_time) = run(&graph, texts.iter().map(|t| words(t))).await?;
    let begun = Instant::now();
    let report = graph.optimize("main", 2).await?;
    let built = begun.elapsed();
    let pending: usize = report.tables.iter().map(|t| t.pending_indexes.len()).sum();
    let (indexed_vectors, indexed_time) = run(&graph, vectors.iter().map(|v| nearest(v))).await?;
    let (indexed_texts, indexed_text_time) = run(&graph, texts.iter().map(|t| words(t))).await?;
    table.row(
        format!("indexes over {rows} texts and vectors of {DIMENSIONS}"),
        format!("built in {:.1} s, {pending} pending", built.as_secs_f64()),
    );
    table.row("  nearest ten", line(&flat_vectors, &indexed_vectors, flat_time, indexed_time));
    table.row("  best ten texts", line(&flat_texts, &indexed_texts, flat_text_time, indexed_text_time));
    Ok(())
}

fn line(flat: &[Vec<String>], indexed: &[Vec<String>], before: Duration, after: Duration) -> String {
    let (mut found, mut all) = (0, 0);
    for (truth, got) in flat.iter().zip(indexed) {
        let truth: HashSet<&String> = truth.iter().collect();
        all += truth.len();
        found += got.iter().filter(|id| truth.contains(id)).count();
    }
    format!(
        "{:.1} ms unindexed, {:.1} ms indexed ({:.1} times as fast), recall {:.3}",
        before.as_secs_f64() * 1e3,
        after.as_secs_f64() * 1e3,
        before.as_secs_f64() / after.as_secs_f64(),
        found as f64 / f64::from(u32::try_from(all.max(1)).unwrap_or(u32::MAX))
    )
}

fn nearest(vector: &[f32]) -> SearchRequest {
    let query = VectorQuery { property: "face".into(), query: vector.to_vec(), metric: None };
    SearchRequest { vector: Some(query), ..bare() }
}

fn words(text: &str) -> SearchRequest {
    SearchRequest { text: Some(TextQuery { properties: vec!["text".into()], query: text.into() }), ..bare() }
}

fn bare() -> SearchRequest {
    SearchRequest {
        type_ref: TypeRef::node("Passage"),
        vector: None,
        text: None,
        filter: None,
        columns: vec!["id".into()],
        limit: TOP,
    }
}

async fn run(graph: &Graph, requests: impl Iterator<Item = SearchRequest>) -> Outcome<(Vec<Vec<String>>, Duration)> {
    let snapshot = graph.snapshot(&ReadSelector::default()).await?;
    let (mut found, mut times) = (Vec::new(), Vec::new());
    for request in requests {
        let begun = Instant::now();
        let rows = graph.search(&snapshot, &request).await?;
        let batches: Vec<_> = rows.batches.try_collect().await?;
        times.push(begun.elapsed());
        let ids = batches.iter().flat_map(|batch| {
            batch.column(0).as_string::<i32>().iter().flatten().map(ToString::to_string).collect::<Vec<_>>()
        });
        found.push(ids.collect());
    }
    // The first of them fill the caches.
    let steady = times.get(3..).unwrap_or(&times);
    Ok((found, median(steady)))
}

fn noise(random: &mut fastrand::Rng) -> Vec<f32> {
    (0..DIMENSIONS).map(|_| random.f32() * 2.0 - 1.0).collect()
}

/// A vector not far from one of the centres, as embeddings of like texts are.
fn near(centres: &[Vec<f32>], random: &mut fastrand::Rng) -> Vec<f32> {
    let centre = &centres[random.usize(..centres.len())];
    centre.iter().map(|x| x + (random.f32() - 0.5)).collect()
}

fn sentence(random: &mut fastrand::Rng, length: usize) -> String {
    // Few words are frequent and many are rare, as in any language.
    let word = |random: &mut fastrand::Rng| {
        let r = random.f64();
        format!("w{}", (r * r * r * WORDS as f64) as usize)
    };
    (0..length).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

fn generate(file: &Path, rows: usize, centres: &[Vec<f32>], random: &mut fastrand::Rng) -> Outcome {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for n in 0..rows {
        let vector: Vec<String> = near(centres, random).iter().map(|x| format!("{x:.4}")).collect();
        let text = sentence(random, 12);
        writeln!(
            out,
            r#"{{"type":"Passage","data":{{"slug":"p{n}","text":"{text}","face":[{}]}}}}"#,
            vector.join(",")
        )?;
    }
    out.flush()?;
    Ok(())
}
