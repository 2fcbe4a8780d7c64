//! What a process remembers of a table's keys, once rows that other programs changed in place are published by force:
//! it has to find what is there now, as a process does that has just begun.

use lance::dataset::CommitBuilder;
use lance::dataset::transaction::{DataReplacementGroup, Operation, TransactionBuilder};
use omnigraph_engine::model::EdgePolicy;

use super::*;

/// A graph with these people in one fragment, and whose keys this process knows.
async fn known(name: &str, slugs: &[&str]) -> Graph {
    let g = graph(name, SOCIAL).await.unwrap();
    let text: String = slugs.iter().map(|slug| person(slug, 1)).collect();
    load(&g, "main", LoadMode::Append, &text).await.unwrap();
    finds(&g, slugs, &[]).await;
    g
}

/// Checks whom this process finds by id.
async fn finds(graph: &Graph, there: &[&str], gone: &[&str]) {
    let ids: Vec<String> = there.iter().chain(gone).map(ToString::to_string).collect();
    let snapshot = graph.snapshot(&head("main")).await.unwrap();
    let found = graph.get(&snapshot, &people(), &ids).await.unwrap();
    assert_eq!(found.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), there);
}

async fn delete(graph: &Graph, id: &str) {
    let target = Target::Ids(vec![id.to_string()]);
    let change = Change::Delete { type_ref: people(), target, edges: EdgePolicy::Cascade };
    graph.mutate(vec![change], &WriteOptions::default()).await.unwrap();
}

/// Publishes what one operation of another program made.
async fn force(graph: &Graph, operation: &str) {
    let done = graph.repair("main", FORCE).await.unwrap();
    assert_eq!(said(&done), (Classification::Suspicious, RepairAction::Published, vec![operation]));
}

/// The people by slug, with their ages.
async fn ages(graph: &Graph) -> Vec<(String, i64)> {
    let lines = content(graph, &head("main")).await.unwrap();
    let lines: Vec<Json> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let age = |line: &Json| (line["data"]["slug"].as_str().unwrap().to_string(), line["data"]["age"].as_i64().unwrap());
    let mut ages: Vec<_> = lines.iter().map(age).collect();
    ages.sort();
    ages
}

fn expected(ages: &[(&str, i64)]) -> Vec<(String, i64)> {
    ages.iter().map(|(slug, age)| (slug.to_string(), *age)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_others_brought_back_are_found() {
    let g = known("back", &["p0", "p1", "p2"]).await;
    let before = g.snapshot(&head("main")).await.unwrap().pin(&people()).unwrap().at.clone().unwrap();
    delete(&g, "p1").await;
    load(&g, "main", LoadMode::Merge, &person("p3", 3)).await.unwrap();
    finds(&g, &["p0", "p2", "p3"], &["p1"]).await;
    let then = foreign(&g, "main", &people()).await.checkout_version(before.version).await;
    then.unwrap().restore().await.unwrap();
    force(&g, "Restore").await;
    assert_eq!(ages(&g).await, expected(&[("p0", 1), ("p1", 1), ("p2", 1)]));
    finds(&g, &["p0", "p1", "p2"], &["p3"]).await;
    let twice = load(&g, "main", LoadMode::Append, &person("p1", 9)).await.unwrap_err();
    assert_eq!(twice.reason(), Reason::KeyConflict);
    load(&g, "main", LoadMode::Merge, &(person("p1", 9) + &person("p3", 9))).await.unwrap();
    assert_eq!(ages(&g).await, expected(&[("p0", 1), ("p1", 9), ("p2", 1), ("p3", 9)]));
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_others_replaced_are_found_and_the_old_ones_are_not() {
    let g = known("replaced", &["p0", "p1", "p2"]).await;
    let dataset = Arc::new(foreign(&g, "main", &people()).await);
    let rows = dataset.scan().try_into_batch().await.unwrap();
    let schema = Arc::new(arrow_schema::Schema::from(dataset.schema()));
    let columns = schema.fields().iter().zip(rows.columns()).map(|(field, column)| match field.name().as_str() {
        "id" | "slug" => Arc::new(StringArray::from(vec!["p0", "q1", "p2"])) as ArrayRef,
        _ => column.clone(),
    });
    let renamed = RecordBatch::try_new(schema.clone(), columns.collect()).unwrap();
    let params = WriteParams { mode: WriteMode::Append, ..WriteParams::default() };
    let written = InsertBuilder::new(dataset.clone()).with_params(&params).execute_uncommitted(vec![renamed]).await;
    let Operation::Append { fragments } = written.unwrap().operation else { panic!("an append is one") };
    // The same rows of the same fragment, in another file.
    let replacement = DataReplacementGroup(dataset.fragments()[0].id, fragments[0].files[0].clone());
    let operation = Operation::DataReplacement { replacements: vec![replacement] };
    let transaction = TransactionBuilder::new(dataset.version().version, operation).build();
    CommitBuilder::new(dataset).execute(transaction).await.unwrap();
    force(&g, "DataReplacement").await;
    finds(&g, &["p0", "q1", "p2"], &["p1"]).await;
    load(&g, "main", LoadMode::Merge, &(person("q1", 9) + &person("p2", 9))).await.unwrap();
    load(&g, "main", LoadMode::Append, &person("p1", 7)).await.unwrap();
    assert_eq!(ages(&g).await, expected(&[("p0", 1), ("p1", 7), ("p2", 9), ("q1", 9)]));
    is_settled(&g, "main").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_rows_with_one_key_the_one_that_is_left_is_found() {
    let g = known("twice", &["p0", "p1"]).await;
    append(&g, &people(), "p1", HashMap::new()).await;
    force(&g, "Append").await;
    finds(&g, &["p0", "p1"], &[]).await;
    assert!(!g.verify().await.unwrap().is_clean());
    delete(&g, "p1").await;
    assert_eq!(ages(&g).await, expected(&[("p0", 1), ("p1", 1)]));
    finds(&g, &["p0", "p1"], &[]).await;
    load(&g, "main", LoadMode::Merge, &person("p1", 9)).await.unwrap();
    assert_eq!(ages(&g).await, expected(&[("p0", 1), ("p1", 9)]));
    is_settled(&g, "main").await;
}
