//! Rows as JSON records, in exactly the form that loading reads.
//!
//! Loading what is written here gives the same rows: integers keep all their digits, floats are the
//! shortest text that reads back as the same number, nulls are left out, members stand in the order of
//! the type's columns.

use std::fmt::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, LargeBinaryArray, ListArray, PrimitiveArray, RecordBatch,
    StringArray,
};

use super::scalar::blob_text;
use crate::error::{Error, Reason, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::model::key::text;
use crate::model::{EntityKind, EntityType, PropertyType, ScalarType};

/// Writes every row of a batch as one line. Columns the batch lacks are left out, as are nulls. The id is
/// written unless the type's key is a single text, which is the id already.
///
/// # Errors
/// [`Reason::Internal`] if a column is not of its property's type, [`Reason::DataCorrupt`] if a value has
/// no text: a float that is not finite, a day outside the years 0000 to 9999. `out` may then end in the
/// middle of a line.
pub fn write_rows(ty: &EntityType, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let writer = RowWriter::new(ty, batch)?;
    let mut out = Utf8(out);
    for row in 0..batch.num_rows() {
        writer.write(&mut out, row).map_err(|fmt::Error| {
            let what = format!("row {row} of a batch of {} holds a value that has no text", ty.name);
            Error::new(Reason::DataCorrupt, what).with("type", &ty.name)
        })?;
    }
    Ok(())
}

/// Text going into bytes. It cannot fail by itself: a failure while writing means that a value has no text.
struct Utf8<'a>(&'a mut Vec<u8>);

impl Write for Utf8<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

struct RowWriter<'a> {
    /// `{"type":"Person"`
    start: String,
    ends: Vec<(&'static str, &'a StringArray)>,
    id: Option<&'a StringArray>,
    /// Each with its name as it stands in the text: `"age":`
    columns: Vec<(String, Cells<'a>)>,
}

impl<'a> RowWriter<'a> {
    fn new(ty: &EntityType, batch: &'a RecordBatch) -> Result<Self> {
        let wrong = |name: &str| Error::internal(format!("column {name} of a batch of {} is not of its type", ty.name));
        let texts = |name: &str| match batch.column_by_name(name) {
            Some(column) => column.as_string_opt::<i32>().map(Some).ok_or_else(|| wrong(name)),
            None => Ok(None),
        };
        let mut start = match ty.kind {
            EntityKind::Node => "{\"type\":".to_string(),
            EntityKind::Edge => "{\"edge\":".to_string(),
        };
        text::json_string(&mut start, &ty.name);
        let mut ends = Vec::new();
        if ty.kind == EntityKind::Edge {
            ends.extend(texts(SRC)?.map(|column| (",\"from\":", column)));
            ends.extend(texts(DST)?.map(|column| (",\"to\":", column)));
        }
        let id = if id_is_key(ty) { None } else { texts(ID)? };
        let mut columns = Vec::new();
        for property in &ty.properties {
            let Some(column) = batch.column_by_name(&property.name) else {
                continue;
            };
            let cells = Cells::new(column, &property.ty).ok_or_else(|| wrong(&property.name))?;
            let mut name = String::new();
            text::json_string(&mut name, &property.name);
            name.push(':');
            columns.push((name, cells));
        }
        Ok(Self { start, ends, id, columns })
    }

    fn write(&self, out: &mut Utf8<'_>, row: usize) -> fmt::Result {
        out.write_str(&self.start)?;
        for (name, column) in &self.ends {
            out.write_str(name)?;
            text::json_string(out, column.value(row));
        }
        out.write_str(",\"data\":{")?;
        let mut separator = "";
        if let Some(id) = self.id {
            out.write_str("\"id\":")?;
            text::json_string(out, id.value(row));
            separator = ",";
        }
        for (name, cells) in &self.columns {
            if cells.is_null(row) {
                continue;
            }
            out.write_str(separator)?;
            out.write_str(name)?;
            cells.write(out, row)?;
            separator = ",";
        }
        out.write_str("}}\n")
    }
}

fn id_is_key(ty: &EntityType) -> bool {
    let [key] = ty.key.as_slice() else {
        return false;
    };
    let ty = ty.property(key).map(|property| &property.ty);
    matches!(ty, Some(PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_)))
}

