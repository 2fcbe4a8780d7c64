//! Entities as text: the one text of each, which is also what digests are made of.
//!
//! `{"id":…,"from":…,"to":…,"data":{…}}`, with `from` and `to` for edges only and properties in declaration order,
//! null ones left out. Numbers are JSON numbers that read back the same; days and instants are numbers, too: days and
//! microseconds since the beginning of 1970. Blobs, and vectors as their little-endian 32-bit floats, are base64.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use super::line::RowDoc;
use crate::error::{Error, Reason, Result};
use crate::model::{Entity, EntityKind, EntityType, PropertyType, ScalarType, Value};

/// Appends an entity's text.
///
/// # Errors
/// [`Reason::DataCorrupt`] for a value that has no text: a float that is not finite.
pub(super) fn write(ty: &EntityType, entity: &Entity, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, &Row { ty, entity }).map_err(|e| {
        Error::new(Reason::DataCorrupt, format!("{} {:?} has no text: {e}", ty.type_ref(), entity.id)).caused_by(e)
    })
}

struct Row<'a> {
    ty: &'a EntityType,
    entity: &'a Entity,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.entity.id)?;
        if let Some((from, to)) = &self.entity.endpoints {
            map.serialize_entry("from", from)?;
            map.serialize_entry("to", to)?;
        }
        map.serialize_entry("data", &Data(self.ty, &self.entity.properties))?;
        map.end()
    }
}

struct Data<'a>(&'a EntityType, &'a BTreeMap<String, Value>);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for property in &self.0.properties {
            if let Some(value) = self.1.get(&property.name).filter(|value| !value.is_null()) {
                map.serialize_entry(&property.name, &Cell(value))?;
            }
        }
        map.end()
    }
}

struct Cell<'a>(&'a Value);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_none(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::I64(value) | Value::Timestamp(value) => serializer.serialize_i64(*value),
            Value::U64(value) => serializer.serialize_u64(*value),
            Value::F64(value) if value.is_finite() => serializer.serialize_f64(*value),
            Value::F64(value) => Err(S::Error::custom(format!("{value} is no number"))),
            Value::String(value) => serializer.serialize_str(value),
            Value::Date(value) => serializer.serialize_i32(*value),
            Value::Bytes(value) => serializer.serialize_str(&BASE64.encode(value)),
            Value::Vector(value) => {
                let bytes: Vec<u8> = value.iter().flat_map(|number| number.to_le_bytes()).collect();
                serializer.serialize_str(&BASE64.encode(bytes))
            }
            Value::List(values) => serializer.collect_seq(values.iter().map(Cell)),
        }
    }
}

/// The entity that a row says.
///
/// # Errors
/// [`Reason::InvalidRecord`] for what does not fit the type.
pub(super) fn read(ty: &EntityType, row: RowDoc) -> Result<Entity> {
    let wrong = |what: String| Error::new(Reason::InvalidRecord, format!("{}: {what}", ty.type_ref()));
    let endpoints = match (ty.kind, row.from, row.to) {
        (EntityKind::Node, None, None) => None,
        (EntityKind::Edge, Some(from), Some(to)) => Some((from, to)),
        _ => return Err(wrong("an edge has from and to, a node has neither".to_string())),
    };
    let mut data = row.data;
    let mut properties = BTreeMap::new();
    for property in &ty.properties {
        let value = match data.remove(&property.name) {
            None | Some(Json::Null) => Value::Null,
            Some(json) => value(&property.ty, &json)
                .ok_or_else(|| wrong(format!("{} has a value that is not of its type", property.name)))?,
        };
        properties.insert(property.name.clone(), value);
    }
    match data.keys().next() {
        Some(unknown) => Err(wrong(format!("there is no property {unknown}"))),
        None => Ok(Entity { type_ref: ty.type_ref(), id: row.id, endpoints, properties }),
    }
}

