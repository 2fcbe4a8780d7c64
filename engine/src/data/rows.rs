//! The constraints that one complete row shows by itself: required, enum, range, check, length of the id.
//!
//! For images that will be stored, after an upsert's old values are filled in. Rows compared with other
//! rows (unique, endpoints, cardinality) are not its business.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;
use regex::Regex;
use rustc_hash::FxHashSet;

use super::scalar::{expected, not_a_member, quote};
use super::violations::{Misfit, Violations};
use crate::error::{Error, Reason, Result, Violation};
use crate::format::arrow::{DST, ID, SRC};
use crate::model::key::check_id;
use crate::model::{CheckConstraint, EntityType, PropertyType, RangeConstraint, ScalarType, Value};

/// The constraints of one type, prepared once and used for every batch of it.
#[derive(Debug)]
pub struct RowChecker {
    type_name: String,
    columns: Vec<ColumnRules>,
}

#[derive(Debug)]
struct ColumnRules {
    name: String,
    ty: PropertyType,
    required: bool,
    members: Option<FxHashSet<String>>,
    ranges: Vec<Range>,
    checks: Vec<Regex>,
}

#[derive(Debug)]
enum Range {
    Integers(Option<i128>, Option<i128>),
    Floats(Option<f64>, Option<f64>),
}

impl RowChecker {
    /// Prepares a type's constraints.
    ///
    /// # Errors
    /// [`Reason::InvalidSchema`] if a pattern is not a regular expression, or a range or check is on a type
    /// it cannot apply to.
    pub fn new(ty: &EntityType) -> Result<Self> {
        let columns = ty.properties.iter().map(|property| {
            let members = match &property.ty {
                PropertyType::Enum(members) => Some(members.iter().cloned().collect()),
                _ => None,
            };
            let ranges = ty.ranges.iter().filter(|range| range.property == property.name);
            let checks = ty.checks.iter().filter(|check| check.property == property.name);
            Ok(ColumnRules {
                name: property.name.clone(),
                ty: property.ty.clone(),
                required: !property.nullable,
                members,
                ranges: ranges.map(|range| Range::new(ty, &property.ty, range)).collect::<Result<_>>()?,
                checks: checks.map(|check| compile(ty, &property.ty, check)).collect::<Result<_>>()?,
            })
        });
        Ok(Self { type_name: ty.name.clone(), columns: columns.collect::<Result<_>>()? })
    }

    /// Checks every row of a batch of the type's logical schema. `mentioned` limits it to what rows mention;
    /// `None` takes them as complete. `records` are the numbers the rows are reported under.
    ///
    /// # Errors
    /// [`Reason::Internal`] if the batch is not of the type's logical schema.
    pub fn check(
        &self,
        batch: &RecordBatch,
        mentioned: Option<&[BooleanBuffer]>,
        records: &[u64],
        violations: &mut Violations,
    ) -> Result<()> {
        if records.len() != batch.num_rows() {
            return Err(Error::internal("rows to check and their record numbers differ in count"));
        }
        for name in [ID, SRC, DST] {
            if let Some(ids) = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()) {
                self.check_ids(name, ids, records, violations);
            }
        }
        for (at, rules) in self.columns.iter().enumerate() {
            let column = batch.column_by_name(&rules.name).ok_or_else(|| self.wrong_column(rules))?;
            let mentioned = mentioned.and_then(|mentioned| mentioned.get(at));
            let applies = |row: usize| mentioned.is_none_or(|mentioned| mentioned.value(row));
            let mut report = |row: usize, misfit: Misfit| {
                if applies(row) {
                    violations.misfit(records[row], &self.type_name, &rules.name, misfit);
                }
            };
            rules.check(column, &mut report).ok_or_else(|| self.wrong_column(rules))?;
        }
        Ok(())
    }

    fn wrong_column(&self, rules: &ColumnRules) -> Error {
        Error::internal(format!("a batch of {} has no usable column {}", self.type_name, rules.name))
    }

    fn check_ids(&self, name: &str, ids: &StringArray, records: &[u64], violations: &mut Violations) {
        for (row, id) in ids.iter().enumerate() {
            if let Err(e) = check_id(id.unwrap_or_default()) {
                let what = || format!("{}.{name}: {}", self.type_name, e.message());
                violations.at_record(records[row], e.reason(), what);
            }
        }
    }
}

