//! One property's values, growing row by row, for every property type.
//!
//! Adds structure (enum membership, vector length, list members) to the rules of [`super::scalar`]. It
//! knows neither rows nor records.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, ListArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use rustc_hash::FxHashSet;

use super::json_scan::{self, Kind, Stop, Token};
use super::scalar::{Scalar, Scalars, as_text, expected, not_a_member, quote};
use super::violations::Misfit;
use crate::error::{Error, Result};
use crate::format::arrow::{item_field, scalar_type};
use crate::model::{PropertyType, Value};

/// Values of one property.
#[derive(Debug)]
pub(super) struct Column {
    ty: PropertyType,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Scalar(Scalars),
    Enum { members: FxHashSet<String>, texts: Scalars },
    Vector { length: usize, numbers: Vec<f32>, valid: NullBufferBuilder },
    List { items: Scalars, ends: Vec<i32>, valid: NullBufferBuilder },
}

impl Column {
    /// No values yet.
    pub(super) fn new(ty: &PropertyType) -> Self {
        let values = match ty {
            PropertyType::Scalar(scalar) => Values::Scalar(Scalars::new(*scalar)),
            PropertyType::Enum(members) => Values::Enum {
                members: members.iter().cloned().collect(),
                texts: Scalars::new(crate::model::ScalarType::String),
            },
            PropertyType::Vector(length) => {
                Values::Vector { length: *length as usize, numbers: Vec::new(), valid: NullBufferBuilder::new(0) }
            }
            PropertyType::List(scalar) => {
                Values::List { items: Scalars::new(*scalar), ends: vec![0], valid: NullBufferBuilder::new(0) }
            }
        };
        Self { ty: ty.clone(), values }
    }

    /// Whether values have a size that depends on them, so that their bytes must be counted.
    pub(super) fn is_variable(&self) -> bool {
        matches!(
            &self.values,
            Values::Scalar(Scalars::Text(_) | Scalars::Blob(_)) | Values::Enum { .. } | Values::List { .. }
        )
    }

    /// Adds a null.
    pub(super) fn push_null(&mut self) {
        match &mut self.values {
            Values::Scalar(values) | Values::Enum { texts: values, .. } => values.push_null(),
            Values::Vector { length, numbers, valid } => {
                numbers.resize((valid.len() + 1) * *length, 0.0);
                valid.append_null();
            }
            Values::List { items, ends, valid } => {
                ends.push(list_end(items));
                valid.append_null();
            }
        }
    }

    /// Adds the value of a JSON token, or a null and what is wrong with it.
    pub(super) fn push_json(&mut self, text: &str, token: Token, scratch: &mut String) -> Result<(), Misfit> {
        let result = match (token.kind, &self.values) {
            (Kind::Array, Values::Vector { .. } | Values::List { .. }) => {
                self.push_array(&text[token.start..token.end], scratch)
            }
            _ => self.push_scalar(json_scalar(text, token, scratch)),
        };
        result.inspect_err(|_| self.push_null())
    }

    /// Adds the value of a CSV cell, or a null and what is wrong with it. Lists and vectors are JSON arrays.
    pub(super) fn push_cell(&mut self, cell: &str, scratch: &mut String) -> Result<(), Misfit> {
        let result = match &self.values {
            Values::Vector { .. } | Values::List { .. } => self.push_array(cell, scratch),
            _ => self.push_scalar(Scalar::Cell(cell)),
        };
        result.inspect_err(|_| self.push_null())
    }

    /// Adds a typed value, or a null and what is wrong with it.
    pub(super) fn push_value(&mut self, value: &Value) -> Result<(), Misfit> {
        let result = match (value, &mut self.values) {
            (Value::Vector(given), Values::Vector { length, numbers, valid }) => {
                if given.len() == *length && given.iter().all(|f| f.is_finite()) {
                    numbers.extend_from_slice(given);
                    valid.append_non_null();
                    Ok(())
                } else {
                    Err(Misfit::mismatch(describe_vector(given), expected(&self.ty)))
                }
            }
            (Value::List(given), Values::List { .. } | Values::Vector { .. }) => {
                let members = given.iter().map(value_scalar);
                members
                    .enumerate()
                    .try_for_each(|(at, member)| self.push_member(at, member))
                    .and_then(|()| self.close())
            }
            _ => self.push_scalar(value_scalar(value)),
        };
        result.inspect_err(|_| self.push_null())
    }

    fn push_scalar(&mut self, value: Scalar<'_>) -> Result<(), Misfit> {
        if let Scalar::Null = value {
            self.push_null();
            return Ok(());
        }
        match &mut self.values {
            Values::Scalar(values) => values.push(value),
            Values::Enum { members, texts } => match as_text(value) {
                Some(text) if members.contains(text) => texts.push(value),
                Some(text) => Err(not_a_member(text, &self.ty)),
                None => Err(Misfit::mismatch(value.shown(), expected(&self.ty))),
            },
            Values::Vector { .. } | Values::List { .. } => Err(Misfit::mismatch(value.shown(), expected(&self.ty))),
        }
    }

