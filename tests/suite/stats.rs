//! What a graph takes: held against the files on disk, told over the wire as it is in files, and as metrics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use omnigraph_client::{Client, ErrorReason, LoadSource, Selector};
use omnigraph_engine::maintenance::stats::{GraphStats, StatsOptions, TableSpace};
use omnigraph_engine::model::{Actor, LoadMode, TypeRef};
use omnigraph_engine::{Access, Graph, Reason};
use omnigraph_service::{Config, Server};
use omnigraph_tests::{SOCIAL, create, engine, head, knows, load, memory_root, person};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Files and bytes below a folder, without those in folders of this name directly in it.
fn walk(folder: &Path, without: Option<&str>) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return (0, 0);
    };
    for entry in entries.map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if metadata.is_file() {
            files += 1;
            bytes += metadata.len();
        } else if without.is_none_or(|name| entry.file_name() != name) {
            let (more, larger) = walk(&entry.path(), None);
            files += more;
            bytes += larger;
        }
    }
    (files, bytes)
}

/// Versions of the line in a folder.
fn versions(line: &Path) -> u64 {
    let entries = std::fs::read_dir(line.join("_versions")).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".manifest")).count() as u64
}

/// Bytes of the files that the newest version of a line needs of its own: `rows` of data, and all. For lines without
/// deletions and indexes.
async fn needed(line: &Path) -> (u64, u64) {
    let dataset = lance::Dataset::open(line.to_str().unwrap()).await.unwrap();
    let size = |folder: &str, name: &str| std::fs::metadata(line.join(folder).join(name)).map_or(0, |m| m.len());
    let manifest = dataset.manifest();
    let files = manifest.fragments.iter().flat_map(|fragment| &fragment.files);
    let rows: u64 = files.filter(|file| file.base_id.is_none()).map(|file| size("data", &file.path)).sum();
    let version = size("_versions", dataset.manifest_location().path.filename().unwrap());
    let transaction = size("_transactions", manifest.transaction_file.as_deref().unwrap());
    assert!(rows > 0 && version > 0 && transaction > 0);
    let shared = size("_versions", "latest_version_hint.json") + walk(&line.join("_refs"), None).1;
    (rows, rows + version + transaction + shared)
}

async fn measured(graph: &Graph, branches: Option<&[&str]>) -> GraphStats {
    let branches = branches.map(|names| names.iter().map(ToString::to_string).collect());
    graph.stats(&StatsOptions { branches }).await.unwrap()
}

fn of<'a>(spaces: &'a [TableSpace], key: &str, branch: &str) -> &'a TableSpace {
    spaces.iter().find(|space| space.table_key == key && space.branch == branch).unwrap()
}

/// The folder of the line where a branch's table of people is.
async fn line_of(graph: &Graph, branch: &str) -> PathBuf {
    let snapshot = graph.snapshot(&head(branch)).await.unwrap();
    let at = snapshot.pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let dataset = Path::new(graph.root()).join(&at.location);
    match at.branch {
        None => dataset,
        Some(line) => dataset.join("tree").join(line),
    }
}

#[tokio::test]
async fn numbers_are_those_of_the_files_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("g").display().to_string();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    for n in 0..3 {
        load(&graph, "main", LoadMode::Append, &person(&format!("p{n}"), n)).await.unwrap();
    }
    let line = line_of(&graph, "main").await;
    let (rows, needs) = needed(&line).await;
    let stats = measured(&graph, None).await;
    assert_eq!((stats.totals.files, stats.totals.bytes), walk(Path::new(graph.root()), None));
    assert_eq!((stats.totals.orphaned_files, stats.totals.orphaned_bytes), (0, 0));
    assert_eq!((stats.branches_live, stats.intents_pending, stats.leases), (1, 0, 0));
    assert_eq!(stats.recovery_log, None);
    let keys: Vec<&str> = stats.tables.iter().map(|t| t.table_key.as_str()).collect();
    assert_eq!(keys, ["node:Note", "node:Person", "edge:Knows", "edge:Wrote"]);
    let people = of(&stats.tables, "node:Person", "main");
    assert_eq!((people.rows, people.fragments, people.versions), (3, 3, versions(&line)));
    assert_eq!((people.files, people.bytes_live + people.bytes_history), walk(&line, None));
    assert_eq!((people.bytes_live, people.bytes_inherited), (needs, 0));
    assert!(people.bytes_history > 0);
    let nothing = of(&stats.tables, "edge:Knows", "main");
    assert_eq!((nothing.rows, nothing.versions, nothing.files, nothing.bytes_live), (0, 0, 0, 0));
    let manifest = of(&stats.manifests, "__manifest", "main");
    let place = Path::new(graph.root()).join("__manifest");
    assert_eq!((manifest.files, manifest.bytes_live + manifest.bytes_history), walk(&place, Some("tree")));
    assert_eq!(manifest.versions, versions(&place));
    assert!(manifest.bytes_history > 0 && manifest.rows > 0);

    // What is replaced becomes history, and not a byte of it goes.
    load(&graph, "main", LoadMode::Overwrite, &person("only", 1)).await.unwrap();
    let later = measured(&graph, None).await;
    let people = of(&later.tables, "node:Person", "main");
    assert_eq!(people.rows, 1);
    assert!(people.bytes_history >= rows, "{people:?} with {rows} bytes of rows before");
    assert_eq!(people.bytes_live, needed(&line).await.1);
    assert_eq!((people.files, people.bytes_live + people.bytes_history), walk(&line, None));
    let reader = engine().open(&root, Access::ReadOnly).await.unwrap();
    assert_eq!(measured(&reader, None).await, later, "one that only reads sees the same");
}