/// Checks complete rows of one batch; see [`RowChecker`], which is cheaper for several.
///
/// # Errors
/// As [`RowChecker::new`] and [`RowChecker::check`].
pub fn check_rows(
    ty: &EntityType,
    batch: &RecordBatch,
    mentioned: Option<&[BooleanBuffer]>,
    records: &[u64],
) -> Result<Vec<Violation>> {
    let mut violations = Violations::default();
    RowChecker::new(ty)?.check(batch, mentioned, records, &mut violations)?;
    Ok(violations.listed().to_vec())
}

type Report<'a> = &'a mut dyn FnMut(usize, Misfit);

impl ColumnRules {
    /// `None` if the column is not of the property's type.
    fn check(&self, column: &dyn Array, report: Report<'_>) -> Option<()> {
        if self.required && column.null_count() > 0 {
            for row in (0..column.len()).filter(|row| column.is_null(*row)) {
                let (reason, found) = (Reason::RequiredViolation, "nothing".to_string());
                report(row, Misfit { reason, found, expected: expected(&self.ty) });
            }
        }
        if let Some(members) = &self.members {
            for (row, text) in column.as_string_opt::<i32>()?.iter().enumerate() {
                if let Some(text) = text.filter(|text| !members.contains(*text)) {
                    report(row, not_a_member(text, &self.ty));
                }
            }
        }
        for pattern in &self.checks {
            for (row, text) in column.as_string_opt::<i32>()?.iter().enumerate() {
                if let Some(text) = text.filter(|text| !pattern.is_match(text)) {
                    let expected = format!("a text that matches {}", pattern.as_str());
                    report(row, Misfit { reason: Reason::CheckViolation, found: quote(text), expected });
                }
            }
        }
        self.ranges.iter().try_for_each(|range| self.check_range(range, column, report))
    }

    fn check_range(&self, range: &Range, column: &dyn Array, report: Report<'_>) -> Option<()> {
        let PropertyType::Scalar(scalar) = self.ty else {
            return None;
        };
        match scalar {
            ScalarType::I32 => integers::<Int32Type>(self, range, column, report),
            ScalarType::I64 => integers::<Int64Type>(self, range, column, report),
            ScalarType::U32 => integers::<UInt32Type>(self, range, column, report),
            ScalarType::U64 => integers::<UInt64Type>(self, range, column, report),
            ScalarType::Date => integers::<Date32Type>(self, range, column, report),
            ScalarType::DateTime => integers::<TimestampMicrosecondType>(self, range, column, report),
            ScalarType::F32 => floats::<Float32Type>(self, range, column, report),
            ScalarType::F64 => floats::<Float64Type>(self, range, column, report),
            ScalarType::String | ScalarType::Bool | ScalarType::Blob => None,
        }
    }

    fn outside(&self, column: &dyn Array, row: usize, range: &Range) -> Misfit {
        let shown = arrow_cast::display::array_value_to_string(column, row);
        let found = shown.unwrap_or_else(|e| format!("a value that cannot be shown ({e})"));
        Misfit { reason: Reason::RangeViolation, found, expected: range.describe(&self.ty) }
    }
}

fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(
    rules: &ColumnRules,
    range: &Range,
    column: &dyn Array,
    report: Report<'_>,
) -> Option<()> {
    let values = column.as_primitive_opt::<T>()?;
    let Range::Integers(min, max) = range else {
        return None;
    };
    for (row, value) in values.iter().enumerate() {
        let Some(value) = value.map(Into::into) else {
            continue;
        };
        if min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
            report(row, rules.outside(column, row, range));
        }
    }
    Some(())
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(
    rules: &ColumnRules,
    range: &Range,
    column: &dyn Array,
    report: Report<'_>,
) -> Option<()> {
    let values = column.as_primitive_opt::<T>()?;
    let Range::Floats(min, max) = range else {
        return None;
    };
    for (row, value) in values.iter().enumerate() {
        let Some(value) = value.map(Into::into) else {
            continue;
        };
        let inside = min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max);
        if !inside {
            report(row, rules.outside(column, row, range));
        }
    }
    Some(())
}

