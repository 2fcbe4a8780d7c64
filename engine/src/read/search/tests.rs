//! Searches over small stored graphs, and how two rankings become one.

use serde_json::{Value as Json, json};

use super::*;
use crate::data::entity_at;
use crate::model::{CompareOp, Value};
use crate::read::fixture::Fixture;

const SHOP: &str = r#"
    node Item {
        slug: String @key
        name: String?
        bio: String?
        price: I32?
        tags: [String]?
        face: Vector(2)?
        photo: Blob?
    }
    node Point { at: Vector(3)? }
    edge Like: Item -> Item { why: String? }
"#;

fn item(slug: &str, mut data: Json) -> String {
    data["slug"] = slug.into();
    format!("{}\n", json!({"type": "Item", "data": data}))
}

fn request() -> SearchRequest {
    SearchRequest {
        type_ref: TypeRef::node("Item"),
        vector: None,
        text: None,
        filter: None,
        columns: Vec::new(),
        limit: 10,
    }
}

fn near(query: [f32; 2], metric: Metric) -> SearchRequest {
    let vector = VectorQuery { property: "face".into(), query: query.to_vec(), metric: Some(metric) };
    SearchRequest { vector: Some(vector), ..request() }
}

fn about(query: &str, properties: &[&str]) -> SearchRequest {
    let properties = properties.iter().map(ToString::to_string).collect();
    SearchRequest { text: Some(TextQuery { properties, query: query.into() }), ..request() }
}

/// Ids with a rank, in order.
async fn found(fixture: &Fixture, request: &SearchRequest, rank: &str) -> Vec<(String, Option<f64>)> {
    let rows = search(&fixture.core, &fixture.snapshot().await, request).await.unwrap();
    let mut out = Vec::new();
    for batch in Fixture::rows(rows.batches).await {
        assert_eq!(batch.schema(), rows.schema);
        let ids = batch.column_by_name(ID).unwrap().as_string::<i32>().clone();
        let ranks = arrow_cast::cast(batch.column_by_name(rank).unwrap(), &DataType::Float64).unwrap();
        let ranks = ranks.as_primitive::<arrow_array::types::Float64Type>().clone();
        out.extend(ids.iter().map(|id| id.unwrap().to_string()).zip(ranks.iter()));
    }
    out
}

async fn ids(fixture: &Fixture, request: &SearchRequest, rank: &str) -> String {
    found(fixture, request, rank).await.into_iter().map(|(id, _)| id).collect()
}

fn refused(snapshot: &Snapshot, request: &SearchRequest, reason: Reason, part: &str) {
    let error = schema(snapshot, request).unwrap_err();
    assert_eq!(error.reason(), reason, "{error}");
    assert!(error.message().contains(part), "{error}");
}

async fn shop() -> Fixture {
    let fixture = Fixture::new(SHOP).await;
    let first = item("e", json!({"face": [1, 0], "bio": "A red cat.", "price": 5}))
        + &item("d", json!({"face": [0, 2], "bio": "Red cats and red dogs", "price": 1}))
        + &item("c", json!({"bio": "Nothing of the kind", "price": 2}));
    let second = item("b", json!({"face": [3, 0], "name": "Cat", "price": 3}))
        + &item("a", json!({"face": [-1, 0], "bio": "a RED cat!", "price": 4}));
    fixture.add(&[first, second]).await;
    fixture
}

