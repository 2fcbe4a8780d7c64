//! Scans: columns, orders, parts, and predicates compared with their meaning in memory.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::{Fixture, company, people, person, request};
use crate::data::entity_at;
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{CompareOp, Entity, OrderBy, Predicate, TypeRef, Value};
use crate::read::batch::schema_of;
use crate::read::scan::{ScanRequest, plan, scan};

async fn read(fixture: &Fixture, request: &ScanRequest) -> Vec<RecordBatch> {
    let rows = scan(&fixture.core, &fixture.snapshot().await, request, None).await.unwrap();
    let batches = Fixture::rows(rows.batches).await;
    assert!(batches.iter().all(|b| b.schema() == rows.schema && b.num_rows() > 0));
    batches
}

async fn refused(fixture: &Fixture, request: &ScanRequest) -> Error {
    let snapshot = fixture.snapshot().await;
    let planned = plan(&fixture.core, &snapshot, request, 4).await.unwrap_err();
    let scanned = scan(&fixture.core, &snapshot, request, None).await.err().unwrap();
    assert_eq!(planned.reason(), scanned.reason());
    scanned
}

async fn entities(fixture: &Fixture, request: &ScanRequest) -> Vec<Entity> {
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(&request.type_ref).unwrap();
    let mut out = Vec::new();
    for batch in read(fixture, request).await {
        out.extend((0..batch.num_rows()).map(|row| entity_at(ty, &batch, row).unwrap()));
    }
    out
}

async fn ids(fixture: &Fixture, request: &ScanRequest) -> Vec<String> {
    entities(fixture, request).await.into_iter().map(|e| e.id).collect()
}

#[tokio::test]
async fn columns_come_by_name_in_the_order_asked_for() {
    let text = person("a", json!({"age": 1, "repoName": "r", "order": 7, "tags": ["x", null], "face": [0.5, 1]}));
    let fixture = people(&[text]).await;
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(&TypeRef::node("Person")).unwrap();
    let all: Vec<String> = ty.columns().map(ToString::to_string).collect();
    let batch = &read(&fixture, &request("Person")).await[0];
    assert_eq!(batch.schema(), schema_of(ty, &all).unwrap());
    let mut some = request("Person");
    some.columns = ["order", "repoName", "id"].map(Into::into).to_vec();
    let batch = &read(&fixture, &some).await[0];
    assert_eq!(
        batch.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(),
        ["order", "repoName", "id"]
    );
    let planned = plan(&fixture.core, &snapshot, &some, 4).await.unwrap();
    assert_eq!(planned.schema, batch.schema());
    some.columns = ["age", "id", "age"].map(Into::into).to_vec();
    let twice = refused(&fixture, &some).await;
    assert_eq!(twice.reason(), Reason::InvalidArgument);
    some.columns = vec!["agee".into()];
    let unknown = refused(&fixture, &some).await;
    assert_eq!(unknown.reason(), Reason::PropertyNotFound);
    assert!(unknown.message().contains("did you mean \"age\"?"), "{}", unknown.message());
    assert_eq!(refused(&fixture, &request("Persn")).await.reason(), Reason::TypeNotFound);
}

#[tokio::test]
async fn a_type_without_rows_has_a_schema_and_no_batches() {
    let fixture = people(&[company("c")]).await;
    let snapshot = fixture.snapshot().await;
    assert!(read(&fixture, &request("Person")).await.is_empty());
    let planned = plan(&fixture.core, &snapshot, &request("Person"), 4).await.unwrap();
    assert_eq!((planned.total_rows, planned.parts), (Some(0), vec![Vec::new()]));
    let mut none = request("Company");
    none.limit = Some(0);
    assert!(read(&fixture, &none).await.is_empty());
    let mut limited = request("Company");
    limited.limit = Some(5);
    assert_eq!(plan(&fixture.core, &snapshot, &limited, 4).await.unwrap().total_rows, Some(1));
}