impl Range {
    fn new(ty: &EntityType, property: &PropertyType, range: &RangeConstraint) -> Result<Self> {
        let wrong = || {
            let what = format!("the range of {}.{} does not fit its type", ty.name, range.property);
            Error::new(Reason::InvalidSchema, what).with("type", &ty.name).with("property", &range.property)
        };
        let PropertyType::Scalar(scalar) = property else {
            return Err(wrong());
        };
        let integer = |bound: &Option<Value>| match bound {
            None => Ok(None),
            Some(bound) => integer_bound(*scalar, bound).map(Some).ok_or_else(wrong),
        };
        let float = |bound: &Option<Value>| match bound {
            None => Ok(None),
            Some(bound) => float_bound(*scalar, bound).map(Some).ok_or_else(wrong),
        };
        match scalar {
            ScalarType::F32 | ScalarType::F64 => Ok(Self::Floats(float(&range.min)?, float(&range.max)?)),
            _ => Ok(Self::Integers(integer(&range.min)?, integer(&range.max)?)),
        }
    }

    fn describe(&self, ty: &PropertyType) -> String {
        let (min, max) = match self {
            Self::Integers(min, max) => (min.map(|b| show_bound(ty, b)), max.map(|b| show_bound(ty, b))),
            Self::Floats(min, max) => (min.map(|b| b.to_string()), max.map(|b| b.to_string())),
        };
        match (min, max) {
            (Some(min), Some(max)) => format!("a value from {min} to {max}"),
            (Some(min), None) => format!("a value of at least {min}"),
            (None, Some(max)) => format!("a value of at most {max}"),
            (None, None) => "any value".to_string(),
        }
    }
}

fn show_bound(ty: &PropertyType, bound: i128) -> String {
    use crate::model::key::text;
    let mut out = String::new();
    match (ty, i32::try_from(bound), i64::try_from(bound)) {
        (PropertyType::Scalar(ScalarType::Date), Ok(days), _) => text::date(&mut out, days),
        (PropertyType::Scalar(ScalarType::DateTime), _, Ok(micros)) => text::datetime(&mut out, micros),
        _ => return bound.to_string(),
    }
    out
}

fn integer_bound(scalar: ScalarType, bound: &Value) -> Option<i128> {
    use ScalarType as S;
    match (scalar, bound) {
        (S::I32 | S::I64 | S::U32 | S::U64, Value::I64(i)) => Some(i128::from(*i)),
        (S::I32 | S::I64 | S::U32 | S::U64, Value::U64(u)) => Some(i128::from(*u)),
        (S::Date, Value::Date(days)) => Some(i128::from(*days)),
        (S::DateTime, Value::Timestamp(micros)) => Some(i128::from(*micros)),
        _ => None,
    }
}

// A bound of 0.1 on 32-bit floats means the 32-bit 0.1.
fn float_bound(scalar: ScalarType, bound: &Value) -> Option<f64> {
    let bound = match bound {
        Value::F64(f) => *f,
        Value::I64(i) => *i as f64,
        Value::U64(u) => *u as f64,
        _ => return None,
    };
    if bound.is_nan() {
        return None;
    }
    Some(if scalar == ScalarType::F32 { f64::from(bound as f32) } else { bound })
}

fn compile(ty: &EntityType, property: &PropertyType, check: &CheckConstraint) -> Result<Regex> {
    let wrong = |why: String| {
        let what = format!("the check of {}.{} {why}", ty.name, check.property);
        Error::new(Reason::InvalidSchema, what).with("type", &ty.name).with("property", &check.property)
    };
    if !matches!(property, PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_)) {
        return Err(wrong("is on a property that is no text".to_string()));
    }
    Regex::new(&check.pattern).map_err(|e| wrong(format!("is not a regular expression: {e}")))
}

#[cfg(test)]
mod tests;
