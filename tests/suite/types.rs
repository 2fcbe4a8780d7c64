//! Every property type, with nulls and extremes, through every way in and out.

use std::collections::BTreeMap;

use bytes::Bytes;
use omnigraph_engine::model::{Change, EntityWrite, LoadMode, TypeRef, Value, WriteOptions};
use omnigraph_tests::{content, create, engine, graph, head, load, memory_root};

const SCHEMA: &str = r#"
node Thing {
    k: String @key
    s: String?  b: Bool?  i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
    date: Date?  at: DateTime?  blob: Blob?  vec: Vector(3)?  pick: enum(red, "dark blue")?
    tags: [String]?  nums: [I64]?  repoName: String?  order: I32?
}
"#;

fn values(n: usize) -> BTreeMap<String, Value> {
    let extreme = [
        ("s", Value::String("naïve 🦀 \"quoted\" \\ \n".into())),
        ("b", Value::Bool(true)),
        ("i32", Value::I64(i64::from(i32::MIN))),
        ("i64", Value::I64(i64::MIN)),
        ("u32", Value::U64(u64::from(u32::MAX))),
        ("u64", Value::U64(u64::MAX)),
        ("f32", Value::F64(f64::from(f32::MAX))),
        ("f64", Value::F64(-1.5e-300)),
        ("date", Value::Date(-719_528)),
        ("at", Value::Timestamp(253_402_300_799_999_999)),
        ("blob", Value::Bytes(Bytes::from_static(b"\x00\xff"))),
        ("vec", Value::Vector(vec![0.0, -1.5, 3.25])),
        ("pick", Value::String("dark blue".into())),
        ("tags", Value::List(vec![Value::String(String::new()), Value::Null, Value::String("x".into())])),
        ("nums", Value::List(vec![Value::I64(i64::MAX), Value::Null])),
        ("repoName", Value::String("R".into())),
        ("order", Value::I64(7)),
    ];
    let empty = [
        ("s", Value::String(String::new())),
        ("b", Value::Bool(false)),
        ("i64", Value::I64(i64::MAX)),
        ("u64", Value::U64((1 << 53) + 1)),
        ("blob", Value::Bytes(Bytes::new())),
        ("tags", Value::List(Vec::new())),
        ("date", Value::Date(0)),
        ("at", Value::Timestamp(0)),
    ];
    let all: Vec<(&str, Value)> = match n {
        0 => extreme.to_vec(),
        1 => empty.to_vec(),
        _ => Vec::new(),
    };
    all.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
}

fn insert(key: &str, mut properties: BTreeMap<String, Value>) -> Change {
    properties.insert("k".to_string(), Value::String(key.to_string()));
    Change::Upsert(EntityWrite { type_ref: TypeRef::node("Thing"), id: None, endpoints: None, properties })
}

#[tokio::test]
async fn every_type_survives_mutation_export_load_and_upsert() {
    let g = graph("types", SCHEMA).await.unwrap();
    let changes = (0..3).map(|n| insert(&format!("t{n}"), values(n))).collect();
    g.mutate(changes, &WriteOptions::default()).await.unwrap();
    let check = |graph: omnigraph_engine::Graph| async move {
        let snapshot = graph.snapshot(&head("main")).await.unwrap();
        let ids: Vec<String> = (0..3).map(|n| format!("t{n}")).collect();
        let found = graph.get(&snapshot, &TypeRef::node("Thing"), &ids).await.unwrap();
        for (n, entity) in found.iter().enumerate() {
            let expected = values(n);
            for (name, value) in entity.properties.iter().filter(|(name, _)| *name != "k") {
                assert_eq!(value, expected.get(name).unwrap_or(&Value::Null), "t{n}.{name}");
            }
        }
    };
    check(g.clone()).await;
    let lines = content(&g, &head("main")).await.unwrap().join("\n");
    let copy = create(&engine(), &memory_root("types"), SCHEMA).await.unwrap();
    for mode in [LoadMode::Append, LoadMode::Merge, LoadMode::Overwrite] {
        load(&copy, "main", mode, &lines).await.unwrap();
        check(copy.clone()).await;
    }
    // Touching one property leaves the others as they are.
    let touch = |n: usize| {
        insert(
            &format!("t{n}"),
            BTreeMap::from([("order".to_string(), values(n).get("order").cloned().unwrap_or(Value::Null))]),
        )
    };
    g.mutate(vec![touch(0), touch(1)], &WriteOptions::default()).await.unwrap();
    check(g.clone()).await;
    assert!(g.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn blobs_of_every_placement_are_byte_exact() {
    let g = graph("blobs", SCHEMA).await.unwrap();
    let sizes = [0, 1, 64 * 1024 - 1, 64 * 1024 + 1, 300_000, 4 * 1024 * 1024 + 17];
    let payload = |n: usize| Bytes::from((0..n).map(|i| (i * 31 % 251) as u8).collect::<Vec<_>>());
    let changes = sizes
        .iter()
        .map(|n| insert(&format!("b{n}"), BTreeMap::from([("blob".to_string(), Value::Bytes(payload(*n)))])))
        .chain([insert("none", BTreeMap::new())])
        .collect();
    g.mutate(changes, &WriteOptions::default()).await.unwrap();
    // An update of another property rewrites the row, not the value.
    let touch = sizes.iter().map(|n| insert(&format!("b{n}"), BTreeMap::from([("order".to_string(), Value::I64(1))])));
    g.mutate(touch.collect(), &WriteOptions::default()).await.unwrap();
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    for n in sizes {
        let found = g.get(&snapshot, &TypeRef::node("Thing"), &[format!("b{n}")]).await.unwrap();
        assert_eq!(found[0].properties["blob"], Value::Bytes(payload(n)), "{n} bytes");
    }
    let none = g.get(&snapshot, &TypeRef::node("Thing"), &["none".to_string()]).await.unwrap();
    assert_eq!(none[0].properties["blob"], Value::Null);
    let lines = content(&g, &head("main")).await.unwrap();
    assert_eq!(lines.len(), sizes.len() + 1);
}
