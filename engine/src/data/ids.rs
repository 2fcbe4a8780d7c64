//! Gives every row of a batch its id: derived from the key, as given, or fresh.
//!
//! Works on whole columns. A keyed type's id always follows from its key, and an id given beside the key
//! must agree with it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use rustc_hash::FxHashSet;

use super::plan::TypePlan;
use super::scalar::quote;
use super::violations::Violations;
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::key::{IdWriter, KeyPart, KeySource, check_id};
use crate::model::{PropertyType, ScalarType};

/// The columns of a batch that ids depend on.
pub(super) struct Rows<'a> {
    pub plan: &'a TypePlan,
    /// Ids as given, null where none was.
    pub given: Option<&'a StringArray>,
    /// Source and destination ids of edges.
    pub ends: Option<(&'a StringArray, &'a StringArray)>,
    /// One column per property.
    pub columns: &'a [ArrayRef],
    pub records: &'a [u64],
    /// Rows that are known to be wrong and not looked at again.
    pub bad: &'a FxHashSet<usize>,
}

/// The id column, and which ids were made here. Rows without a usable id are added to `violations`, and
/// then the result is good for nothing.
///
/// # Errors
/// [`Reason::Internal`] if a key column is not of its property's type.
pub(super) fn complete(
    rows: &Rows<'_>,
    fresh: &mut dyn FnMut() -> String,
    violations: &mut Violations,
) -> Result<(Arc<StringArray>, Option<BooleanBuffer>)> {
    if let Some((src, dst)) = rows.ends {
        check_ends(rows, "src", src, violations);
        check_ends(rows, "dst", dst, violations);
    }
    if rows.plan.key.is_empty() {
        return Ok(given_or_fresh(rows, fresh, violations));
    }
    let derived = derive(rows, violations)?;
    if let Some(given) = rows.given {
        compare(rows, given, &derived, violations);
    }
    Ok((derived, None))
}

fn type_name<'a>(rows: &'a Rows<'_>) -> &'a str {
    &rows.plan.ty.name
}

/// Adds every id of a column that is too long or empty. Looks only at lengths.
fn check_lengths(rows: &Rows<'_>, column: &str, ids: &StringArray, violations: &mut Violations) {
    let offsets = ids.value_offsets();
    let usable = 1..=limits::MAX_ID_BYTES as i32;
    for (row, pair) in offsets.windows(2).enumerate() {
        if usable.contains(&(pair[1] - pair[0])) || ids.is_null(row) || rows.bad.contains(&row) {
            continue;
        }
        if let Err(e) = check_id(ids.value(row)) {
            violations
                .at_record(rows.records[row], e.reason(), || format!("{}.{column}: {}", type_name(rows), e.message()));
        }
    }
}

fn check_ends(rows: &Rows<'_>, column: &str, ends: &StringArray, violations: &mut Violations) {
    let name = if column == "src" { "from" } else { "to" };
    if ends.null_count() > 0 {
        for row in (0..ends.len()).filter(|row| ends.is_null(*row) && !rows.bad.contains(row)) {
            violations.at_record(rows.records[row], Reason::RequiredViolation, || {
                format!("{} lacks {name}, the id of the node it {}", type_name(rows), ending(name))
            });
        }
    }
    check_lengths(rows, column, ends, violations);
}

fn ending(name: &str) -> &'static str {
    if name == "from" { "starts at" } else { "ends at" }
}

fn given_or_fresh(
    rows: &Rows<'_>,
    fresh: &mut dyn FnMut() -> String,
    violations: &mut Violations,
) -> (Arc<StringArray>, Option<BooleanBuffer>) {
    let count = rows.records.len();
    let Some(given) = rows.given.filter(|given| given.null_count() < count) else {
        let ids = StringArray::from_iter_values((0..count).map(|_| fresh()));
        return (Arc::new(ids), Some(BooleanBuffer::new_set(count)));
    };
    check_lengths(rows, "id", given, violations);
    if given.null_count() == 0 {
        return (Arc::new(given.clone()), None);
    }
    let mut made = BooleanBufferBuilder::new(count);
    let ids = given.iter().map(|id| {
        made.append(id.is_none());
        id.map_or_else(&mut *fresh, str::to_string)
    });
    let ids = StringArray::from_iter_values(ids);
    (Arc::new(ids), Some(made.finish()))
}

fn compare(rows: &Rows<'_>, given: &StringArray, derived: &StringArray, violations: &mut Violations) {
    for row in 0..given.len() {
        if given.is_null(row) || derived.is_null(row) || rows.bad.contains(&row) {
            continue;
        }
        let (given, derived) = (given.value(row), derived.value(row));
        if given != derived {
            violations.at_record(rows.records[row], Reason::InvalidRecord, || {
                format!(
                    "{}.id: found {}, expected {}, which is what the key says; leave id out or make it agree",
                    type_name(rows),
                    quote(given),
                    quote(derived)
                )
            });
        }
    }
}

fn derive(rows: &Rows<'_>, violations: &mut Violations) -> Result<Arc<StringArray>> {
    let parts = rows.plan.key.iter().map(|source| Part::new(rows, *source)).collect::<Result<Vec<_>>>()?;
    for part in &parts {
        require(rows, part, violations);
    }
    let ids = match parts.as_slice() {
        // A single text is its own id, and the column is shared as it is.
        [Part { values: PartValues::Text(texts), .. }] => Arc::new((*texts).clone()),
        parts => Arc::new(write_ids(rows, parts, violations)),
    };
    check_lengths(rows, "id", &ids, violations);
    Ok(ids)
}

