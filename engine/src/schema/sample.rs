//! Random valid schemas for property tests. A schema follows from a tape of bytes, so that a failing
//! one shrinks with its tape; an exhausted tape chooses the simplest everywhere.

use std::collections::HashSet;

use crate::model::index::method;
use crate::model::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityKind, EntityType, IndexDecl, IndexKind, InterfaceType,
    Metric, Property, PropertyType, RangeConstraint, ScalarType, Schema, Value,
};

/// Choices read from bytes.
pub(super) struct Tape<'a>(pub(super) &'a [u8]);

impl Tape<'_> {
    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first) % bound
            }
            None => 0,
        }
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(super) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    fn number(&mut self) -> i64 {
        (0..8).fold(0, |n, _| (n << 8) | i64::try_from(self.below(256)).unwrap())
    }
}

const SCALARS: [ScalarType; 11] = [
    ScalarType::String,
    ScalarType::Bool,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::F32,
    ScalarType::F64,
    ScalarType::Date,
    ScalarType::DateTime,
    ScalarType::Blob,
];
const STEMS: [&str; 8] = ["p", "order", "repoName", "node", "enum", "implements", "_x", "Interval"];
const TEXTS: [&str; 10] = [
    "",
    "plain",
    "two words",
    "\"quoted\"",
    "back\\slash",
    "line\nbreak",
    "\u{7}\t\r",
    "naïve ☃ 𝄞",
    "/* no comment */ // nor this",
    "){}@",
];
const ARGUMENTS: [&str; 7] =
    ["", "\"bio\", model=\"m)\"", " a ", "(nested (twice))", "{\"a\": [1]} # £", "/* ) */", "x\n// )\n"];
const PATTERNS: [&str; 3] = ["", "^[a-z0-9-]+$", "\\d{2}\\s\"?"];

/// The schema on this tape.
pub(super) fn schema(tape: &mut Tape<'_>) -> Schema {
    let mut schema = Schema::default();
    for i in 0..tape.below(4) {
        let properties = properties(tape, &format!("of{i}"));
        let indexes = indexes(tape, &properties, false);
        schema.interfaces.push(InterfaceType {
            name: format!("{}Face{i}", tape.pick(&STEMS)),
            properties,
            indexes,
            description: tape.pick(&TEXTS).to_string(),
            annotations: annotations(tape),
        });
    }
    let nodes: Vec<String> = (0..=tape.below(3)).map(|i| format!("{}{i}", tape.pick(&STEMS))).collect();
    for name in &nodes {
        let ty = entity(tape, EntityKind::Node, name.clone(), &schema.interfaces, None);
        schema.types.push(ty);
    }
    for i in 0..tape.below(3) {
        let endpoints = Endpoints { from: tape.pick(&nodes).clone(), to: tape.pick(&nodes).clone() };
        let name = format!("{}{i}", tape.pick(&STEMS));
        let ty = entity(tape, EntityKind::Edge, name, &schema.interfaces, Some(endpoints));
        let at = tape.below(schema.types.len() + 1);
        schema.types.insert(at, ty);
    }
    schema
}

