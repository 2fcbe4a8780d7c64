//! The conversion rules for one scalar, whatever it comes from: a JSON token, a CSV cell or a typed value.
//!
//! The only place that says which spellings a property's type accepts. Nothing is rounded to another
//! integer, cut off, wrapped or replaced by null here: what does not fit is a misfit.

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int32Builder, Int64Builder, LargeBinaryBuilder,
    StringBuilder, TimestampMicrosecondBuilder, UInt32Builder, UInt64Builder,
};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::sync::Arc;

use super::violations::Misfit;
use crate::error::Reason;
use crate::model::key::text;
use crate::model::{PropertyType, ScalarType};

/// What a blob's text starts with in JSON and CSV.
pub(super) const BLOB_PREFIX: &str = "base64:";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Characters of a wrong value that a message shows.
const SHOWN_CHARS: usize = 60;

/// Members of an enum that a message lists.
const SHOWN_MEMBERS: usize = 20;

/// One scalar on its way in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'a> {
    /// Explicitly nothing.
    Null,
    /// A JSON number, as written.
    JsonNumber(&'a str),
    /// A JSON string, unescaped.
    JsonText(&'a str),
    /// A CSV cell.
    Cell(&'a str),
    /// A typed boolean, or the JSON literals.
    Bool(bool),
    /// A typed integer.
    I64(i64),
    /// A typed integer.
    U64(u64),
    /// A typed float.
    F64(f64),
    /// A typed text.
    Text(&'a str),
    /// Typed bytes.
    Bytes(&'a [u8]),
    /// A typed day.
    Date(i32),
    /// A typed instant.
    DateTime(i64),
    /// Something that is no scalar, named for people.
    Other(&'static str),
}

impl Scalar<'_> {
    /// What this is, for people.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_string(),
            Self::JsonNumber(text) => shorten(text),
            Self::JsonText(text) | Self::Cell(text) | Self::Text(text) => quote(text),
            Self::Bool(b) => b.to_string(),
            Self::I64(i) => i.to_string(),
            Self::U64(u) => u.to_string(),
            Self::F64(f) => f.to_string(),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Self::Date(days) => format!("the day {days} days after 1970-01-01"),
            Self::DateTime(micros) => format!("the instant {micros} microseconds after 1970-01-01"),
            Self::Other(name) => (*name).to_string(),
        }
    }
}

/// A text in quotes, cut where a message would become unreadable.
pub(super) fn quote(text: &str) -> String {
    format!("{:?}", shorten(text))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Values of one scalar type, growing.
#[derive(Debug)]
pub(super) enum Scalars {
    Text(StringBuilder),
    Bool(BooleanBuilder),
    I32(Int32Builder),
    I64(Int64Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    F32(Float32Builder),
    F64(Float64Builder),
    Date(Date32Builder),
    DateTime(TimestampMicrosecondBuilder),
    Blob(LargeBinaryBuilder),
}

impl Scalars {
    /// No values yet.
    pub(super) fn new(ty: ScalarType) -> Self {
        match ty {
            ScalarType::String => Self::Text(StringBuilder::with_capacity(0, 0)),
            ScalarType::Bool => Self::Bool(BooleanBuilder::with_capacity(0)),
            ScalarType::I32 => Self::I32(Int32Builder::with_capacity(0)),
            ScalarType::I64 => Self::I64(Int64Builder::with_capacity(0)),
            ScalarType::U32 => Self::U32(UInt32Builder::with_capacity(0)),
            ScalarType::U64 => Self::U64(UInt64Builder::with_capacity(0)),
            ScalarType::F32 => Self::F32(Float32Builder::with_capacity(0)),
            ScalarType::F64 => Self::F64(Float64Builder::with_capacity(0)),
            ScalarType::Date => Self::Date(Date32Builder::with_capacity(0)),
            ScalarType::DateTime => Self::DateTime(TimestampMicrosecondBuilder::with_capacity(0).with_timezone("UTC")),
            ScalarType::Blob => Self::Blob(LargeBinaryBuilder::with_capacity(0, 0)),
        }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Self::Text(b) => b.len(),
            Self::Bool(b) => b.len(),
            Self::I32(b) => b.len(),
            Self::I64(b) => b.len(),
            Self::U32(b) => b.len(),
            Self::U64(b) => b.len(),
            Self::F32(b) => b.len(),
            Self::F64(b) => b.len(),
            Self::Date(b) => b.len(),
            Self::DateTime(b) => b.len(),
            Self::Blob(b) => b.len(),
        }
    }

    /// Adds a null.
    pub(super) fn push_null(&mut self) {
        match self {
            Self::Text(b) => b.append_null(),
            Self::Bool(b) => b.append_null(),
            Self::I32(b) => b.append_null(),
            Self::I64(b) => b.append_null(),
            Self::U32(b) => b.append_null(),
            Self::U64(b) => b.append_null(),
            Self::F32(b) => b.append_null(),
            Self::F64(b) => b.append_null(),
            Self::Date(b) => b.append_null(),
            Self::DateTime(b) => b.append_null(),
            Self::Blob(b) => b.append_null(),
        }
    }

    /// Adds a value, or nothing if it does not fit.
    pub(super) fn push(&mut self, value: Scalar<'_>) -> Result<(), Misfit> {
        if let Scalar::Null = value {
            self.push_null();
            return Ok(());
        }
        match self {
            Self::Text(b) => b.append_value(as_text(value).ok_or_else(|| misfit(value, ScalarType::String))?),
            Self::Bool(b) => b.append_value(as_bool(value).ok_or_else(|| misfit(value, ScalarType::Bool))?),
            Self::I32(b) => b.append_value(as_integer(value, ScalarType::I32)?),
            Self::I64(b) => b.append_value(as_integer(value, ScalarType::I64)?),
            Self::U32(b) => b.append_value(as_integer(value, ScalarType::U32)?),
            Self::U64(b) => b.append_value(as_integer(value, ScalarType::U64)?),
            Self::F32(b) => b.append_value(as_f32(value).ok_or_else(|| misfit(value, ScalarType::F32))?),
            Self::F64(b) => b.append_value(as_f64(value).ok_or_else(|| misfit(value, ScalarType::F64))?),
            Self::Date(b) => b.append_value(as_date(value).ok_or_else(|| misfit(value, ScalarType::Date))?),
            Self::DateTime(b) => b.append_value(as_datetime(value)?),
            Self::Blob(b) => push_blob(b, value)?,
        }
        Ok(())
    }

    /// Takes all values and starts over.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(b) => Arc::new(b.finish()),
            Self::Bool(b) => Arc::new(b.finish()),
            Self::I32(b) => Arc::new(b.finish()),
            Self::I64(b) => Arc::new(b.finish()),
            Self::U32(b) => Arc::new(b.finish()),
            Self::U64(b) => Arc::new(b.finish()),
            Self::F32(b) => Arc::new(b.finish()),
            Self::F64(b) => Arc::new(b.finish()),
            Self::Date(b) => Arc::new(b.finish()),
            Self::DateTime(b) => Arc::new(b.finish()),
            Self::Blob(b) => Arc::new(b.finish()),
        }
    }
}

#[cold]
fn misfit(value: Scalar<'_>, ty: ScalarType) -> Misfit {
    Misfit::mismatch(value.shown(), expected_scalar(ty))
}

/// The text of a value that is one.
pub(super) fn as_text<'a>(value: Scalar<'a>) -> Option<&'a str> {
    match value {
        Scalar::JsonText(text) | Scalar::Cell(text) | Scalar::Text(text) => Some(text),
        _ => None,
    }
}

