//! The same behaviour through a real server and the client: typed errors, paging, Flight, interop.

use futures::TryStreamExt;
use omnigraph_client::{
    BatchSource, Client, ErrorReason, LoadMode, LoadSource, Selector, Target, TypeRef, Value, edge, node, prop,
};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{SOCIAL, knows, memory_root, person};

/// A server over a store in memory, and a client of it.
async fn served() -> (Running, Client) {
    let storage = memory_root("served");
    let server = Server::bind(Config::new(storage)).await.unwrap();
    let client = Client::builder(server.uri()).actor("ada").connect().await.unwrap();
    (server, client)
}

async fn social(client: &Client) -> omnigraph_client::Graph {
    client.create_graph("social", SOCIAL).await.unwrap();
    client.graph("social")
}

async fn rows(graph: &omnigraph_client::Graph, ty: &str, branch: &str) -> usize {
    let scan = graph.scan(TypeRef::node(ty)).columns(["id"]).branch(branch).send().await.unwrap();
    scan.collect_all().await.unwrap().iter().map(|b| b.num_rows()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn create_load_mutate_branch_and_read_over_the_wire() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    let input = person("ada", 36) + &person("grace", 85) + &knows("ada", "grace");
    let loaded = graph.load(LoadSource::from(input)).send().await.unwrap();
    assert!(loaded.receipt.changed);
    let done = graph
        .mutate()
        .upsert(node("Person").set("slug", "ada").set("name", "Ada"))
        .insert(node("Note").set("text", "hello"))
        .send()
        .await
        .unwrap();
    assert!(done.receipt.changed);
    assert_eq!(done.results[0].id, "ada");
    let note = graph.get("Note", [done.results[1].id.as_str()]).send().await.unwrap();
    assert_eq!((note.len(), done.results[1].affected), (1, 1));
    let found = graph.get("Person", ["ada", "nobody"]).send().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].get("name"), Some(&Value::from("Ada")));
    assert_eq!(found[0].get("age"), Some(&Value::from(36)));

    graph.create_branch("review/ünï 1", Selector::default()).await.unwrap();
    graph.mutate().delete(Target::ids("Person", ["ada"])).branch("review/ünï 1").send().await.unwrap();
    assert_eq!(rows(&graph, "Person", "review/ünï 1").await, 1);
    assert_eq!(rows(&graph, "Person", "main").await, 2);
    let names: Vec<String> = graph.list_branches().map_ok(|b| b.name).try_collect().await.unwrap();
    assert_eq!(names, ["main", "review/ünï 1"]);

    let commits: Vec<omnigraph_client::Commit> = graph.list_commits("main").try_collect().await.unwrap();
    assert_eq!(commits.len(), 3);
    assert_eq!(commits[0].id, done.receipt.commit_id);
    assert_eq!(commits[0].actor.as_deref(), Some("ada"));
    let then = graph.scan("Person").commit(&commits[2].id).send().await.unwrap();
    assert_eq!(then.collect_all().await.unwrap().iter().map(|b| b.num_rows()).sum::<usize>(), 0);
    graph.delete_branch("review/ünï 1", false).await.unwrap();
    client.delete_graph("social").await.unwrap();
    let error = graph.info().await.unwrap_err();
    assert!(error.is(ErrorReason::GraphNotFound), "{error}");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_are_typed_and_change_nothing() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    graph.load(LoadSource::from(person("ada", 1))).send().await.unwrap();
    let head = graph.branch("main").await.unwrap().head;
    let is = |error: omnigraph_client::Error, reason: ErrorReason| assert!(error.is(reason), "{error:?}");
    is(graph.load(LoadSource::from(person("ada", 1))).send().await.unwrap_err(), ErrorReason::KeyConflict);
    is(graph.load(LoadSource::from(person("x", 999))).send().await.unwrap_err(), ErrorReason::RangeViolation);
    is(graph.load(LoadSource::from(knows("ada", "x"))).send().await.unwrap_err(), ErrorReason::EndpointMissing);
    is(graph.scan("Persn").send().await.unwrap_err(), ErrorReason::TypeNotFound);
    is(graph.scan("Person").columns(["agee"]).send().await.unwrap_err(), ErrorReason::PropertyNotFound);
    is(graph.scan("Person").filter(prop("age").eq("x")).send().await.unwrap_err(), ErrorReason::InvalidPredicate);
    is(graph.scan("Person").branch("nope").send().await.unwrap_err(), ErrorReason::BranchNotFound);
    is(graph.delete_branch("main", false).await.unwrap_err(), ErrorReason::BranchProtected);
    is(graph.create_branch("..", Selector::default()).await.unwrap_err(), ErrorReason::InvalidName);
    is(client.create_graph("social", SOCIAL).await.unwrap_err(), ErrorReason::GraphExists);
    is(client.create_graph("Bad Id", SOCIAL).await.unwrap_err(), ErrorReason::InvalidName);
    is(client.create_graph("bad", "node X { a: Strin }").await.unwrap_err(), ErrorReason::InvalidSchema);
    let five = "{\"type\":\"Person\",\"data\":{\"slug\":\"a\",\"age\":\"x\"}}\n".repeat(5);
    let error = graph.load(LoadSource::from(five)).send().await.unwrap_err();
    assert_eq!(error.violations().len(), 5, "{error:?}");
    let stale = graph.mutate().upsert(node("Person").set("slug", "z")).expected_head("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    is(stale.send().await.unwrap_err(), ErrorReason::HeadMoved);
    assert_eq!(graph.branch("main").await.unwrap().head, head);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flight_scans_project_filter_order_limit_and_pin_one_snapshot() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    for part in 0..5 {
        let input: String = (0..2_000).map(|n| person(&format!("p{part}-{n:04}"), n % 100)).collect();
        graph.load(LoadSource::from(input)).send().await.unwrap();
    }
    let plan = graph.scan("Person").max_endpoints(4).plan().await.unwrap();
    assert_eq!(plan.total_rows(), Some(10_000));
    graph.mutate().delete(Target::matching("Person", prop("age").lt(50))).send().await.unwrap();
    let batches = plan.read().collect_all().await.unwrap();
    let seen: usize = batches.iter().map(|b| b.num_rows()).sum();
    assert_eq!(seen, 10_000, "a plan reads the state it was made on");
    let old = graph.scan("Person").filter(prop("age").ge(98)).columns(["age", "slug"]).send().await.unwrap();
    let old = old.collect_all().await.unwrap();
    assert_eq!(old.iter().map(|b| b.num_rows()).sum::<usize>(), 200);
    assert_eq!(old[0].schema().field(0).name(), "age");
    let top = graph.scan("Person").order_by_descending("age").order_by("slug").limit(3).columns(["slug", "age"]);
    let top = top.send().await.unwrap().collect_all().await.unwrap();
    let slugs: Vec<String> = top
        .iter()
        .flat_map(|b| {
            let column = arrow_array::cast::AsArray::as_string::<i32>(b.column(0)).clone();
            column.iter().map(|v| v.unwrap().to_string()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(slugs, ["p0-0099", "p0-0199", "p0-0299"]);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arrow_batches_are_put_as_one_commit() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    let slugs: Vec<String> = (0..20_000).map(|n| format!("p{n}")).collect();
    let ages: Vec<i32> = (0..20_000).map(|n| n % 150).collect();
    let schema = arrow_schema::Schema::new(vec![
        arrow_schema::Field::new("slug", arrow_schema::DataType::Utf8, false),
        arrow_schema::Field::new("age", arrow_schema::DataType::Int32, true),
    ]);
    let batch = arrow_array::RecordBatch::try_new(
        std::sync::Arc::new(schema),
        vec![
            std::sync::Arc::new(arrow_array::StringArray::from(slugs)),
            std::sync::Arc::new(arrow_array::Int32Array::from(ages)),
        ],
    )
    .unwrap();
    let batches: Vec<_> = (0..4).map(|i| batch.slice(i * 5_000, 5_000)).collect();
    let put = graph.put("Person", BatchSource::from(batches.clone())).send().await.unwrap();
    assert_eq!(put.receipt.counts[0].inserted, 20_000);
    let again = graph.put("Person", BatchSource::from(batches)).send().await.unwrap_err();
    assert!(again.is(ErrorReason::KeyConflict), "{again:?}");
    let commits: Vec<omnigraph_client::Commit> = graph.list_commits("main").try_collect().await.unwrap();
    assert_eq!(commits.len(), 2);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbors_follow_edges_and_exports_load_again() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    let people: String = ["a", "b", "c", "d"].iter().map(|s| person(s, 1)).collect();
    let input = people + &knows("a", "b") + &knows("b", "c") + &knows("c", "d") + &knows("d", "a");
    graph.load(LoadSource::from(input)).send().await.unwrap();
    let two = graph.neighbors("Person", "a").hops(2).send().await.unwrap();
    let ids: Vec<(&str, u32)> = two.nodes.iter().map(|n| (n.entity.id.as_str(), n.distance)).collect();
    assert_eq!(ids, [("b", 1), ("c", 2)]);
    assert_eq!(two.edges.len(), 2);
    let text: Vec<bytes::Bytes> = graph.export().send().await.unwrap().chunks.try_collect().await.unwrap();
    client.create_graph("copy", SOCIAL).await.unwrap();
    let copy = client.graph("copy");
    copy.load(LoadSource::from(bytes::Bytes::from(text.concat()))).mode(LoadMode::Append).send().await.unwrap();
    let back: Vec<bytes::Bytes> = copy.export().send().await.unwrap().chunks.try_collect().await.unwrap();
    assert_eq!(sorted(&text), sorted(&back));
    server.shutdown().await.unwrap();
}

fn sorted(chunks: &[bytes::Bytes]) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8(chunks.concat()).unwrap().lines().map(ToString::to_string).collect();
    lines.sort();
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_is_answered_once() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    let write = || graph.mutate().insert(node("Note").set("text", "once")).request_id("r-1").send();
    let first = write().await.unwrap();
    let second = write().await.unwrap();
    assert!(second.receipt.replayed);
    assert_eq!(first.receipt.commit_id, second.receipt.commit_id);
    let commit = graph.commit_by_request("main", "r-1").await.unwrap();
    assert_eq!(commit.id, first.receipt.commit_id);
    assert_eq!(rows(&graph, "Note", "main").await, 1);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_checked_and_unbuilt_calls_say_so() {
    let server = Server::bind(Config::new(memory_root("token")).with_token("s3cret")).await.unwrap();
    let stranger = Client::connect(server.uri()).await.unwrap();
    let error = stranger.graph("g").info().await.unwrap_err();
    assert!(error.is(ErrorReason::Unauthenticated), "{error:?}");
    assert!(!format!("{error:?}").contains("s3cret"));
    let client = Client::builder(server.uri()).token("s3cret").connect().await.unwrap();
    let graph = social(&client).await;
    let unbuilt = graph.raw().flight().do_action(arrow_flight::Action::new("x", "")).await.unwrap_err();
    assert_eq!(unbuilt.code(), tonic::Code::Unimplemented);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edges_can_be_written_and_filtered_by_their_ends() {
    let (server, client) = served().await;
    let graph = social(&client).await;
    let people: String = ["a", "b", "c", "d"].iter().map(|s| person(s, 1)).collect();
    graph.load(LoadSource::from(people)).send().await.unwrap();
    let write =
        graph.mutate().insert(edge("Knows", "a", "b")).insert(edge("Knows", "a", "c")).insert(edge("Knows", "d", "b"));
    write.send().await.unwrap();
    let both = prop("src").eq("a").and(prop("dst").eq("b"));
    let gone = graph.mutate().delete(Target::matching(TypeRef::edge("Knows"), both)).send().await.unwrap();
    assert_eq!(gone.receipt.counts[0].deleted, 1);
    server.shutdown().await.unwrap();
}
