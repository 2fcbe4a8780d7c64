//! Turns columns of whatever Arrow type a caller has into the type of a property, losing nothing.
//!
//! Another encoding of the same values is accepted; another value is not. What fits only in part is named
//! row by row. Rounding happens in one place: members of a vector, which are taken as 32-bit floats
//! whatever their width.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, Float32Array, ListArray, PrimitiveArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use rustc_hash::FxHashSet;

use super::scalar::{exact_f32, exact_f64, expected, not_a_member, quote};
use super::violations::Misfit;
use crate::format::arrow::{item_field, logical_type, scalar_type};
use crate::model::key::text::{is_date, is_datetime};
use crate::model::{PropertyType, ScalarType};

/// What is done about a row that does not fit.
pub(super) type OnMisfit<'a> = &'a mut dyn FnMut(usize, Misfit);

/// The column as one of the property's type. Rows that do not fit are given to `bad` and then hold
/// anything.
///
/// # Errors
/// The column's Arrow type is not one for this property.
pub(super) fn cast(column: &ArrayRef, ty: &PropertyType, bad: OnMisfit<'_>) -> Result<ArrayRef, Misfit> {
    let column = decode(column, ty)?;
    if column.data_type() == &DataType::Null {
        return Ok(new_null_array(&logical_type(ty), column.len()));
    }
    match ty {
        PropertyType::Scalar(scalar) => cast_scalar(&column, *scalar, bad),
        PropertyType::Enum(members) => {
            let texts = cast_scalar(&column, ScalarType::String, bad)?;
            let known: FxHashSet<&str> = members.iter().map(String::as_str).collect();
            for (row, text) in texts.as_string::<i32>().iter().enumerate() {
                if let Some(text) = text.filter(|text| !known.contains(text)) {
                    bad(row, not_a_member(text, ty));
                }
            }
            Ok(texts)
        }
        PropertyType::Vector(length) => cast_vector(&column, *length as usize, ty, bad),
        PropertyType::List(scalar) => cast_list(&column, *scalar, ty, bad),
    }
}

/// An id column of any text encoding.
///
/// # Errors
/// It holds no text.
pub(super) fn cast_text(column: &ArrayRef) -> Result<ArrayRef, Misfit> {
    cast(column, &PropertyType::Scalar(ScalarType::String), &mut |_, _| {})
}

/// Undoes dictionary and run-length encoding.
fn decode(column: &ArrayRef, ty: &PropertyType) -> Result<ArrayRef, Misfit> {
    match column.data_type() {
        DataType::Dictionary(_, values) => convert(column, values, ty),
        DataType::RunEndEncoded(_, values) => convert(column, values.data_type(), ty),
        _ => Ok(column.clone()),
    }
}

fn wrong_type(column: &dyn Array, ty: &PropertyType) -> Misfit {
    Misfit::mismatch(format!("a column of Arrow type {}", column.data_type()), expected(ty))
}

/// Arrow's own conversion, for pairs of types between which it is exact or leaves a null.
fn convert(column: &dyn Array, to: &DataType, ty: &PropertyType) -> Result<ArrayRef, Misfit> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|_| wrong_type(column, ty))
}

