//! Entities by id and by page, and exports.

use std::collections::BTreeMap;
use std::io::Cursor;

use futures::TryStreamExt;
use serde_json::json;

use super::{Fixture, company, edge, people, person};
use crate::data::{Compression, Input, InputFormat, Source, decode, write_rows};
use crate::error::Reason;
use crate::limits;
use crate::model::{CompareOp, Predicate, TypeRef, Value};
use crate::read::export::export;
use crate::read::get::{by_ids, by_predicate};

fn names(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn entities_come_in_the_order_asked_for_without_the_missing() {
    let texts = [person("a", json!({"age": 1})) + &person("b", json!({})), person("c", json!({"age": 3}))];
    let fixture = people(&texts).await;
    let (snapshot, ty) = (fixture.snapshot().await, TypeRef::node("Person"));
    let found = by_ids(&fixture.core, &snapshot, &ty, &names(&["c", "x", "a", "c", ""])).await.unwrap();
    assert_eq!(found.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["c", "a", "c"]);
    assert_eq!(found[0].properties["age"], Value::I64(3));
    assert_eq!(found[1].properties["role"], Value::Null);
    assert!(by_ids(&fixture.core, &snapshot, &ty, &[]).await.unwrap().is_empty());
    let none = by_ids(&fixture.core, &snapshot, &TypeRef::node("Company"), &names(&["a"])).await.unwrap();
    assert!(none.is_empty());
    let unknown = by_ids(&fixture.core, &snapshot, &TypeRef::node("Perso"), &names(&["a"])).await.unwrap_err();
    assert_eq!(unknown.reason(), Reason::TypeNotFound);
}

#[tokio::test]
async fn old_snapshots_show_what_was_deleted_since_and_new_ones_do_not() {
    let text: String = ["a", "b", "c"].iter().map(|c| company(c)).collect();
    let fixture = people(&[text]).await;
    let ty = TypeRef::node("Company");
    let ids = names(&["a", "b", "c", "d"]);
    let old = fixture.snapshot().await;
    let count = async |snapshot| by_ids(&fixture.core, snapshot, &ty, &ids).await.unwrap().len();
    assert_eq!(count(&old).await, 3);
    fixture.delete(&ty, &["b"]).await;
    fixture.add(&[company("d")]).await;
    let new = fixture.snapshot().await;
    assert_eq!(count(&new).await, 3);
    assert_eq!(count(&old).await, 3);
    assert_eq!(count(&new).await, 3);
    let found = by_ids(&fixture.core, &old, &ty, &ids).await.unwrap();
    assert_eq!(found.into_iter().map(|e| e.id).collect::<String>(), "abc");
}

#[tokio::test]
async fn an_index_that_goes_back_and_on_again_forgets_nothing() {
    let text: String = ["a", "b", "c"].iter().map(|c| company(c)).collect();
    let fixture = people(&[text]).await;
    let ty = TypeRef::node("Company");
    let old = fixture.table(&ty).await;
    fixture.delete(&ty, &["b"]).await;
    let new = fixture.table(&ty).await;
    let index = fixture.core.key_index(&new, &["id".to_string()]);
    let mut index = index.lock().await;
    for (table, count) in [(&new, 2), (&old, 3), (&new, 2), (&old, 3)] {
        index.follow(table).await.unwrap();
        assert_eq!(index.len(), count);
    }
}

#[tokio::test]
async fn pages_by_id_meet_every_match_once() {
    let people_of = |from: u32| -> String {
        (from..from + 10).map(|n| person(&format!("p{n:02}"), json!({"age": n % 3}))).collect()
    };
    let fixture = people(&[people_of(10), people_of(0)]).await;
    let (snapshot, ty) = (fixture.snapshot().await, TypeRef::node("Person"));
    let wanted = Predicate::Compare { property: "age".into(), op: CompareOp::Eq, value: Value::I64(1) };
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = by_predicate(&fixture.core, &snapshot, &ty, Some(&wanted), after.as_deref(), 3).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 3 && page.iter().all(|e| e.properties["age"] == Value::I64(1)));
        after = Some(last.id.clone());
        all.extend(page.into_iter().map(|e| e.id));
    }
    assert_eq!(all, ["p01", "p04", "p07", "p10", "p13", "p16", "p19"]);
    let first = by_predicate(&fixture.core, &snapshot, &ty, None, None, usize::MAX).await.unwrap();
    assert_eq!(first.len(), 20);
    assert!(by_predicate(&fixture.core, &snapshot, &ty, None, Some("p19"), 5).await.unwrap().is_empty());
    assert!(by_predicate(&fixture.core, &snapshot, &ty, None, None, 0).await.unwrap().is_empty());
    let wrong = Predicate::IsNull { property: "nope".into() };
    let refused = by_predicate(&fixture.core, &snapshot, &ty, Some(&wrong), None, 0).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::PropertyNotFound);
}

#[tokio::test]
async fn an_export_is_what_was_put_in_nodes_first_in_chunks_of_lines() {
    let nodes: String = (0..9_000).map(|n| person(&format!("p{n:05}"), json!({"repoName": "x".repeat(400)}))).collect();
    let edges = edge("Knows", "k1", "p00000", "p00001") + &edge("WorksAt", "w1", "p00000", "c");
    let fixture = people(&[edges + &company("c"), nodes]).await;
    let chunks: Vec<bytes::Bytes> = export(fixture.core.clone(), fixture.snapshot().await).try_collect().await.unwrap();
    assert!(chunks.len() >= 3, "{}", chunks.len());
    for chunk in &chunks {
        assert!(chunk.ends_with(b"\n") && chunk.len() < 2 * limits::EXPORT_CHUNK_BYTES, "{}", chunk.len());
    }
    let text = String::from_utf8(chunks.concat()).unwrap();
    assert_eq!(text.lines().count(), 9_003);
    let first_edge = text.lines().position(|line| line.starts_with("{\"edge\":")).unwrap();
    assert!(text.lines().skip(first_edge).all(|line| line.starts_with("{\"edge\":")));
    let schema = fixture.snapshot().await.schema;
    let input = Input {
        source: Source::stream(Cursor::new(text.clone().into_bytes())),
        format: InputFormat::Jsonl,
        compression: Compression::None,
        type_ref: None,
    };
    let mut again: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    decode(input, schema.clone(), &mut || panic!("every id is in the export"), &mut |batch| {
        let at = schema.types.iter().position(|t| t.type_ref() == batch.type_ref).unwrap();
        write_rows(&schema.types[at], &batch.batch, again.entry(at).or_default())
    })
    .unwrap();
    assert_eq!(String::from_utf8(again.into_values().flatten().collect()).unwrap(), text);
}

#[tokio::test]
async fn an_empty_graph_exports_nothing() {
    let fixture = Fixture::new(super::PEOPLE).await;
    let chunks: Vec<bytes::Bytes> = export(fixture.core.clone(), fixture.snapshot().await).try_collect().await.unwrap();
    assert!(chunks.is_empty());
}
