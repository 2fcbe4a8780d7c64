//! Broken graphs, each broken in one way, and what the check says about it.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::*;
use crate::data::array_from_values;
use crate::format::arrow::logical_schema;
use crate::format::tag_json::TagDoc;
use crate::format::{intent_json, paths};
use crate::maintenance::progress::Nobody;
use crate::manifest::tags;
use crate::model::{Actor, PropertyType, ReadSelector, ScalarType, TypeRef, Value};
use crate::read::fixture::{Fixture, ours};
use crate::store::lance::TableAt;
use crate::store::lance::stage::{GoneRows, NewRows};
use crate::{branch, history, read};

const SCHEMA: &str = r#"
    node Person {
        slug: String @key
        mail: String?
        age: I32
        photo: Blob?
        @unique(mail)
        @range(age, 0..150)
        @check(slug, "^[a-z]+$")
    }
    edge Knows: Person -> Person @card(0..2) { since: I32? @unique(src, dst) }
"#;

/// People as rows: id, slug, mail, age.
type People<'a> = &'a [(&'a str, &'a str, Option<&'a str>, Option<i64>)];

const GOOD: People<'_> = &[("a", "a", Some("m"), Some(1)), ("b", "b", None, Some(150)), ("c", "c", None, Some(0))];

async fn batch(fixture: &Fixture, type_ref: &TypeRef, columns: &[(&str, Vec<Value>)]) -> RecordBatch {
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(type_ref).unwrap();
    let given: HashMap<&str, &Vec<Value>> = columns.iter().map(|(name, values)| (*name, values)).collect();
    let nothing = vec![Value::Null; columns[0].1.len()];
    let arrays = ty.columns().map(|name| {
        let text = PropertyType::Scalar(ScalarType::String);
        let ty = ty.property(name).map_or(&text, |p| &p.ty);
        array_from_values(ty, given.get(name).copied().unwrap_or(&nothing)).unwrap()
    });
    RecordBatch::try_new(logical_schema(ty), arrays.collect()).unwrap()
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Vec<Value> {
    values.map(|v| Value::String(v.into())).collect()
}

async fn people(fixture: &Fixture, rows: People<'_>) -> RecordBatch {
    let columns = [
        ("id", texts(rows.iter().map(|r| r.0))),
        ("slug", texts(rows.iter().map(|r| r.1))),
        ("mail", rows.iter().map(|r| r.2.map_or(Value::Null, |m| Value::String(m.into()))).collect()),
        ("age", rows.iter().map(|r| r.3.map_or(Value::Null, Value::I64)).collect()),
    ];
    batch(fixture, &person(), &columns).await
}

fn person() -> TypeRef {
    TypeRef::node("Person")
}

fn knows() -> TypeRef {
    TypeRef::edge("Knows")
}

/// A graph of these rows: people, and edges as id, from, to.
async fn graph(rows: People<'_>, edges: &[(&str, &str, &str)]) -> Fixture {
    let fixture = Fixture::new(SCHEMA).await;
    let batch_of_people = people(&fixture, rows).await;
    let mut tables = vec![(person(), fixture.append(&person(), vec![vec![batch_of_people]]).await)];
    if !edges.is_empty() {
        let columns = [
            ("id", texts(edges.iter().map(|e| e.0))),
            ("src", texts(edges.iter().map(|e| e.1))),
            ("dst", texts(edges.iter().map(|e| e.2))),
        ];
        let batch = batch(&fixture, &knows(), &columns).await;
        tables.push((knows(), fixture.append(&knows(), vec![vec![batch]]).await));
    }
    fixture.publish(&tables).await;
    fixture
}

/// Every problem as `invariant branch detail`.
async fn problems(fixture: &Fixture) -> Vec<String> {
    let report = verify(&fixture.core, &Nobody).await.unwrap();
    report.problems.into_iter().map(|p| format!("{} {} {}", p.invariant, p.branch, p.detail)).collect()
}

async fn only(fixture: &Fixture, start: &str, part: &str) {
    let found = problems(fixture).await;
    assert!(found.len() == 1 && found[0].starts_with(start) && found[0].contains(part), "{part}: {found:?}");
}

#[tokio::test]
async fn a_healthy_graph_is_clean_on_every_branch() {
    let fixture = graph(GOOD, &[("k", "a", "b"), ("l", "a", "a")]).await;
    let from = ReadSelector::default();
    branch::create::create(&fixture.core, "b/1", &from, &Actor::default()).await.unwrap();
    branch::create::create(&fixture.core, "gone", &from, &Actor::default()).await.unwrap();
    branch::delete::delete(&fixture.core, "gone", false, &Actor::default()).await.unwrap();
    fixture.delete(&knows(), &["l"]).await;
    let report = verify(&fixture.core, &Nobody).await.unwrap();
    assert_eq!(report.problems, Vec::new());
    assert_eq!((report.branches, report.tables, report.commits, report.pending), (2, 3, 3, 0));
    let empty = Fixture::new(SCHEMA).await;
    let report = verify(&empty.core, &Nobody).await.unwrap();
    assert_eq!((report.is_clean(), report.branches, report.tables, report.commits), (true, 1, 0, 1));
}

#[tokio::test]
async fn every_kind_of_wrong_row_is_found() {
    let ann =
        |rest: (&'static str, &'static str, Option<&'static str>, Option<i64>)| [("a", "a", Some("m"), Some(1)), rest];
    for (row, part) in [
        (("a", "a", None, Some(1)), "the id \"a\" is there more than once"),
        (("b", "x", None, Some(1)), "\"b\": the id does not follow from the key, which makes \"x\""),
        (("b", "b", Some("m"), Some(1)), "\"b\": another row has the same (mail)"),
        (("b", "b", None, None), "Person.age"),
        (("b", "b", None, Some(151)), "Person.age"),
        (("B", "B", None, Some(1)), "Person.slug"),
    ] {
        let fixture = graph(&ann(row), &[]).await;
        only(&fixture, "I4 main node:Person: ", part).await;
    }
    for (edge, part) in [
        (("l", "a", "z"), "\"l\": its dst \"z\" is no node:Person"),
        (("l", "z", "a"), "\"l\": its src \"z\" is no node:Person"),
        (("l", "a", "b"), "\"l\": another row has the same (src, dst)"),
        (("k", "b", "c"), "the id \"k\" is there more than once"),
    ] {
        let fixture = graph(GOOD, &[("k", "a", "b"), edge]).await;
        only(&fixture, "I4 main edge:Knows: ", part).await;
    }
    let fixture = graph(GOOD, &[("k", "a", "a"), ("l", "a", "b"), ("m", "a", "c")]).await;
    only(&fixture, "I4 main edge:Knows: ", "\"a\" has more than 2 edges").await;
}

#[tokio::test]
async fn too_few_edges_are_found_on_nodes_that_have_none() {
    let fixture = Fixture::new(&SCHEMA.replace("@card(0..2)", "@card(1..)")).await;
    let rows = people(&fixture, GOOD).await;
    let table = fixture.append(&person(), vec![vec![rows]]).await;
    let columns =
        [("id", texts(["k"].into_iter())), ("src", texts(["a"].into_iter())), ("dst", texts(["a"].into_iter()))];
    let edges = batch(&fixture, &knows(), &columns).await;
    let edges = fixture.append(&knows(), vec![vec![edges]]).await;
    fixture.publish(&[(person(), table), (knows(), edges)]).await;
    only(&fixture, "I4 main edge:Knows: ", "2 nodes of node:Person have fewer than 1 edges").await;
}

#[tokio::test]
async fn problems_that_branches_share_are_told_once_and_those_they_make_too() {
    let fixture = graph(GOOD, &[("k", "a", "z")]).await;
    branch::create::create(&fixture.core, "b", &ReadSelector::default(), &Actor::default()).await.unwrap();
    only(&fixture, "I4 main edge:Knows", "is no node:Person").await;
    // The edges stay as they are, but what they end at does not.
    let other = graph(GOOD, &[("k", "a", "b")]).await;
    branch::create::create(&other.core, "b", &ReadSelector::default(), &Actor::default()).await.unwrap();
    other.delete(&person(), &["b"]).await;
    only(&other, "I4 main edge:Knows", "its dst \"b\" is no node:Person").await;
}

#[tokio::test]
async fn wrong_pins_are_found() {
    let fixture = graph(GOOD, &[]).await;
    let at = fixture.table(&person()).await.at().clone();
    fixture.publish_pins(&[(person(), TableAt { version: at.version + 7, ..at.clone() }, 3)]).await;
    let found = problems(&fixture).await;
    assert!(
        found.iter().any(|p| p.starts_with("I1 main node:Person version") && p.contains("does not exist")),
        "{found:?}"
    );
    assert!(found.iter().all(|p| p.starts_with("I1")), "{found:?}");

    let fixture = graph(GOOD, &[]).await;
    let table = fixture.table(&person()).await;
    let after = fixture.commit(&table, NewRows::default(), GoneRows::default(), ours()).await;
    fixture.publish_pins(&[(person(), after.at().clone(), 4)]).await;
    only(&fixture, "I1 main node:Person", "recorded with 4 rows and has 3").await;
}

#[tokio::test]
async fn abandoned_versions_are_explained_and_foreign_ones_are_drift() {
    let fixture = graph(GOOD, &[]).await;
    let table = fixture.table(&person()).await;
    let ahead = fixture.commit(&table, NewRows::default(), GoneRows::everything(&table), ours()).await;
    assert_eq!(problems(&fixture).await, Vec::<String>::new());
    fixture.commit(&ahead, NewRows::default(), GoneRows::default(), HashMap::new()).await;
    only(&fixture, "I1 main drift: node:Person is published at version 2", "nothing explains version 4").await;
}

#[tokio::test]
async fn branch_documents_are_checked() {
    let fixture = graph(GOOD, &[]).await;
    let from = ReadSelector::default();
    branch::create::create(&fixture.core, "one", &from, &Actor::default()).await.unwrap();
    let log = fixture.core.store.log();
    let document = log.read(&paths::branch("one")).await.unwrap().unwrap();
    log.create_if_absent(&paths::branch("two"), document.bytes).await.unwrap();
    only(&fixture, "I6 two", "shares the line").await;
    log.delete(&paths::branch("two")).await.unwrap();
    log.create_if_absent(&paths::branch("three"), Bytes::from_static(b"{")).await.unwrap();
    only(&fixture, "I6 three", "damaged").await;
    log.delete(&paths::branch("three")).await.unwrap();
    let entry = crate::manifest::branches::read(&fixture.core.store, "one").await.unwrap().unwrap();
    let doc = crate::format::ref_json::RefDoc { lance_branch: fixture.core.fresh_id(), ..entry.doc };
    let bytes = crate::format::ref_json::encode(&doc).unwrap();
    log.create_if_absent(&paths::branch("lost"), bytes).await.unwrap();
    only(&fixture, "I6 lost", "lineage is gone").await;
}

#[tokio::test]
async fn intents_are_counted_and_unreadable_ones_reported() {
    let fixture = graph(GOOD, &[]).await;
    let log = fixture.core.store.log();
    let intent = intent_json::sample();
    let bytes = intent_json::encode(&intent).unwrap();
    log.create_if_absent(&paths::intent(&intent.claim_id()), bytes.clone()).await.unwrap();
    let report = verify(&fixture.core, &Nobody).await.unwrap();
    assert_eq!((report.pending, report.problems), (1, Vec::new()));
    log.create_if_absent(&paths::intent("01ARZ3NDEKTSV4RRFFQ69G5FAV"), bytes).await.unwrap();
    only(&fixture, "I7 ", "does not belong under its name").await;
}

#[tokio::test]
async fn blobs_count_for_required_values_without_being_read() {
    let fixture = Fixture::new(&SCHEMA.replace("photo: Blob?", "photo: Blob")).await;
    let rows = people(&fixture, GOOD).await;
    let table = fixture.append(&person(), vec![vec![rows]]).await;
    fixture.publish(&[(person(), table)]).await;
    only(&fixture, "I4 main node:Person", "3 rows lack the required photo").await;
    let request = read::scan::ScanRequest {
        type_ref: person(),
        columns: vec!["photo".into()],
        predicate: None,
        order: Vec::new(),
        limit: None,
    };
    let rows = read::scan::scan(&fixture.core, &fixture.snapshot().await, &request, None).await.unwrap();
    assert_eq!(Fixture::rows(rows.batches).await.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
}

#[tokio::test]
async fn tags_of_what_is_not_there_are_found() {
    let fixture = graph(GOOD, &[]).await;
    let at = ReadSelector::default();
    let tag = history::tags::create(&fixture.core, "v1", &at, "", &Actor::default()).await.unwrap();
    assert_eq!(problems(&fixture).await, Vec::<String>::new());
    let good = tags::live(&fixture.core.store, "v1").await.unwrap();
    let gone = TagDoc { manifest_version: 99, ..good.doc.clone() };
    tags::replace(&fixture.core.store, &good, &gone).await.unwrap();
    only(&fixture, "I6 main tag \"v1\": version 99", "is gone").await;
    let now = tags::live(&fixture.core.store, "v1").await.unwrap();
    let other = TagDoc { manifest_version: 1, ..good.doc.clone() };
    tags::replace(&fixture.core.store, &now, &other).await.unwrap();
    only(&fixture, "I6 main tag \"v1\": it names commit", &tag.commit).await;
    history::tags::delete(&fixture.core, "v1").await.unwrap();
    assert_eq!(problems(&fixture).await, Vec::<String>::new());
    fixture.core.store.log().create_if_absent(&paths::tag("x/y"), Bytes::from_static(b"{")).await.unwrap();
    only(&fixture, "I6  tag \"x/y\": ", "_refs/tags/x%2Fy.json is unreadable").await;
}