#[tokio::test]
async fn a_branch_inherits_until_it_writes_and_leaves_orphans_when_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("g").display().to_string();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &(person("a", 1) + &person("b", 2) + &knows("a", "b"))).await.unwrap();
    graph.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let (rows, _) = needed(&line_of(&graph, "main").await).await;

    let all = measured(&graph, None).await;
    assert_eq!(all.branches_live, 2);
    let (mains, forked) = (of(&all.tables, "node:Person", "main"), of(&all.tables, "node:Person", "b"));
    assert_eq!((forked.rows, forked.fragments), (2, mains.fragments));
    assert_eq!((forked.versions, forked.files, forked.bytes_live, forked.bytes_history), (0, 0, 0, 0));
    assert!(forked.bytes_inherited >= rows && forked.bytes_inherited <= mains.bytes_live, "{forked:?} of {mains:?}");
    assert!(of(&all.manifests, "__manifest", "b").bytes_inherited > 0);
    let only = measured(&graph, Some(&["b"])).await;
    assert!(only.tables.iter().chain(&only.manifests).all(|t| t.branch == "b"));
    assert_eq!(only.tables, all.tables.iter().filter(|t| t.branch == "b").cloned().collect::<Vec<_>>());
    assert_eq!((only.totals, only.branches_live), (all.totals, 2));

    load(&graph, "b", LoadMode::Append, &person("c", 3)).await.unwrap();
    let written = measured(&graph, None).await;
    let line = line_of(&graph, "b").await;
    let forked = of(&written.tables, "node:Person", "b");
    assert_eq!((forked.rows, forked.versions), (3, versions(&line)));
    assert_eq!((forked.files, forked.bytes_live + forked.bytes_history), walk(&line, None));
    assert_eq!((forked.bytes_live, forked.bytes_inherited), (needed(&line).await.1, rows));
    assert_eq!(of(&written.tables, "edge:Knows", "b").versions, 0, "it wrote no edge");
    let mains = of(&written.tables, "node:Person", "main");
    let own = walk(&line_of(&graph, "main").await, Some("tree"));
    assert_eq!((mains.files, mains.bytes_live + mains.bytes_history), own);
    assert_eq!((written.totals.files, written.totals.bytes), walk(Path::new(graph.root()), None));
    assert_eq!(written.totals.orphaned_files, 0);

    graph.delete_branch("b", false, &Actor::default()).await.unwrap();
    let gone = measured(&graph, None).await;
    let manifests = walk(&Path::new(graph.root()).join("__manifest").join("tree"), None);
    let people = walk(&line, None);
    let left = (manifests.0 + people.0, manifests.1 + people.1);
    assert_eq!((gone.totals.orphaned_files, gone.totals.orphaned_bytes), left);
    assert_eq!(gone.branches_live, 1);
    assert!(gone.tables.iter().all(|t| t.branch == "main"));
    for name in ["b", "man"] {
        let missing = StatsOptions { branches: Some(vec!["main".into(), name.into()]) };
        let error = graph.stats(&missing).await.unwrap_err();
        assert_eq!(error.reason(), Reason::BranchNotFound, "{error}");
        assert_eq!(error.metadata()["branch"], name);
    }
}

#[tokio::test]
async fn indexes_are_counted_as_their_status_says() {
    let graph = omnigraph_tests::graph("stats-indexes", SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &(person("a", 1) + &person("b", 2) + &knows("a", "b"))).await.unwrap();
    let mut present = Vec::new();
    for _ in 0..2 {
        let snapshot = graph.snapshot(&head("main")).await.unwrap();
        let status = graph.index_status(&snapshot).await.unwrap();
        let stats = measured(&graph, None).await;
        for table in &stats.tables {
            let own: Vec<_> = status.iter().filter(|s| s.type_ref.to_string() == table.table_key).collect();
            let sum = (own.len(), own.iter().filter(|s| s.present).count());
            assert_eq!((table.indexes_declared as usize, table.indexes_present as usize), sum, "{table:?}");
            assert_eq!(table.index_rows_uncovered, own.iter().map(|s| s.rows_uncovered).sum::<u64>(), "{table:?}");
        }
        present.push(stats.tables.iter().map(|t| t.indexes_present).sum::<u64>());
        let report = graph.optimize("main", 1).await.unwrap();
        assert!(present.len() > 1 || report.commit.is_some());
    }
    assert!(present[0] == 0 && present[1] > 0, "{present:?}");
}

