//! Kinds, type names and entities.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::{Entity, EntityKind, TypeRef};
use omnigraph_proto::v1;

use super::{invalid, required, value};

/// A kind as its number in messages.
pub fn kind_to_proto(kind: EntityKind) -> i32 {
    match kind {
        EntityKind::Node => v1::EntityKind::Node,
        EntityKind::Edge => v1::EntityKind::Edge,
    }
    .into()
}

/// A kind that has to be said.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] for an unspecified or unknown kind.
pub fn kind_to_engine(field: &str, kind: i32) -> Result<EntityKind> {
    match v1::EntityKind::try_from(kind) {
        Ok(v1::EntityKind::Node) => Ok(EntityKind::Node),
        Ok(v1::EntityKind::Edge) => Ok(EntityKind::Edge),
        Ok(v1::EntityKind::Unspecified) => Err(invalid(field, "must say node or edge")),
        Err(_) => Err(invalid(field, format!("{kind} is no kind this server knows"))),
    }
}

/// A type by kind and name, from the two fields `kind` and `type_name` below `path`.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming the field that is missing.
pub fn type_to_engine(path: &str, kind: i32, name: &str) -> Result<TypeRef> {
    let kind = kind_to_engine(&format!("{path}kind"), kind)?;
    let name = required(&format!("{path}type_name"), name)?.to_string();
    Ok(TypeRef { kind, name })
}

/// A type reference as a message.
pub fn type_to_proto(type_ref: &TypeRef) -> v1::TypeRef {
    v1::TypeRef { kind: kind_to_proto(type_ref.kind), type_name: type_ref.name.clone() }
}

/// An entity as a message.
pub fn to_proto(entity: Entity) -> v1::Entity {
    let (from_id, to_id) = entity.endpoints.unwrap_or_default();
    v1::Entity {
        kind: kind_to_proto(entity.type_ref.kind),
        type_name: entity.type_ref.name,
        id: entity.id,
        from_id,
        to_id,
        properties: value::properties_to_proto(entity.properties),
    }
}

/// A message as an entity.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming a missing field, and for a node with ends;
/// [`omnigraph_engine::Reason::TypeMismatch`] for a property that is no value.
pub fn to_engine(path: &str, entity: v1::Entity) -> Result<Entity> {
    let type_ref = type_to_engine(path, entity.kind, &entity.type_name)?;
    required(&format!("{path}id"), &entity.id)?;
    let endpoints = match type_ref.kind {
        EntityKind::Edge => {
            required(&format!("{path}from_id"), &entity.from_id)?;
            required(&format!("{path}to_id"), &entity.to_id)?;
            Some((entity.from_id, entity.to_id))
        }
        EntityKind::Node if entity.from_id.is_empty() && entity.to_id.is_empty() => None,
        EntityKind::Node => return Err(invalid(format!("{path}from_id"), "a node has no ends")),
    };
    let properties = value::properties_to_engine(&format!("{path}properties"), entity.properties)?;
    Ok(Entity { type_ref, id: entity.id, endpoints, properties })
}

#[cfg(test)]
mod tests;
