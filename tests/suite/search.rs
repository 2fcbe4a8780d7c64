//! Search: that hits are those that follow from the rows, in the same order every time, through the engine, a server
//! and Flight alike, and that indexes change nothing but speed.

use std::collections::{BTreeMap, HashSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use futures::TryStreamExt;
use omnigraph_client::{Client, ErrorReason, IndexMetric, LoadSource, node, prop};
use omnigraph_engine::model::{
    Actor, Change, CompareOp, EdgePolicy, LoadMode, Metric, Predicate, ReadSelector, Target, TypeRef, Value,
    WriteOptions,
};
use omnigraph_engine::read::search::{SearchRequest, TextQuery, VectorQuery};
use omnigraph_engine::{Access, Graph, Reason};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{engine, graph, head, load, memory_root};
use serde_json::{Value as Json, json};

const SHOP: &str = r#"
node Item {
    slug: String @key
    name: String? @index(kind="text")
    bio: String? @index(kind="text")
    note: String?
    price: I32? @index
    face: Vector(2)?
    shape: Vector(16)? @index(metric="l2")
}
edge Like: Item -> Item { why: String? }
"#;

/// A hit: id, distance, score, relevance.
type Row = (String, Option<f32>, Option<f32>, Option<f64>);

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

fn near(property: &str, query: &[f32], metric: Option<Metric>) -> SearchRequest {
    let vector = VectorQuery { property: property.into(), query: query.to_vec(), metric };
    SearchRequest { vector: Some(vector), ..request() }
}

fn about(query: &str, properties: &[&str]) -> SearchRequest {
    let properties = properties.iter().map(ToString::to_string).collect();
    SearchRequest { text: Some(TextQuery { properties, query: query.into() }), ..request() }
}

fn compare(property: &str, op: CompareOp, value: i64) -> Predicate {
    Predicate::Compare { property: property.into(), op, value: Value::I64(value) }
}

fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let single = |batch: &RecordBatch, name: &str, row: usize| {
        batch.column_by_name(name).and_then(|c| c.as_primitive::<Float32Type>().iter().nth(row).flatten())
    };
    let double = |batch: &RecordBatch, name: &str, row: usize| {
        batch.column_by_name(name).and_then(|c| c.as_primitive::<Float64Type>().iter().nth(row).flatten())
    };
    let mut out = Vec::new();
    for batch in batches {
        let ids = batch.column_by_name("id").unwrap().as_string::<i32>();
        for (row, id) in ids.iter().enumerate() {
            let id = id.unwrap().to_string();
            out.push((
                id,
                single(batch, "_distance", row),
                single(batch, "_score", row),
                double(batch, "_relevance", row),
            ));
        }
    }
    out
}

async fn hits(graph: &Graph, at: &ReadSelector, request: &SearchRequest) -> Vec<Row> {
    let snapshot = graph.snapshot(at).await.unwrap();
    let found = graph.search(&snapshot, request).await.unwrap();
    rows(&found.batches.try_collect::<Vec<_>>().await.unwrap())
}

fn ids(hits: &[Row]) -> Vec<&str> {
    hits.iter().map(|hit| hit.0.as_str()).collect()
}

/// The same question for a server. Filters are left out.
fn ask(graph: &omnigraph_client::Graph, request: &SearchRequest) -> omnigraph_client::Search {
    let mut search = graph.search("Item").limit(u32::try_from(request.limit).unwrap());
    if let Some(vector) = &request.vector {
        search = search.nearest(&vector.property, vector.query.clone());
        search = match vector.metric {
            None => search,
            Some(Metric::Cosine) => search.metric(IndexMetric::Cosine),
            Some(Metric::L2) => search.metric(IndexMetric::L2),
            Some(Metric::Dot) => search.metric(IndexMetric::Dot),
        };
    }
    match &request.text {
        Some(text) => search.text(&text.query).within(&text.properties),
        None => search,
    }
}

