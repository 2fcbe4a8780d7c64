//! Blob payloads for rows that were read without them.
//!
//! Scans and takes read descriptors first, which say how large each payload is, and fetch the payloads of
//! a bounded run of rows at a time. A null and an empty blob stay different.

use std::ops::Range;
use std::sync::Arc;

use ::lance::Dataset;
use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::scan::ROW_ADDRESS;
use super::{Table, error};
use crate::error::{Error, Result};
use crate::limits;

impl Table {
    /// Those of the columns that are stored as blobs.
    pub(super) fn blob_columns(&self, columns: &[String]) -> Vec<String> {
        let schema = self.dataset.schema();
        let is_blob = |name: &&String| schema.field(name).is_some_and(|f| f.is_blob());
        columns.iter().filter(is_blob).cloned().collect()
    }
}

/// Fetches the payloads of every batch, in runs of bounded size, and keeps the columns `shown`. The
/// batches carry row addresses.
pub(super) fn fill_stream(
    dataset: Arc<Dataset>,
    blobs: Vec<String>,
    shown: Vec<String>,
    batches: BoxStream<'static, Result<RecordBatch>>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let names = Arc::new((blobs, shown));
    batches
        .and_then(move |batch| {
            let (dataset, names) = (dataset.clone(), names.clone());
            async move {
                let filled = futures::stream::iter(runs(&batch, &names.0)?).then(move |run| {
                    let (dataset, names) = (dataset.clone(), names.clone());
                    let part = batch.slice(run.start, run.len());
                    async move { fill(&dataset, &names.0, &names.1, &part).await }
                });
                Ok(filled)
            }
        })
        .try_flatten()
        .boxed()
}

/// Replaces descriptors by payloads and keeps the columns `shown`, in their order.
pub(super) async fn fill(
    dataset: &Arc<Dataset>,
    blobs: &[String],
    shown: &[String],
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let addresses = column(batch, ROW_ADDRESS)?
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(|| Error::internal("row addresses are not numbers"))?
        .values()
        .to_vec();
    let mut fields = Vec::with_capacity(shown.len());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(shown.len());
    for name in shown {
        if blobs.contains(name) {
            fields.push(Arc::new(Field::new(name, DataType::LargeBinary, true)));
            columns.push(payloads(dataset, name, &addresses).await?);
        } else {
            let (at, field) = batch
                .schema_ref()
                .fields()
                .find(name)
                .ok_or_else(|| Error::internal(format!("a batch lacks column {name}")))?;
            fields.push(field.clone());
            columns.push(batch.column(at).clone());
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|e| Error::internal("payloads do not fit their rows").caused_by(e))
}

async fn payloads(dataset: &Arc<Dataset>, name: &str, addresses: &[u64]) -> Result<ArrayRef> {
    let mut out = LargeBinaryBuilder::with_capacity(addresses.len(), 0);
    if !addresses.is_empty() {
        let mut found = dataset
            .read_blobs(name)
            .map_err(error::convert)?
            .with_row_addresses(addresses.to_vec())
            .with_io_buffer_size_bytes(limits::SCAN_IO_BUFFER_BYTES)
            .preserve_order(true)
            .try_into_stream()
            .await
            .map_err(error::convert)?;
        while let Some(blob) = found.try_next().await.map_err(error::convert)? {
            match blob.data {
                Some(bytes) => out.append_value(bytes),
                None => out.append_null(),
            }
        }
    }
    let out = out.finish();
    if out.len() != addresses.len() {
        return Err(Error::internal(format!("{} rows of {name} have {} payloads", addresses.len(), out.len())));
    }
    Ok(Arc::new(out))
}

/// Splits the rows of a batch so that the payloads of one run stay near the size of a batch. A larger
/// payload makes a run of its own.
fn runs(batch: &RecordBatch, blobs: &[String]) -> Result<Vec<Range<usize>>> {
    let sizes = blobs.iter().map(|name| sizes(batch, name)).collect::<Result<Vec<_>>>()?;
    let budget = limits::SCAN_BATCH_BYTES as u64;
    let (mut out, mut start, mut held) = (Vec::new(), 0, 0_u64);
    for row in 0..batch.num_rows() {
        let size = sizes.iter().fold(0_u64, |sum, column| sum.saturating_add(column[row]));
        if row > start && held.saturating_add(size) > budget {
            out.push(start..row);
            (start, held) = (row, 0);
        }
        held = held.saturating_add(size);
    }
    out.push(start..batch.num_rows());
    Ok(out)
}

/// The payload sizes the descriptors of a column tell; 0 for nulls.
fn sizes(batch: &RecordBatch, name: &str) -> Result<Vec<u64>> {
    let wrong = || Error::internal(format!("the descriptors of {name} tell no sizes"));
    let descriptors = column(batch, name)?.as_struct_opt().ok_or_else(wrong)?;
    let sizes = descriptors.column_by_name("size").and_then(|c| c.as_primitive_opt::<UInt64Type>());
    let sizes = sizes.ok_or_else(wrong)?;
    let size = |row| {
        if descriptors.is_null(row) || sizes.is_null(row) { 0 } else { sizes.value(row) }
    };
    Ok((0..batch.num_rows()).map(size).collect())
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| Error::internal(format!("a batch lacks column {name}")))
}
