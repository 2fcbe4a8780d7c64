//! Graphs that earlier releases wrote: this release reads all of it, and goes on from there.
//!
//! `tests/fixtures/format-v4` was made by [`make_the_fixture`]; it may be made anew only while no release has written
//! the format. A later format gets a fixture of its own beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::clock::Clock;
use omnigraph_engine::format::stamp;
use omnigraph_engine::id::SeededIds;
use omnigraph_engine::model::{
    Actor, Change, EdgePolicy, LoadMode, MergeRequest, ReadSelector, Target, TypeRef, WriteOptions,
};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph};
use omnigraph_tests::{content, create, engine, head, load};
use serde_json::{Value as Json, json};

const SCHEMA: &str = r#"
node Doc { slug: String @key  title: String @index  body: String? @index(kind="text")  role: enum(staff, guest)? @index
           face: Vector(4)?  tags: [String]?  data: Blob?  at: DateTime?  score: F64?  @range(score, 0..10) }
node Note { text: String? }
edge Cites: Doc -> Doc @card(0..3) { weight: I32?  note: String? }
"#;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/format-v4")
}

fn doc(slug: &str, rest: &str) -> String {
    format!("{{\"type\":\"Doc\",\"data\":{{\"slug\":\"{slug}\",\"title\":\"about {slug}\"{rest}}}}}\n")
}

/// Everything that can be asked of a graph, as JSON.
async fn told(graph: &Graph) -> Json {
    let mut branches = BTreeMap::new();
    let mut commits = BTreeMap::new();
    for branch in graph.branches().await.unwrap() {
        let shown = content(graph, &head(&branch.name)).await.unwrap();
        for commit in graph.ancestors(&branch.name, None, 100).await.unwrap() {
            let at = ReadSelector::Commit(commit.id.clone());
            let shown = content(graph, &at).await.unwrap();
            let told = json!({
                "parents": commit.parents, "branch": commit.branch, "actor": commit.actor.0, "message": commit.message,
                "operation": commit.operation, "created_at": commit.created_at, "shows": shown,
            });
            commits.insert(commit.id, told);
        }
        let told = json!({
            "head": branch.head, "parent": branch.parent, "forked_from": branch.forked_from, "actor": branch.actor.0,
            "created_at": branch.created_at, "protected": branch.protected, "shows": shown,
        });
        branches.insert(branch.name, told);
    }
    let mut tags = BTreeMap::new();
    for tag in graph.tags().await.unwrap() {
        let shown = content(graph, &ReadSelector::Tag(tag.name.clone())).await.unwrap();
        let told = json!({"commit": tag.commit, "message": tag.message, "actor": tag.actor.0, "shows": shown});
        tags.insert(tag.name, told);
    }
    json!({"branches": branches, "commits": commits, "tags": tags, "formats": formats(graph).await})
}

/// The format numbers of what is stored: the stamp, the declarations, and every document.
async fn formats(graph: &Graph) -> Json {
    let root = Path::new(graph.root());
    let manifest = lance::Dataset::open(root.join("__manifest").to_str().unwrap()).await.unwrap();
    let mut documents = BTreeMap::new();
    for folder in ["_refs/branches", "_refs/tags"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let file = file.unwrap();
            let doc: Json = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
            let name = format!("{folder}/{}", file.file_name().to_string_lossy());
            documents.insert(name, doc.get("format").cloned().unwrap_or_default());
        }
    }
    let version = format!("{:?}", manifest.manifest().data_storage_format.version);
    json!({"stamp": manifest.schema().metadata[stamp::KEY], "files": version, "documents": documents})
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The fixture in a folder of its own.
fn fixture() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("old.omni");
    copy(&home().join("graph"), &root);
    (folder, root.display().to_string())
}

