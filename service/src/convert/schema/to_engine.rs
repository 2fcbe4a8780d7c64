//! A schema message as an engine schema.

use std::collections::{HashMap, HashSet};

use omnigraph_engine::error::Result;
use omnigraph_engine::model::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityKind, EntityType, IndexDecl, IndexKind, InterfaceType,
    Metric, Property, PropertyType, RangeConstraint, ScalarType, Schema, Value,
};
use omnigraph_proto::v1;
use omnigraph_proto::v1::constraint::Kind;
use omnigraph_proto::v1::property_type::Kind as TypeKind;

use super::super::value;
use super::{Problems, embedding};

/// Bytes of a type's stable id, which becomes part of stored names.
const MAX_STABLE_ID_BYTES: usize = 64;

/// The schema that a message says, node types first. Rules about schemas are not checked.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidSchema`] naming every part that is missing, unknown, or cannot be
/// said to the engine.
pub fn to_engine(schema: v1::Schema) -> Result<Schema> {
    let mut problems = Problems::default();
    let mut interfaces = Vec::with_capacity(schema.interfaces.len());
    for (i, message) in schema.interfaces.into_iter().enumerate() {
        interfaces.push(interface(&format!("schema.interfaces[{i}]"), message, &mut problems));
    }
    let nodes =
        schema.node_types.into_iter().enumerate().map(|(i, t)| (format!("schema.node_types[{i}]"), Draft::node(t)));
    let edges =
        schema.edge_types.into_iter().enumerate().map(|(i, t)| (format!("schema.edge_types[{i}]"), Draft::edge(t)));
    let mut types = Vec::new();
    let mut ids = HashSet::new();
    for (path, draft) in nodes.chain(edges) {
        let ty = draft.finish(&path, &interfaces, &mut problems);
        if !ty.id.is_empty() && !ids.insert(ty.id.clone()) {
            problems.report(format!("{path}.stable_id"), "another type has this stable id");
        }
        types.push(ty);
    }
    problems.into_result()?;
    Ok(Schema { interfaces, types })
}

fn interface(path: &str, message: v1::Interface, problems: &mut Problems) -> InterfaceType {
    if !message.constraints.is_empty() {
        let what = "an interface has no constraints of its own; declare them on the types that implement it";
        problems.report(format!("{path}.constraints"), what);
    }
    let mut properties = properties(path, message.properties, problems);
    // Properties of an interface have no life of their own.
    properties.iter_mut().for_each(|p| p.id = 0);
    InterfaceType {
        name: message.name,
        properties,
        indexes: indexes(path, message.indexes, problems),
        description: message.description,
        annotations: annotations(message.annotations),
    }
}

/// What node and edge types have in common.
struct Draft {
    kind: EntityKind,
    name: String,
    stable_id: String,
    implements: Vec<String>,
    endpoints: Option<Endpoints>,
    properties: Vec<v1::Property>,
    constraints: Vec<v1::Constraint>,
    indexes: Vec<v1::Index>,
    description: String,
    annotations: Vec<v1::Annotation>,
}

impl Draft {
    fn node(t: v1::NodeType) -> Self {
        Self {
            kind: EntityKind::Node,
            name: t.name,
            stable_id: t.stable_id,
            implements: t.implements,
            endpoints: None,
            properties: t.properties,
            constraints: t.constraints,
            indexes: t.indexes,
            description: t.description,
            annotations: t.annotations,
        }
    }

    fn edge(t: v1::EdgeType) -> Self {
        Self {
            kind: EntityKind::Edge,
            name: t.name,
            stable_id: t.stable_id,
            implements: Vec::new(),
            endpoints: Some(Endpoints { from: t.from_type, to: t.to_type }),
            properties: t.properties,
            constraints: t.constraints,
            indexes: t.indexes,
            description: t.description,
            annotations: t.annotations,
        }
    }

    fn finish(self, path: &str, interfaces: &[InterfaceType], problems: &mut Problems) -> EntityType {
        if !is_stable_id(&self.stable_id) {
            problems.report(format!("{path}.stable_id"), "not a stable id this server made");
        }
        let mut ty = EntityType {
            id: self.stable_id,
            kind: self.kind,
            name: self.name,
            implements: self.implements,
            properties: properties(path, self.properties, problems),
            key: Vec::new(),
            unique: Vec::new(),
            indexes: indexes(path, self.indexes, problems),
            ranges: Vec::new(),
            checks: Vec::new(),
            cardinality: None,
            endpoints: self.endpoints,
            description: self.description,
            annotations: annotations(self.annotations),
        };
        inherit(&mut ty, interfaces);
        for (i, constraint) in self.constraints.into_iter().enumerate() {
            add_constraint(&mut ty, &format!("{path}.constraints[{i}]"), constraint, problems);
        }
        ty
    }
}

