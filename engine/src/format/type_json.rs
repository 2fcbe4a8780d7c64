//! The persisted form of one type or interface: JSON with a format number. It stores what it is given
//! and checks no rules of schemas; it may not change for a format number that was ever written.
//!
//! 64-bit integers and floats are strings beside a tag, since a JSON number need not survive others.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};
use crate::model::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityKind, EntityType, IndexDecl, IndexKind, InterfaceType,
    Metric, Property, PropertyType, RangeConstraint, ScalarType, Value,
};

/// The only format so far.
const FORMAT: u64 = 1;

/// What every format begins with; read first so that an unknown one is refused for what it is.
#[derive(Deserialize)]
struct Stamp {
    format: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredType {
    format: u64,
    id: String,
    kind: StoredKind,
    name: String,
    implements: Vec<String>,
    properties: Vec<StoredProperty>,
    key: Vec<String>,
    unique: Vec<Vec<String>>,
    indexes: Vec<StoredIndex>,
    ranges: Vec<StoredRange>,
    checks: Vec<StoredCheck>,
    cardinality: Option<StoredCardinality>,
    endpoints: Option<StoredEndpoints>,
    description: String,
    annotations: Vec<StoredAnnotation>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredInterface {
    format: u64,
    name: String,
    properties: Vec<StoredProperty>,
    indexes: Vec<StoredIndex>,
    description: String,
    annotations: Vec<StoredAnnotation>,
}

#[derive(Serialize, Deserialize)]
enum StoredKind {
    #[serde(rename = "node")]
    Node,
    #[serde(rename = "edge")]
    Edge,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredProperty {
    id: u32,
    name: String,
    #[serde(rename = "type")]
    ty: StoredPropertyType,
    nullable: bool,
    description: String,
    annotations: Vec<StoredAnnotation>,
}

#[derive(Serialize, Deserialize)]
enum StoredPropertyType {
    #[serde(rename = "scalar")]
    Scalar(StoredScalar),
    #[serde(rename = "enum")]
    Enum(Vec<String>),
    #[serde(rename = "vector")]
    Vector(u32),
    #[serde(rename = "list")]
    List(StoredScalar),
}

#[derive(Serialize, Deserialize)]
enum StoredScalar {
    #[serde(rename = "string")]
    String,
    #[serde(rename = "bool")]
    Bool,
    #[serde(rename = "i32")]
    I32,
    #[serde(rename = "i64")]
    I64,
    #[serde(rename = "u32")]
    U32,
    #[serde(rename = "u64")]
    U64,
    #[serde(rename = "f32")]
    F32,
    #[serde(rename = "f64")]
    F64,
    #[serde(rename = "date")]
    Date,
    #[serde(rename = "datetime")]
    DateTime,
    #[serde(rename = "blob")]
    Blob,
}

/// An index that says nothing but its columns is their list alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredIndex {
    Columns(Vec<String>),
    Told(StoredToldIndex),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredToldIndex {
    columns: Vec<String>,
    kind: Option<StoredIndexKind>,
    metric: Option<StoredMetric>,
}

#[derive(Serialize, Deserialize)]
enum StoredIndexKind {
    #[serde(rename = "text")]
    Text,
    #[serde(rename = "ngram")]
    Ngram,
}

#[derive(Serialize, Deserialize)]
enum StoredMetric {
    #[serde(rename = "cosine")]
    Cosine,
    #[serde(rename = "l2")]
    L2,
    #[serde(rename = "dot")]
    Dot,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    property: String,
    min: Option<StoredValue>,
    max: Option<StoredValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCheck {
    property: String,
    pattern: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCardinality {
    min: Decimal,
    max: Option<Decimal>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEndpoints {
    from: String,
    to: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAnnotation {
    name: String,
    arguments: String,
}

/// A number as text.
#[derive(Serialize, Deserialize)]
struct Decimal(String);

/// A value beside the name of its kind.
#[derive(Serialize, Deserialize)]
enum StoredValue {
    #[serde(rename = "null")]
    Null,
    #[serde(rename = "bool")]
    Bool(bool),
    #[serde(rename = "i64")]
    I64(Decimal),
    #[serde(rename = "u64")]
    U64(Decimal),
    #[serde(rename = "f64")]
    F64(Decimal),
    #[serde(rename = "string")]
    String(String),
    #[serde(rename = "bytes")]
    Bytes(Vec<u8>),
    #[serde(rename = "date")]
    Date(i32),
    #[serde(rename = "timestamp")]
    Timestamp(Decimal),
    #[serde(rename = "list")]
    List(Vec<StoredValue>),
    #[serde(rename = "vector")]
    Vector(Vec<Decimal>),
}

/// The stable id in the declaration of a type.
///
/// # Errors
/// [`Reason::DataCorrupt`] if there is none.
pub fn id_of(json: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    const WHAT: &str = "type declaration";
    serde_json::from_str::<Id>(json).map(|found| found.id).map_err(|_| corrupt(WHAT, "it names no id"))
}

/// `ty` as stored, ids included. Equal types give equal bytes.
pub fn encode_type(ty: &EntityType) -> String {
    to_json(&StoredType {
        format: FORMAT,
        id: ty.id.clone(),
        kind: match ty.kind {
            EntityKind::Node => StoredKind::Node,
            EntityKind::Edge => StoredKind::Edge,
        },
        name: ty.name.clone(),
        implements: ty.implements.clone(),
        properties: ty.properties.iter().map(StoredProperty::of).collect(),
        key: ty.key.clone(),
        unique: ty.unique.clone(),
        indexes: ty.indexes.iter().map(StoredIndex::of).collect(),
        ranges: ty.ranges.iter().map(StoredRange::of).collect(),
        checks: ty.checks.iter().map(StoredCheck::of).collect(),
        cardinality: ty.cardinality.map(|c| StoredCardinality {
            min: Decimal(c.min.to_string()),
            max: c.max.map(|max| Decimal(max.to_string())),
        }),
        endpoints: ty.endpoints.as_ref().map(|e| StoredEndpoints { from: e.from.clone(), to: e.to.clone() }),
        description: ty.description.clone(),
        annotations: ty.annotations.iter().map(StoredAnnotation::of).collect(),
    })
}

/// The type that `json` stores.
///
/// # Errors
/// [`Reason::StorageStampTooNew`] for a later format; [`Reason::DataCorrupt`] for anything that
/// [`encode_type`] does not write.
pub fn decode_type(json: &str) -> Result<EntityType> {
    const WHAT: &str = "type declaration";
    let stored: StoredType = from_json(json, WHAT)?;
    let decoded = || -> Option<EntityType> {
        Some(EntityType {
            id: stored.id,
            kind: match stored.kind {
                StoredKind::Node => EntityKind::Node,
                StoredKind::Edge => EntityKind::Edge,
            },
            name: stored.name,
            implements: stored.implements,
            properties: stored.properties.into_iter().map(StoredProperty::decode).collect(),
            key: stored.key,
            unique: stored.unique,
            indexes: stored.indexes.into_iter().map(StoredIndex::decode).collect(),
            ranges: stored.ranges.into_iter().map(StoredRange::decode).collect::<Option<_>>()?,
            checks: stored.checks.into_iter().map(StoredCheck::decode).collect(),
            cardinality: match stored.cardinality {
                None => None,
                Some(c) => Some(Cardinality {
                    min: c.min.decode()?,
                    max: c.max.map_or(Some(None), |max| max.decode().map(Some))?,
                }),
            },
            endpoints: stored.endpoints.map(|e| Endpoints { from: e.from, to: e.to }),
            description: stored.description,
            annotations: stored.annotations.into_iter().map(StoredAnnotation::decode).collect(),
        })
    };
    decoded().ok_or_else(|| corrupt(WHAT, "a number is not one"))
}

/// `interface` as stored. Equal interfaces give equal bytes.
pub fn encode_interface(interface: &InterfaceType) -> String {
    to_json(&StoredInterface {
        format: FORMAT,
        name: interface.name.clone(),
        properties: interface.properties.iter().map(StoredProperty::of).collect(),
        indexes: interface.indexes.iter().map(StoredIndex::of).collect(),
        description: interface.description.clone(),
        annotations: interface.annotations.iter().map(StoredAnnotation::of).collect(),
    })
}

/// The interface that `json` stores.
///
/// # Errors
/// [`Reason::StorageStampTooNew`] for a later format; [`Reason::DataCorrupt`] for anything that
/// [`encode_interface`] does not write.
pub fn decode_interface(json: &str) -> Result<InterfaceType> {
    let stored: StoredInterface = from_json(json, "interface declaration")?;
    Ok(InterfaceType {
        name: stored.name,
        properties: stored.properties.into_iter().map(StoredProperty::decode).collect(),
        indexes: stored.indexes.into_iter().map(StoredIndex::decode).collect(),
        description: stored.description,
        annotations: stored.annotations.into_iter().map(StoredAnnotation::decode).collect(),
    })
}

fn to_json(stored: &impl Serialize) -> String {
    serde_json::to_string(stored).expect("the stored shapes have only text keys and JSON cannot refuse them")
}

fn from_json<T: for<'de> Deserialize<'de>>(json: &str, what: &str) -> Result<T> {
    let unreadable = |e: serde_json::Error| corrupt(what, &e.to_string()).caused_by(e);
    let stamp: Stamp = serde_json::from_str(json).map_err(unreadable)?;
    match stamp.format {
        FORMAT => serde_json::from_str(json).map_err(unreadable),
        newer if newer > FORMAT => Err(Error::new(
            Reason::StorageStampTooNew,
            format!(
                "a stored {what} has format {newer}, this release reads format {FORMAT}; open the \
                 graph with the release that wrote it"
            ),
        )
        .with("found", newer)
        .with("supported", FORMAT)),
        older => Err(corrupt(what, &format!("format {older} was never written")).with("found", older)),
    }
}

fn corrupt(what: &str, why: &str) -> Error {
    Error::new(Reason::DataCorrupt, format!("a stored {what} cannot be read: {why}"))
}

impl Decimal {
    fn decode<T: std::str::FromStr>(self) -> Option<T> {
        self.0.parse().ok()
    }
}

impl StoredProperty {
    fn of(property: &Property) -> Self {
        Self {
            id: property.id,
            name: property.name.clone(),
            ty: match &property.ty {
                PropertyType::Scalar(scalar) => StoredPropertyType::Scalar(StoredScalar::of(*scalar)),
                PropertyType::Enum(members) => StoredPropertyType::Enum(members.clone()),
                PropertyType::Vector(dimensions) => StoredPropertyType::Vector(*dimensions),
                PropertyType::List(scalar) => StoredPropertyType::List(StoredScalar::of(*scalar)),
            },
            nullable: property.nullable,
            description: property.description.clone(),
            annotations: property.annotations.iter().map(StoredAnnotation::of).collect(),
        }
    }

    fn decode(self) -> Property {
        Property {
            id: self.id,
            name: self.name,
            ty: match self.ty {
                StoredPropertyType::Scalar(scalar) => PropertyType::Scalar(scalar.decode()),
                StoredPropertyType::Enum(members) => PropertyType::Enum(members),
                StoredPropertyType::Vector(dimensions) => PropertyType::Vector(dimensions),
                StoredPropertyType::List(scalar) => PropertyType::List(scalar.decode()),
            },
            nullable: self.nullable,
            description: self.description,
            annotations: self.annotations.into_iter().map(StoredAnnotation::decode).collect(),
        }
    }
}

impl StoredScalar {
    fn of(scalar: ScalarType) -> Self {
        match scalar {
            ScalarType::String => Self::String,
            ScalarType::Bool => Self::Bool,
            ScalarType::I32 => Self::I32,
            ScalarType::I64 => Self::I64,
            ScalarType::U32 => Self::U32,
            ScalarType::U64 => Self::U64,
            ScalarType::F32 => Self::F32,
            ScalarType::F64 => Self::F64,
            ScalarType::Date => Self::Date,
            ScalarType::DateTime => Self::DateTime,
            ScalarType::Blob => Self::Blob,
        }
    }

    fn decode(self) -> ScalarType {
        match self {
            Self::String => ScalarType::String,
            Self::Bool => ScalarType::Bool,
            Self::I32 => ScalarType::I32,
            Self::I64 => ScalarType::I64,
            Self::U32 => ScalarType::U32,
            Self::U64 => ScalarType::U64,
            Self::F32 => ScalarType::F32,
            Self::F64 => ScalarType::F64,
            Self::Date => ScalarType::Date,
            Self::DateTime => ScalarType::DateTime,
            Self::Blob => ScalarType::Blob,
        }
    }
}

impl StoredIndex {
    fn of(index: &IndexDecl) -> Self {
        let columns = index.columns.clone();
        let kind = match index.kind {
            IndexKind::Auto => None,
            IndexKind::Text => Some(StoredIndexKind::Text),
            IndexKind::Ngram => Some(StoredIndexKind::Ngram),
        };
        let metric = index.metric.map(|metric| match metric {
            Metric::Cosine => StoredMetric::Cosine,
            Metric::L2 => StoredMetric::L2,
            Metric::Dot => StoredMetric::Dot,
        });
        match (&kind, &metric) {
            (None, None) => Self::Columns(columns),
            _ => Self::Told(StoredToldIndex { columns, kind, metric }),
        }
    }

    fn decode(self) -> IndexDecl {
        let told = match self {
            Self::Columns(columns) => return IndexDecl::auto(columns),
            Self::Told(told) => told,
        };
        IndexDecl {
            columns: told.columns,
            kind: match told.kind {
                None => IndexKind::Auto,
                Some(StoredIndexKind::Text) => IndexKind::Text,
                Some(StoredIndexKind::Ngram) => IndexKind::Ngram,
            },
            metric: told.metric.map(|metric| match metric {
                StoredMetric::Cosine => Metric::Cosine,
                StoredMetric::L2 => Metric::L2,
                StoredMetric::Dot => Metric::Dot,
            }),
        }
    }
}

impl StoredRange {
    fn of(range: &RangeConstraint) -> Self {
        Self {
            property: range.property.clone(),
            min: range.min.as_ref().map(StoredValue::of),
            max: range.max.as_ref().map(StoredValue::of),
        }
    }

    fn decode(self) -> Option<RangeConstraint> {
        let bound = |stored: Option<StoredValue>| match stored {
            None => Some(None),
            Some(value) => value.decode().map(Some),
        };
        Some(RangeConstraint { property: self.property, min: bound(self.min)?, max: bound(self.max)? })
    }
}

impl StoredCheck {
    fn of(check: &CheckConstraint) -> Self {
        Self { property: check.property.clone(), pattern: check.pattern.clone() }
    }

    fn decode(self) -> CheckConstraint {
        CheckConstraint { property: self.property, pattern: self.pattern }
    }
}

impl StoredAnnotation {
    fn of(annotation: &Annotation) -> Self {
        Self { name: annotation.name.clone(), arguments: annotation.arguments.clone() }
    }

    fn decode(self) -> Annotation {
        Annotation { name: self.name, arguments: self.arguments }
    }
}

impl StoredValue {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::I64(n) => Self::I64(Decimal(n.to_string())),
            Value::U64(n) => Self::U64(Decimal(n.to_string())),
            // The shortest text that reads back as the same float, infinities included.
            Value::F64(x) => Self::F64(Decimal(format!("{x:?}"))),
            Value::String(text) => Self::String(text.clone()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Date(days) => Self::Date(*days),
            Value::Timestamp(micros) => Self::Timestamp(Decimal(micros.to_string())),
            Value::List(values) => Self::List(values.iter().map(Self::of).collect()),
            Value::Vector(xs) => Self::Vector(xs.iter().map(|x| Decimal(format!("{x:?}"))).collect()),
        }
    }

    fn decode(self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(b),
            Self::I64(n) => Value::I64(n.decode()?),
            Self::U64(n) => Value::U64(n.decode()?),
            Self::F64(x) => Value::F64(x.decode()?),
            Self::String(text) => Value::String(text),
            Self::Bytes(bytes) => Value::Bytes(bytes.into()),
            Self::Date(days) => Value::Date(days),
            Self::Timestamp(micros) => Value::Timestamp(micros.decode()?),
            Self::List(values) => Value::List(values.into_iter().map(Self::decode).collect::<Option<_>>()?),
            Self::Vector(xs) => Value::Vector(xs.into_iter().map(Decimal::decode).collect::<Option<_>>()?),
        })
    }
}

#[cfg(test)]
mod tests;
