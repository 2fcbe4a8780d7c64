//! Entities survive the way there and back; a missing part is named.

use super::*;
use omnigraph_engine::model::Value;
use std::collections::BTreeMap;

#[test]
fn entities_come_back() {
    let properties = BTreeMap::from([("n".to_string(), Value::I64(i64::MIN)), ("z".to_string(), Value::Null)]);
    let node = Entity { type_ref: TypeRef::node("Person"), id: "ada".into(), endpoints: None, properties };
    let edge = Entity {
        type_ref: TypeRef::edge("Knows"),
        id: "1".into(),
        endpoints: Some(("ada".into(), "grace".into())),
        properties: BTreeMap::new(),
    };
    for entity in [node, edge] {
        assert_eq!(to_engine("entity.", to_proto(entity.clone())).unwrap(), entity);
    }
}

#[test]
fn a_missing_part_is_named() {
    let whole = v1::Entity {
        kind: v1::EntityKind::Edge.into(),
        type_name: "Knows".into(),
        id: "1".into(),
        from_id: "a".into(),
        to_id: "b".into(),
        properties: BTreeMap::new(),
    };
    let cases = [
        (v1::Entity { kind: 0, ..whole.clone() }, "e.kind"),
        (v1::Entity { kind: 77, ..whole.clone() }, "e.kind"),
        (v1::Entity { type_name: String::new(), ..whole.clone() }, "e.type_name"),
        (v1::Entity { id: String::new(), ..whole.clone() }, "e.id"),
        (v1::Entity { to_id: String::new(), ..whole.clone() }, "e.to_id"),
        (v1::Entity { kind: v1::EntityKind::Node.into(), ..whole }, "e.from_id"),
    ];
    for (entity, field) in cases {
        let error = to_engine("e.", entity).unwrap_err();
        assert_eq!(error.metadata()["field"], field);
        assert_eq!(error.violations()[0].field, field);
    }
}