#[tokio::test]
async fn orders_are_total_with_nulls_last_either_way() {
    let texts = [
        person("e", json!({"age": 2})) + &person("d", json!({})) + &person("c", json!({"age": 1})),
        person("b", json!({"age": 2, "order": 1})) + &person("a", json!({})),
    ];
    let fixture = people(&texts).await;
    let by = |property: &str, descending| OrderBy { property: property.into(), descending };
    let mut request = request("Person");
    for (order, expected) in [
        (vec![by("age", false)], "cbead"),
        (vec![by("age", true)], "becad"),
        (vec![by("order", false), by("id", true)], "bedca"),
        (vec![by("id", true)], "edcba"),
        (vec![], "edcba"),
    ] {
        request.order = order.clone();
        request.limit = None;
        assert_eq!(ids(&fixture, &request).await.concat(), expected, "{order:?}");
        request.limit = Some(2);
        assert_eq!(ids(&fixture, &request).await.concat(), expected[..2], "{order:?}");
    }
    request.order = vec![by("age", false)];
    request.columns = vec!["repoName".into()];
    assert_eq!(read(&fixture, &request).await[0].num_columns(), 1);
    for unordered in ["tags", "face", "nope"] {
        request.order = vec![by(unordered, false)];
        refused(&fixture, &request).await;
    }
}

#[tokio::test]
async fn parts_are_the_whole_and_only_unordered_scans_have_them() {
    let unit = limits::MIN_PART_ROWS;
    let text = |from: u64| (from..from + unit).map(|n| company(&format!("c{n:07}"))).collect::<String>();
    let fixture = people(&[text(0), text(unit), text(2 * unit)]).await;
    fixture.delete(&TypeRef::node("Company"), &["c0000000", "c0100000"]).await;
    let (snapshot, mut request) = (fixture.snapshot().await, request("Company"));
    let planned = plan(&fixture.core, &snapshot, &request, 8).await.unwrap();
    assert_eq!((planned.total_rows, planned.parts.len()), (Some(3 * unit - 2), 2));
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for part in &planned.parts {
        let rows = scan(&fixture.core, &snapshot, &request, Some(part)).await.unwrap();
        for batch in Fixture::rows(rows.batches).await {
            assert!(batch.num_rows() <= limits::BATCH_ROWS);
            count += batch.num_rows();
            let ids = crate::read::get::texts(&batch, "id").unwrap();
            seen.extend(ids.iter().flatten().map(ToString::to_string));
        }
    }
    assert_eq!((count as u64, seen.len() as u64), (3 * unit - 2, 3 * unit - 2));
    for wrong in [&[77_u64][..], &[planned.parts[0][0], planned.parts[0][0]]] {
        let refused = scan(&fixture.core, &snapshot, &request, Some(wrong)).await.err().unwrap();
        assert_eq!(refused.reason(), Reason::InvalidTicket);
    }
    request.limit = Some(10);
    assert_eq!(plan(&fixture.core, &snapshot, &request, 8).await.unwrap().parts, vec![Vec::<u64>::new()]);
    assert!(scan(&fixture.core, &snapshot, &request, Some(&planned.parts[0])).await.is_err());
}

/// Values at and around the bounds of every type, and plain ones, for one column of a person.
fn interesting(column: &str) -> Vec<serde_json::Value> {
    match column {
        "age" => vec![json!(null), json!(i32::MIN), json!(-1), json!(0), json!(5), json!(i32::MAX)],
        "size" => vec![json!(null), json!(0), json!(u64::MAX), json!(7)],
        "score" => vec![json!(null), json!(0.1), json!(-0.0), json!(0.0), json!(2.5)],
        "weight" => vec![json!(null), json!(-0.0), json!(0.0), json!(0.1), json!(1e300)],
        "active" => vec![json!(null), json!(true), json!(false)],
        "born" => vec![json!(null), json!("0001-01-01"), json!("1970-01-01"), json!("2024-02-29")],
        "seen" => vec![json!(null), json!("1970-01-01T00:00:00Z"), json!("2024-02-29T12:00:00.000001Z")],
        "role" => vec![json!(null), json!("staff"), json!("guest")],
        _ => vec![json!(null), json!(""), json!("a%b_c\\d"), json!("O'Brien"), json!("é\n\"x\""), json!("A")],
    }
}

