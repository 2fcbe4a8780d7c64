//! What differences and followers tell of a change of schema.

use futures::TryStreamExt;
use omnigraph_engine::model::{DiffFilter, EntityChange, ReadSelector};

use super::*;

async fn diff(g: &Graph, a: &ReadSelector, b: &ReadSelector) -> (Vec<String>, Vec<EntityChange>) {
    let found = g.diff(a, b, &DiffFilter::default()).await.unwrap();
    let steps = found.schema.iter().map(|step| step.description.clone()).collect();
    (steps, found.changes.try_collect().await.unwrap())
}

#[tokio::test]
async fn a_change_of_schema_is_told_as_one_and_not_entity_by_entity() {
    let g = Stage::Populated.graph("told").await;
    let old = ReadSelector::Commit(g.snapshot(&head("main")).await.unwrap().head().to_string());
    let text = BEFORE
        .replace("bio: String? @index", "story: String? @index @was(bio)\n level: I32 @default(3)")
        .replace("    face: Vector(2)?\n", "")
        .replace("age: I32?", "age: I64?")
        .replace("edge LivesIn: Person -> City\n", "");
    let (receipt, _) = apply(&g, "main", &text).await.unwrap();
    let told = [
        "change Person.age from I32? to I64?",
        "rename Person.bio to story",
        "add Person.level: I32",
        "drop Person.face",
        "drop edge type LivesIn with its 1 entities",
    ];
    assert_eq!(diff(&g, &old, &head("main")).await, (told.map(ToString::to_string).to_vec(), Vec::new()));
    let of_commit = g.changes_of(&receipt.commit.id, &DiffFilter::default()).await.unwrap();
    assert_eq!(of_commit.schema.len(), told.len());
    let rows = r#"{"type":"Person","data":{"slug":"ada","story":"second"}}
{"type":"Person","data":{"slug":"bob","level":4}}"#;
    load(&g, "main", LoadMode::Merge, rows).await.unwrap();
    let (steps, changes) = diff(&g, &old, &head("main")).await;
    assert_eq!(steps.len(), told.len());
    let changed: Vec<(&str, &[String])> = changes.iter().map(|c| (c.id.as_str(), c.changed.as_slice())).collect();
    assert_eq!(changed, [("ada", ["story".to_string()].as_slice()), ("bob", ["level".to_string()].as_slice())]);
    // Backwards, what was dropped is there again.
    let (steps, changes) = diff(&g, &head("main"), &old).await;
    assert!(steps.contains(&"add Person.face: Vector(2)?".to_string()), "{steps:?}");
    let ada = changes.iter().find(|c| c.id == "ada").unwrap();
    assert_eq!(ada.changed, ["bio", "face"]);
    verify(&g).await;
}

#[tokio::test]
async fn schemas_of_two_states_are_compared_by_stable_ids() {
    let g = Stage::Branch.graph("compared").await;
    apply(&g, "b", &BEFORE.replace("bio: String? @index", "story: String? @index @was(bio)")).await.unwrap();
    let steps = g.schema_changes(&head("main"), &head("b")).await.unwrap();
    assert_eq!(words(&steps), ["rename Person.bio to story"]);
    assert_eq!(words(&g.schema_changes(&head("b"), &head("main")).await.unwrap()), ["rename Person.story to bio"]);
    assert!(g.schema_changes(&head("b"), &head("b")).await.unwrap().is_empty());
}

#[tokio::test]
async fn older_states_are_read_by_the_names_of_today() {
    use omnigraph_engine::model::TypeRef;
    let g = Stage::Populated.graph("names").await;
    let old = g.snapshot(&head("main")).await.unwrap().head().to_string();
    apply(&g, "main", &BEFORE.replace("edge Knows: Person -> Person", "edge Likes: Person -> Person @was(Knows)"))
        .await
        .unwrap();
    let state = g.snapshot(&ReadSelector::Commit(old)).await.unwrap();
    let found = g.get(&state, &TypeRef::edge("Likes"), &["k1".to_string()]).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].type_ref, TypeRef::edge("Knows"));
}

#[tokio::test]
async fn followers_are_told_of_a_change_of_schema_ahead_of_the_changes_of_its_commit() {
    use futures::StreamExt;
    use omnigraph_engine::model::{FeedMessage, WatchRequest, WatchStart};
    let g = Stage::Populated.graph("followed").await;
    let start = g.snapshot(&head("main")).await.unwrap().head().to_string();
    apply(&g, "main", &BEFORE.replace("bio: String? @index", "story: String? @index @was(bio)")).await.unwrap();
    let rows = r#"{"type":"Person","data":{"slug":"bob","story":"told"}}"#;
    load(&g, "main", LoadMode::Merge, rows).await.unwrap();
    let request = WatchRequest { start: WatchStart::After(start), changes: true, ..WatchRequest::default() };
    let mut told = Vec::new();
    let mut messages = g.watch(&request).await.unwrap();
    while told.iter().filter(|word| *word == "end").count() < 2 {
        told.push(match messages.next().await.unwrap().unwrap() {
            FeedMessage::Begin(commit) => commit.operation,
            FeedMessage::Schema(steps) => words(&steps).join(", "),
            FeedMessage::Changes(changes) => {
                changes.iter().map(|c| format!("{}.{}", c.id, c.changed.join(","))).collect()
            }
            FeedMessage::End { .. } => "end".to_string(),
            FeedMessage::Idle { .. } => "idle".to_string(),
        });
    }
    assert_eq!(told, ["schema_apply", "rename Person.bio to story", "end", "load", "bob.story", "end"]);
}
