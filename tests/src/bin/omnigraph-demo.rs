//! The demo: a server, a real data set, a branch, and a look back in time, told as a story.
//!
//! Finds `omnigraph-server` on PATH, keeps its graph in `OMNIGRAPH_DEMO_DIR` or a temporary folder, and
//! stops the server when it is done.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use futures::TryStreamExt;
use omnigraph_client::{Client, Graph, LoadSource, Selector, Target, edge, node, prop};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> std::process::ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(e) => return fail(&e),
    };
    match runtime.block_on(story()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => fail(e.as_ref()),
    }
}

fn fail(error: &dyn std::error::Error) -> std::process::ExitCode {
    say(&format!("the demo failed: {error}"));
    std::process::ExitCode::FAILURE
}

fn say(line: &str) {
    use std::io::Write as _;
    // A closed pipe ends the output, not the story.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn chapter(title: &str) {
    say(&format!("\n-- {title}"));
}

/// Stops the server however the story ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn story() -> Outcome {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::var_os("OMNIGRAPH_DEMO_DIR").map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nycflights13");
    say("OmniGraph: flights out of New York City, January 2013, as a versioned graph.");

    chapter("A server starts on an empty folder");
    let (server, url) = start(&folder).await?;
    say(&format!("   it listens on {url} and keeps its graphs in {}", folder.display()));
    let client = Client::builder(url).actor("demo").connect().await?;

    chapter("A graph is created from a schema");
    let schema = std::fs::read_to_string(fixtures.join("schema.pg"))?;
    client.create_graph("flights", schema).await?;
    let graph = client.graph("flights");
    for table in graph.snapshot().send().await?.tables {
        say(&format!("   {}", table.type_ref));
    }

    chapter("Airlines, airports and planes are loaded, then three days of flights, each day one commit");
    for file in ["base", "flights-2013-01-01", "flights-2013-01-02", "flights-2013-01-03"] {
        let path = fixtures.join(format!("{file}.jsonl.gz"));
        let loaded = graph.load(LoadSource::file(path)).message(file).send().await?;
        let rows: u64 = loaded.receipt.counts.iter().map(|c| c.inserted).sum();
        say(&format!("   {rows:>5} rows from {file} in commit {}", loaded.receipt.commit_id));
    }

    what_if(&graph).await?;
    look_back(&graph).await?;

    chapter("The server stops");
    drop(server);
    say("   and the graph stays: every commit above is still there when it starts again.");
    Ok(())
}

/// A branch on which a closed airport's flights go elsewhere.
async fn what_if(graph: &Graph) -> Outcome {
    chapter("What if LaGuardia had closed? A branch asks, main does not notice");
    graph.create_branch("lga-closed", Selector::default()).await?;
    let done = graph
        .mutate()
        .upsert(
            node("Airport").set("faa", "XNY").set("name", "Relief Field").set("latitude", 40.9).set("longitude", -73.7),
        )
        .insert(
            edge("Flight", "XNY", "BOS")
                .set("carrier", "B6")
                .set("number", 9001)
                .set("scheduled", omnigraph_client::Value::Timestamp(1_357_000_000_000_000))
                .set("distance_miles", 180)
                .set("day", omnigraph_client::Value::Date(15_706)),
        )
        .delete(Target::matching(omnigraph_client::TypeRef::edge("Flight"), prop("src").eq("LGA")))
        .branch("lga-closed")
        .message("close LaGuardia")
        .send()
        .await?;
    let cancelled: u64 = done.receipt.counts.iter().map(|c| c.deleted).sum();
    say(&format!("   one commit on the branch: {cancelled} flights cancelled, one airport and one flight added"));
    say(&format!("   flights on main:       {:>5}", count(graph, "main").await?));
    say(&format!("   flights on lga-closed: {:>5}", count(graph, "lga-closed").await?));

    chapter("Both are scanned over Arrow Flight");
    for branch in ["main", "lga-closed"] {
        let mut rows = graph
            .scan(omnigraph_client::TypeRef::edge("Flight"))
            .columns(["src", "dst", "carrier", "departure_delay_minutes"])
            .filter(prop("departure_delay_minutes").ge(60))
            .branch(branch)
            .send()
            .await?;
        let (mut late, mut worst) = (0, 0);
        while let Some(batch) = rows.try_next().await? {
            late += batch.num_rows();
            let delays = batch.column(3).as_primitive::<Int32Type>();
            worst = worst.max(delays.iter().flatten().max().unwrap_or(0));
        }
        say(&format!("   {branch:<10} {late:>4} flights left an hour or more late, the worst {worst} minutes"));
    }
    Ok(())
}

/// Time travel and the log.
async fn look_back(graph: &Graph) -> Outcome {
    chapter("Main as it was after the first day");
    let commits: Vec<omnigraph_client::Commit> = graph.list_commits("main").try_collect().await?;
    let first_day = commits
        .iter()
        .find(|c| c.message == "flights-2013-01-01")
        .ok_or("the first day's commit is missing from the log")?;
    let then =
        graph.scan(omnigraph_client::TypeRef::edge("Flight")).columns(["id"]).commit(&first_day.id).send().await?;
    let rows: usize = then.collect_all().await?.iter().map(|b| b.num_rows()).sum();
    say(&format!("   commit {} shows {rows} flights", first_day.id));

    chapter("The log of both branches, newest first");
    for branch in ["lga-closed", "main"] {
        say(&format!("   {branch}"));
        let log: Vec<omnigraph_client::Commit> = graph.list_commits(branch).try_collect().await?;
        for commit in log {
            let actor = commit.actor.as_deref().unwrap_or("nobody");
            say(&format!("     {}  {:<7} by {actor:<5} {}", commit.id, commit.operation, commit.message));
        }
    }
    Ok(())
}

async fn count(graph: &Graph, branch: &str) -> Outcome<usize> {
    let batches = graph.scan(omnigraph_client::TypeRef::edge("Flight")).columns(["id"]).branch(branch).send().await?;
    Ok(batches.collect_all().await?.iter().map(|b| b.num_rows()).sum())
}

async fn start(folder: &Path) -> Outcome<(Server, String)> {
    let port_file = folder.join("port");
    let child = Command::new("omnigraph-server")
        .args(["--listen", "127.0.0.1:0", "--log", "warn", "--storage"])
        .arg(folder)
        .arg("--port-file")
        .arg(&port_file)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("omnigraph-server does not start: {e}; is it on PATH?"))?;
    let mut server = Server(child);
    for _ in 0..600 {
        if let Ok(port) = std::fs::read_to_string(&port_file)
            && let Ok(port) = port.trim().parse::<u16>()
        {
            return Ok((server, format!("http://127.0.0.1:{port}")));
        }
        if let Some(status) = server.0.try_wait()? {
            return Err(format!("omnigraph-server stopped at once: {status}").into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("omnigraph-server did not come up within 30 seconds".into())
}
