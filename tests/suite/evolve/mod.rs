//! Changes of schema: what each kind of step does to data, history and indexes, and what it refuses.

mod filling;
mod merging;
mod racing;
mod reading;
mod refusals;
mod steps;

use omnigraph_engine::model::{LoadMode, ReadSelector, Receipt, SchemaApply, SchemaStep, SchemaWish, WriteOptions};
use omnigraph_engine::{Graph, Result};
use omnigraph_tests::{content, create, engine, head, load, memory_root};

/// What the tests begin with.
const BEFORE: &str = r#"
node Person {
    slug: String @key
    age: I32?
    score: F32?
    role: enum(staff, guest)?
    bio: String? @index
    face: Vector(2)?
    photo: Blob?
}
node City { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"#;

const ROWS: &str = r#"
{"type":"Person","data":{"slug":"ada","age":36,"score":1.5,"role":"staff","bio":"first","face":[1,2],"photo":"base64:AAEC"}}
{"type":"Person","data":{"slug":"bob"}}
{"type":"Person","data":{"slug":"cy","age":7,"role":"guest","bio":"third"}}
{"type":"City","data":{"name":"Rome"}}
{"edge":"Knows","from":"ada","to":"bob","data":{"id":"k1","since":1}}
{"edge":"Knows","from":"ada","to":"cy","data":{"id":"k2"}}
{"edge":"LivesIn","from":"ada","to":"Rome","data":{"id":"l1"}}
"#;

/// What the graph holds when its schema changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Types without rows.
    Empty,
    /// Rows on main, which changes.
    Populated,
    /// Rows that a branch inherits, which changes.
    Branch,
}

const STAGES: [Stage; 3] = [Stage::Empty, Stage::Populated, Stage::Branch];

impl Stage {
    fn branch(self) -> &'static str {
        if self == Self::Branch { "b" } else { "main" }
    }

    async fn graph(self, name: &str) -> Graph {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let g = create(&engine(), &memory_root(&format!("evolve-{name}-{self:?}")), BEFORE).await.unwrap();
        if self != Self::Empty {
            load(&g, "main", LoadMode::Append, ROWS).await.unwrap();
        }
        if self == Self::Branch {
            g.create_branch("b", &head("main"), &Default::default()).await.unwrap();
        }
        g
    }
}

fn wish(text: &str) -> SchemaWish {
    SchemaWish::from(omnigraph_engine::schema::parse(text).unwrap())
}

async fn apply(g: &Graph, branch: &str, text: &str) -> Result<(Receipt, Vec<SchemaStep>)> {
    apply_wish(g, branch, wish(text)).await
}

async fn apply_wish(g: &Graph, branch: &str, wish: SchemaWish) -> Result<(Receipt, Vec<SchemaStep>)> {
    g.apply_schema(&SchemaApply { wish, consent: true }, &WriteOptions::on(branch)).await
}

async fn verify(g: &Graph) {
    let report = g.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}");
}

/// The schema of a state as text.
async fn shown(g: &Graph, at: &ReadSelector) -> String {
    omnigraph_engine::schema::print(&g.snapshot(at).await.unwrap().schema)
}

/// The words of the steps.
fn words(steps: &[SchemaStep]) -> Vec<&str> {
    steps.iter().map(|step| step.description.as_str()).collect()
}
