//! The canonical text of an entity's id, derived from its typed key.
//!
//! The one place that says how a key becomes an id: load, mutation, merge and import all end here, so the
//! same key gives the same id everywhere and for ever. One key part gives its canonical text; several give
//! a JSON array of canonical texts, endpoints first, then properties by their stable id, so neither a
//! rename nor a different declaration order changes an id. Pure; it may not know Arrow or any encoding.

pub mod text;

use std::fmt::Write;

use super::entity::EntityKind;
use super::schema::{EntityType, PropertyType, ScalarType};
use super::value::Value;
use crate::error::{Error, Reason, Result};
use crate::limits;

/// Where the value of one key part is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// An edge's source id.
    Src,
    /// An edge's destination id.
    Dst,
    /// The property at this position of [`EntityType::properties`].
    Property(usize),
}

/// One typed value of a key. Only these types can be part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyPart<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// Signed integers of any width.
    I64(i64),
    /// Unsigned integers of any width.
    U64(u64),
    /// Shortest text that reads back as the same 32-bit float.
    F32(f32),
    /// Shortest text that reads back as the same 64-bit float.
    F64(f64),
    /// Text, enum members and endpoint ids, as they are.
    Text(&'a str),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00 UTC.
    DateTime(i64),
}

/// The parts of a type's key in canonical order: `src`, `dst`, then properties by their stable id. Empty
/// for an unkeyed type.
///
/// # Errors
/// [`Reason::InvalidSchema`] if the key names something the type lacks or a type that has no canonical text.
pub fn key_sources(ty: &EntityType) -> Result<Vec<KeySource>> {
    let mut properties = Vec::with_capacity(ty.key.len());
    let (mut src, mut dst) = (false, false);
    for name in &ty.key {
        match name.as_str() {
            "src" if ty.kind == EntityKind::Edge => src = true,
            "dst" if ty.kind == EntityKind::Edge => dst = true,
            _ => {
                let position = ty.properties.iter().position(|p| p.name == *name);
                let position = position.ok_or_else(|| {
                    let what = format!("the key of {} names {name}, which is not one of its properties", ty.name);
                    Error::new(Reason::InvalidSchema, what).with("type", &ty.name).with("property", name)
                })?;
                if !can_be_key(&ty.properties[position].ty) {
                    let what = format!("{}.{name} cannot be part of a key: its type has no canonical text", ty.name);
                    return Err(Error::new(Reason::InvalidSchema, what).with("type", &ty.name).with("property", name));
                }
                properties.push(position);
            }
        }
    }
    properties.sort_by_key(|&position| ty.properties[position].id);
    let ends = [(src, KeySource::Src), (dst, KeySource::Dst)];
    let ends = ends.into_iter().filter_map(|(named, source)| named.then_some(source));
    Ok(ends.chain(properties.into_iter().map(KeySource::Property)).collect())
}

/// Whether values of this type have a canonical text and so can be part of a key.
pub fn can_be_key(ty: &PropertyType) -> bool {
    match ty {
        PropertyType::Scalar(scalar) => *scalar != ScalarType::Blob,
        PropertyType::Enum(_) => true,
        PropertyType::Vector(_) | PropertyType::List(_) => false,
    }
}

/// The id of an entity of a keyed type. `get` gives the value of a column: a property, or `src` and `dst`
/// on edges whose key names them.
///
/// # Errors
/// [`Reason::RequiredViolation`] if a key value is null or absent, [`Reason::TypeMismatch`] if it is not of
/// its property's type or has no canonical text (NaN, infinities), [`Reason::LimitExceeded`] if the id is
/// too long, [`Reason::InvalidArgument`] if it is empty, [`Reason::Internal`] for an unkeyed type.
pub fn id_of<'a>(ty: &EntityType, get: impl Fn(&str) -> Option<&'a Value>) -> Result<String> {
    let sources = key_sources(ty)?;
    if sources.is_empty() {
        return Err(Error::internal(format!("{} has no key to derive an id from", ty.name)));
    }
    let mut writer = IdWriter::new(sources.len());
    for source in sources {
        let (name, property) = match source {
            KeySource::Src => ("src", None),
            KeySource::Dst => ("dst", None),
            KeySource::Property(position) => {
                let property = &ty.properties[position];
                (property.name.as_str(), Some(&property.ty))
            }
        };
        let named = |e: Error| e.with("type", &ty.name).with("property", name);
        let value = get(name).unwrap_or(&Value::Null);
        let part = part_of(&ty.name, name, property, value).map_err(named)?;
        writer.push(part).map_err(named)?;
    }
    let id = writer.finish();
    check_id(&id).map_err(|e| e.with("type", &ty.name))?;
    Ok(id)
}