/// The numbers of a table, from the engine and from the client alike.
macro_rules! numbers {
    ($space:expr) => {{
        let s = $space;
        let sizes = [s.rows, s.versions, s.fragments, s.files, s.bytes_live, s.bytes_inherited, s.bytes_history];
        let indexes = [s.indexes_declared, s.indexes_present, s.index_rows_uncovered];
        (s.table_key.clone(), s.branch.clone(), sizes, indexes)
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_tells_the_same() {
    let storage = memory_root("stats");
    let root = omnigraph_engine::engine::graph_root(&storage, "social").unwrap();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &(person("a", 1) + &person("b", 2) + &knows("a", "b"))).await.unwrap();
    graph.create_branch("review/ü", &head("main"), &Actor::default()).await.unwrap();
    load(&graph, "review/ü", LoadMode::Append, &person("c", 3)).await.unwrap();
    let server = Server::bind(Config::new(&storage)).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap().graph("social");

    let (here, there) = (measured(&graph, None).await, client.stats().send().await.unwrap());
    let ours: Vec<_> = here.tables.iter().chain(&here.manifests).map(|s| numbers!(s)).collect();
    let theirs: Vec<_> = there.tables.iter().chain(&there.manifests).map(|s| numbers!(s)).collect();
    assert_eq!((ours.len(), ours), (10, theirs));
    let (a, b) = (here.totals, there.totals);
    assert_eq!(
        (a.files, a.bytes, a.orphaned_files, a.orphaned_bytes),
        (b.files, b.bytes, b.orphaned_files, b.orphaned_bytes)
    );
    assert!(a.files > 0 && there.recovery_log.is_none());
    assert_eq!((there.branches_live, there.intents_pending, there.leases), (2, 0, 0));
    let one = client.stats().branch("review/ü").send().await.unwrap();
    assert_eq!(one.tables, there.tables.iter().filter(|t| t.branch == "review/ü").cloned().collect::<Vec<_>>());
    for missing in ["nope", ""] {
        let error = client.stats().branch("main").branch(missing).send().await.unwrap_err();
        let expected = if missing.is_empty() { ErrorReason::InvalidArgument } else { ErrorReason::BranchNotFound };
        assert!(error.is(expected), "{error}");
    }

    let snapshot = graph.snapshot(&head("review/ü")).await.unwrap();
    let here = graph.index_status(&snapshot).await.unwrap();
    let there = client.index_status().branch("review/ü").send().await.unwrap();
    assert_eq!((there.read.id.as_str(), there.indexes.len()), (snapshot.head(), here.len()));
    for (a, b) in here.iter().zip(&there.indexes) {
        assert_eq!(
            (a.type_ref.name.as_str(), a.index.column.as_str()),
            (b.type_ref.name.as_str(), b.property.as_str())
        );
        assert_eq!((a.index.name.as_str(), a.index.method.as_str()), (b.name.as_str(), b.method.as_str()));
        assert_eq!((a.present, a.pending.as_str()), (b.present, b.pending_reason.as_str()));
        assert_eq!((a.rows_covered, a.rows_uncovered, a.bytes), (b.rows_covered, b.rows_uncovered, b.bytes));
    }
    let error = client.index_status().branch("nope").send().await.unwrap_err();
    assert!(error.is(ErrorReason::BranchNotFound), "{error}");
    server.shutdown().await.unwrap();
}

/// Asks over HTTP/1.1, as plainly as can be; answers the status, the head and the body.
async fn ask(address: std::net::SocketAddr, method: &str, path: &str, headers: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_string())
}

/// The samples of a page by name and labels, after checking that every line is one or is the head of a metric.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(rest.contains(' '), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(kinds.insert(name, kind), None, "{line} comes twice");
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let name = sample.split('{').next().unwrap();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let kind = kinds.get(name).or_else(|| kinds.get(base?).filter(|kind| **kind == "histogram"));
        assert!(kind.is_some(), "{line} has no head");
        assert!(!sample.contains('{') || sample.ends_with("\"}"), "{line}");
        assert_eq!(found.insert(sample.to_string(), value.parse().unwrap()), None, "{line} comes twice");
    }
    found
}