fn is_stable_id(text: &str) -> bool {
    text.len() <= MAX_STABLE_ID_BYTES && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Adds what the interfaces declare and the message left out, after what it has.
fn inherit(ty: &mut EntityType, interfaces: &[InterfaceType]) {
    let mut taken: HashSet<String> = ty.properties.iter().map(|p| p.name.clone()).collect();
    let mut indexed: HashSet<IndexDecl> = ty.indexes.iter().cloned().collect();
    let mut seen = HashSet::new();
    for name in &ty.implements {
        let Some(interface) = interfaces.iter().find(|i| i.name == *name) else {
            continue;
        };
        if !seen.insert(name.as_str()) {
            continue;
        }
        let missing = interface.properties.iter().filter(|p| taken.insert(p.name.clone()));
        ty.properties.extend(missing.cloned());
        let missing = interface.indexes.iter().filter(|i| indexed.insert((*i).clone()));
        ty.indexes.extend(missing.cloned());
    }
}

fn properties(path: &str, messages: Vec<v1::Property>, problems: &mut Problems) -> Vec<Property> {
    let mut ids = HashMap::new();
    let mut out = Vec::with_capacity(messages.len());
    for (i, message) in messages.into_iter().enumerate() {
        let path = format!("{path}.properties[{i}]");
        let property = property(&path, message, problems);
        if property.id != 0 && ids.insert(property.id, i).is_some() {
            problems.report(format!("{path}.stable_id"), "another property has this stable id");
        }
        out.push(property);
    }
    out
}

fn property(path: &str, message: v1::Property, problems: &mut Problems) -> Property {
    let id = match message.stable_id.as_str() {
        "" => 0,
        // Only as it was written: there is one text for each id.
        text => text.parse().ok().filter(|id: &u32| *id != 0 && id.to_string() == text).unwrap_or_else(|| {
            problems.report(format!("{path}.stable_id"), "not a stable id this server made");
            0
        }),
    };
    let mut annotations = annotations(message.annotations);
    if let Some(embedding) = message.embedding {
        if embedding.source_property.is_empty() {
            problems.report(format!("{path}.embedding.source_property"), "must be set");
        }
        if annotations.iter().any(|a| a.name == embedding::NAME) {
            problems.report(format!("{path}.annotations"), "the embedding is given twice");
        }
        annotations.insert(0, embedding::to_annotation(&embedding));
    }
    Property {
        id,
        name: message.name,
        ty: property_type(path, message.r#type, problems),
        nullable: message.nullable,
        description: message.description,
        annotations,
    }
}

fn property_type(path: &str, message: Option<v1::PropertyType>, problems: &mut Problems) -> PropertyType {
    let mut scalar = |path: String, number: i32| {
        scalar_type(number).unwrap_or_else(|| {
            let what = if number == 0 { "must be set" } else { "not a type this server knows" };
            problems.report(path, what);
            ScalarType::String
        })
    };
    match message.and_then(|m| m.kind) {
        Some(TypeKind::Scalar(number)) => PropertyType::Scalar(scalar(format!("{path}.type.scalar"), number)),
        Some(TypeKind::Vector(vector)) => PropertyType::Vector(vector.dimension),
        Some(TypeKind::Enumeration(e)) => PropertyType::Enum(e.values),
        Some(TypeKind::List(list)) => PropertyType::List(scalar(format!("{path}.type.list.element"), list.element)),
        None => {
            problems.report(format!("{path}.type"), "must be set");
            PropertyType::Scalar(ScalarType::String)
        }
    }
}

fn scalar_type(number: i32) -> Option<ScalarType> {
    Some(match v1::ScalarType::try_from(number).ok()? {
        v1::ScalarType::Unspecified => return None,
        v1::ScalarType::String => ScalarType::String,
        v1::ScalarType::Bool => ScalarType::Bool,
        v1::ScalarType::I32 => ScalarType::I32,
        v1::ScalarType::I64 => ScalarType::I64,
        v1::ScalarType::U32 => ScalarType::U32,
        v1::ScalarType::U64 => ScalarType::U64,
        v1::ScalarType::F32 => ScalarType::F32,
        v1::ScalarType::F64 => ScalarType::F64,
        v1::ScalarType::Date => ScalarType::Date,
        v1::ScalarType::Datetime => ScalarType::DateTime,
        v1::ScalarType::Blob => ScalarType::Blob,
    })
}

fn indexes(path: &str, messages: Vec<v1::Index>, problems: &mut Problems) -> Vec<IndexDecl> {
    let convert = |(i, message): (usize, v1::Index)| {
        let path = format!("{path}.indexes[{i}]");
        let kind = index_kind(message.kind).unwrap_or_else(|| {
            problems.report(format!("{path}.kind"), "not a kind this server knows");
            IndexKind::Auto
        });
        let metric = index_metric(message.metric).unwrap_or_else(|| {
            problems.report(format!("{path}.metric"), "not a metric this server knows");
            None
        });
        IndexDecl { columns: message.properties, kind, metric }
    };
    messages.into_iter().enumerate().map(convert).collect()
}

fn index_kind(number: i32) -> Option<IndexKind> {
    Some(match v1::IndexKind::try_from(number).ok()? {
        v1::IndexKind::Unspecified => IndexKind::Auto,
        v1::IndexKind::Text => IndexKind::Text,
        v1::IndexKind::Ngram => IndexKind::Ngram,
    })
}

/// The inner `None` is no metric; the outer one a number without a meaning.
fn index_metric(number: i32) -> Option<Option<Metric>> {
    Some(match v1::VectorMetric::try_from(number).ok()? {
        v1::VectorMetric::Unspecified => None,
        v1::VectorMetric::Cosine => Some(Metric::Cosine),
        v1::VectorMetric::L2 => Some(Metric::L2),
        v1::VectorMetric::Dot => Some(Metric::Dot),
    })
}

fn add_constraint(ty: &mut EntityType, path: &str, message: v1::Constraint, problems: &mut Problems) {
    if !message.inherited_from.is_empty() {
        problems.report(format!("{path}.inherited_from"), "interfaces have no constraints of their own");
    }
    match message.kind {
        None => problems.report(path.to_string(), "the constraint says nothing"),
        Some(Kind::Key(key)) if key.properties.is_empty() => {
            problems.report(format!("{path}.key.properties"), "must name at least one property");
        }
        Some(Kind::Key(_)) if ty.is_keyed() => problems.report(path.to_string(), "a type has one key at most"),
        Some(Kind::Key(key)) => ty.key = key.properties,
        Some(Kind::Unique(unique)) => ty.unique.push(unique.properties),
        Some(Kind::Range(range)) => {
            let min = bound(ty, &range.property, &format!("{path}.range.min"), range.min, problems);
            let max = bound(ty, &range.property, &format!("{path}.range.max"), range.max, problems);
            ty.ranges.push(RangeConstraint { property: range.property, min, max });
        }
        Some(Kind::Check(check)) => {
            ty.checks.push(CheckConstraint { property: check.property, pattern: check.pattern });
        }
        Some(Kind::Cardinality(_)) if ty.cardinality.is_some() => {
            problems.report(path.to_string(), "an edge type has one cardinality at most");
        }
        Some(Kind::Cardinality(c)) => ty.cardinality = Some(Cardinality { min: c.min, max: c.max }),
    }
}

fn bound(
    ty: &EntityType,
    property: &str,
    path: &str,
    bound: Option<v1::Value>,
    problems: &mut Problems,
) -> Option<Value> {
    let scalar = match ty.property(property).map(|p| &p.ty) {
        Some(PropertyType::Scalar(scalar)) => Some(*scalar),
        _ => None,
    };
    match value::to_engine(bound?) {
        Ok(Value::Null) => {
            problems.report(path.to_string(), "null is no bound; leave an open bound out");
            None
        }
        Ok(value) => Some(spelled_as(scalar, value)),
        Err(e) => {
            problems.report(path.to_string(), e.message());
            None
        }
    }
}

/// A whole number in the form the property's type has, where it fits; anything else as it is.
fn spelled_as(scalar: Option<ScalarType>, value: Value) -> Value {
    /// Whole numbers up to this size are exact in a float.
    const EXACT: i128 = 1 << 53;
    let whole = match value {
        Value::I64(v) => i128::from(v),
        Value::U64(v) => i128::from(v),
        other => return other,
    };
    match scalar {
        Some(ScalarType::I32 | ScalarType::I64) => i64::try_from(whole).map_or(value, Value::I64),
        Some(ScalarType::U32 | ScalarType::U64) => u64::try_from(whole).map_or(value, Value::U64),
        Some(ScalarType::F32 | ScalarType::F64) if (-EXACT..=EXACT).contains(&whole) => Value::F64(whole as f64),
        _ => value,
    }
}

fn annotations(messages: Vec<v1::Annotation>) -> Vec<Annotation> {
    messages.into_iter().map(|a| Annotation { name: a.name, arguments: a.arguments }).collect()
}