fn expected() -> Json {
    serde_json::from_slice(&std::fs::read(home().join("expected.json")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_of_format_4_is_read_as_it_was_written() {
    let (_folder, root) = fixture();
    let graph = engine().open(&root, Access::ReadOnly).await.unwrap();
    let told = told(&graph).await;
    for (part, expected) in expected().as_object().unwrap() {
        assert_eq!(&told[part], expected, "{part}");
    }
    assert_eq!(told["formats"]["stamp"], stamp::CURRENT.to_string());
    let report = graph.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}");
    let main = graph.snapshot(&head("main")).await.unwrap();
    let indexes = graph.index_status(&main).await.unwrap();
    let there: Vec<&str> = indexes.iter().filter(|i| i.present).map(|i| i.index.column.as_str()).collect();
    assert_eq!(there, ["id", "slug", "title", "body", "role", "id", "id", "src", "dst"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_of_format_4_is_written_and_merged_and_moved() {
    let (_folder, root) = fixture();
    let graph = engine().open(&root, Access::ReadWrite).await.unwrap();
    load(&graph, "main", LoadMode::Merge, &(doc("new", "") + &doc("bob", r#","role":"guest""#))).await.unwrap();
    load(&graph, "review", LoadMode::Append, &doc("newer", r#","data":"base64:AAEC""#)).await.unwrap();
    let request = MergeRequest { source: "review".into(), ..MergeRequest::default() };
    let merged = graph.merge(&request, &WriteOptions::on("main")).await.unwrap();
    assert_eq!(merged.outcome.as_str(), "merged");
    let shown = content(&graph, &head("main")).await.unwrap();
    for slug in ["ada", "bob", "grace", "mary", "new", "newer"] {
        assert_eq!(shown.iter().filter(|line| line.contains(&format!("\"slug\":\"{slug}\""))).count(), 1, "{slug}");
    }
    graph.optimize("main", 2).await.unwrap();
    let report = graph.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}");
    let known = expected();
    let kept = known["tags"]["v1"]["shows"].as_array().unwrap();
    assert_eq!(&content(&graph, &ReadSelector::Tag("v1".into())).await.unwrap(), kept);
    crate::archive::moved(&graph).await;
}

/// A time of its own, a second further with every look.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now_micros(&self) -> i64 {
        self.0.fetch_add(1_000_000, Ordering::SeqCst)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        tokio::task::yield_now().boxed()
    }
}

async fn grow(graph: &Graph) {
    let by = |branch: &str, message: &str| WriteOptions {
        message: message.to_string(),
        actor: Actor("ada".into()),
        ..WriteOptions::on(branch)
    };
    let put = async |branch: &str, text: String| {
        graph.load(omnigraph_tests::jsonl(text), LoadMode::Merge, &by(branch, "put")).await.unwrap();
    };
    let full = r#","body":"the first of all","role":"staff","face":[0.1,-0.0,1.5,2.0],"tags":["x",null],"data":
        "base64:AAEC/w==","at":"2013-01-31T09:30:00.000001Z","score":9.5"#;
    let cites = |id: &str, from: &str, to: &str| {
        format!(
            "{{\"edge\":\"Cites\",\"from\":\"{from}\",\"to\":\"{to}\",\"data\":{{\"id\":\"{id}\",\"weight\":1}}}}\n"
        )
    };
    let note = "{\"type\":\"Note\",\"data\":{\"id\":\"n\",\"text\":\"a note\"}}\n";
    let first = doc("ada", full) + &doc("bob", r#","score":0"#) + &doc("gone", "") + note;
    put("main", first + &cites("e1", "ada", "bob") + &cites("e2", "bob", "gone")).await;
    graph.create_tag("v1", &head("main"), "the first", &Actor("ada".into())).await.unwrap();
    let gone = Target::Ids(vec!["gone".into()]);
    let delete = Change::Delete { type_ref: TypeRef::node("Doc"), target: gone, edges: EdgePolicy::Cascade };
    graph.mutate(vec![delete], &by("main", "delete")).await.unwrap();
    graph.create_branch("review", &head("main"), &Actor("bob".into())).await.unwrap();
    put("review", doc("grace", r#","body":"the second","tags":[]"#) + &cites("e3", "grace", "ada")).await;
    put("main", doc("bob", r#","score":1"#)).await;
    let request = MergeRequest { source: "review".into(), ..MergeRequest::default() };
    graph.merge(&request, &by("main", "merge")).await.unwrap();
    graph.optimize("main", 2).await.unwrap();
    put("review", doc("mary", r#","data":"base64:""#)).await;
}

/// Writes the fixture and what is expected of it: `cargo test -p omnigraph-tests --test suite make_the_fixture --
/// --ignored`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it replaces the fixture"]
async fn make_the_fixture() {
    let root = home().join("graph");
    if root.exists() {
        std::fs::remove_dir_all(&root).unwrap();
    }
    let clock = Ticking(AtomicI64::new(1_359_624_600_000_000));
    let options =
        EngineOptions { clock: Arc::new(clock), ids: Arc::new(SeededIds::new(4)), ..EngineOptions::default() };
    let graph = create(&Engine::new(options), root.to_str().unwrap(), SCHEMA).await.unwrap();
    grow(&graph).await;
    let expected = serde_json::to_string_pretty(&told(&graph).await).unwrap();
    std::fs::write(home().join("expected.json"), expected + "\n").unwrap();
}