fn value(ty: &PropertyType, json: &Json) -> Option<Value> {
    match ty {
        PropertyType::Scalar(scalar) => self::scalar(*scalar, json),
        PropertyType::Enum(_) => scalar(ScalarType::String, json),
        PropertyType::Vector(_) => {
            let bytes = BASE64.decode(json.as_str()?).ok()?;
            let (numbers, rest) = bytes.as_chunks::<4>();
            rest.is_empty().then(|| Value::Vector(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
        }
        PropertyType::List(member) => {
            let members = json.as_array()?.iter().map(|json| match json {
                Json::Null => Some(Value::Null),
                json => scalar(*member, json),
            });
            members.collect::<Option<_>>().map(Value::List)
        }
    }
}

fn scalar(ty: ScalarType, json: &Json) -> Option<Value> {
    Some(match ty {
        ScalarType::String => Value::String(json.as_str()?.to_string()),
        ScalarType::Bool => Value::Bool(json.as_bool()?),
        ScalarType::I32 | ScalarType::I64 => Value::I64(json.as_i64()?),
        ScalarType::U32 | ScalarType::U64 => Value::U64(json.as_u64()?),
        ScalarType::F32 | ScalarType::F64 => Value::F64(json.as_f64()?),
        ScalarType::Date => Value::Date(json.as_i64()?.try_into().ok()?),
        ScalarType::DateTime => Value::Timestamp(json.as_i64()?),
        ScalarType::Blob => Value::Bytes(BASE64.decode(json.as_str()?).ok()?.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::parse;

    fn ty(text: &str) -> EntityType {
        parse(text).unwrap().types.pop().unwrap()
    }

    fn everything() -> EntityType {
        ty("node P { s: String b: Bool i: I64 u: U64 f: F64 g: F32 d: Date t: DateTime x: Blob v: Vector(3) \
            e: enum(a, b) l: [F64]? n: String? }")
    }

    fn sample() -> Entity {
        let values = [
            ("s", Value::String("é\"\n".into())),
            ("b", Value::Bool(true)),
            ("i", Value::I64(i64::MIN)),
            ("u", Value::U64(u64::MAX)),
            ("f", Value::F64(-0.0)),
            ("g", Value::F64(f64::from(0.1_f32))),
            ("d", Value::Date(-719_529)),
            ("t", Value::Timestamp(i64::MAX)),
            ("x", Value::Bytes(vec![0, 255].into())),
            ("v", Value::Vector(vec![0.1, -0.0, f32::MIN_POSITIVE])),
            ("e", Value::String("a".into())),
            ("l", Value::List(vec![Value::F64(5e-324), Value::Null])),
            ("n", Value::Null),
        ];
        let properties = values.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        Entity { type_ref: everything().type_ref(), id: "x".into(), endpoints: None, properties }
    }

    #[test]
    fn every_value_comes_back_to_the_last_bit() {
        let (ty, entity) = (everything(), sample());
        let mut text = Vec::new();
        write(&ty, &entity, &mut text).unwrap();
        let back = read(&ty, serde_json::from_slice(&text).unwrap()).unwrap();
        assert_eq!(back, entity);
        // Equality does not see the sign of zero.
        let mut again = Vec::new();
        write(&ty, &back, &mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), String::from_utf8(text).unwrap());
    }

    #[test]
    fn the_text_is_fixed() {
        let ty = ty("node A {} edge K: A -> A { b: Date? a: F64? c: I32? }");
        let properties = [("a", Value::F64(1.0)), ("b", Value::Date(1)), ("c", Value::Null)];
        let entity = Entity {
            type_ref: ty.type_ref(),
            id: "k".into(),
            endpoints: Some(("p".into(), "q".into())),
            properties: properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        };
        let mut text = Vec::new();
        write(&ty, &entity, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), r#"{"id":"k","from":"p","to":"q","data":{"b":1,"a":1.0}}"#);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let ty = everything();
        for row in [
            r#"{"id":"x","data":{"s":1}}"#,
            r#"{"id":"x","data":{"i":9223372036854775808}}"#,
            r#"{"id":"x","data":{"v":"AAA="}}"#,
            r#"{"id":"x","data":{"x":"*"}}"#,
            r#"{"id":"x","data":{"zzz":1}}"#,
            r#"{"id":"x","from":"a","to":"b","data":{}}"#,
        ] {
            let error = read(&ty, serde_json::from_str(row).unwrap()).unwrap_err();
            assert_eq!(error.reason(), Reason::InvalidRecord, "{row}");
        }
        let mut entity = sample();
        entity.properties.insert("f".into(), Value::F64(f64::NAN));
        assert_eq!(write(&ty, &entity, &mut Vec::new()).unwrap_err().reason(), Reason::DataCorrupt);
    }
}
