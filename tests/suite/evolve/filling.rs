//! Properties that come with values.

use omnigraph_engine::model::{Change, EntityWrite, StepWork, TypeRef, Value};

use super::*;

async fn column(g: &Graph, branch: &str, property: &str) -> Vec<serde_json::Value> {
    let mut lines = content(g, &head(branch)).await.unwrap();
    lines.sort();
    let values = lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    values.filter(|v| v["type"] == "Person").map(|v| v["data"][property].clone()).collect()
}

#[tokio::test]
async fn new_properties_take_defaults_and_the_values_of_others() {
    for stage in [Stage::Populated, Stage::Branch] {
        let g = stage.graph("filled").await;
        let branch = stage.branch();
        let more = "bio: String? @index
            level: I32 @default(3)
            years: I64 @backfill(age) @default(-1)
            story: String? @backfill(\"bio\")
            kind: enum(a, b) @default(b)
            born: Date @default(\"2001-02-03\")
            tags: [String] @default([\"x\"])
            at: Vector(2) @default([0.5, 1])";
        let (_, steps) = apply(&g, branch, &BEFORE.replace("bio: String? @index", more)).await.unwrap();
        assert_eq!(steps[0].work, StepWork::Rewrite { rows: 3, bytes: 12 });
        let json = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
        assert_eq!(column(&g, branch, "level").await, json("[3,3,3]"));
        assert_eq!(column(&g, branch, "years").await, json("[36,-1,7]"));
        assert_eq!(column(&g, branch, "story").await, json(r#"["first",null,"third"]"#));
        assert_eq!(column(&g, branch, "kind").await, json(r#"["b","b","b"]"#));
        assert_eq!(column(&g, branch, "born").await, json(r#"["2001-02-03","2001-02-03","2001-02-03"]"#));
        assert_eq!(column(&g, branch, "tags").await, json(r#"[["x"],["x"],["x"]]"#));
        assert_eq!(column(&g, branch, "at").await, json("[[0.5,1],[0.5,1],[0.5,1]]"));
        verify(&g).await;
    }
}

#[tokio::test]
async fn new_entities_that_say_nothing_get_the_default() {
    let g = Stage::Populated.graph("later").await;
    let text = BEFORE.replace("age: I32?", "age: I32? @default(5)\n level: I32 @default(3)");
    apply(&g, "main", &text).await.unwrap();
    let rows = r#"{"type":"Person","data":{"slug":"dee"}}
{"type":"Person","data":{"slug":"eve","age":null,"level":9}}
{"type":"Person","data":{"slug":"bob","bio":"second"}}"#;
    load(&g, "main", LoadMode::Merge, rows).await.unwrap();
    let write = EntityWrite {
        type_ref: TypeRef::node("Person"),
        id: None,
        endpoints: None,
        properties: [("slug".to_string(), Value::String("fay".into()))].into(),
    };
    g.mutate(vec![Change::Insert(write)], &WriteOptions::default()).await.unwrap();
    let json = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
    // Those that were there keep what they had, an explicit null is one, and an update changes only what it says.
    assert_eq!(column(&g, "main", "age").await, json("[36,null,7,5,null,5]"));
    assert_eq!(column(&g, "main", "level").await, json("[3,3,3,3,9,3]"));
    verify(&g).await;
}
