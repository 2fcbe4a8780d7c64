//! Blobs of every size the store treats differently, read every way.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::TryStreamExt;

use super::Fixture;
use crate::data::entity_at;
use crate::limits;
use crate::model::{Entity, OrderBy, Predicate, TypeRef, Value};
use crate::read::export::export;
use crate::read::get::{by_ids, by_predicate};
use crate::read::scan::{ScanRequest, scan};

const PHOTOS: &str = "node Photo { slug: String @key rank: I64? raw: Blob? thumb: Blob? }";

fn bytes(size: usize, seed: u8) -> Bytes {
    (0..size).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Null, empty, and every size class the store treats differently.
fn contents() -> BTreeMap<String, (Value, Value)> {
    let value = |size: usize, seed| Value::Bytes(bytes(size, seed));
    let mut all = BTreeMap::new();
    for n in 0..40_u8 {
        let raw = match n % 5 {
            0 => Value::Null,
            1 => value(0, n),
            2 => value(100 + usize::from(n), n),
            3 => value(100_000 + usize::from(n), n),
            _ => value(usize::from(n) * 10, n),
        };
        let thumb = if n % 2 == 0 { value(usize::from(n), n) } else { Value::Null };
        all.insert(format!("p{n:02}"), (raw, thumb));
    }
    all.insert("big1".into(), (value(5 << 20, 1), Value::Null));
    all.insert("big2".into(), (value(6 << 20, 2), value(1, 3)));
    all
}

async fn photos(contents: &BTreeMap<String, (Value, Value)>) -> Fixture {
    let fixture = Fixture::new(PHOTOS).await;
    let ty = TypeRef::node("Photo");
    let snapshot = fixture.snapshot().await;
    let declared = snapshot.ty(&ty).unwrap();
    let schema = crate::format::arrow::logical_schema(declared);
    let mut parts = Vec::new();
    for half in [0, 1] {
        let rows: Vec<_> = contents.iter().skip(half).step_by(2).collect();
        let texts: Vec<Value> = rows.iter().map(|(id, _)| Value::String(id.to_string())).collect();
        let column = |name: &str, values: Vec<Value>| {
            crate::data::array_from_values(&declared.property(name).unwrap().ty, &values).unwrap()
        };
        let columns = vec![
            column("slug", texts.clone()),
            column("slug", texts),
            column("rank", (0..rows.len()).map(|n| Value::I64(n as i64 % 7)).collect()),
            column("raw", rows.iter().map(|(_, v)| v.0.clone()).collect()),
            column("thumb", rows.iter().map(|(_, v)| v.1.clone()).collect()),
        ];
        parts.push(vec![arrow_array::RecordBatch::try_new(schema.clone(), columns).unwrap()]);
    }
    let table = fixture.append(&ty, parts).await;
    fixture.publish(&[(ty, table)]).await;
    fixture
}

fn check(found: &[Entity], contents: &BTreeMap<String, (Value, Value)>) {
    for entity in found {
        let (raw, thumb) = &contents[&entity.id];
        assert!(entity.properties["raw"] == *raw, "raw of {}", entity.id);
        assert!(entity.properties["thumb"] == *thumb, "thumb of {}", entity.id);
    }
}

async fn read(fixture: &Fixture, request: &ScanRequest) -> Vec<Entity> {
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(&request.type_ref).unwrap();
    let rows = scan(&fixture.core, &snapshot, request, None).await.unwrap();
    let mut out = Vec::new();
    for batch in Fixture::rows(rows.batches).await {
        assert_eq!(batch.schema(), rows.schema);
        let held = batch.column_by_name("raw").unwrap().to_data().get_slice_memory_size().unwrap();
        assert!(batch.num_rows() == 1 || held < 2 * limits::SCAN_BATCH_BYTES, "{held}");
        out.extend((0..batch.num_rows()).map(|row| entity_at(ty, &batch, row).unwrap()));
    }
    out
}

fn request() -> ScanRequest {
    ScanRequest {
        type_ref: TypeRef::node("Photo"),
        columns: Vec::new(),
        predicate: None,
        order: Vec::new(),
        limit: None,
    }
}

#[tokio::test]
async fn scans_and_takes_return_bytes_and_tell_null_from_empty() {
    let contents = contents();
    let fixture = photos(&contents).await;
    let found = read(&fixture, &request()).await;
    assert_eq!(found.len(), contents.len());
    check(&found, &contents);

    let mut ordered = request();
    ordered.order = vec![OrderBy { property: "rank".into(), descending: true }];
    ordered.limit = Some(20);
    let found = read(&fixture, &ordered).await;
    assert_eq!(found.len(), 20);
    assert!(found.is_sorted_by_key(|e| match e.properties["rank"] {
        Value::I64(rank) => -rank,
        _ => 1,
    }));
    check(&found, &contents);

    let (snapshot, ty) = (fixture.snapshot().await, TypeRef::node("Photo"));
    let mut ids: Vec<String> = contents.keys().rev().cloned().collect();
    ids.swap(3, 9);
    let found = by_ids(&fixture.core, &snapshot, &ty, &ids).await.unwrap();
    assert_eq!(found.iter().map(|e| e.id.clone()).collect::<Vec<_>>(), ids);
    check(&found, &contents);
    let page = by_predicate(&fixture.core, &snapshot, &ty, None, Some("p03"), 5).await.unwrap();
    assert_eq!(page.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["p04", "p05", "p06", "p07", "p08"]);
    check(&page, &contents);
}

#[tokio::test]
async fn predicates_tell_null_blobs_from_empty_ones() {
    let contents = contents();
    let fixture = photos(&contents).await;
    let null = Predicate::IsNull { property: "raw".into() };
    let mut nulls = request();
    nulls.predicate = Some(null.clone());
    let expected = contents.values().filter(|v| v.0.is_null()).count();
    let found = read(&fixture, &nulls).await;
    assert_eq!(found.len(), expected);
    check(&found, &contents);
    nulls.predicate = Some(Predicate::Not(Box::new(null)));
    nulls.columns = vec!["raw".into(), "id".into()];
    let found = read(&fixture, &nulls).await;
    assert_eq!(found.len(), contents.len() - expected);
    assert!(found.iter().all(|e| e.properties["raw"] == contents[&e.id].0));
    let table = fixture.table(&TypeRef::node("Photo")).await;
    let counted = table.count(Some(crate::store::lance::filter::is_null("raw"))).await.unwrap();
    assert_eq!(counted, expected as u64);
}

#[tokio::test]
async fn blobs_survive_deletions_and_an_export() {
    let contents = contents();
    let fixture = photos(&contents).await;
    let ty = TypeRef::node("Photo");
    fixture.delete(&ty, &["big1", "p00", "p07", "p13"]).await;
    let found = read(&fixture, &request()).await;
    assert_eq!(found.len(), contents.len() - 4);
    check(&found, &contents);
    let snapshot = fixture.snapshot().await;
    let found = by_ids(&fixture.core, &snapshot, &ty, &["p07".into(), "p14".into(), "p06".into()]).await.unwrap();
    assert_eq!(found.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["p14", "p06"]);
    check(&found, &contents);
    let chunks: Vec<Bytes> = export(fixture.core.clone(), snapshot).try_collect().await.unwrap();
    let other = Fixture::new(PHOTOS).await;
    other.add(&[String::from_utf8(chunks.concat()).unwrap()]).await;
    let found = read(&other, &request()).await;
    assert_eq!(found.len(), contents.len() - 4);
    check(&found, &contents);
}
