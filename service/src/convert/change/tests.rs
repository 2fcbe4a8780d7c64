//! Filters survive the way there and back; changes keep both sides; messages stay small.

use super::*;
use omnigraph_engine::Reason;
use omnigraph_engine::model::{Entity, Value};
use std::collections::BTreeMap;

fn entity(id: &str, bytes: usize) -> Entity {
    let properties = BTreeMap::from([("text".to_string(), Value::String("x".repeat(bytes)))]);
    Entity { type_ref: TypeRef::node("P"), id: id.into(), endpoints: None, properties }
}

fn inserted(id: &str, bytes: usize) -> EntityChange {
    let after = Some(entity(id, bytes));
    EntityChange { type_ref: TypeRef::node("P"), id: id.into(), before: None, after, changed: Vec::new() }
}

fn ids(batch: &v1::ChangeBatch) -> Vec<&str> {
    batch.changes.iter().map(|c| c.after.as_ref().map_or("", |e| e.id.as_str())).collect()
}

#[test]
fn filters_come_back() {
    let whole = DiffFilter {
        types: vec![TypeRef::edge("Knows"), TypeRef::node("Person")],
        kinds: BTreeSet::from([ChangeKind::Insert, ChangeKind::Update, ChangeKind::Delete]),
        ids: BTreeSet::from(["a/ü".to_string(), "b".to_string()]),
    };
    for filter in [whole, DiffFilter::default()] {
        let there = filter_to_proto(filter.clone());
        assert_eq!(filter_to_engine("filter", Some(there)).unwrap(), filter);
    }
    assert_eq!(filter_to_engine("filter", None).unwrap(), DiffFilter::default());
}

#[test]
fn half_a_filter_is_refused_by_path() {
    let ty = |kind, name: &str| v1::TypeRef { kind, type_name: name.into() };
    let types = |ty| v1::ChangeFilter { types: vec![person(), ty], ..Default::default() };
    let kinds = |kind| v1::ChangeFilter { kinds: vec![1, kind], ..Default::default() };
    for (filter, field) in [
        (types(ty(0, "P")), "filter.types[1].kind"),
        (types(ty(1, "")), "filter.types[1].type_name"),
        (kinds(0), "filter.kinds[1]"),
        (kinds(9), "filter.kinds[1]"),
        (v1::ChangeFilter { ids: vec![String::new()], ..Default::default() }, "filter.ids[0]"),
    ] {
        let error = filter_to_engine("filter", Some(filter)).unwrap_err();
        assert_eq!((error.reason(), error.metadata()["field"].as_str()), (Reason::InvalidArgument, field));
    }
}

fn person() -> v1::TypeRef {
    entity::type_to_proto(&TypeRef::node("Person"))
}

#[test]
fn changes_keep_both_sides() {
    let (before, after) = (Some(entity("1", 1)), Some(entity("1", 2)));
    let changed = vec!["text".to_string()];
    let update = EntityChange { type_ref: TypeRef::node("P"), id: "1".into(), before, after, changed };
    let message = to_proto(update.clone());
    assert_eq!(message.before.map(|e| entity::to_engine("", e).unwrap()), update.before);
    assert_eq!(message.after.map(|e| entity::to_engine("", e).unwrap()), update.after);
    assert_eq!(message.changed_properties, ["text"]);
    let message = to_proto(inserted("1", 1));
    assert!(message.before.is_none() && message.after.is_some() && message.changed_properties.is_empty());
}

#[test]
fn messages_are_cut_where_they_would_become_too_large() {
    let half = CHANGE_BATCH_BYTES / 2;
    let batches = cut(vec![inserted("1", half), inserted("2", half), inserted("3", 1)]);
    assert_eq!(batches.iter().map(ids).collect::<Vec<_>>(), [vec!["1"], vec!["2", "3"]]);
    let batches = cut(vec![inserted("1", 1), inserted("2", CHANGE_BATCH_BYTES * 2), inserted("3", 1)]);
    assert_eq!(batches.iter().map(ids).collect::<Vec<_>>(), [["1"], ["2"], ["3"]]);
    let many = cut((0..=CHANGE_BATCH_ENTITIES).map(|n| inserted(&n.to_string(), 1)).collect());
    assert_eq!(many.iter().map(|b| b.changes.len()).collect::<Vec<_>>(), [CHANGE_BATCH_ENTITIES, 1]);
    assert!(cut(Vec::new()).is_empty());
}