fn cast_scalar(column: &ArrayRef, scalar: ScalarType, bad: OnMisfit<'_>) -> Result<ArrayRef, Misfit> {
    use ScalarType as S;
    let (ty, to) = (PropertyType::Scalar(scalar), scalar_type(scalar));
    let from = column.data_type();
    match scalar {
        S::Bool if *from == to => Ok(column.clone()),
        S::String if *from == to => Ok(column.clone()),
        S::String if matches!(from, DataType::LargeUtf8 | DataType::Utf8View) => convert(column, &to, &ty),
        S::I32 | S::I64 | S::U32 | S::U64 if *from == to => Ok(column.clone()),
        S::I32 | S::I64 | S::U32 | S::U64 if from.is_integer() => {
            let cast = convert(column, &to, &ty)?;
            report_new_nulls(column, &cast, &ty, bad);
            Ok(cast)
        }
        S::F32 if from.is_integer() => Ok(from_integers::<Float32Type>(column, &ty, exact_f32, bad)),
        S::F64 if from.is_integer() => Ok(from_integers::<Float64Type>(column, &ty, exact_f64, bad)),
        S::F32 if *from == DataType::Float64 => Ok(narrow(column, &ty, bad)),
        S::F32 | S::F64 if from.is_floating() => {
            let cast = convert(column, &to, &ty)?;
            report_infinite(&cast, &ty, bad);
            Ok(cast)
        }
        S::Date if *from == to => {
            report_rows::<Date32Type>(column, &ty, bad, |days| !is_date(days));
            Ok(column.clone())
        }
        S::Date if *from == DataType::Date64 => Ok(from_millis(column, &ty, bad)),
        S::DateTime => cast_datetime(column, &ty, bad),
        S::Blob if *from == to => Ok(column.clone()),
        S::Blob if matches!(from, DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_)) => {
            convert(column, &to, &ty)
        }
        _ => Err(wrong_type(column, &ty)),
    }
}

fn misfit_at(column: &dyn Array, row: usize, ty: &PropertyType) -> Misfit {
    let found = array_value_to_string(column, row).unwrap_or_else(|e| format!("a value that cannot be shown ({e})"));
    Misfit::mismatch(quote(&found), expected(ty))
}

fn report_new_nulls(column: &dyn Array, cast: &dyn Array, ty: &PropertyType, bad: OnMisfit<'_>) {
    if cast.null_count() == column.null_count() {
        return;
    }
    for row in (0..column.len()).filter(|row| cast.is_null(*row) && column.is_valid(*row)) {
        bad(row, misfit_at(column, row, ty));
    }
}

fn report_rows<T: ArrowPrimitiveType>(
    column: &dyn Array,
    ty: &PropertyType,
    bad: OnMisfit<'_>,
    wrong: impl Fn(T::Native) -> bool,
) {
    let values = column.as_primitive::<T>();
    for (row, value) in values.values().iter().enumerate() {
        if wrong(*value) && values.is_valid(row) {
            bad(row, misfit_at(column, row, ty));
        }
    }
}

fn report_infinite(column: &dyn Array, ty: &PropertyType, bad: OnMisfit<'_>) {
    match column.data_type() {
        DataType::Float32 => report_rows::<Float32Type>(column, ty, bad, |f| !f.is_finite()),
        _ => report_rows::<Float64Type>(column, ty, bad, |f| !f.is_finite()),
    }
}

/// Converts value by value; `None` is a misfit.
fn convert_each<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    column: &dyn Array,
    ty: &PropertyType,
    bad: OnMisfit<'_>,
    convert: impl Fn(F::Native) -> Option<T::Native>,
) -> PrimitiveArray<T> {
    let values = column.as_primitive::<F>();
    let converted = values.iter().enumerate().map(|(row, value)| {
        let value = value?;
        let converted = convert(value);
        if converted.is_none() {
            bad(row, misfit_at(column, row, ty));
        }
        converted
    });
    converted.collect()
}

fn from_integers<T: ArrowPrimitiveType>(
    column: &dyn Array,
    ty: &PropertyType,
    exact: fn(i128) -> Option<T::Native>,
    bad: OnMisfit<'_>,
) -> ArrayRef {
    macro_rules! each {
        ($($name:ident => $from:ident),*) => {
            match column.data_type() {
                $(DataType::$name => {
                    convert_each::<arrow_array::types::$from, T>(column, ty, bad, |i| exact(i128::from(i)))
                })*
                _ => PrimitiveArray::new_null(column.len()),
            }
        };
    }
    Arc::new(each!(
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type
    ))
}

