//! Typed values. Integers keep all their bits, and null is a value that differs from absence. What a property
//! accepts is decided by the server.

use std::time::SystemTime;

use bytes::Bytes;
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::value::Kind;

use crate::time;

/// One property value.
///
/// ```
/// use omnigraph_client::Value;
///
/// assert_eq!(Value::from(37), Value::I64(37));
/// assert_eq!(Value::from(None::<&str>), Value::Null);
/// assert_eq!(Value::date(1970, 1, 31), Some(Value::Date(30)));
/// assert_eq!(Value::date(1970, 2, 30), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Explicitly nothing.
    Null,
    /// `Bool`.
    Bool(bool),
    /// `I32` and `I64`; accepted for any other number type that holds the number exactly.
    I64(i64),
    /// `U32` and `U64`; accepted for any other number type that holds the number exactly.
    U64(u64),
    /// `F32` and `F64`.
    F64(f64),
    /// `String`, and an enum's value by name.
    String(String),
    /// `Blob`.
    Bytes(Bytes),
    /// `Date`: days since 1970-01-01.
    Date(i32),
    /// `DateTime`: microseconds since 1970-01-01T00:00:00 UTC.
    Timestamp(i64),
    /// A list of scalars.
    List(Vec<Value>),
    /// `Vector(n)`.
    Vector(Vec<f32>),
}

impl Value {
    /// A calendar day of the Gregorian calendar, extended to all years. `None` if there is no such day.
    pub fn date(year: i32, month: u32, day: u32) -> Option<Self> {
        time::days_of(year, month, day).map(Self::Date)
    }

    /// Bytes of a `Blob`.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// A list.
    pub fn list<V: Into<Value>>(members: impl IntoIterator<Item = V>) -> Self {
        Self::List(members.into_iter().map(Into::into).collect())
    }

    /// Whether this is [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::I64(number) => Some(*number),
            Self::U64(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::I64(number) => u64::try_from(*number).ok(),
            Self::U64(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, if this is a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::F64(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether it is true, if this is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The moment, if this is one.
    pub fn as_time(&self) -> Option<SystemTime> {
        match self {
            Self::Timestamp(micros) => Some(time::from_micros(*micros)),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($source:ty => $kind:ident),*) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Self::$kind(value.into())
            }
        }
    )*};
}

from!(
    bool => Bool, i8 => I64, i16 => I64, i32 => I64, i64 => I64, u8 => U64, u16 => U64, u32 => U64, u64 => U64,
    f32 => F64, f64 => F64, &str => String, String => String, Bytes => Bytes, Vec<f32> => Vector
);

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::String(text.clone())
    }
}

impl From<SystemTime> for Value {
    fn from(moment: SystemTime) -> Self {
        Self::Timestamp(time::to_micros(moment))
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<Value> for wire::Value {
    fn from(value: Value) -> Self {
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
            Value::List(v) => Kind::ListValue(wire::ListValue { values: v.into_iter().map(Into::into).collect() }),
            Value::Vector(elements) => Kind::VectorValue(wire::VectorValue { elements }),
        };
        Self { kind: Some(kind) }
    }
}

/// A value of a kind this version does not know reads as null.
impl From<wire::Value> for Value {
    fn from(value: wire::Value) -> Self {
        match value.kind {
            None | Some(Kind::NullValue(_)) => Self::Null,
            Some(Kind::BoolValue(v)) => Self::Bool(v),
            Some(Kind::Int64Value(v)) => Self::I64(v),
            Some(Kind::Uint64Value(v)) => Self::U64(v),
            Some(Kind::Float64Value(v)) => Self::F64(v),
            Some(Kind::StringValue(v)) => Self::String(v),
            Some(Kind::BlobValue(v)) => Self::Bytes(v),
            Some(Kind::DateValue(v)) => Self::Date(v),
            Some(Kind::TimestampMicrosValue(v)) => Self::Timestamp(v),
            Some(Kind::ListValue(v)) => Self::List(v.values.into_iter().map(Into::into).collect()),
            Some(Kind::VectorValue(v)) => Self::Vector(v.elements),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_wire() {
        for value in [
            Value::Null,
            Value::from(true),
            Value::from(i64::MIN),
            Value::from(u64::MAX),
            Value::from(-0.5),
            Value::from("ada"),
            Value::bytes(vec![0, 255]),
            Value::Date(-1),
            Value::Timestamp(i64::MAX),
            Value::list(["a", "b"]),
            Value::List(vec![]),
            Value::from(vec![1.5_f32]),
        ] {
            assert_eq!(Value::from(wire::Value::from(value.clone())), value);
        }
    }
}
