//! The benchmark: loads, scans, small commits, maintenance, search and merges on local disk, as ratios within one run.
//!
//! Sizes come from the environment: `OMNIGRAPH_BENCH_NODES` (default 1,000,000), `OMNIGRAPH_BENCH_EDGES`
//! (default 3,000,000), `OMNIGRAPH_BENCH_PASSAGES` (default 100,000) and `OMNIGRAPH_BENCH_MERGED` (rows of the large
//! table that is merged into, default 1,000,000). `OMNIGRAPH_BENCH_PARTS` names what to run: `load`, `commits`,
//! `upkeep`, `search`, `merge`, separated by commas; all by default. Times are meaningful in a release build only.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use lance::dataset::builder::DatasetBuilder;
use omnigraph_client::{Client, TypeRef};
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::model::{Actor, Change, EntityWrite, LoadMode, ReadSelector, Value, WriteOptions};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_engine::{Engine, EngineOptions, Graph};
use omnigraph_service::{Config, Server};
use omnigraph_tests::bench::{Outcome, Table, median, merging, searching, upkeep, usage};

const SCHEMA: &str = r#"
node Person { slug: String @key  name: String?  age: I32?  score: F64? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
"#;

fn main() -> Outcome {
    if cfg!(debug_assertions) {
        writeln!(std::io::stderr(), "note: not a release build; the times below mean little")?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let table = runtime.block_on(run())?;
    write!(std::io::stdout(), "{table}")?;
    Ok(())
}

async fn run() -> Outcome<Table> {
    let size = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (nodes, edges) = (size("OMNIGRAPH_BENCH_NODES", 1_000_000), size("OMNIGRAPH_BENCH_EDGES", 3_000_000));
    let parts = std::env::var("OMNIGRAPH_BENCH_PARTS").unwrap_or_default();
    let wanted = |part: &str| parts.is_empty() || parts.split(',').any(|name| name.trim() == part);
    let folder = tempfile::tempdir()?;
    let mut table = Table::default();
    let file = folder.path().join("input.jsonl");
    if wanted("load") {
        let bytes = generate(&file, nodes, edges)?;
        load(folder.path(), &file, nodes, edges, bytes, &mut table).await?;
        scans(folder.path(), &mut table).await?;
        served(folder.path(), &mut table).await?;
    }
    if wanted("commits") {
        commits(folder.path(), &mut table).await?;
    }
    if wanted("upkeep") {
        upkeep::measure(folder.path(), &mut table).await?;
    }
    if wanted("search") {
        let passages = size("OMNIGRAPH_BENCH_PASSAGES", 100_000);
        searching::measure(folder.path(), usize::try_from(passages)?, &mut table).await?;
    }
    if wanted("merge") {
        merging::measure(folder.path(), size("OMNIGRAPH_BENCH_MERGED", 1_000_000), &mut table).await?;
    }
    Ok(table)
}

fn generate(file: &Path, nodes: u64, edges: u64) -> Outcome<u64> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    let mut random = fastrand::Rng::with_seed(7);
    for n in 0..nodes {
        writeln!(
            out,
            r#"{{"type":"Person","data":{{"slug":"p{n}","name":"Person number {n}","age":{},"score":{:.3}}}}}"#,
            n % 100,
            random.f64()
        )?;
    }
    for _ in 0..edges {
        let (a, b) = (random.u64(0..nodes), random.u64(0..nodes));
        writeln!(out, r#"{{"edge":"Knows","from":"p{a}","to":"p{b}","data":{{"weight":{:.3}}}}}"#, random.f64())?;
    }
    out.flush()?;
    Ok(std::fs::metadata(file)?.len())
}

async fn create(folder: &Path, id: &str) -> Outcome<Graph> {
    let engine = Engine::new(EngineOptions::default());
    let root = omnigraph_engine::engine::graph_root(&folder.display().to_string(), id)?;
    let schema = omnigraph_engine::schema::parse(SCHEMA)?;
    Ok(engine.create(&root, schema, &Actor::default(), "").await?.0)
}

async fn load(folder: &Path, file: &Path, nodes: u64, edges: u64, bytes: u64, table: &mut Table) -> Outcome {
    let graph = create(folder, "big").await?;
    let source = LoadSource {
        bytes: LoadBytes::File(file.to_path_buf()),
        format: InputFormat::Jsonl,
        compression: Compression::Auto,
        type_ref: None,
    };
    let start = Instant::now();
    graph.load(source, LoadMode::Append, &WriteOptions::default()).await?;
    let took = start.elapsed();
    table.row(
        format!("load {nodes} nodes + {edges} edges ({} MB of JSON)", bytes / 1_000_000),
        format!(
            "{:.2} s, {:.0} rows/s, {} MB resident at most",
            took.as_secs_f64(),
            (nodes + edges) as f64 / took.as_secs_f64(),
            peak_mb("self")
        ),
    );
    Ok(())
}

/// The same full scan by the storage library in process, and over Flight on loopback.
async fn scans(folder: &Path, table: &mut Table) -> Outcome {
    let server = Server::bind(Config::new(folder.display().to_string())).await?;
    let client = Client::connect(server.uri()).await?;
    let graph = client.graph("big");
    let engine = Engine::new(EngineOptions::default());
    let root = omnigraph_engine::engine::graph_root(&folder.display().to_string(), "big")?;
    let local = engine.open(&root, omnigraph_engine::Access::ReadOnly).await?;
    let snapshot = local.snapshot(&ReadSelector::default()).await?;
    for ty in [omnigraph_engine::model::TypeRef::node("Person"), omnigraph_engine::model::TypeRef::edge("Knows")] {
        let at = snapshot.pin(&ty)?.at.clone().ok_or("the type has no rows")?;
        let (mut lance_best, mut flight_best) = (Duration::MAX, Duration::MAX);
        let mut rows = (0, 0);
        for _ in 0..3 {
            let start = Instant::now();
            let dataset = DatasetBuilder::from_uri(format!("{}/{}", local.root(), at.location))
                .with_version(at.version)
                .load()
                .await?;
            let mut stream = dataset.scan().try_into_stream().await?;
            rows.0 = 0;
            while let Some(batch) = stream.try_next().await? {
                rows.0 += batch.num_rows();
            }
            lance_best = lance_best.min(start.elapsed());
            let start = Instant::now();
            let wire = match ty.kind {
                omnigraph_engine::model::EntityKind::Node => TypeRef::node(&ty.name),
                omnigraph_engine::model::EntityKind::Edge => TypeRef::edge(&ty.name),
            };
            let mut stream = graph.scan(wire).send().await?;
            rows.1 = 0;
            while let Some(batch) = stream.try_next().await? {
                rows.1 += batch.num_rows();
            }
            flight_best = flight_best.min(start.elapsed());
        }
        if rows.0 != rows.1 {
            return Err(format!("the scans of {ty} disagree: {rows:?}").into());
        }
        table.row(
            format!("full scan of {} rows of {ty}", rows.0),
            format!(
                "in process {:.0} ms, over Flight {:.0} ms, Flight at {:.2} of the rate",
                lance_best.as_secs_f64() * 1e3,
                flight_best.as_secs_f64() * 1e3,
                lance_best.as_secs_f64() / flight_best.as_secs_f64()
            ),
        );
    }
    server.shutdown().await?;
    Ok(())
}

/// A full scan of everything from a server in a process of its own, for the memory it takes there.
async fn served(folder: &Path, table: &mut Table) -> Outcome {
    let program = std::env::current_exe()?.with_file_name("omnigraph-server");
    if !program.exists() {
        table.row("full scan from a server's process", "not measured: omnigraph-server is not built beside this");
        return Ok(());
    }
    let port_file = folder.join("port");
    let mut server = std::process::Command::new(program)
        .args(["--listen", "127.0.0.1:0", "--log", "warn", "--storage"])
        .arg(folder)
        .arg("--port-file")
        .arg(&port_file)
        .stdin(std::process::Stdio::null())
        .spawn()?;
    let scanned = scan_served(&port_file, server.id()).await;
    server.kill()?;
    server.wait()?;
    let (rows, took, idle, peak) = scanned?;
    table.row(
        format!("full scan of {rows} rows from a server's process"),
        format!("{:.0} ms, {peak} MB resident there at most, {idle} before", took.as_secs_f64() * 1e3),
    );
    Ok(())
}

async fn scan_served(port_file: &Path, pid: u32) -> Outcome<(usize, Duration, u64, u64)> {
    let mut port = None;
    for _ in 0..200 {
        port = std::fs::read_to_string(port_file).ok().and_then(|text| text.trim().parse::<u16>().ok());
        if port.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let port = port.ok_or("the server does not start")?;
    let graph = Client::connect(format!("http://127.0.0.1:{port}")).await?.graph("big");
    graph.info().await?;
    let idle = peak_mb(&pid.to_string());
    let (start, mut rows) = (Instant::now(), 0);
    for ty in [TypeRef::node("Person"), TypeRef::edge("Knows")] {
        let mut stream = graph.scan(ty).send().await?;
        while let Some(batch) = stream.try_next().await? {
            rows += batch.num_rows();
        }
    }
    Ok((rows, start.elapsed(), idle, peak_mb(&pid.to_string())))
}

/// One-row commits on local disk, shallow and deep.
async fn commits(folder: &Path, table: &mut Table) -> Outcome {
    let graph = create(folder, "deep").await?;
    let one = |n: usize| {
        vec![Change::Insert(EntityWrite {
            type_ref: omnigraph_engine::model::TypeRef::node("Person"),
            id: None,
            endpoints: None,
            properties: [("slug".to_string(), Value::String(format!("p{n}")))].into(),
        })]
    };
    let mut shallow = Duration::ZERO;
    let mut times = Vec::new();
    for n in 0..2_040 {
        let start = Instant::now();
        graph.mutate(one(n), &WriteOptions::default()).await?;
        times.push(start.elapsed());
        if n == 39 {
            shallow = median(&times[5..40]);
            table.row("one-row commit at depth 10 to 40, median", format!("{:.1} ms", shallow.as_secs_f64() * 1e3));
        }
    }
    let deep = median(&times[2_000..]);
    table.row(
        "one-row commit at depth 2,000, median",
        format!(
            "{:.1} ms, {:.2} of the shallow one",
            deep.as_secs_f64() * 1e3,
            deep.as_secs_f64() / shallow.as_secs_f64()
        ),
    );
    let (files, bytes) = usage(Path::new(graph.root()))?;
    table.row("disk after 2,040 one-row commits", format!("{:.1} MB in {files} files", bytes as f64 / 1e6));
    Ok(())
}

/// The most memory a process ever had resident, where the system tells.
fn peak_mb(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