fn part_of<'a>(type_name: &str, name: &str, ty: Option<&PropertyType>, value: &'a Value) -> Result<KeyPart<'a>> {
    use ScalarType as S;
    let scalar = match ty {
        None | Some(PropertyType::Enum(_)) => S::String,
        Some(PropertyType::Scalar(scalar)) => *scalar,
        Some(_) => S::Blob,
    };
    let part = match (scalar, value) {
        (_, Value::Null) => {
            let what = format!("{type_name}.{name} is part of the key and must have a value");
            return Err(Error::new(Reason::RequiredViolation, what));
        }
        (S::String, Value::String(text)) => Some(KeyPart::Text(text)),
        (S::Bool, Value::Bool(b)) => Some(KeyPart::Bool(*b)),
        (S::I32 | S::I64, Value::I64(i)) => Some(KeyPart::I64(*i)),
        (S::I32 | S::I64, Value::U64(u)) => i64::try_from(*u).ok().map(KeyPart::I64),
        (S::U32 | S::U64, Value::U64(u)) => Some(KeyPart::U64(*u)),
        (S::U32 | S::U64, Value::I64(i)) => u64::try_from(*i).ok().map(KeyPart::U64),
        (S::F32, Value::F64(f)) => Some(KeyPart::F32(*f as f32)),
        (S::F64, Value::F64(f)) => Some(KeyPart::F64(*f)),
        (S::Date, Value::Date(days)) => Some(KeyPart::Date(*days)),
        (S::DateTime, Value::Timestamp(micros)) => Some(KeyPart::DateTime(*micros)),
        _ => None,
    };
    part.ok_or_else(|| {
        let found = value.type_name();
        Error::new(Reason::TypeMismatch, format!("{type_name}.{name} is part of the key and cannot be this {found}"))
    })
}

/// Puts the parts of one key together. Give it as many parts as it was made for, in the order of
/// [`key_sources`].
#[derive(Debug)]
pub struct IdWriter {
    out: String,
    parts: usize,
    written: usize,
}

impl IdWriter {
    /// A writer for keys of this many parts. It can be used again after [`IdWriter::finish`].
    pub fn new(parts: usize) -> Self {
        Self { out: String::new(), parts, written: 0 }
    }

    /// Adds the next part.
    ///
    /// # Errors
    /// [`Reason::TypeMismatch`] for NaN, infinities, and days or instants outside the years 0000 to 9999.
    pub fn push(&mut self, part: KeyPart<'_>) -> Result<()> {
        if self.parts == 1 {
            push_part(&mut self.out, part)?;
        } else {
            self.out.push(if self.written == 0 { '[' } else { ',' });
            match part {
                KeyPart::Text(value) => text::json_string(&mut self.out, value),
                // No other canonical text holds a character that JSON escapes.
                _ => {
                    self.out.push('"');
                    push_part(&mut self.out, part)?;
                    self.out.push('"');
                }
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Takes the id.
    pub fn finish(&mut self) -> String {
        if self.parts > 1 {
            self.out.push(']');
        }
        self.written = 0;
        std::mem::take(&mut self.out)
    }

    /// Drops the parts given so far.
    pub fn reset(&mut self) {
        self.written = 0;
        self.out.clear();
    }
}

fn push_part(out: &mut String, part: KeyPart<'_>) -> Result<()> {
    let refuse = |what: &str| Err(Error::new(Reason::TypeMismatch, format!("{what} cannot be part of a key")));
    match part {
        KeyPart::Bool(true) => out.push_str("true"),
        KeyPart::Bool(false) => out.push_str("false"),
        // Writing to a string cannot fail.
        KeyPart::I64(i) => drop(write!(out, "{i}")),
        KeyPart::U64(u) => drop(write!(out, "{u}")),
        KeyPart::F32(f) if !f.is_finite() => return refuse("NaN or an infinity"),
        KeyPart::F64(f) if !f.is_finite() => return refuse("NaN or an infinity"),
        // Adding positive zero turns negative zero into it and leaves every other number alone.
        KeyPart::F32(f) => text::float32(out, f + 0.0),
        KeyPart::F64(f) => text::float64(out, f + 0.0),
        KeyPart::Text(value) => out.push_str(value),
        KeyPart::Date(days) if !text::is_date(days) => {
            return refuse("a day outside the years 0000 to 9999");
        }
        KeyPart::Date(days) => text::date(out, days),
        KeyPart::DateTime(micros) if !text::is_datetime(micros) => {
            return refuse("an instant outside the years 0000 to 9999");
        }
        KeyPart::DateTime(micros) => text::datetime(out, micros),
    }
    Ok(())
}

/// Checks an id, derived or given: 1 to [`limits::MAX_ID_BYTES`] bytes, any text.
///
/// The empty text is a legal property value but not a legal id, not even of an entity whose only key part
/// is empty: an id is what edges, requests and listings name an entity by, and in all of them an empty
/// field means that nothing was named.
///
/// # Errors
/// [`Reason::InvalidArgument`] if it is empty, [`Reason::LimitExceeded`] if it is too long.
pub fn check_id(id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::new(Reason::InvalidArgument, "an id must not be empty; give the key a value"));
    }
    if id.len() > limits::MAX_ID_BYTES {
        let (length, limit) = (id.len(), limits::MAX_ID_BYTES);
        let what = format!("an id has at most {limit} bytes and this one has {length}; use a shorter key");
        return Err(Error::new(Reason::LimitExceeded, what).with("limit", limit).with("found", length));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