fn require(rows: &Rows<'_>, part: &Part<'_>, violations: &mut Violations) {
    let column = part.values.array();
    // Missing ends have been added already.
    if column.null_count() == 0 || matches!(part.source, KeySource::Src | KeySource::Dst) {
        return;
    }
    for row in (0..column.len()).filter(|row| column.is_null(*row) && !rows.bad.contains(row)) {
        violations.at_record(rows.records[row], Reason::RequiredViolation, || {
            format!("{}.{} is part of the key and must have a value", type_name(rows), part.name)
        });
    }
}

fn write_ids(rows: &Rows<'_>, parts: &[Part<'_>], violations: &mut Violations) -> StringArray {
    let mut writer = IdWriter::new(parts.len());
    let id_at = |row: usize| {
        writer.reset();
        for part in parts {
            // A null in a key has been added already.
            let value = part.values.get(row)?;
            if let Err(e) = writer.push(value) {
                if !rows.bad.contains(&row) {
                    violations.at_record(rows.records[row], e.reason(), || {
                        format!("{}.{}: {}", type_name(rows), part.name, e.message())
                    });
                }
                return None;
            }
        }
        Some(writer.finish())
    };
    (0..rows.records.len()).map(id_at).collect()
}

struct Part<'a> {
    name: &'a str,
    source: KeySource,
    values: PartValues<'a>,
}

enum PartValues<'a> {
    Bool(&'a BooleanArray),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Text(&'a StringArray),
    Date(&'a PrimitiveArray<Date32Type>),
    DateTime(&'a PrimitiveArray<TimestampMicrosecondType>),
}

impl<'a> Part<'a> {
    fn new(rows: &'a Rows<'_>, source: KeySource) -> Result<Self> {
        let wrong = || Error::internal(format!("a key column of {} is not of its type", type_name(rows)));
        let position = match (source, rows.ends) {
            (KeySource::Property(position), _) => position,
            (KeySource::Src, Some((src, _))) => {
                return Ok(Self { name: "src", source, values: PartValues::Text(src) });
            }
            (KeySource::Dst, Some((_, dst))) => {
                return Ok(Self { name: "dst", source, values: PartValues::Text(dst) });
            }
            (KeySource::Src | KeySource::Dst, None) => return Err(wrong()),
        };
        let column = rows.columns.get(position).ok_or_else(wrong)?;
        let property = rows.plan.ty.properties.get(position).ok_or_else(wrong)?;
        let values = PartValues::new(&property.ty, column).ok_or_else(wrong)?;
        Ok(Self { name: &property.name, source, values })
    }
}

impl<'a> PartValues<'a> {
    fn new(ty: &PropertyType, column: &'a ArrayRef) -> Option<Self> {
        let scalar = match ty {
            PropertyType::Scalar(scalar) => *scalar,
            PropertyType::Enum(_) => ScalarType::String,
            PropertyType::Vector(_) | PropertyType::List(_) => return None,
        };
        match scalar {
            ScalarType::String => column.as_string_opt().map(Self::Text),
            ScalarType::Bool => column.as_boolean_opt().map(Self::Bool),
            ScalarType::I32 => column.as_primitive_opt().map(Self::I32),
            ScalarType::I64 => column.as_primitive_opt().map(Self::I64),
            ScalarType::U32 => column.as_primitive_opt().map(Self::U32),
            ScalarType::U64 => column.as_primitive_opt().map(Self::U64),
            ScalarType::F32 => column.as_primitive_opt().map(Self::F32),
            ScalarType::F64 => column.as_primitive_opt().map(Self::F64),
            ScalarType::Date => column.as_primitive_opt().map(Self::Date),
            ScalarType::DateTime => column.as_primitive_opt().map(Self::DateTime),
            ScalarType::Blob => None,
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Bool(a) => a,
            Self::I32(a) => a,
            Self::I64(a) => a,
            Self::U32(a) => a,
            Self::U64(a) => a,
            Self::F32(a) => a,
            Self::F64(a) => a,
            Self::Text(a) => a,
            Self::Date(a) => a,
            Self::DateTime(a) => a,
        }
    }

    fn get(&self, row: usize) -> Option<KeyPart<'a>> {
        if self.array().is_null(row) {
            return None;
        }
        Some(match self {
            Self::Bool(a) => KeyPart::Bool(a.value(row)),
            Self::I32(a) => KeyPart::I64(i64::from(a.value(row))),
            Self::I64(a) => KeyPart::I64(a.value(row)),
            Self::U32(a) => KeyPart::U64(u64::from(a.value(row))),
            Self::U64(a) => KeyPart::U64(a.value(row)),
            Self::F32(a) => KeyPart::F32(a.value(row)),
            Self::F64(a) => KeyPart::F64(a.value(row)),
            Self::Text(a) => KeyPart::Text(a.value(row)),
            Self::Date(a) => KeyPart::Date(a.value(row)),
            Self::DateTime(a) => KeyPart::DateTime(a.value(row)),
        })
    }
}
