//! Entities stored under one declaration of their type, shown by another. Pure.

use crate::model::{Entity, EntityType, Property, PropertyType, ScalarType, Value};
use crate::schema::default;

/// The property of a stored declaration that another one shows as the property of this id and name: the one of the id,
/// or else one of the name that the other declaration does not know by its id.
pub(super) fn property<'a>(stored: &'a EntityType, shown: &EntityType, id: u32, name: &str) -> Option<&'a Property> {
    stored.properties.iter().find(|p| p.id == id).or_else(|| {
        let known = |p: &Property| shown.properties.iter().any(|s| s.id == p.id);
        stored.properties.iter().find(|p| p.name == name && !known(p))
    })
}

/// An entity as another declaration of its type shows it. What was not stored has its default.
pub(super) fn shown(mut entity: Entity, stored: &EntityType, ty: &EntityType) -> Entity {
    let mut values = std::mem::take(&mut entity.properties);
    let mut properties = std::collections::BTreeMap::new();
    for wanted in &ty.properties {
        let value = match property(stored, ty, wanted.id, &wanted.name) {
            Some(old) => widened(values.remove(&old.name).unwrap_or(Value::Null), &wanted.ty),
            None => default::value(wanted),
        };
        properties.insert(wanted.name.clone(), value);
    }
    entity.type_ref = ty.type_ref();
    entity.properties = properties;
    entity
}

/// Unsigned numbers may have become signed ones.
fn widened(value: Value, ty: &PropertyType) -> Value {
    match (value, ty) {
        (Value::U64(n), PropertyType::Scalar(ScalarType::I64)) => i64::try_from(n).map_or(Value::U64(n), Value::I64),
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(source: &str) -> EntityType {
        crate::schema::parse(source).unwrap().types.remove(0)
    }

    #[test]
    fn values_follow_ids_and_what_is_new_has_its_default() {
        let mut stored = ty("node T { k: String @key  a: U32?  gone: I32?  same: Bool? }");
        let mut wanted = ty("node U { k: String @key  b: I64?  same: Bool?  new: I32? @default(4) }");
        for (n, p) in (1..).zip(&mut stored.properties) {
            p.id = n;
        }
        // `same` was declared on both sides, each with an id of its own.
        for (property, id) in wanted.properties.iter_mut().zip([1, 2, 9, 10]) {
            property.id = id;
        }
        let properties = [
            ("k", Value::String("x".into())),
            ("a", Value::U64(7)),
            ("gone", Value::I64(1)),
            ("same", Value::Bool(true)),
        ];
        let entity = Entity {
            type_ref: stored.type_ref(),
            id: "x".into(),
            endpoints: None,
            properties: properties.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
        };
        let shown = shown(entity, &stored, &wanted);
        assert_eq!(shown.type_ref, wanted.type_ref());
        let values: Vec<(&str, &Value)> = shown.properties.iter().map(|(k, v)| (k.as_str(), v)).collect();
        let expected = [
            ("b", Value::I64(7)),
            ("k", Value::String("x".into())),
            ("new", Value::I64(4)),
            ("same", Value::Bool(true)),
        ];
        assert_eq!(values, expected.iter().map(|(k, v)| (*k, v)).collect::<Vec<_>>());
    }
}
