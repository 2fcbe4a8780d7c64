//! Batches as readers get them: exactly of their schema, and of bounded size.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::format::arrow::logical_schema;
use crate::limits;
use crate::model::EntityType;

/// The logical schema of some of a type's columns, in the order given.
///
/// # Errors
/// A column the type lacks, which callers have refused before.
pub(crate) fn schema_of(ty: &EntityType, columns: &[String]) -> Result<SchemaRef> {
    let all = logical_schema(ty);
    let field = |name: &String| {
        let found = all.fields().find(name).map(|(_, field)| field.clone());
        found.ok_or_else(|| Error::internal(format!("{} has no column {name}", ty.name)))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// The columns of `schema`, found by name, in its order and exactly of its types.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if a column is missing or of a type that does not convert without
/// loss.
pub(crate) fn conform(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |name: &str, wanted: &DataType| -> Result<ArrayRef> {
        let found = batch
            .column_by_name(name)
            .ok_or_else(|| Error::internal(format!("the store returned no column {name}")))?;
        if found.data_type() == wanted {
            return Ok(found.clone());
        }
        let options = arrow_cast::CastOptions { safe: false, ..arrow_cast::CastOptions::default() };
        arrow_cast::cast_with_options(found, wanted, &options).map_err(|e| {
            Error::internal(format!("column {name} is stored as {}, not {wanted}", found.data_type())).caused_by(e)
        })
    };
    let columns = schema.fields().iter().map(|f| column(f.name(), f.data_type())).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema.clone(), columns)
        .map_err(|e| Error::internal(format!("stored rows do not have their type's schema: {e}")).caused_by(e))
}

/// Cuts a batch into pieces near the size that batches aim at. Pieces share memory; a row is never cut.
pub(crate) fn split(batch: RecordBatch) -> Vec<RecordBatch> {
    let rows = batch.num_rows();
    let bytes: usize = batch.columns().iter().map(used).sum();
    let per_row = bytes.div_ceil(rows.max(1)).max(1);
    let fits = (limits::SCAN_BATCH_BYTES / per_row).clamp(1, limits::BATCH_ROWS);
    if rows == 0 {
        return Vec::new();
    }
    // Slightly too large is better than one more tiny piece.
    if rows <= limits::BATCH_ROWS && bytes <= 2 * limits::SCAN_BATCH_BYTES {
        return vec![batch];
    }
    (0..rows).step_by(fits).map(|start| batch.slice(start, fits.min(rows - start))).collect()
}

/// Bytes that the visible part of a column takes.
fn used(column: &ArrayRef) -> usize {
    column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::Field;

    use super::*;

    fn batch(rows: usize, width: usize) -> RecordBatch {
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("n", DataType::Int32, true),
        ]));
        let ids = StringArray::from_iter_values((0..rows).map(|i| i.to_string() + &"x".repeat(width)));
        let numbers = Int32Array::from_iter_values((0..rows).map(|i| i as i32));
        RecordBatch::try_new(schema, vec![Arc::new(ids), Arc::new(numbers)]).unwrap()
    }

    #[test]
    fn large_batches_are_cut_and_lose_nothing() {
        for (rows, width) in [(0, 1), (1, 1), (8_192, 10), (20_000, 10), (3, 6 << 20), (100, 300_000)] {
            let whole = batch(rows, width);
            let pieces = split(whole.clone());
            assert_eq!(pieces.iter().map(RecordBatch::num_rows).sum::<usize>(), rows);
            for piece in &pieces {
                let bytes: usize = piece.columns().iter().map(used).sum();
                assert!(piece.num_rows() <= limits::BATCH_ROWS);
                assert!(piece.num_rows() == 1 || bytes <= 2 * limits::SCAN_BATCH_BYTES, "{bytes}");
            }
            if rows > 0 {
                assert_eq!(arrow_select::concat::concat_batches(whole.schema_ref(), &pieces).unwrap(), whole);
            }
        }
    }

    #[test]
    fn columns_are_found_by_name_and_converted_exactly_or_not_at_all() {
        let stored = batch(2, 1);
        let wide = |ty| Arc::new(Schema::new(vec![Field::new("n", ty, true)]));
        let conformed = conform(&stored, &wide(DataType::Int64)).unwrap();
        assert_eq!(conformed.schema_ref().field(0).data_type(), &DataType::Int64);
        assert!(conform(&stored, &Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, true)]))).is_err());
        assert!(conform(&stored, &wide(DataType::Boolean)).is_ok(), "every number has a truth value in Arrow");
        let dates = wide(DataType::FixedSizeBinary(3));
        assert!(conform(&stored, &dates).is_err());
    }
}
