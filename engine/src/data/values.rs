//! Typed values and entities from Arrow columns, and columns from typed values.
//!
//! The same conversion rules as every other input: what does not fit is refused, never adapted.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use bytes::Bytes;

use super::column::Column;
use super::violations::Misfit;
use crate::error::{Error, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::model::{Entity, EntityKind, EntityType, PropertyType, ScalarType, Value};

/// The value of a property in one row of a column of its logical type.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if the column is of another type or has no such row.
pub fn value_at(column: &dyn Array, ty: &PropertyType, row: usize) -> Result<Value> {
    let wrong = || Error::internal(format!("a column of type {} holds no {ty:?} in row {row}", column.data_type()));
    if row >= column.len() {
        return Err(wrong());
    }
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    let value = match ty {
        PropertyType::Scalar(scalar) => scalar_at(column, *scalar, row),
        PropertyType::Enum(_) => scalar_at(column, ScalarType::String, row),
        PropertyType::Vector(_) => column.as_fixed_size_list_opt().and_then(|vectors| {
            let numbers = vectors.value(row);
            let numbers = numbers.as_primitive_opt::<Float32Type>()?;
            Some(Value::Vector(numbers.values().to_vec()))
        }),
        PropertyType::List(scalar) => match column.as_list_opt::<i32>() {
            Some(lists) => {
                let (members, ty) = (lists.value(row), PropertyType::Scalar(*scalar));
                let members = (0..members.len()).map(|at| value_at(&members, &ty, at));
                Some(Value::List(members.collect::<Result<_>>()?))
            }
            None => None,
        },
    };
    value.ok_or_else(wrong)
}

fn scalar_at(column: &dyn Array, scalar: ScalarType, row: usize) -> Option<Value> {
    Some(match scalar {
        ScalarType::String => Value::String(column.as_string_opt::<i32>()?.value(row).to_string()),
        ScalarType::Bool => Value::Bool(column.as_boolean_opt()?.value(row)),
        ScalarType::I32 => Value::I64(i64::from(column.as_primitive_opt::<Int32Type>()?.value(row))),
        ScalarType::I64 => Value::I64(column.as_primitive_opt::<Int64Type>()?.value(row)),
        ScalarType::U32 => Value::U64(u64::from(column.as_primitive_opt::<UInt32Type>()?.value(row))),
        ScalarType::U64 => Value::U64(column.as_primitive_opt::<UInt64Type>()?.value(row)),
        ScalarType::F32 => Value::F64(f64::from(column.as_primitive_opt::<Float32Type>()?.value(row))),
        ScalarType::F64 => Value::F64(column.as_primitive_opt::<Float64Type>()?.value(row)),
        ScalarType::Date => Value::Date(column.as_primitive_opt::<Date32Type>()?.value(row)),
        ScalarType::DateTime => Value::Timestamp(column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row)),
        ScalarType::Blob => {
            let bytes = column.as_binary_opt::<i64>()?.value(row);
            Value::Bytes(Bytes::copy_from_slice(bytes))
        }
    })
}

/// A column of a property's logical type from typed values. Integers of either sign fit any integer type
/// whose range holds them, and a float if it is them exactly; a float stands for the nearest 32-bit one
/// where that is the type; nothing else changes its type.
///
/// # Errors
/// [`crate::error::Reason::TypeMismatch`] or [`crate::error::Reason::EnumViolation`] for the first value
/// that does not fit, with its position from 0 as `position`.
pub fn array_from_values(ty: &PropertyType, values: &[Value]) -> Result<ArrayRef> {
    let mut column = Column::new(ty);
    for (position, value) in values.iter().enumerate() {
        column
            .push_value(value)
            .map_err(|misfit| Error::new(misfit.reason, misfit.to_string()).with("position", position))?;
    }
    column.finish()
}

/// Checks one typed value by the rules of [`array_from_values`]. Null always fits.
///
/// # Errors
/// What was found and what would have fitted.
pub fn check_value(ty: &PropertyType, value: &Value) -> Result<(), Misfit> {
    Column::new(ty).push_value(value)
}

/// One row of a batch as an entity. Properties that the batch has no column for are null.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if the batch lacks the id or a column is not of its type.
pub fn entity_at(ty: &EntityType, batch: &RecordBatch, row: usize) -> Result<Entity> {
    let text = |name: &str| {
        let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let column = column.filter(|column| row < column.len() && column.is_valid(row));
        let missing = || Error::internal(format!("a row of {} has no {name}", ty.name));
        column.map(|column| column.value(row).to_string()).ok_or_else(missing)
    };
    let endpoints = match ty.kind {
        EntityKind::Node => None,
        EntityKind::Edge => Some((text(SRC)?, text(DST)?)),
    };
    let mut properties = BTreeMap::new();
    for property in &ty.properties {
        let value = match batch.column_by_name(&property.name) {
            Some(column) => value_at(column, &property.ty, row)?,
            None => Value::Null,
        };
        properties.insert(property.name.clone(), value);
    }
    Ok(Entity { type_ref: ty.type_ref(), id: text(ID)?, endpoints, properties })
}

#[cfg(test)]
mod tests;