    fn push_array(&mut self, text: &str, scratch: &mut String) -> Result<(), Misfit> {
        let mut at = 0;
        let scanned = json_scan::elements(text, |token| {
            at += 1;
            self.push_member(at - 1, json_scalar(text, token, scratch))
        });
        match scanned {
            Ok(members) => members.and_then(|()| self.close()),
            Err(Stop::Incomplete | Stop::Syntax(..)) => Err(Misfit::mismatch(quote(text), expected(&self.ty))),
        }
    }

    /// Adds a member to the list or vector that [`Column::close`] ends.
    fn push_member(&mut self, at: usize, member: Scalar<'_>) -> Result<(), Misfit> {
        match &mut self.values {
            Values::List { items, .. } => items
                .push(member)
                .map_err(|misfit| Misfit { found: format!("{} as member {}", misfit.found, at + 1), ..misfit }),
            Values::Vector { numbers, .. } => {
                let number = match member {
                    Scalar::JsonNumber(text) => text.parse().ok(),
                    Scalar::F64(f) => Some(f as f32),
                    Scalar::I64(i) => Some(i as f32),
                    Scalar::U64(u) => Some(u as f32),
                    _ => None,
                };
                match number.filter(|f: &f32| f.is_finite()) {
                    Some(number) => numbers.push(number),
                    None => {
                        let found = format!("{} as member {}", member.shown(), at + 1);
                        return Err(Misfit::mismatch(found, expected(&self.ty)));
                    }
                }
                Ok(())
            }
            Values::Scalar(_) | Values::Enum { .. } => Err(Misfit::mismatch("a list", expected(&self.ty))),
        }
    }

    fn close(&mut self) -> Result<(), Misfit> {
        match &mut self.values {
            Values::List { items, ends, valid } => {
                ends.push(list_end(items));
                valid.append_non_null();
                Ok(())
            }
            Values::Vector { length, numbers, valid } => {
                let found = numbers.len() - valid.len() * *length;
                if found != *length {
                    return Err(Misfit::mismatch(format!("{found} numbers"), expected(&self.ty)));
                }
                valid.append_non_null();
                Ok(())
            }
            Values::Scalar(_) | Values::Enum { .. } => Err(Misfit::mismatch("a list", expected(&self.ty))),
        }
    }

    /// Takes all values and starts over.
    ///
    /// # Errors
    /// [`crate::error::Reason::Internal`] if the values do not form an array.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        match &mut self.values {
            Values::Scalar(values) | Values::Enum { texts: values, .. } => Ok(values.finish()),
            Values::Vector { length, numbers, valid } => {
                let item = item_field(arrow_schema::DataType::Float32);
                let numbers = Arc::new(Float32Array::from(std::mem::take(numbers)));
                let length = i32::try_from(*length).unwrap_or(i32::MAX);
                let rows = valid.finish();
                let array = FixedSizeListArray::try_new(item, length, numbers, rows);
                Ok(Arc::new(array.map_err(|e| malformed(&self.ty, e))?))
            }
            Values::List { items, ends, valid } => {
                let PropertyType::List(scalar) = &self.ty else {
                    return Err(Error::internal("a list column is not of a list type"));
                };
                let ends = std::mem::replace(ends, vec![0]);
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                let array =
                    ListArray::try_new(item_field(scalar_type(*scalar)), offsets, items.finish(), valid.finish());
                Ok(Arc::new(array.map_err(|e| malformed(&self.ty, e))?))
            }
        }
    }
}

fn malformed(ty: &PropertyType, e: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("values of {ty:?} do not form a column: {e}")).caused_by(e)
}

// A batch is handed on long before it holds this many list members.
fn list_end(items: &Scalars) -> i32 {
    i32::try_from(items.len()).unwrap_or(i32::MAX)
}

fn describe_vector(given: &[f32]) -> String {
    match given.iter().position(|f| !f.is_finite()) {
        Some(at) => format!("{} as member {}", given[at], at + 1),
        None => format!("{} numbers", given.len()),
    }
}

fn json_scalar<'a>(text: &'a str, token: Token, scratch: &'a mut String) -> Scalar<'a> {
    match token.kind {
        Kind::Null => Scalar::Null,
        Kind::True => Scalar::Bool(true),
        Kind::False => Scalar::Bool(false),
        Kind::Number => Scalar::JsonNumber(&text[token.start..token.end]),
        Kind::Plain | Kind::Escaped => Scalar::JsonText(json_scan::string(text, token, scratch)),
        Kind::Array | Kind::Object => Scalar::Other(token.kind.name()),
    }
}

fn value_scalar(value: &Value) -> Scalar<'_> {
    match value {
        Value::Null => Scalar::Null,
        Value::Bool(b) => Scalar::Bool(*b),
        Value::I64(i) => Scalar::I64(*i),
        Value::U64(u) => Scalar::U64(*u),
        Value::F64(f) => Scalar::F64(*f),
        Value::String(text) => Scalar::Text(text),
        Value::Bytes(bytes) => Scalar::Bytes(bytes),
        Value::Date(days) => Scalar::Date(*days),
        Value::Timestamp(micros) => Scalar::DateTime(*micros),
        Value::List(_) => Scalar::Other("a list"),
        Value::Vector(_) => Scalar::Other("a vector"),
    }
}