#[tokio::test]
async fn vectors_are_ranked_by_each_metric_and_ties_by_id() {
    let fixture = shop().await;
    let rank = |pairs: &[(&str, f64)]| pairs.iter().map(|(id, rank)| (id.to_string(), Some(*rank))).collect::<Vec<_>>();
    for (metric, expected) in [
        (Metric::Cosine, [("b", 0.0), ("e", 0.0), ("d", 1.0), ("a", 2.0)]),
        (Metric::L2, [("e", 0.0), ("a", 4.0), ("b", 4.0), ("d", 5.0)]),
        (Metric::Dot, [("b", -2.0), ("e", 0.0), ("d", 1.0), ("a", 2.0)]),
    ] {
        assert_eq!(found(&fixture, &near([1.0, 0.0], metric), DISTANCE).await, rank(&expected), "{metric:?}");
    }
    let by_l2 = SearchRequest { limit: 2, ..near([1.0, 0.0], Metric::L2) };
    assert_eq!(ids(&fixture, &by_l2, DISTANCE).await, "ea", "of two as near the first id");
    let cheap = Predicate::Compare { property: "price".into(), op: CompareOp::Ge, value: Value::I64(4) };
    let filtered = SearchRequest { limit: 1, filter: Some(cheap), ..near([3.0, 0.0], Metric::Cosine) };
    assert_eq!(ids(&fixture, &filtered, DISTANCE).await, "e", "the filter holds before rows are chosen");
}

#[tokio::test]
async fn texts_are_ranked_by_their_words() {
    let fixture = shop().await;
    let all = found(&fixture, &about("red cat", &["bio"]), SCORE).await;
    let order: String = all.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(order, "aed", "the shorter say it as loudly, and of those the first id comes first");
    assert_eq!(all[0].1, all[1].1);
    // Four texts: two have 2 words, one 4 (`and` is none), one 2 (`of` and `the` are none); 3 have each word.
    let corpus = crate::model::rank::Corpus { texts: 4, words: 10 };
    let expected = corpus.score(3, 1, 2) + corpus.score(3, 1, 2);
    assert_eq!(all[0].1, Some(f64::from(expected as f32)));
    assert_eq!(ids(&fixture, &about("CATS?", &["bio", "name"]), SCORE).await.len(), 4);
    assert_eq!(ids(&fixture, &about("the of", &["bio"]), SCORE).await, "", "frequent words are none");
    assert_eq!(ids(&fixture, &about("zebra", &[]), SCORE).await, "");
    let cheap = Predicate::Compare { property: "price".into(), op: CompareOp::Lt, value: Value::I64(4) };
    let filtered = SearchRequest { filter: Some(cheap), ..about("red", &["bio"]) };
    let one = found(&fixture, &filtered, SCORE).await;
    assert_eq!(one.len(), 1);
    let whole = found(&fixture, &about("red", &["bio"]), SCORE).await;
    assert!(whole.contains(&one[0]), "a filter does not change what a word is worth");
}

#[tokio::test]
async fn both_rankings_together_have_a_relevance() {
    let fixture = shop().await;
    let both = SearchRequest { text: about("cat", &["bio"]).text, ..near([1.0, 0.0], Metric::L2) };
    // By distance e a b d; by words a e d, since a and e are as short.
    let hits = found(&fixture, &both, RELEVANCE).await;
    let order: String = hits.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(order, "aedb");
    assert_eq!(hits[0].1, Some(1.0 / 62.0 + 1.0 / 61.0));
    assert_eq!(hits[1].1, hits[0].1, "first and second is as good as second and first");
    assert_eq!(hits[3].1, Some(1.0 / 63.0));
    let scores = found(&fixture, &both, SCORE).await;
    assert_eq!(scores[3], ("b".to_string(), None), "its text has no cat");
}

#[tokio::test]
async fn hits_are_whole_entities_or_the_columns_asked_for() {
    let fixture = shop().await;
    fixture.add(&[item("z", json!({"face": [9, 9], "photo": "base64:AP8=", "tags": ["x", null]}))]).await;
    let snapshot = fixture.snapshot().await;
    let ty = snapshot.ty(&TypeRef::node("Item")).unwrap();
    let nearest = SearchRequest { limit: 1, ..near([9.0, 9.0], Metric::L2) };
    let rows = search(&fixture.core, &snapshot, &nearest).await.unwrap();
    let batch = &Fixture::rows(rows.batches).await[0];
    let entity = entity_at(ty, batch, 0).unwrap();
    assert_eq!(entity.id, "z");
    assert_eq!(entity.properties["photo"], Value::Bytes(vec![0_u8, 255].into()));
    let columns = ["price", "name"].map(String::from).to_vec();
    let some = SearchRequest { columns, ..about("cat", &["name"]) };
    let rows = search(&fixture.core, &snapshot, &some).await.unwrap();
    let names: Vec<&str> = rows.schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["price", "name", SCORE]);
    assert_eq!(Fixture::rows(rows.batches).await[0].num_rows(), 1);
    let likes = SearchRequest { type_ref: TypeRef::edge("like"), ..about("x", &["why"]) };
    assert!(Fixture::rows(search(&fixture.core, &snapshot, &likes).await.unwrap().batches).await.is_empty());
}

