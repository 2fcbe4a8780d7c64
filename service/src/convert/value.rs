//! Typed values. All 64 bits of an integer survive, and null stays apart from absence.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::Value;
use omnigraph_proto::v1;
use omnigraph_proto::v1::value::Kind;
use std::collections::BTreeMap;

/// A value of the engine as a message.
pub fn to_proto(value: Value) -> v1::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(v) => Kind::BoolValue(v),
        Value::I64(v) => Kind::Int64Value(v),
        Value::U64(v) => Kind::Uint64Value(v),
        Value::F64(v) => Kind::Float64Value(v),
        Value::String(v) => Kind::StringValue(v),
        Value::Bytes(v) => Kind::BlobValue(v),
        Value::Date(v) => Kind::DateValue(v),
        Value::Timestamp(v) => Kind::TimestampMicrosValue(v),
        Value::List(values) => {
            let values = values.into_iter().map(to_proto).collect();
            Kind::ListValue(v1::ListValue { values })
        }
        Value::Vector(elements) => Kind::VectorValue(v1::VectorValue { elements }),
    };
    v1::Value { kind: Some(kind) }
}

/// A message as a value of the engine. Whether it fits its property is decided there.
///
/// # Errors
/// [`Reason::TypeMismatch`] for a value without a kind, a list within a list or with a null in it, and a
/// vector with an element that is not finite.
pub fn to_engine(value: v1::Value) -> Result<Value> {
    Ok(match kind(value)? {
        Kind::ListValue(list) => Value::List(list.values.into_iter().map(element).collect::<Result<_>>()?),
        Kind::VectorValue(vector) => {
            if let Some(at) = vector.elements.iter().position(|e| !e.is_finite()) {
                let what = format!("element {at} of the vector is not a finite number");
                return Err(mismatch(what, "finite numbers", "NaN or an infinity"));
            }
            Value::Vector(vector.elements)
        }
        other => scalar(other),
    })
}

fn kind(value: v1::Value) -> Result<Kind> {
    value
        .kind
        .ok_or_else(|| mismatch("a value has no kind set; null is a kind of its own", "a kind of value", "nothing"))
}

fn element(value: v1::Value) -> Result<Value> {
    match kind(value)? {
        Kind::NullValue(_) => Err(mismatch("a list holds a null", "scalars", "null")),
        Kind::ListValue(_) => Err(mismatch("a list holds a list", "scalars", "list")),
        Kind::VectorValue(_) => Err(mismatch("a list holds a vector", "scalars", "vector")),
        other => Ok(scalar(other)),
    }
}

/// The kinds that hold no other value; the two that do are handled by the callers.
fn scalar(kind: Kind) -> Value {
    match kind {
        Kind::NullValue(_) => Value::Null,
        Kind::BoolValue(v) => Value::Bool(v),
        Kind::Int64Value(v) => Value::I64(v),
        Kind::Uint64Value(v) => Value::U64(v),
        Kind::Float64Value(v) => Value::F64(v),
        Kind::StringValue(v) => Value::String(v),
        Kind::BlobValue(v) => Value::Bytes(v),
        Kind::DateValue(v) => Value::Date(v),
        Kind::TimestampMicrosValue(v) => Value::Timestamp(v),
        Kind::ListValue(_) => Value::List(Vec::new()),
        Kind::VectorValue(v) => Value::Vector(v.elements),
    }
}

/// A map of properties. A missing entry stays missing; null stays null.
///
/// # Errors
/// As [`to_engine`], naming the property.
pub fn properties_to_engine(field: &str, properties: BTreeMap<String, v1::Value>) -> Result<BTreeMap<String, Value>> {
    let convert = |(name, value): (String, v1::Value)| {
        if name.is_empty() {
            return Err(super::invalid(field, "a property has an empty name"));
        }
        match to_engine(value) {
            Ok(value) => Ok((name, value)),
            Err(e) => Err(Error::new(e.reason(), format!("{field}.{name}: {}", e.message()))
                .with("property", &name)
                .with("expected", e.metadata().get("expected").map_or("", String::as_str))
                .with("found", e.metadata().get("found").map_or("", String::as_str))),
        }
    };
    properties.into_iter().map(convert).collect()
}

/// A map of properties as messages.
pub fn properties_to_proto(properties: BTreeMap<String, Value>) -> BTreeMap<String, v1::Value> {
    properties.into_iter().map(|(name, value)| (name, to_proto(value))).collect()
}

fn mismatch(what: impl Into<String>, expected: &str, found: &str) -> Error {
    Error::new(Reason::TypeMismatch, what).with("expected", expected).with("found", found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> Vec<Value> {
        vec![
            Value::Null,
            Value::Bool(false),
            Value::I64(i64::MIN),
            Value::I64(i64::MAX),
            Value::U64(0),
            Value::U64(u64::MAX),
            Value::F64(-0.0),
            Value::F64(f64::MAX),
            Value::String(String::new()),
            Value::String("\u{0}Ω/%\"".into()),
            Value::Bytes(bytes::Bytes::new()),
            Value::Bytes(bytes::Bytes::from_static(&[0, 255])),
            Value::Date(i32::MIN),
            Value::Timestamp(i64::MIN),
            Value::List(Vec::new()),
            Value::List(vec![Value::U64(u64::MAX), Value::U64(1)]),
            Value::Vector(Vec::new()),
            Value::Vector(vec![f32::MIN_POSITIVE, -1.5]),
        ]
    }

    #[test]
    fn every_value_comes_back() {
        for value in every_kind() {
            assert_eq!(to_engine(to_proto(value.clone())).unwrap(), value);
        }
    }

    #[test]
    fn null_is_not_absence() {
        let properties = BTreeMap::from([("a".to_string(), Value::Null)]);
        let there = properties_to_proto(properties.clone());
        assert_eq!(there.len(), 1);
        assert_eq!(properties_to_engine("properties", there).unwrap(), properties);
    }

    #[test]
    fn what_is_no_value_is_refused_by_property() {
        let list = |values| v1::Value { kind: Some(Kind::ListValue(v1::ListValue { values })) };
        let vector = |e| v1::Value { kind: Some(Kind::VectorValue(v1::VectorValue { elements: vec![e] })) };
        let bad = [
            v1::Value { kind: None },
            list(vec![v1::Value { kind: None }]),
            list(vec![to_proto(Value::Null)]),
            list(vec![list(Vec::new())]),
            vector(f32::NAN),
            vector(f32::INFINITY),
        ];
        for value in bad {
            let properties = BTreeMap::from([("p".to_string(), value)]);
            let error = properties_to_engine("set", properties).unwrap_err();
            assert_eq!(error.reason(), Reason::TypeMismatch);
            assert_eq!(error.metadata()["property"], "p");
        }
    }
}