fn narrow(column: &dyn Array, ty: &PropertyType, bad: OnMisfit<'_>) -> ArrayRef {
    Arc::new(convert_each::<Float64Type, Float32Type>(column, ty, bad, |wide| {
        let narrow = wide as f32;
        (narrow.is_finite() && f64::from(narrow) == wide).then_some(narrow)
    }))
}

fn from_millis(column: &dyn Array, ty: &PropertyType, bad: OnMisfit<'_>) -> ArrayRef {
    const DAY: i64 = 86_400_000;
    Arc::new(convert_each::<Date64Type, Date32Type>(column, ty, bad, |millis| {
        let days = i32::try_from(millis / DAY).ok()?;
        (millis % DAY == 0 && is_date(days)).then_some(days)
    }))
}

// A timestamp without a time zone says what a clock on some wall showed and is no instant; text without an
// offset is refused for the same reason.
fn cast_datetime(column: &ArrayRef, ty: &PropertyType, bad: OnMisfit<'_>) -> Result<ArrayRef, Misfit> {
    use arrow_array::types::{TimestampMicrosecondType as Micro, TimestampSecondType as Second};
    use arrow_array::types::{TimestampMillisecondType as Milli, TimestampNanosecondType as Nano};
    let unit = match column.data_type() {
        DataType::Timestamp(unit, Some(_)) => *unit,
        DataType::Timestamp(_, None) => {
            let found = format!("a column of Arrow type {}, which has no time zone", column.data_type());
            let expected = format!("{}; give the column the zone its values are in", expected(ty));
            return Err(Misfit::mismatch(found, expected));
        }
        _ => return Err(wrong_type(column, ty)),
    };
    let storable = |micros: &i64| is_datetime(*micros);
    let micros: PrimitiveArray<Micro> = match unit {
        TimeUnit::Second => {
            convert_each::<Second, Micro>(column, ty, bad, |s| s.checked_mul(1_000_000).filter(storable))
        }
        TimeUnit::Millisecond => {
            convert_each::<Milli, Micro>(column, ty, bad, |ms| ms.checked_mul(1_000).filter(storable))
        }
        TimeUnit::Microsecond => {
            report_rows::<TimestampMicrosecondType>(column, ty, bad, |us| !is_datetime(us));
            column.as_primitive::<Micro>().clone()
        }
        TimeUnit::Nanosecond => {
            convert_each::<Nano, Micro>(column, ty, bad, |ns| (ns % 1_000 == 0).then_some(ns / 1_000))
        }
    };
    Ok(Arc::new(micros.with_timezone("UTC")))
}

/// A list column taken apart: where each row's members start, the members, and which rows are null.
struct Lists {
    offsets: Vec<usize>,
    members: ArrayRef,
    nulls: Option<NullBuffer>,
}

impl Lists {
    fn of(column: &ArrayRef, ty: &PropertyType) -> Result<Self, Misfit> {
        let rows = column.len();
        let nulls = column.nulls().cloned();
        let (offsets, members): (Vec<usize>, &ArrayRef) = match column.data_type() {
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                (list.value_offsets().iter().map(|o| *o as usize).collect(), list.values())
            }
            DataType::LargeList(_) => {
                let list = column.as_list::<i64>();
                (list.value_offsets().iter().map(|o| *o as usize).collect(), list.values())
            }
            DataType::FixedSizeList(_, length) => {
                let length = usize::try_from(*length).unwrap_or_default();
                ((0..=rows).map(|row| row * length).collect(), column.as_fixed_size_list().values())
            }
            DataType::ListView(item) | DataType::LargeListView(item) => {
                let plain = convert(column, &DataType::LargeList(item.clone()), ty)?;
                return Self::of(&plain, ty);
            }
            _ => return Err(wrong_type(column, ty)),
        };
        let (first, last) = (offsets[0], offsets[rows]);
        let members = decode(&members.slice(first, last - first), ty)?;
        let offsets = offsets.into_iter().map(|offset| offset - first).collect();
        Ok(Self { offsets, members, nulls })
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The row a member belongs to, unless nothing of that row counts because it is null.
    fn row_of(&self, member: usize) -> Option<(usize, usize)> {
        let row = self.offsets.partition_point(|offset| *offset <= member) - 1;
        (!self.is_null(row)).then(|| (row, member - self.offsets[row] + 1))
    }
}