fn entity(
    tape: &mut Tape<'_>,
    kind: EntityKind,
    name: String,
    interfaces: &[InterfaceType],
    endpoints: Option<Endpoints>,
) -> EntityType {
    let is_edge = kind == EntityKind::Edge;
    let mut properties = properties(tape, "");
    let mut implements = Vec::new();
    let mut inherited = Vec::new();
    for interface in interfaces.iter().filter(|_| !is_edge) {
        if tape.flag() {
            implements.push(interface.name.clone());
            properties.extend(interface.properties.iter().cloned());
            inherited.extend(interface.indexes.iter().cloned());
        }
    }
    // Declared again in another place or with other words, a property is the type's own.
    if tape.flag() && !properties.is_empty() {
        let at = tape.below(properties.len());
        let mut moved = properties.remove(at);
        moved.description = tape.pick(&TEXTS).to_string();
        properties.insert(tape.below(properties.len() + 1), moved);
    }
    let mut indexes = indexes(tape, &properties, is_edge);
    indexes.retain(|index| inherited.iter().all(|other| index != other && same_metrics(index, other)));
    indexes.extend(inherited);
    let keys: Vec<Vec<String>> = tuples(tape, &properties, is_edge, |p| is_comparable(p) && !p.nullable);
    let unique = tuples(tape, &properties, is_edge, is_comparable);
    let ranges = ranges(tape, &properties);
    let checks = checks(tape, &properties);
    EntityType {
        id: String::new(),
        kind,
        name,
        implements,
        key: keys.into_iter().next().unwrap_or_default(),
        unique,
        indexes,
        ranges,
        checks,
        cardinality: (is_edge && tape.flag()).then(|| cardinality(tape)),
        endpoints,
        description: tape.pick(&TEXTS).to_string(),
        annotations: annotations(tape),
        properties,
    }
}

fn cardinality(tape: &mut Tape<'_>) -> Cardinality {
    let min = u64::try_from(tape.below(3)).unwrap();
    let max = *tape.pick(&[None, Some(min), Some(u64::MAX)]);
    Cardinality { min, max }
}

fn properties(tape: &mut Tape<'_>, suffix: &str) -> Vec<Property> {
    (0..tape.below(6))
        .map(|i| Property {
            id: 0,
            name: format!("{}{i}{suffix}", tape.pick(&STEMS)),
            ty: property_type(tape),
            nullable: tape.flag(),
            description: tape.pick(&TEXTS).to_string(),
            annotations: annotations(tape),
        })
        .collect()
}

fn property_type(tape: &mut Tape<'_>) -> PropertyType {
    match tape.below(6) {
        4 => PropertyType::List(*tape.pick(&SCALARS[..10])),
        5 if tape.flag() => PropertyType::Vector(1 + u32::try_from(tape.below(256)).unwrap()),
        5 => {
            let mut members: Vec<String> = (0..=tape.below(4)).map(|_| tape.pick(&TEXTS).to_string()).collect();
            let mut seen = HashSet::new();
            members.retain(|m| seen.insert(m.clone()));
            PropertyType::Enum(members)
        }
        _ => PropertyType::Scalar(*tape.pick(&SCALARS)),
    }
}

fn annotations(tape: &mut Tape<'_>) -> Vec<Annotation> {
    (0..tape.below(5).saturating_sub(2))
        .map(|_| Annotation {
            name: tape.pick(&["embed", "x", "Key"]).to_string(),
            arguments: tape.pick(&ARGUMENTS).to_string(),
        })
        .collect()
}

fn is_blob(property: &Property) -> bool {
    property.ty == PropertyType::Scalar(ScalarType::Blob)
}

fn is_comparable(property: &Property) -> bool {
    matches!(property.ty, PropertyType::Scalar(_) | PropertyType::Enum(_)) && !is_blob(property)
}

/// Different indexes that fit their columns, with one metric for a column.
fn indexes(tape: &mut Tape<'_>, properties: &[Property], is_edge: bool) -> Vec<IndexDecl> {
    let mut indexes: Vec<IndexDecl> = Vec::new();
    for kind in [IndexKind::Auto, IndexKind::Text, IndexKind::Ngram] {
        let ends = is_edge && kind == IndexKind::Auto;
        let columns = tuples(tape, properties, ends, |p| method(kind, &p.ty).is_some());
        indexes.extend(columns.into_iter().map(|columns| IndexDecl { columns, kind, metric: None }));
    }
    let vectors = tuples(tape, properties, false, |p| matches!(p.ty, PropertyType::Vector(_)));
    for columns in vectors {
        let metric = Some(*tape.pick(&[Metric::Cosine, Metric::L2, Metric::Dot]));
        let index = IndexDecl { columns, kind: IndexKind::Auto, metric };
        if indexes.iter().all(|other| same_metrics(&index, other)) {
            indexes.insert(tape.below(indexes.len() + 1), index);
        }
    }
    indexes
}

