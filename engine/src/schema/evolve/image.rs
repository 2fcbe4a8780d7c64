//! The columns of a type as they will be, from those that are there.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, Scalar, new_null_array};

use super::steps::Source;
use crate::data::array_from_values;
use crate::error::{Error, Result};
use crate::format::arrow::{logical_type, storage_schema};
use crate::model::{EntityKind, EntityType, Property};
use crate::store::lance::evolve::{Make, NewColumn};

/// The columns of the table of a type as it will be, given where its properties come from.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if there are not as many sources as properties.
pub(super) fn columns(ty: &EntityType, sources: &[Source]) -> Result<Vec<NewColumn>> {
    let schema = storage_schema(ty);
    let system = schema.fields().len() - ty.properties.len();
    if sources.len() != ty.properties.len() {
        return Err(Error::internal("a change of schema does not say where every column comes from"));
    }
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields().iter().take(system) {
        columns.push(NewColumn::Kept { from: field.name().clone(), to: field.as_ref().clone() });
    }
    for ((field, property), source) in schema.fields().iter().skip(system).zip(&ty.properties).zip(sources) {
        let to = field.as_ref().clone();
        columns.push(match source {
            Source::Kept(from) => NewColumn::Kept { from: from.clone(), to },
            Source::Empty => NewColumn::Empty(to),
            Source::Widened(_) | Source::Filled(..) => {
                NewColumn::Made { to, reads: reads(source), make: maker(property, source)? }
            }
        });
    }
    Ok(columns)
}

/// The columns there are that a column comes from.
pub(super) fn reads(source: &Source) -> Vec<String> {
    match source {
        Source::Kept(from) | Source::Widened(from) | Source::Filled(Some(from), _) => vec![from.clone()],
        Source::Empty | Source::Filled(None, _) => Vec::new(),
    }
}

/// Computes a property's column, in its logical type, from a batch of what is there.
///
/// # Errors
/// A default that does not fit its property.
pub(super) fn maker(property: &Property, source: &Source) -> Result<Make> {
    let ty = logical_type(&property.ty);
    let cast = {
        let ty = ty.clone();
        move |batch: &RecordBatch, from: &str| -> Result<ArrayRef> {
            let column = batch.column_by_name(from).ok_or_else(|| Error::internal(format!("no column {from:?}")))?;
            // What is there always fits: only wider types are allowed.
            arrow_cast::cast(column, &ty)
                .map_err(|e| Error::internal(format!("the column {from:?} does not widen")).caused_by(e))
        }
    };
    Ok(match source.clone() {
        Source::Kept(from) | Source::Widened(from) | Source::Filled(Some(from), None) => {
            Arc::new(move |batch| cast(batch, &from))
        }
        Source::Empty | Source::Filled(None, None) => Arc::new(move |batch| Ok(new_null_array(&ty, batch.num_rows()))),
        Source::Filled(from, Some(value)) => {
            let default = Scalar::new(array_from_values(&property.ty, &[value])?);
            Arc::new(move |batch| {
                let there = match &from {
                    Some(from) => cast(batch, from)?,
                    None => new_null_array(&ty, batch.num_rows()),
                };
                let has = arrow_array::BooleanArray::from_iter((0..there.len()).map(|row| Some(there.is_valid(row))));
                arrow_select::zip::zip(&has, &there, &default)
                    .map_err(|e| Error::internal("a default does not fill its column").caused_by(e))
            })
        }
    })
}

/// The columns every row of a kind of types has.
pub(super) fn system_columns(kind: EntityKind) -> &'static [&'static str] {
    match kind {
        EntityKind::Node => &["id"],
        EntityKind::Edge => &["id", "src", "dst"],
    }
}