const TOKEN: &str = "Authorization: Bearer s3cret\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_for_those_with_the_token_and_nothing_else_is_told_over_plain_http() {
    let server = Server::bind(Config::new(memory_root("metrics")).with_token("s3cret")).await.unwrap();
    let address = server.local_addr();
    for headers in ["", "Authorization: Bearer wrong\r\n"] {
        let (status, head, body) = ask(address, "GET", "/metrics", headers).await;
        assert_eq!(status, 401, "{head}");
        assert!(head.contains("www-authenticate: bearer") && !body.contains("omnigraph_"), "{head} {body}");
    }
    let (status, head, body) = ask(address, "GET", "/metrics", TOKEN).await;
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(samples(&body).keys().any(|sample| sample.starts_with("omnigraph_build_info{")), "{body}");
    assert_eq!(ask(address, "POST", "/metrics", &format!("{TOKEN}Content-Length: 0\r\n")).await.0, 405);
    for path in ["/", "/omnigraph.v1.GraphService/GetGraph"] {
        assert_eq!(ask(address, "GET", path, TOKEN).await.0, 404, "{path}");
    }
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_of_calls_graphs_and_tables() {
    let server = Server::bind(Config::new(memory_root("metrics")).with_token("s3cret")).await.unwrap();
    let address = server.local_addr();
    let client = Client::builder(server.uri()).token("s3cret").connect().await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    graph.load(LoadSource::from(person("a", 1) + &person("b", 2))).send().await.unwrap();
    graph.create_branch("we\"ird\\b", Selector::default()).await.unwrap();
    let export: Vec<bytes::Bytes> = graph.export().send().await.unwrap().chunks.try_collect().await.unwrap();
    assert!(!export.is_empty());
    assert!(client.graph("none").info().await.is_err());

    let rows = "omnigraph_table_rows{graph=\"social\",table=\"node:Person\",branch=\"main\"}";
    let started = Instant::now();
    let first = loop {
        let page = ask(address, "GET", "/metrics", TOKEN).await.2;
        let found = samples(&page);
        // A machine under load may take longer than a reader is made to wait.
        if found.contains_key(rows) {
            break found;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{page}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    for (sample, value) in [
        (rows, 2.0),
        ("omnigraph_table_rows{graph=\"social\",table=\"node:Person\",branch=\"we\\\"ird\\\\b\"}", 2.0),
        ("omnigraph_table_versions{graph=\"social\",table=\"node:Person\",branch=\"we\\\"ird\\\\b\"}", 0.0),
        ("omnigraph_table_fragments{graph=\"social\",table=\"node:Person\",branch=\"main\"}", 1.0),
        ("omnigraph_graph_branches_live{graph=\"social\"}", 2.0),
        ("omnigraph_graph_measured{graph=\"social\"}", 1.0),
        ("omnigraph_recoveries_total{graph=\"social\"}", 0.0),
        ("omnigraph_tables_left_out", 0.0),
        ("omnigraph_rpc_calls_total{method=\"omnigraph.v1.GraphService/CreateGraph\",code=\"OK\"}", 1.0),
        ("omnigraph_rpc_calls_total{method=\"omnigraph.v1.GraphService/Export\",code=\"OK\"}", 1.0),
        ("omnigraph_rpc_calls_total{method=\"omnigraph.v1.GraphService/GetGraph\",code=\"NOT_FOUND\"}", 1.0),
        ("omnigraph_rpc_duration_seconds_count{method=\"omnigraph.v1.GraphService/Load\",code=\"OK\"}", 1.0),
    ] {
        assert_eq!(first.get(sample), Some(&value), "{sample} in {first:?}");
    }
    for sample in ["bytes_live", "bytes_history", "index_rows_uncovered"] {
        let sample = format!("omnigraph_table_{sample}{{graph=\"social\",table=\"node:Person\",branch=\"main\"}}");
        assert!(first[&sample] > 0.0, "{sample} in {first:?}");
    }
    let (release, stamp) = (env!("CARGO_PKG_VERSION"), omnigraph_engine::format::stamp::CURRENT);
    let info = format!("omnigraph_build_info{{version=\"{release}\",storage_stamp=\"{stamp}\"}}");
    assert_eq!(first.get(&info), Some(&1.0), "{first:?}");

    // Asked again at once, the store is not.
    graph.load(LoadSource::from(person("c", 3))).send().await.unwrap();
    let second = samples(&ask(address, "GET", "/metrics", TOKEN).await.2);
    if started.elapsed() < Duration::from_secs(29) {
        assert_eq!(second.get(rows), Some(&2.0));
        assert!(second["omnigraph_stats_age_seconds"] > 0.0);
    }
    let loads = "omnigraph_rpc_calls_total{method=\"omnigraph.v1.GraphService/Load\",code=\"OK\"}";
    assert_eq!(second.get(loads), Some(&2.0), "calls are counted as they end");
    server.shutdown().await.unwrap();
}
