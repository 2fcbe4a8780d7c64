//! An engine schema as a message, with all stable ids.

use omnigraph_engine::model::{
    Annotation, EntityKind, EntityType, IndexDecl, IndexKind, InterfaceType, Metric, Property, PropertyType,
    ScalarType, Schema,
};
use omnigraph_proto::v1;
use omnigraph_proto::v1::constraint::Kind;
use omnigraph_proto::v1::property_type::Kind as TypeKind;

use super::super::value;
use super::embedding;

/// The message of a schema: interfaces, node types and edge types, each by name.
pub fn to_proto(schema: &Schema) -> v1::Schema {
    let mut interfaces: Vec<_> = schema.interfaces.iter().map(interface).collect();
    let of_kind = |kind| schema.types.iter().filter(move |t| t.kind == kind);
    let mut node_types: Vec<_> = of_kind(EntityKind::Node).map(|t| node(t, schema)).collect();
    let mut edge_types: Vec<_> = of_kind(EntityKind::Edge).map(|t| edge(t, schema)).collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    node_types.sort_by(|a, b| a.name.cmp(&b.name));
    edge_types.sort_by(|a, b| a.name.cmp(&b.name));
    v1::Schema { interfaces, node_types, edge_types }
}

fn interface(interface: &InterfaceType) -> v1::Interface {
    v1::Interface {
        name: interface.name.clone(),
        properties: interface.properties.iter().map(|p| property(p, String::new())).collect(),
        // The engine keeps constraints on the types that implement it.
        constraints: Vec::new(),
        indexes: interface.indexes.iter().map(|i| index(i, String::new())).collect(),
        description: interface.description.clone(),
        annotations: annotations(&interface.annotations),
    }
}

fn node(ty: &EntityType, schema: &Schema) -> v1::NodeType {
    v1::NodeType {
        name: ty.name.clone(),
        stable_id: ty.id.clone(),
        implements: ty.implements.clone(),
        properties: properties(ty, schema),
        constraints: constraints(ty),
        indexes: indexes(ty, schema),
        description: ty.description.clone(),
        annotations: annotations(&ty.annotations),
    }
}

fn edge(ty: &EntityType, schema: &Schema) -> v1::EdgeType {
    let ends = ty.endpoints.as_ref();
    v1::EdgeType {
        name: ty.name.clone(),
        stable_id: ty.id.clone(),
        from_type: ends.map(|e| e.from.clone()).unwrap_or_default(),
        to_type: ends.map(|e| e.to.clone()).unwrap_or_default(),
        properties: properties(ty, schema),
        constraints: constraints(ty),
        indexes: indexes(ty, schema),
        description: ty.description.clone(),
        annotations: annotations(&ty.annotations),
    }
}

/// The interfaces a type implements, in its order.
fn implemented<'a>(ty: &'a EntityType, schema: &'a Schema) -> impl Iterator<Item = &'a InterfaceType> {
    ty.implements.iter().filter_map(|name| schema.interfaces.iter().find(|i| i.name == *name))
}

fn properties(ty: &EntityType, schema: &Schema) -> Vec<v1::Property> {
    let origin = |p: &Property| {
        let same = |i: &&InterfaceType| i.properties.iter().any(|q| Property { id: p.id, ..q.clone() } == *p);
        implemented(ty, schema).find(same).map(|i| i.name.clone()).unwrap_or_default()
    };
    ty.properties.iter().map(|p| property(p, origin(p))).collect()
}

fn indexes(ty: &EntityType, schema: &Schema) -> Vec<v1::Index> {
    let origin = |index: &IndexDecl| {
        let has = |i: &&InterfaceType| i.indexes.contains(index);
        implemented(ty, schema).find(has).map(|i| i.name.clone()).unwrap_or_default()
    };
    ty.indexes.iter().map(|i| index(i, origin(i))).collect()
}

