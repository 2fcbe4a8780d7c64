//! How changes become messages.

use std::collections::BTreeMap;

use futures::StreamExt;

use super::*;
use crate::model::Actor;

fn change(id: usize, value: Value) -> EntityChange {
    let (type_ref, id) = (TypeRef::node("P"), id.to_string());
    let properties = BTreeMap::from([("v".to_string(), value)]);
    let after = Entity { type_ref: type_ref.clone(), id: id.clone(), endpoints: None, properties };
    EntityChange { type_ref, id, before: None, after: Some(after), changed: Vec::new() }
}

fn commit() -> Arc<CommitInfo> {
    let text = String::new;
    Arc::new(CommitInfo {
        id: text(),
        parents: Vec::new(),
        branch: text(),
        actor: Actor::default(),
        created_at: 0,
        message: text(),
        request_id: text(),
        operation: text(),
        counts: Vec::new(),
        manifest_version: 1,
        lance_branch: None,
        merge: None,
        imported: None,
    })
}

/// The sizes of the messages that these values come in.
async fn messages(values: Vec<Value>) -> Vec<usize> {
    let changes: Vec<_> = values.into_iter().enumerate().map(|(i, value)| Ok(change(i, value))).collect();
    let changes = Some(futures::stream::iter(changes).boxed());
    let mut block = Block { commit: commit(), state: None, schema: Vec::new(), changes };
    let (mut sizes, mut next) = (Vec::new(), 0);
    while let Some(batch) = block.batch().await.unwrap() {
        assert!(batch.iter().enumerate().all(|(i, change)| change.id == (next + i).to_string()));
        next += batch.len();
        sizes.push(batch.len());
    }
    // Once over, it stays so.
    assert!(block.batch().await.unwrap().is_none());
    sizes
}

#[tokio::test]
async fn a_message_is_full_by_number_or_by_size() {
    let most = limits::FEED_BATCH_ENTITIES;
    assert!(messages(Vec::new()).await.is_empty());
    assert_eq!(messages(vec![Value::Null; most]).await, [most]);
    assert_eq!(messages(vec![Value::Null; 2 * most + 1]).await, [most, most, 1]);
    let third = limits::FEED_BATCH_BYTES / 3;
    for wide in [
        Value::String("x".repeat(third)),
        Value::Bytes(vec![0; third].into()),
        Value::Vector(vec![0.0; third / 4 + 1]),
        Value::List(vec![Value::String("x".repeat(third / 2 + 1)); 2]),
    ] {
        assert_eq!(messages(vec![wide; 7]).await, [3, 3, 1]);
    }
    let huge = Value::String("x".repeat(2 * limits::FEED_BATCH_BYTES));
    assert_eq!(messages(vec![Value::Null, huge, Value::Null]).await, [2, 1]);
}

#[tokio::test]
async fn an_error_is_told_in_place_of_what_was_gathered() {
    let error = crate::error::Error::internal("broken");
    let changes = futures::stream::iter(vec![Ok(change(0, Value::Null)), Err(error)]).boxed();
    let mut block = Block { commit: commit(), state: None, schema: Vec::new(), changes: Some(changes) };
    assert_eq!(block.batch().await.unwrap_err().message(), "broken");
    assert!(Block::empty(commit()).batch().await.unwrap().is_none());
}