fn as_bool(value: Scalar<'_>) -> Option<bool> {
    match value {
        Scalar::Bool(b) => Some(b),
        Scalar::Cell("true") => Some(true),
        Scalar::Cell("false") => Some(false),
        _ => None,
    }
}

fn as_integer<T: TryFrom<i128>>(value: Scalar<'_>, ty: ScalarType) -> Result<T, Misfit> {
    let wide = match value {
        Scalar::JsonNumber(text) | Scalar::JsonText(text) | Scalar::Cell(text) => integer(text),
        Scalar::I64(i) => Some(i128::from(i)),
        Scalar::U64(u) => Some(i128::from(u)),
        _ => None,
    };
    wide.and_then(|wide| T::try_from(wide).ok()).ok_or_else(|| misfit(value, ty))
}

/// Reads an optional minus sign and decimal digits, nothing else.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    Some(if negative { -i128::from(value) } else { i128::from(value) })
}

// A decimal text stands for the nearest float; a typed integer must be one exactly.
fn as_f64(value: Scalar<'_>) -> Option<f64> {
    let float = match value {
        Scalar::JsonNumber(text) | Scalar::Cell(text) => text.parse().ok()?,
        Scalar::I64(i) => exact_f64(i128::from(i))?,
        Scalar::U64(u) => exact_f64(i128::from(u))?,
        Scalar::F64(f) => f,
        _ => return None,
    };
    float.is_finite().then_some(float)
}