fn index(index: &IndexDecl, inherited_from: String) -> v1::Index {
    let kind = match index.kind {
        IndexKind::Auto => v1::IndexKind::Unspecified,
        IndexKind::Text => v1::IndexKind::Text,
        IndexKind::Ngram => v1::IndexKind::Ngram,
    };
    let metric = match index.metric {
        None => v1::VectorMetric::Unspecified,
        Some(Metric::Cosine) => v1::VectorMetric::Cosine,
        Some(Metric::L2) => v1::VectorMetric::L2,
        Some(Metric::Dot) => v1::VectorMetric::Dot,
    };
    v1::Index { properties: index.columns.clone(), inherited_from, kind: kind.into(), metric: metric.into() }
}

fn property(property: &Property, inherited_from: String) -> v1::Property {
    // A field holds one embedding; a second one, which the engine does not forbid, stays an annotation.
    let embedding = property.annotations.iter().position(|a| embedding::from_annotation(a).is_some());
    let kept = property.annotations.iter().enumerate().filter(|(i, _)| Some(*i) != embedding);
    v1::Property {
        name: property.name.clone(),
        stable_id: if property.id == 0 { String::new() } else { property.id.to_string() },
        r#type: Some(v1::PropertyType { kind: Some(type_kind(&property.ty)) }),
        nullable: property.nullable,
        embedding: embedding.and_then(|i| embedding::from_annotation(&property.annotations[i])),
        description: property.description.clone(),
        annotations: kept.map(|(_, a)| annotation(a)).collect(),
        inherited_from,
    }
}

fn type_kind(ty: &PropertyType) -> TypeKind {
    match ty {
        PropertyType::Scalar(scalar) => TypeKind::Scalar(scalar_type(*scalar).into()),
        PropertyType::Enum(values) => TypeKind::Enumeration(v1::EnumType { values: values.clone() }),
        PropertyType::Vector(dimension) => TypeKind::Vector(v1::VectorType { dimension: *dimension }),
        PropertyType::List(scalar) => TypeKind::List(v1::ListType { element: scalar_type(*scalar).into() }),
    }
}

fn scalar_type(scalar: ScalarType) -> v1::ScalarType {
    match scalar {
        ScalarType::String => v1::ScalarType::String,
        ScalarType::Bool => v1::ScalarType::Bool,
        ScalarType::I32 => v1::ScalarType::I32,
        ScalarType::I64 => v1::ScalarType::I64,
        ScalarType::U32 => v1::ScalarType::U32,
        ScalarType::U64 => v1::ScalarType::U64,
        ScalarType::F32 => v1::ScalarType::F32,
        ScalarType::F64 => v1::ScalarType::F64,
        ScalarType::Date => v1::ScalarType::Date,
        ScalarType::DateTime => v1::ScalarType::Datetime,
        ScalarType::Blob => v1::ScalarType::Blob,
    }
}

fn constraints(ty: &EntityType) -> Vec<v1::Constraint> {
    let mut kinds = Vec::new();
    if ty.is_keyed() {
        kinds.push(Kind::Key(v1::constraint::Key { properties: ty.key.clone() }));
    }
    for columns in &ty.unique {
        kinds.push(Kind::Unique(v1::constraint::Unique { properties: columns.clone() }));
    }
    for range in &ty.ranges {
        kinds.push(Kind::Range(v1::constraint::Range {
            property: range.property.clone(),
            min: range.min.clone().map(value::to_proto),
            max: range.max.clone().map(value::to_proto),
        }));
    }
    for check in &ty.checks {
        let (property, pattern) = (check.property.clone(), check.pattern.clone());
        kinds.push(Kind::Check(v1::constraint::Check { property, pattern }));
    }
    if let Some(cardinality) = ty.cardinality {
        let (min, max) = (cardinality.min, cardinality.max);
        kinds.push(Kind::Cardinality(v1::constraint::Cardinality { min, max }));
    }
    let constraint = |kind| v1::Constraint { inherited_from: String::new(), kind: Some(kind) };
    kinds.into_iter().map(constraint).collect()
}

fn annotations(list: &[Annotation]) -> Vec<v1::Annotation> {
    list.iter().map(annotation).collect()
}

fn annotation(annotation: &Annotation) -> v1::Annotation {
    v1::Annotation { name: annotation.name.clone(), arguments: annotation.arguments.clone() }
}
