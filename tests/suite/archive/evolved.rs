//! Graphs whose schema changed.

use omnigraph_engine::model::{Actor, LoadMode, MergeRequest, SchemaApply, SchemaWish, WriteOptions};
use omnigraph_engine::{Graph, schema};
use omnigraph_tests::{create, engine, head, load, memory_root};

use super::{archive, compare, import};

const FIRST: &str = "
node P { slug: String @key  a: I32?  b: String? }
node Q { t: String? }
edge K: P -> Q { w: I32? }
";

const SECOND: &str = r#"
node Person @was("P") { slug: String @key  age: I64? @was("a")  c: String? }
node New { t: String? }
edge K: Person -> Q { w: I32? }
node Q { t: String?  u: F64? }
"#;

async fn evolve(graph: &Graph, branch: &str, text: &str) {
    let wish = SchemaWish::from(schema::parse(text).unwrap());
    graph.apply_schema(&SchemaApply { wish, consent: true }, &WriteOptions::on(branch)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_schema_come_back_with_their_ids() {
    let old = create(&engine(), &memory_root("evolved"), FIRST).await.unwrap();
    let rows = r#"{"type":"P","data":{"slug":"ada","a":36,"b":"x"}}
        {"type":"Q","data":{"id":"q","t":"t"}} {"edge":"K","from":"ada","to":"q","data":{"id":"k","w":1}}"#;
    load(&old, "main", LoadMode::Append, rows).await.unwrap();
    old.create_branch("before", &head("main"), &Actor::default()).await.unwrap();
    evolve(&old, "main", SECOND).await;
    old.create_branch("after", &head("main"), &Actor::default()).await.unwrap();
    let rows = r#"{"type":"Person","data":{"slug":"bob","age":1,"c":"y"}} {"type":"New","data":{"id":"n"}}"#;
    load(&old, "main", LoadMode::Append, rows).await.unwrap();
    load(&old, "after", LoadMode::Append, r#"{"type":"Person","data":{"slug":"grace"}}"#).await.unwrap();
    let after = MergeRequest { source: "after".into(), ..MergeRequest::default() };
    old.merge(&after, &WriteOptions::on("main")).await.unwrap();

    let bytes = archive(&old, false).await;
    let (new, report) = import(&engine(), bytes.clone()).await;
    compare(&old, &new, &report).await;
    assert_eq!(super::states(&bytes), super::states(&archive(&new, false).await));
    for (from, to) in &report.commits {
        let of = async |graph: &Graph, commit: &str| {
            let mut types = graph.snapshot(&super::at(commit)).await.unwrap().schema.types.clone();
            types.sort_by(|a, b| a.id.cmp(&b.id));
            types
        };
        assert_eq!(of(&old, from).await, of(&new, to).await);
    }
}