// As for 64 bits. A typed float comes from a caller whose only float type may be the 64-bit one, so it
// stands for the nearest 32-bit one.
fn as_f32(value: Scalar<'_>) -> Option<f32> {
    let float = match value {
        Scalar::JsonNumber(text) | Scalar::Cell(text) => text.parse().ok()?,
        Scalar::I64(i) => exact_f32(i128::from(i))?,
        Scalar::U64(u) => exact_f32(i128::from(u))?,
        Scalar::F64(f) => f as f32,
        _ => return None,
    };
    float.is_finite().then_some(float)
}

/// The 64-bit float that is this integer, if there is one.
pub(super) fn exact_f64(integer: i128) -> Option<f64> {
    let float = integer as f64;
    (float as i128 == integer).then_some(float)
}

/// The 32-bit float that is this integer, if there is one.
pub(super) fn exact_f32(integer: i128) -> Option<f32> {
    let float = integer as f32;
    (float as i128 == integer).then_some(float)
}

fn as_date(value: Scalar<'_>) -> Option<i32> {
    match value {
        Scalar::JsonText(text) | Scalar::Cell(text) => text::parse_date(text),
        Scalar::Date(days) if text::is_date(days) => Some(days),
        _ => None,
    }
}

fn as_datetime(value: Scalar<'_>) -> Result<i64, Misfit> {
    match value {
        Scalar::JsonText(text) | Scalar::Cell(text) => text::parse_datetime(text).map_err(|why| {
            Misfit::mismatch(format!("{}, which {why}", value.shown()), expected_scalar(ScalarType::DateTime))
        }),
        Scalar::DateTime(micros) if text::is_datetime(micros) => Ok(micros),
        _ => Err(misfit(value, ScalarType::DateTime)),
    }
}

fn push_blob(out: &mut LargeBinaryBuilder, value: Scalar<'_>) -> Result<(), Misfit> {
    match value {
        Scalar::Bytes(bytes) => out.append_value(bytes),
        Scalar::JsonText(text) | Scalar::Cell(text) => {
            let encoded = text.strip_prefix(BLOB_PREFIX).ok_or_else(|| misfit(value, ScalarType::Blob))?;
            let bytes = BASE64.decode(encoded).map_err(|e| {
                let found = format!("{}, which is not base64: {e}", value.shown());
                Misfit::mismatch(found, expected_scalar(ScalarType::Blob))
            })?;
            out.append_value(bytes);
        }
        _ => return Err(misfit(value, ScalarType::Blob)),
    }
    Ok(())
}

/// Writes bytes the way [`Scalars::push`] reads them back.
pub(super) fn blob_text(bytes: &[u8]) -> String {
    let mut out = BLOB_PREFIX.to_string();
    BASE64.encode_string(bytes, &mut out);
    out
}

/// What a scalar type accepts, for people.
pub(super) fn expected_scalar(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::String => "a String",
        ScalarType::Bool => "a Bool, true or false",
        ScalarType::I32 => "an I32, an integer from -2147483648 to 2147483647",
        ScalarType::I64 => "an I64, an integer from -9223372036854775808 to 9223372036854775807",
        ScalarType::U32 => "a U32, an integer from 0 to 4294967295",
        ScalarType::U64 => "a U64, an integer from 0 to 18446744073709551615",
        ScalarType::F32 => "an F32, a finite number of at most 3.4028235e38 either way",
        ScalarType::F64 => "an F64, a finite number",
        ScalarType::Date => "a Date such as 2024-05-01, without a time of day",
        ScalarType::DateTime => "a DateTime such as 2024-05-01T09:30:00Z",
        ScalarType::Blob => "a Blob, base64:… in text",
    }
}

/// What a property's type accepts, for people.
pub(super) fn expected(ty: &PropertyType) -> String {
    match ty {
        PropertyType::Scalar(scalar) => expected_scalar(*scalar).to_string(),
        PropertyType::Enum(members) => {
            let more = if members.len() > SHOWN_MEMBERS { ", …" } else { "" };
            let shown: Vec<_> = members.iter().take(SHOWN_MEMBERS).map(String::as_str).collect();
            format!("one of {}{more}", shown.join(", "))
        }
        PropertyType::Vector(length) => format!("a Vector of {length} finite numbers"),
        PropertyType::List(scalar) => format!("a list, each member {}", expected_scalar(*scalar)),
    }
}

/// A text that is not a member of its enum.
#[cold]
pub(super) fn not_a_member(text: &str, members: &PropertyType) -> Misfit {
    Misfit { reason: Reason::EnumViolation, found: quote(text), expected: expected(members) }
}