#[tokio::test]
async fn wrong_questions_are_refused_with_a_remedy() {
    use Reason::{InvalidArgument, LimitExceeded, PropertyNotFound, TypeMismatch, TypeNotFound};
    let fixture = shop().await;
    let snapshot = fixture.snapshot().await;
    let vector = |property: &str, query: &[f32]| {
        let vector = VectorQuery { property: property.into(), query: query.to_vec(), metric: None };
        SearchRequest { vector: Some(vector), ..request() }
    };
    for (request, reason, part) in [
        (vector("face", &[1.0]), TypeMismatch, "2 numbers"),
        (vector("face", &[1.0, f32::NAN]), TypeMismatch, "number 1"),
        (vector("face", &[f32::INFINITY, 0.0]), TypeMismatch, "number 0"),
        (vector("face", &[0.0, 0.0]), InvalidArgument, "l2 or dot"),
        (vector("fase", &[1.0, 0.0]), PropertyNotFound, "did you mean \"face\"?"),
        (vector("bio", &[1.0, 0.0]), InvalidArgument, "no vectors"),
        (about("x", &["bo"]), PropertyNotFound, "did you mean \"bio\"?"),
        (about("x", &["face"]), InvalidArgument, "no texts"),
        (about("x", &["tags"]), InvalidArgument, "no texts"),
        (about("x", &["bio", "bio"]), InvalidArgument, "twice"),
        (about(" \n", &["bio"]), InvalidArgument, "some words"),
        (about(&"x".repeat(limits::MAX_SEARCH_TEXT_BYTES + 1), &[]), LimitExceeded, "fewer words"),
        (request(), InvalidArgument, "for a vector, for words, or for both"),
        (SearchRequest { limit: 0, ..about("x", &[]) }, InvalidArgument, "1 to 10000"),
        (SearchRequest { limit: limits::MAX_SEARCH_RESULTS + 1, ..about("x", &[]) }, LimitExceeded, "10000"),
        (SearchRequest { columns: vec!["nope".into()], ..about("x", &[]) }, PropertyNotFound, "nope"),
        (SearchRequest { type_ref: TypeRef::node("Itm"), ..about("x", &[]) }, TypeNotFound, "Item"),
        (SearchRequest { type_ref: TypeRef::node("Point"), ..about("x", &[]) }, InvalidArgument, "no property"),
    ] {
        refused(&snapshot, &request, reason, part);
    }
    // Without a choice, a text is looked for in all texts.
    let usual = check_text(snapshot.ty(&TypeRef::node("Item")).unwrap(), about("x", &[]).text.as_ref().unwrap());
    assert_eq!(usual.unwrap(), ["slug", "name", "bio"]);
}

#[test]
fn a_row_of_one_ranking_counts_once_and_ties_go_by_id() {
    let row = |id: &str, address, value| Found { id: id.into(), address, value };
    let near = vec![row("b", 1, 0.1), row("c", 2, 0.2)];
    let said = vec![row("a", 3, 9.0), row("c", 2, 8.0)];
    let hits = combine(near.clone(), said, true, 10);
    let order: String = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(order, "cab");
    assert_eq!((hits[1].distance, hits[1].score), (None, Some(9.0)));
    let alone = combine(near, Vec::new(), false, 1);
    assert_eq!((alone.len(), alone[0].relevance, alone[0].distance), (1, None, Some(0.1)));
}
