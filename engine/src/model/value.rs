//! Typed values. Integers are exact over the whole 64-bit range; null is a value, absence is not one.

/// One property value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Explicitly nothing.
    Null,
    /// `Bool`.
    Bool(bool),
    /// `I32` and `I64`.
    I64(i64),
    /// `U32` and `U64`.
    U64(u64),
    /// `F32` and `F64`. Never NaN or infinite in a key.
    F64(f64),
    /// `String` and enum members.
    String(String),
    /// `Blob`.
    Bytes(bytes::Bytes),
    /// `Date`: days since 1970-01-01.
    Date(i32),
    /// `DateTime`: microseconds since 1970-01-01T00:00:00 UTC.
    Timestamp(i64),
    /// A list of scalars; members may be null.
    List(Vec<Value>),
    /// `Vector(n)`.
    Vector(Vec<f32>),
}

impl Value {
    /// Whether this is [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The kind of value, as named in messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "Bool",
            Self::I64(_) => "signed integer",
            Self::U64(_) => "unsigned integer",
            Self::F64(_) => "float",
            Self::String(_) => "String",
            Self::Bytes(_) => "Blob",
            Self::Date(_) => "Date",
            Self::Timestamp(_) => "DateTime",
            Self::List(_) => "list",
            Self::Vector(_) => "Vector",
        }
    }
}