/// Whether no column gets one metric from one index and another from the other.
fn same_metrics(a: &IndexDecl, b: &IndexDecl) -> bool {
    let both = a.metric.is_some() && b.metric.is_some() && a.columns.iter().any(|c| b.columns.contains(c));
    !both || a.metric == b.metric
}

/// Different tuples of different columns that `suits`.
fn tuples(
    tape: &mut Tape<'_>,
    properties: &[Property],
    is_edge: bool,
    suits: impl Fn(&Property) -> bool,
) -> Vec<Vec<String>> {
    let mut columns: Vec<String> = properties.iter().filter(|p| suits(p)).map(|p| p.name.clone()).collect();
    if is_edge {
        columns.extend(["src".to_string(), "dst".to_string()]);
    }
    let mut tuples: Vec<Vec<String>> = Vec::new();
    for _ in 0..tape.below(4) {
        let mut tuple: Vec<String> = Vec::new();
        for _ in 0..=tape.below(3) {
            if let Some(column) = columns.get(tape.below(columns.len().max(1)))
                && !tuple.contains(column)
            {
                tuple.push(column.clone());
            }
        }
        if !tuple.is_empty() && !tuples.contains(&tuple) {
            tuples.push(tuple);
        }
    }
    tuples
}

fn ranges(tape: &mut Tape<'_>, properties: &[Property]) -> Vec<RangeConstraint> {
    let mut ranges = Vec::new();
    for _ in 0..tape.below(4) {
        let Some(property) = properties.get(tape.below(properties.len().max(1))) else {
            break;
        };
        let PropertyType::Scalar(scalar) = property.ty else {
            continue;
        };
        let (Some(a), Some(b)) = (bound(tape, scalar), bound(tape, scalar)) else {
            continue;
        };
        let (min, max) = match super::literal::compare_bounds(&a, &b) {
            Some(std::cmp::Ordering::Greater) => (b, a),
            _ => (a, b),
        };
        let (min, max) = match tape.below(3) {
            0 => (Some(min), Some(max)),
            1 => (Some(min), None),
            _ => (None, Some(max)),
        };
        ranges.push(RangeConstraint { property: property.name.clone(), min, max });
    }
    ranges
}

fn bound(tape: &mut Tape<'_>, scalar: ScalarType) -> Option<Value> {
    let n = tape.number();
    let bits = n.cast_unsigned();
    let float = f64::from_bits(bits);
    Some(match scalar {
        ScalarType::I32 => Value::I64(n >> 32),
        ScalarType::I64 => Value::I64(n),
        ScalarType::U32 => Value::U64(bits >> 32),
        ScalarType::U64 => Value::U64(bits),
        ScalarType::F32 => Value::F64(f64::from(f32::MAX) * ((n >> 11) as f64 / 2_f64.powi(53))),
        ScalarType::F64 => Value::F64(if float.is_finite() { float } else { 0.5 }),
        ScalarType::Date => Value::Date(i32::try_from(n % 700_000).unwrap()),
        ScalarType::DateTime => Value::Timestamp(n % 60_000_000_000_000_000),
        ScalarType::String | ScalarType::Bool | ScalarType::Blob => return None,
    })
}

fn checks(tape: &mut Tape<'_>, properties: &[Property]) -> Vec<CheckConstraint> {
    let texts: Vec<&Property> = properties
        .iter()
        .filter(|p| matches!(p.ty, PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_)))
        .collect();
    let count = if texts.is_empty() { 0 } else { tape.below(4) };
    (0..count)
        .map(|_| CheckConstraint {
            property: tape.pick(&texts).name.clone(),
            pattern: tape.pick(&PATTERNS).to_string(),
        })
        .collect()
}
