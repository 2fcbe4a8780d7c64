//! Values of every type, names, protection, and branches that live no more.

use omnigraph_engine::Graph;
use omnigraph_engine::model::{Actor, LoadMode, MergeRequest, WriteOptions};
use omnigraph_tests::{content, create, engine, head, load, memory_root};

use super::{archive, compare, import};

const EVERYTHING: &str = r#"
interface Named { name: String @index }
node Doc implements Named { slug: String @key  b: Bool?  i: I64?  u: U64?  f: F64?  g: F32?  day: Date?  at: DateTime?
     data: Blob?  face: Vector(3)?  tags: [String]?  role: enum(staff, guest)? @index  text: String? @index(kind="text") }
node Free { text: String? }
edge Cites: Doc -> Doc { weight: F32?  proof: Blob? }
"#;

fn doc(slug: &str, rest: &str) -> String {
    format!("{{\"type\":\"Doc\",\"data\":{{\"slug\":\"{slug}\",\"name\":\"é {slug}\"{rest}}}}}\n")
}

async fn put(graph: &Graph, branch: &str, text: &str, request: &str) -> String {
    let options = WriteOptions {
        request_id: request.to_string(),
        message: format!("m {request}"),
        actor: Actor(format!("a {request}")),
        ..WriteOptions::on(branch)
    };
    let receipt = graph.load(omnigraph_tests::jsonl(text), LoadMode::Merge, &options).await.unwrap();
    assert!(receipt.changed);
    receipt.commit.id
}

/// A graph with everything that an archive has to carry.
async fn everything() -> Graph {
    let graph = create(&engine(), &memory_root("values"), EVERYTHING).await.unwrap();
    let full = doc(
        "full",
        r#","b":true,"i":"-9223372036854775808","u":"18446744073709551615","f":-0.0,"g":0.1,"day":"0001-01-01",
           "at":"2013-01-31T09:30:00.000001Z","data":"base64:AAEC/w==","face":[0.1,-0.0,3.4e38],"tags":["x",null,""],
           "role":"guest","text":"a\nb \"c\"""#,
    );
    let big = format!(r#","data":"base64:{}""#, "QUJD".repeat(200_000));
    let edge = r#"{"edge":"Cites","from":"full","to":"big","data":{"id":"e1","weight":1.5,"proof":"base64:"}}"#;
    put(&graph, "main", &(full + &doc("big", &big) + &doc("bare", "") + edge), "one").await;
    graph.create_branch("kept", &head("main"), &Actor("ada".into())).await.unwrap();
    graph.create_branch("dead", &head("main"), &Actor("bob".into())).await.unwrap();
    graph.create_branch("side/1", &head("main"), &Actor("bob".into())).await.unwrap();
    put(&graph, "dead", &doc("dead", r#","data":"base64:/w==""#), "two").await;
    put(&graph, "side/1", &doc("bare", r#","tags":["merged"]"#), "three").await;
    graph.create_tag("there", &head("dead"), "on a dead branch", &Actor("ada".into())).await.unwrap();
    graph.protect_tag("there", true).await.unwrap();
    put(&graph, "main", "{\"type\":\"Free\",\"data\":{\"text\":\"t\"}}", "four").await;
    let side = MergeRequest { source: "side/1".into(), delete_source: true, ..MergeRequest::default() };
    graph.merge(&side, &WriteOptions::on("main")).await.unwrap();
    graph.delete_branch("dead", false, &Actor::default()).await.unwrap();
    graph.create_branch("fresh", &head("kept"), &Actor::default()).await.unwrap();
    graph.optimize("main", 2).await.unwrap();
    graph.protect_branch("main", true, &Actor("ada".into())).await.unwrap();
    graph
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_comes_back_to_the_last_bit() {
    let old = everything().await;
    let bytes = archive(&old, true).await;
    assert!(bytes.len() < 100_000, "{} bytes are not compressed", bytes.len());
    let (new, report) = import(&engine(), bytes).await;
    assert_eq!((report.stamp, report.branches, report.tags), (4, 3, 1));
    compare(&old, &new, &report).await;
    let main = old.ancestors("main", None, 100).await.unwrap();
    let optimized = main.iter().find(|commit| commit.operation == "optimize").unwrap();
    assert!(report.commits.iter().all(|(from, _)| *from != optimized.id), "nothing names it and it changes nothing");
    assert_eq!(
        (new.branch("fresh").await.unwrap().parent, new.branch("kept").await.unwrap().parent),
        ("kept".into(), "main".into())
    );
    assert_eq!(old.snapshot(&head("main")).await.unwrap().schema, new.snapshot(&head("main")).await.unwrap().schema);
    // The merged branch is deleted here, too, and its commits are still ancestors.
    let merged = new.ancestors("main", None, 100).await.unwrap();
    let merge = merged.iter().find(|commit| commit.operation == "merge").unwrap();
    assert_eq!(merge.parents.len(), 2);
    assert!(merged.iter().any(|commit| commit.id == merge.parents[1] && commit.branch == "side/1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_imported_goes_on_like_any_graph() {
    let old = everything().await;
    let (new, _) = import(&engine(), archive(&old, false).await).await;
    let refused = load(&new, "main", LoadMode::Merge, &doc("more", "")).await.unwrap_err();
    assert_eq!(refused.reason(), omnigraph_engine::Reason::BranchProtected);
    new.protect_branch("main", false, &Actor::default()).await.unwrap();
    // A request that was answered before is answered the same.
    let before = new.branch("main").await.unwrap().head;
    let options = WriteOptions { request_id: "four".into(), ..WriteOptions::on("main") };
    let again = new.load(omnigraph_tests::jsonl(doc("x", "")), LoadMode::Merge, &options).await.unwrap();
    assert!(again.replayed && new.branch("main").await.unwrap().head == before);
    load(&new, "kept", LoadMode::Merge, &doc("more", "")).await.unwrap();
    let kept = MergeRequest { source: "kept".into(), ..MergeRequest::default() };
    new.merge(&kept, &WriteOptions::on("main")).await.unwrap();
    new.optimize("main", 2).await.unwrap();
    assert!(content(&new, &head("main")).await.unwrap().iter().any(|line| line.contains("\"more\"")));
    assert!(new.verify().await.unwrap().is_clean());
}