fn cast_list(column: &ArrayRef, scalar: ScalarType, ty: &PropertyType, bad: OnMisfit<'_>) -> Result<ArrayRef, Misfit> {
    let lists = Lists::of(column, ty)?;
    let too_long = |_| Misfit::mismatch("more list members in one batch than 32 bits can count", expected(ty));
    let ends = lists.offsets.iter().map(|offset| i32::try_from(*offset)).collect::<Result<Vec<_>, _>>();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends.map_err(too_long)?));
    let mut bad_member = |member: usize, misfit: Misfit| {
        if let Some((row, at)) = lists.row_of(member) {
            let found = format!("{} as member {at}", misfit.found);
            bad(row, Misfit { found, expected: expected(ty), ..misfit });
        }
    };
    let members = match lists.members.data_type() {
        DataType::Null => new_null_array(&scalar_type(scalar), lists.members.len()),
        _ => cast_scalar(&lists.members, scalar, &mut bad_member).map_err(|_| wrong_type(column, ty))?,
    };
    let array = ListArray::try_new(item_field(scalar_type(scalar)), offsets, members, lists.nulls.clone());
    Ok(Arc::new(array.map_err(|_| wrong_type(column, ty))?))
}

fn cast_vector(column: &ArrayRef, length: usize, ty: &PropertyType, bad: OnMisfit<'_>) -> Result<ArrayRef, Misfit> {
    let lists = Lists::of(column, ty)?;
    let kind = lists.members.data_type();
    if !(kind.is_floating() || kind.is_integer() || *kind == DataType::Null) {
        return Err(wrong_type(column, ty));
    }
    let members = convert(&lists.members, &DataType::Float32, ty)?;
    let members = members.as_primitive::<Float32Type>();
    let rows = lists.rows();
    let whole = matches!(column.data_type(), DataType::FixedSizeList(_, n) if usize::try_from(*n) == Ok(length));
    let mut numbers = Vec::with_capacity(if whole { 0 } else { rows * length });
    for row in 0..rows {
        let (start, end) = (lists.offsets[row], lists.offsets[row + 1]);
        let is_null = lists.is_null(row);
        let fits = !is_null && check_vector(members, start..end, length, ty, &mut |misfit| bad(row, misfit));
        match (whole, fits) {
            (true, _) => {}
            (false, true) => numbers.extend_from_slice(&members.values()[start..end]),
            (false, false) => numbers.resize((row + 1) * length, 0.0),
        }
    }
    let values = match whole {
        // Members under null rows may be null too; what they hold is not looked at.
        true => Float32Array::new(members.values().clone(), None),
        false => Float32Array::from(numbers),
    };
    let size = i32::try_from(length).unwrap_or(i32::MAX);
    let array = FixedSizeListArray::try_new(item_field(DataType::Float32), size, Arc::new(values), lists.nulls);
    Ok(Arc::new(array.map_err(|_| wrong_type(column, ty))?))
}

fn check_vector(
    members: &Float32Array,
    range: std::ops::Range<usize>,
    length: usize,
    ty: &PropertyType,
    bad: &mut dyn FnMut(Misfit),
) -> bool {
    if range.len() != length {
        bad(Misfit::mismatch(format!("{} numbers", range.len()), expected(ty)));
        return false;
    }
    let wrong = range.clone().find(|at| members.is_null(*at) || !members.value(*at).is_finite());
    if let Some(at) = wrong {
        let found = if members.is_null(at) { "null".to_string() } else { members.value(at).to_string() };
        bad(Misfit::mismatch(format!("{found} as member {}", at - range.start + 1), expected(ty)));
    }
    wrong.is_none()
}