fn literals(column: &str) -> Vec<Value> {
    match column {
        "age" => vec![
            Value::I64(0),
            Value::I64(5),
            Value::U64(5),
            Value::I64(i64::from(i32::MAX) + 1),
            Value::I64(i64::MIN),
            Value::U64(u64::MAX),
            Value::I64(i64::from(i32::MIN)),
        ],
        "size" => vec![Value::I64(-1), Value::U64(u64::MAX), Value::I64(7), Value::U64(0)],
        "score" | "weight" => {
            vec![Value::F64(0.1), Value::F64(0.0), Value::F64(-0.0), Value::I64(0), Value::F64(1e300), Value::F64(2.5)]
        }
        "active" => vec![Value::Bool(true), Value::Bool(false)],
        "born" => vec![Value::Date(0), Value::Date(19_782), Value::Date(-719_162)],
        "seen" => vec![Value::Timestamp(0), Value::Timestamp(1_709_208_000_000_001)],
        "role" => vec![Value::String("staff".into()), Value::String("nobody".into())],
        _ => ["", "a%b_c\\d", "O'Brien", "é\n\"x\"", "A", "a", "%"].map(|s| Value::String(s.into())).to_vec(),
    }
}

const COLUMNS: [&str; 9] = ["age", "size", "score", "weight", "active", "born", "seen", "role", "repoName"];

fn leaf(column: &'static str) -> impl Strategy<Value = Predicate> {
    use proptest::prelude::*;
    let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
    let literal = || prop::sample::select(literals(column));
    let property = column.to_string();
    let compare = (prop::sample::select(ops.to_vec()), literal()).prop_map({
        let property = property.clone();
        move |(op, value)| Predicate::Compare { property: property.clone(), op, value }
    });
    let listed = prop::collection::vec(literal(), 0..4).prop_map({
        let property = property.clone();
        move |values| Predicate::In { property: property.clone(), values }
    });
    let texts = prop::sample::select(vec!["", "a%", "%", "_", "\\", "O'", "é\n", "st"]);
    let like = (texts, any::<bool>()).prop_map(|(text, start)| {
        let (property, text) = ("repoName".to_string(), text.to_string());
        match start {
            true => Predicate::StartsWith { property, prefix: text },
            false => Predicate::Contains { property, substring: text },
        }
    });
    prop_oneof![4 => compare, 2 => listed, 1 => like, 1 => Just(Predicate::IsNull { property })]
}

fn predicates() -> impl Strategy<Value = Predicate> {
    use proptest::prelude::*;
    let leaf = prop::sample::select(COLUMNS.to_vec()).prop_flat_map(leaf);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::Or),
            inner.prop_map(|p| Predicate::Not(Box::new(p))),
        ]
    })
}

#[tokio::test]
async fn the_store_and_memory_agree_on_what_predicates_mean() {
    let mut text = String::new();
    for (n, shift) in (0..60).zip((0..5).cycle()) {
        let value = |column: &str, at: usize| {
            let values = interesting(column);
            values[(n * (at + 1) + shift) % values.len()].clone()
        };
        let data: serde_json::Map<String, serde_json::Value> =
            COLUMNS.iter().enumerate().map(|(at, c)| (c.to_string(), value(c, at))).collect();
        text += &person(&format!("p{n:02}"), data.into());
    }
    let fixture = people(&[text]).await;
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(&TypeRef::node("Person")).unwrap();
    let mut request = request("Person");
    let all = entities(&fixture, &request).await;
    assert_eq!(all.len(), 60);
    let mut wanted: Vec<Predicate> = Vec::new();
    for column in COLUMNS {
        for value in literals(column) {
            for op in [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge] {
                let compare = Predicate::Compare { property: column.into(), op, value: value.clone() };
                wanted.extend([Predicate::Not(Box::new(compare.clone())), compare]);
            }
            wanted.push(Predicate::In { property: column.into(), values: vec![value.clone()] });
        }
    }
    let mut runner = TestRunner::deterministic();
    wanted.extend((0..150).map(|_| predicates().new_tree(&mut runner).unwrap().current()));
    for predicate in wanted {
        let expected: Vec<&str> =
            all.iter().filter(|e| predicate.matches(ty, e).unwrap() == Some(true)).map(|e| e.id.as_str()).collect();
        request.predicate = Some(predicate.clone());
        assert_eq!(ids(&fixture, &request).await, expected, "{predicate:?}");
    }
}