/// A server over a store in memory, its graph of the shop, and the engine on the same files.
async fn served() -> (Running, omnigraph_client::Graph, Graph) {
    let server = Server::bind(Config::new(memory_root("search"))).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("shop", SHOP).await.unwrap();
    let remote = client.graph("shop");
    let text = item("e", json!({"face": [1, 0], "bio": "A red cat.", "price": 5}))
        + &item("d", json!({"face": [0, 2], "bio": "Red cats and red dogs", "price": 1}))
        + &item("c", json!({"bio": "Nothing of the kind", "price": 2}))
        + &item("b", json!({"face": [3, 0], "name": "Cat", "price": 3}))
        + &item("a", json!({"face": [-1, 0], "bio": "a RED cat!", "price": 4}));
    remote.load(LoadSource::from(text)).send().await.unwrap();
    let root = remote.info().await.unwrap().root_uri;
    let local = engine().open(&root, Access::ReadWrite).await.unwrap();
    (server, remote, local)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_the_service_and_flight_give_the_same_hits() {
    let (server, remote, local) = served().await;
    let face = |metric| near("face", &[1.0, 0.0], metric);
    let both = SearchRequest { text: about("cat", &["bio"]).text, ..face(Some(Metric::L2)) };
    for (request, expected) in [
        (face(None), vec![("b", 0.0), ("e", 0.0), ("d", 1.0), ("a", 2.0)]),
        (face(Some(Metric::L2)), vec![("e", 0.0), ("a", 4.0), ("b", 4.0), ("d", 5.0)]),
        (face(Some(Metric::Dot)), vec![("b", -2.0), ("e", 0.0), ("d", 1.0), ("a", 2.0)]),
        (SearchRequest { limit: 2, ..face(Some(Metric::L2)) }, vec![("e", 0.0), ("a", 4.0)]),
    ] {
        let found = hits(&local, &head("main"), &request).await;
        let expected: Vec<Row> = expected.iter().map(|(id, d)| (id.to_string(), Some(*d), None, None)).collect();
        assert_eq!(found, expected, "{request:?}");
    }
    assert_eq!(ids(&hits(&local, &head("main"), &about("red cats", &["bio"])).await), ["a", "e", "d"]);
    assert_eq!(ids(&hits(&local, &head("main"), &about("cat", &[])).await), ["a", "e", "b", "d"]);
    let fused = hits(&local, &head("main"), &both).await;
    assert_eq!(ids(&fused), ["a", "e", "d", "b"]);
    assert_eq!(fused[0].3, Some(1.0 / 62.0 + 1.0 / 61.0));
    assert_eq!(fused[3], ("b".to_string(), Some(4.0), None, Some(1.0 / 63.0)));
    for request in [face(None), face(Some(Metric::L2)), about("red cats", &["bio"]), about("CAT", &[]), both] {
        let expected = hits(&local, &head("main"), &request).await;
        let answer = ask(&remote, &request).send().await.unwrap();
        let sent: Vec<Row> =
            answer.hits.iter().map(|hit| (hit.entity.id.clone(), hit.distance, hit.score, hit.relevance)).collect();
        assert_eq!(sent, expected, "{request:?}");
        assert!(!answer.truncated && answer.read.branch == "main");
        assert!(answer.hits.iter().all(|hit| hit.entity.get("price").is_some()));
        let flown = ask(&remote, &request).batches().await.unwrap().collect_all().await.unwrap();
        assert_eq!(rows(&flown), expected, "{request:?}");
    }
    let some = ask(&remote, &about("cat", &["bio"])).properties(["bio"]).filter(prop("price").ge(4));
    let answer = some.clone().send().await.unwrap();
    assert_eq!(answer.hits.iter().map(|hit| hit.entity.id.as_str()).collect::<Vec<_>>(), ["a", "e"]);
    assert_eq!(answer.hits[0].entity.properties.keys().collect::<Vec<_>>(), ["bio"]);
    let flown = some.batches().await.unwrap();
    let names: Vec<String> = flown.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["id", "bio", "_score"]);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_see_the_version_they_name() {
    let (server, remote, local) = served().await;
    let before = remote.branch("main").await.unwrap().head.id;
    remote.create_branch("review", omnigraph_client::Selector::default()).await.unwrap();
    let change = remote.mutate().branch("review").upsert(node("Item").set("slug", "e").set("bio", "a blue whale"));
    let written = change.upsert(node("Item").set("slug", "z").set("bio", "one more cat")).send().await.unwrap();
    let found = |search: omnigraph_client::Search| async move {
        let answer = search.send().await.unwrap();
        answer.hits.into_iter().map(|hit| hit.entity.id).collect::<Vec<String>>()
    };
    let cats = || remote.search("Item").text("cats").within(["bio"]);
    assert_eq!(found(cats()).await, ["a", "e", "d"]);
    assert_eq!(found(cats().branch("review")).await, ["a", "z", "d"]);
    assert_eq!(found(cats().at_least(&written)).await, ["a", "z", "d"]);
    assert_eq!(found(cats().commit(&before)).await, ["a", "e", "d"]);
    // A plan of a scan stays with its version; so does a search over Flight.
    let flown = cats().branch("review").batches().await.unwrap();
    remote.mutate().branch("review").delete(omnigraph_client::Target::ids("Item", ["z"])).send().await.unwrap();
    assert_eq!(ids(&rows(&flown.collect_all().await.unwrap())), ["a", "z", "d"]);
    assert_eq!(found(cats().branch("review")).await, ["a", "d"]);
    assert_eq!(ids(&hits(&local, &ReadSelector::Commit(before), &about("cats", &["bio"])).await), ["a", "e", "d"]);
    // A type that was never written to has no hits.
    assert!(found(remote.search("edge:Like").text("cats")).await.is_empty());
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_questions_are_refused_with_their_reason() {
    let (server, remote, local) = served().await;
    let search = || remote.search("Item");
    let one = [1.0_f32, 0.0];
    for (search, reason) in [
        (search().nearest("face", [1.0]), ErrorReason::TypeMismatch),
        (search().nearest("face", [1.0, f32::NAN]), ErrorReason::TypeMismatch),
        (search().nearest("face", [0.0, 0.0]), ErrorReason::InvalidArgument),
        (search().nearest("bio", one), ErrorReason::InvalidArgument),
        (search().nearest("fac", one), ErrorReason::PropertyNotFound),
        (search().nearest("", one), ErrorReason::InvalidArgument),
        (search().metric(IndexMetric::L2), ErrorReason::InvalidArgument),
        (search().text("  "), ErrorReason::InvalidArgument),
        (search().text("x").within(["price"]), ErrorReason::InvalidArgument),
        (search().text("x").within(["nope"]), ErrorReason::PropertyNotFound),
        (search().within(["bio"]), ErrorReason::InvalidArgument),
        (search(), ErrorReason::InvalidArgument),
        (search().text("x").limit(0), ErrorReason::InvalidArgument),
        (search().text("x").limit(10_001), ErrorReason::LimitExceeded),
        (search().text("x").properties(["nope"]), ErrorReason::PropertyNotFound),
        (search().text("x").filter(prop("price").eq("x")), ErrorReason::InvalidPredicate),
        (search().text("x").branch("nope"), ErrorReason::BranchNotFound),
        (remote.search("Itm").text("x"), ErrorReason::TypeNotFound),
    ] {
        let sent = search.clone().send().await.unwrap_err();
        assert!(sent.is(reason), "{search:?}: {sent:?}");
        let flown = search.clone().batches().await.err().unwrap();
        assert!(flown.is(reason), "{search:?}: {flown:?}");
    }
    let snapshot = local.snapshot(&head("main")).await.unwrap();
    let error = local.search(&snapshot, &near("shape", &[1.0], None)).await.err().unwrap();
    assert_eq!(error.reason(), Reason::TypeMismatch);
    assert_eq!(error.metadata()["property"], "shape");
    assert!(error.message().contains("16 numbers"), "{error}");
    server.shutdown().await.unwrap();
}

const WORDS: [&str; 24] = [
    "cat",
    "dog",
    "whale",
    "red",
    "blue",
    "green",
    "running",
    "runs",
    "jumped",
    "engine",
    "analytical",
    "café",
    "the",
    "and",
    "over",
    "house",
    "houses",
    "garden",
    "river",
    "stone",
    "night",
    "light",
    "lights",
    "tree",
];

/// A text of some words, now and then none, or nothing but words that do not count.
fn text(rng: &mut fastrand::Rng) -> Json {
    match rng.u32(0..12) {
        0 => Json::Null,
        1 => json!("the and of"),
        _ => {
            let words: Vec<&str> = (0..rng.usize(1..12)).map(|_| WORDS[rng.usize(0..WORDS.len())]).collect();
            json!(words.join(" "))
        }
    }
}

fn shape(rng: &mut fastrand::Rng) -> Vec<f32> {
    (0..16).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn random_item(rng: &mut fastrand::Rng, number: usize) -> String {
    let mut data = json!({"name": text(rng), "bio": text(rng), "note": text(rng), "price": number % 10});
    data["shape"] = if rng.u32(0..20) == 0 { Json::Null } else { json!(shape(rng)) };
    item(&format!("i{number:05}"), data)
}

fn random_items(rng: &mut fastrand::Rng, numbers: impl IntoIterator<Item = usize>) -> String {
    numbers.into_iter().map(|number| random_item(rng, number)).collect()
}

/// Changed rows, rows that are gone, and new ones.
async fn churn(graphs: [&Graph; 2], branch: &str, rng: &mut fastrand::Rng, round: usize) {
    let changed = random_items(rng, (0..40).map(|n| n * 7 + round));
    let new = random_items(rng, 90_000 + round * 100..90_000 + round * 100 + 30);
    let gone: Vec<String> = (0..10).map(|n| format!("i{:05}", n * 11 + round)).collect();
    for graph in graphs {
        load(graph, branch, LoadMode::Merge, &changed).await.unwrap();
        load(graph, branch, LoadMode::Merge, &new).await.unwrap();
        let delete = Change::Delete {
            type_ref: TypeRef::node("Item"),
            target: Target::Ids(gone.clone()),
            edges: EdgePolicy::Cascade,
        };
        graph.mutate(vec![delete], &WriteOptions::on(branch)).await.unwrap();
    }
}

async fn is_built(graph: &Graph, branch: &str, column: &str) -> bool {
    let snapshot = graph.snapshot(&head(branch)).await.unwrap();
    let status = graph.index_status(&snapshot).await.unwrap();
    status.iter().any(|s| s.index.column == column && s.present && s.rows_covered > 0)
}

fn questions_of_words() -> Vec<SearchRequest> {
    let cheap = || Some(compare("price", CompareOp::Lt, 3));
    vec![
        about("cat", &["bio"]),
        about("a running engine over the river", &["bio"]),
        about("houses houses light", &["name", "bio"]),
        about("CAFE", &[]),
        about("stone", &["note", "bio"]),
        SearchRequest { limit: 3, ..about("red tree", &["bio"]) },
        SearchRequest { filter: cheap(), ..about("red tree night", &["name", "bio"]) },
        SearchRequest { filter: cheap(), limit: 1_000, ..about("cat dog whale garden", &["name", "bio", "note"]) },
        about("unheard", &["bio"]),
    ]
}

async fn answers(graph: &Graph, at: &ReadSelector) -> Vec<Vec<Row>> {
    let mut out = Vec::new();
    for question in questions_of_words() {
        let found = hits(graph, at, &question).await;
        assert!(found.len() as u64 <= question.limit);
        let better = |a: &Row, b: &Row| a.2 > b.2 || (a.2 == b.2 && a.0 < b.0);
        assert!(found.windows(2).all(|pair| better(&pair[0], &pair[1])), "{question:?}: {found:?}");
        out.push(found);
    }
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_are_ranked_the_same_with_and_without_an_index() {
    // The twin is never optimised, so it never has an index.
    let (g, twin) = (graph("words", SHOP).await.unwrap(), graph("words-twin", SHOP).await.unwrap());
    let mut rng = fastrand::Rng::with_seed(7);
    for part in 0..3 {
        let items = random_items(&mut rng, part * 120..(part + 1) * 120);
        for each in [&g, &twin] {
            load(each, "main", LoadMode::Append, &items).await.unwrap();
        }
    }
    let first = answers(&twin, &head("main")).await;
    assert!(first.iter().filter(|found| !found.is_empty()).count() == first.len() - 1, "{first:?}");
    assert_eq!(answers(&g, &head("main")).await, first, "nothing is built");
    g.optimize("main", 2).await.unwrap();
    assert!(is_built(&g, "main", "bio").await && is_built(&g, "main", "name").await);
    assert_eq!(answers(&g, &head("main")).await, first, "all is built");
    let commit = g.snapshot(&head("main")).await.unwrap().head().to_string();
    for round in 1..4 {
        churn([&g, &twin], "main", &mut rng, round).await;
        let expected = answers(&twin, &head("main")).await;
        assert_eq!(answers(&g, &head("main")).await, expected, "round {round}, a part is covered");
        g.optimize("main", 2).await.unwrap();
        assert_eq!(answers(&g, &head("main")).await, expected, "round {round}, all is covered");
    }
    for each in [&g, &twin] {
        each.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    }
    churn([&g, &twin], "b", &mut rng, 9).await;
    assert_eq!(answers(&g, &head("b")).await, answers(&twin, &head("b")).await, "a branch with inherited indexes");
    g.optimize("b", 2).await.unwrap();
    assert_eq!(answers(&g, &head("b")).await, answers(&twin, &head("b")).await, "a branch with indexes of its own");
    assert_eq!(answers(&g, &head("main")).await, answers(&twin, &head("main")).await);
    assert_eq!(answers(&g, &ReadSelector::Commit(commit)).await, first, "an old commit");
    // Another process, which knows nothing yet.
    let other = engine().open(g.root(), Access::ReadOnly).await.unwrap();
    assert_eq!(answers(&other, &head("b")).await, answers(&twin, &head("b")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_text_said_before_is_not_found_however_often_indexes_are_merged() {
    let (g, twin) = (graph("gone", SHOP).await.unwrap(), graph("gone-twin", SHOP).await.unwrap());
    let mut rng = fastrand::Rng::with_seed(11);
    let items = random_items(&mut rng, 0..200);
    for each in [&g, &twin] {
        load(each, "main", LoadMode::Append, &items).await.unwrap();
        load(each, "main", LoadMode::Merge, &item("i00003", json!({"bio": "a unicorn in the garden"}))).await.unwrap();
        load(each, "main", LoadMode::Merge, &item("i00004", json!({"bio": "unicorns"}))).await.unwrap();
        load(each, "main", LoadMode::Merge, &item("i00005", json!({"bio": "a lonely phoenix"}))).await.unwrap();
    }
    g.optimize("main", 2).await.unwrap();
    let (unicorns, phoenixes) = (about("unicorn", &["bio"]), about("phoenix", &["bio"]));
    assert_eq!(ids(&hits(&g, &head("main"), &unicorns).await), ["i00004", "i00003"]);
    assert_eq!(ids(&hits(&g, &head("main"), &phoenixes).await), ["i00005"]);
    for each in [&g, &twin] {
        // Said once, and never again.
        load(each, "main", LoadMode::Merge, &item("i00005", json!({ "bio": null }))).await.unwrap();
    }
    for round in 0..8_usize {
        for each in [&g, &twin] {
            let bio = [json!("a horse"), Json::Null, json!("the")][round % 3].clone();
            load(each, "main", LoadMode::Merge, &item("i00003", json!({ "bio": bio }))).await.unwrap();
            let bio = format!("unicorns {round}");
            load(each, "main", LoadMode::Merge, &item("i00004", json!({ "bio": bio }))).await.unwrap();
        }
        g.optimize("main", 2).await.unwrap();
        assert_eq!(ids(&hits(&g, &head("main"), &unicorns).await), ["i00004"], "round {round}");
        assert_eq!(answers(&g, &head("main")).await, answers(&twin, &head("main")).await, "round {round}");
    }
    assert!(hits(&g, &head("main"), &phoenixes).await.is_empty());
}

/// How many of the exact hits were found, of 1; what was found is right whatever it is.
fn recall(found: &[Row], exact: &[Row]) -> f64 {
    let distances: BTreeMap<&str, Option<f32>> = exact.iter().map(|hit| (hit.0.as_str(), hit.1)).collect();
    assert!(found.windows(2).all(|pair| (pair[0].1, &pair[0].0) < (pair[1].1, &pair[1].0)), "{found:?}");
    let common = found.iter().filter(|hit| distances.get(hit.0.as_str()).is_some_and(|distance| *distance == hit.1));
    common.count() as f64 / exact.len().max(1) as f64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn near_vectors_are_found_with_an_index_and_their_distances_are_exact() {
    let (g, twin) = (graph("shapes", SHOP).await.unwrap(), graph("shapes-twin", SHOP).await.unwrap());
    let mut rng = fastrand::Rng::with_seed(3);
    for part in 0..2 {
        let items = random_items(&mut rng, part * 1_000..(part + 1) * 1_000);
        for each in [&g, &twin] {
            load(each, "main", LoadMode::Append, &items).await.unwrap();
        }
    }
    g.optimize("main", 2).await.unwrap();
    assert!(is_built(&g, "main", "shape").await);
    for round in 0..4 {
        if round % 2 == 1 {
            churn([&g, &twin], "main", &mut rng, round).await;
        } else if round > 0 {
            g.optimize("main", 2).await.unwrap();
        }
        let (mut found_of_all, mut asked) = (0.0, 0.0);
        for question in 0..12_u64 {
            let price = (question % 3 == 1).then(|| compare("price", CompareOp::Eq, 4));
            let wanted = SearchRequest { filter: price.clone(), ..near("shape", &shape(&mut rng), None) };
            let found = hits(&g, &head("main"), &wanted).await;
            let exact = hits(&twin, &head("main"), &wanted).await;
            assert_eq!(found.len(), 10, "a filter holds before hits are chosen: {wanted:?}");
            found_of_all += recall(&found, &exact);
            asked += 1.0;
            assert_eq!(hits(&g, &head("main"), &wanted).await, found, "the same on every call");
            // By another metric than the index's the answer is exact.
            let vector = wanted.vector.clone().map(|v| VectorQuery { metric: Some(Metric::Cosine), ..v });
            let other = SearchRequest { vector, ..wanted };
            assert_eq!(hits(&g, &head("main"), &other).await, hits(&twin, &head("main"), &other).await);
        }
        let recall = found_of_all / asked;
        println!("round {round}: recall {recall}");
        assert!(recall >= 0.95, "round {round}: recall {recall}");
    }
    let all = SearchRequest { limit: 10_000, ..near("shape", &shape(&mut rng), None) };
    let everything = hits(&g, &head("main"), &all).await;
    assert_eq!(everything, hits(&twin, &head("main"), &all).await, "as many as there are");
    let distinct: HashSet<&str> = ids(&everything).into_iter().collect();
    assert_eq!(distinct.len(), everything.len(), "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_hits_as_are_allowed_come_in_order_and_once() {
    let g = graph("many", SHOP).await.unwrap();
    // More rows than a batch has, of few distances, so that there are ties everywhere.
    let items: String = (0..12_000_i32)
        .map(|n| item(&format!("i{:05}", (n * 7_919) % 12_000), json!({"face": [n % 5, 1], "bio": "cat"})))
        .collect();
    load(&g, "main", LoadMode::Append, &items).await.unwrap();
    for request in [near("face", &[1.0, 1.0], Some(Metric::L2)), about("cats", &["bio"])] {
        let request = SearchRequest { limit: 10_000, columns: vec!["id".into()], ..request };
        let found = hits(&g, &head("main"), &request).await;
        assert_eq!(found.len(), 10_000);
        let in_order = |pair: &[Row]| {
            let (a, b) = (&pair[0], &pair[1]);
            let (distances, scores) = (a.1.partial_cmp(&b.1), b.2.partial_cmp(&a.2));
            distances.zip(scores).is_some_and(|(d, s)| d.then(s).then_with(|| a.0.cmp(&b.0)).is_lt())
        };
        assert!(found.windows(2).all(in_order));
        let few = SearchRequest { limit: 25, ..request };
        assert_eq!(hits(&g, &head("main"), &few).await, found[..25]);
    }
}