/// A column whose type is known, so that writing a row looks up nothing.
enum Cells<'a> {
    Text(&'a StringArray),
    Bool(&'a BooleanArray),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    DateTime(&'a PrimitiveArray<TimestampMicrosecondType>),
    Blob(&'a LargeBinaryArray),
    Vector(&'a FixedSizeListArray, &'a PrimitiveArray<Float32Type>),
    List(&'a ListArray, Box<Cells<'a>>),
}

impl<'a> Cells<'a> {
    fn new(column: &'a ArrayRef, ty: &PropertyType) -> Option<Self> {
        match ty {
            PropertyType::Scalar(scalar) => Self::scalar(column, *scalar),
            PropertyType::Enum(_) => Self::scalar(column, ScalarType::String),
            PropertyType::Vector(_) => {
                let vectors = column.as_fixed_size_list_opt()?;
                Some(Self::Vector(vectors, vectors.values().as_primitive_opt()?))
            }
            PropertyType::List(scalar) => {
                let lists = column.as_list_opt()?;
                Some(Self::List(lists, Box::new(Self::scalar(lists.values(), *scalar)?)))
            }
        }
    }

    fn scalar(column: &'a ArrayRef, scalar: ScalarType) -> Option<Self> {
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
            ScalarType::Blob => column.as_binary_opt().map(Self::Blob),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(a) => a.is_null(row),
            Self::Bool(a) => a.is_null(row),
            Self::I32(a) => a.is_null(row),
            Self::I64(a) => a.is_null(row),
            Self::U32(a) => a.is_null(row),
            Self::U64(a) => a.is_null(row),
            Self::F32(a) => a.is_null(row),
            Self::F64(a) => a.is_null(row),
            Self::Date(a) => a.is_null(row),
            Self::DateTime(a) => a.is_null(row),
            Self::Blob(a) => a.is_null(row),
            Self::Vector(a, _) => a.is_null(row),
            Self::List(a, _) => a.is_null(row),
        }
    }

    fn write(&self, out: &mut Utf8<'_>, row: usize) -> fmt::Result {
        match self {
            Self::Text(a) => text::json_string(out, a.value(row)),
            Self::Bool(a) => write!(out, "{}", a.value(row))?,
            Self::I32(a) => write!(out, "{}", a.value(row))?,
            Self::I64(a) => write!(out, "{}", a.value(row))?,
            Self::U32(a) => write!(out, "{}", a.value(row))?,
            Self::U64(a) => write!(out, "{}", a.value(row))?,
            Self::F32(a) => write_f32(out, a.value(row))?,
            Self::F64(a) => {
                let float = a.value(row);
                has_text(float.is_finite())?;
                text::float64(out, float);
            }
            Self::Date(a) => {
                has_text(text::is_date(a.value(row)))?;
                out.write_str("\"")?;
                text::date(out, a.value(row));
                out.write_str("\"")?;
            }
            Self::DateTime(a) => {
                has_text(text::is_datetime(a.value(row)))?;
                out.write_str("\"")?;
                text::datetime(out, a.value(row));
                out.write_str("\"")?;
            }
            Self::Blob(a) => {
                out.write_str("\"")?;
                out.write_str(&blob_text(a.value(row)))?;
                out.write_str("\"")?;
            }
            Self::Vector(a, numbers) => {
                let length = a.value_length() as usize;
                let numbers = &numbers.values()[row * length..(row + 1) * length];
                write_array(out, numbers.iter(), |out, number| write_f32(out, *number))?;
            }
            Self::List(a, members) => {
                let offsets = a.value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                write_array(out, range, |out, member| match members.is_null(member) {
                    true => out.write_str("null"),
                    false => members.write(out, member),
                })?;
            }
        }
        Ok(())
    }
}

fn has_text(has: bool) -> fmt::Result {
    if has { Ok(()) } else { Err(fmt::Error) }
}

fn write_f32(out: &mut Utf8<'_>, float: f32) -> fmt::Result {
    has_text(float.is_finite())?;
    text::float32(out, float);
    Ok(())
}

fn write_array<T>(
    out: &mut Utf8<'_>,
    members: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Utf8<'_>, T) -> fmt::Result,
) -> fmt::Result {
    out.write_str("[")?;
    for (at, member) in members.enumerate() {
        if at > 0 {
            out.write_str(",")?;
        }
        write(out, member)?;
    }
    out.write_str("]")
}

#[cfg(test)]
mod tests;
