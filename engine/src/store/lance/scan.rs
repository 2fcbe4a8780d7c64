//! Reading rows of one table version as a stream of batches in the logical schema.
//!
//! Memory stays bounded whatever the table's size: read-ahead is fixed, batches are bounded in rows and
//! bytes, sorts spill to disk, blob payloads are fetched a run of rows at a time. A stream that is dropped
//! stops reading.

use std::sync::Arc;

use ::lance::dataset::scanner::{ColumnOrdering, Scanner};
use ::lance::deps::datafusion::prelude::Expr;
use arrow_array::RecordBatch;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lance_core::datatypes::BlobHandling;

use super::{Table, blob, error};
use crate::error::{Error, Result};
use crate::limits;

/// Name of the column holding a row's address.
pub const ROW_ADDRESS: &str = "_rowaddr";
/// Name of the column holding a row's stable id.
pub const ROW_ID: &str = "_rowid";

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Columns in order.
    pub columns: Vec<String>,
    /// Only rows for which this is true.
    pub filter: Option<Expr>,
    /// Only these fragments; `None` means all.
    pub fragments: Option<Vec<u64>>,
    /// Sort keys: column, descending. Nulls last.
    pub order: Vec<(String, bool)>,
    /// At most this many rows.
    pub limit: Option<u64>,
    /// Appends [`ROW_ADDRESS`].
    pub with_address: bool,
    /// Appends [`ROW_ID`].
    pub with_row_id: bool,
    /// Rows a batch holds at most; 0 means the default.
    pub batch_rows: usize,
    /// Keep the table's row order. Off, fragments are read in whatever order they arrive.
    pub ordered: bool,
}

impl Table {
    /// Starts a scan. Blobs come as bytes.
    ///
    /// # Errors
    /// A column or filter that does not fit, or the store's. [`crate::error::Reason::LimitExceeded`] if a
    /// sort finds neither memory nor disk.
    pub async fn scan(&self, scan: Scan) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let mut shown = scan.columns.clone();
        // A scan must read at least one column; addresses alone are columns too.
        if scan.with_address {
            shown.push(ROW_ADDRESS.to_string());
        }
        if scan.with_row_id {
            shown.push(ROW_ID.to_string());
        }
        let blobs = self.blob_columns(&scan.columns);
        let mut columns = shown.clone();
        let address = (!blobs.is_empty()).then(|| ROW_ADDRESS.to_string());
        // Sort keys are read along, or the store would fetch them row by row.
        for needed in scan.order.iter().map(|(column, _)| column.clone()).chain(address) {
            if !columns.contains(&needed) {
                columns.push(needed);
            }
        }
        let batch_rows = if scan.batch_rows == 0 { limits::BATCH_ROWS } else { scan.batch_rows };
        let batches = if scan.order.is_empty() {
            let mut scanner = self.scanner(&columns, batch_rows)?;
            self.narrow(&mut scanner, scan)?;
            start(&scanner).await?
        } else {
            self.sorted(&columns, batch_rows, scan).await?
        };
        if !blobs.is_empty() {
            return Ok(blob::fill_stream(self.shared(), blobs, shown, batches));
        }
        if columns.len() > shown.len() {
            return Ok(batches.map(move |batch| first_columns(&batch?, shown.len())).boxed());
        }
        Ok(batches)
    }

    /// A scanner of all rows with the engine's bounds.
    pub(super) fn scanner(&self, columns: &[String], batch_rows: usize) -> Result<Scanner> {
        let mut scanner = self.dataset.scan();
        scanner.project(columns).map_err(error::convert)?;
        scanner
            .blob_handling(BlobHandling::BlobsDescriptions)
            .batch_size(batch_rows)
            .batch_size_bytes(limits::SCAN_BATCH_BYTES as u64)
            .batch_readahead(limits::SCAN_BATCH_READAHEAD)
            .fragment_readahead(limits::SCAN_FRAGMENT_READAHEAD)
            .io_buffer_size(limits::SCAN_IO_BUFFER_BYTES);
        Ok(scanner)
    }

    pub(super) fn narrow(&self, scanner: &mut Scanner, scan: Scan) -> Result<()> {
        if let Some(filter) = scan.filter {
            scanner.filter_expr(filter);
        }
        if let Some(wanted) = scan.fragments {
            let known = self.dataset.fragments();
            let fragments: Vec<_> = known.iter().filter(|f| wanted.contains(&f.id)).cloned().collect();
            if fragments.len() != wanted.len() {
                return Err(Error::internal("a scan names a fragment that the table version lacks"));
            }
            scanner.with_fragments(fragments);
        }
        if !scan.order.is_empty() {
            let key = |(column, descending): (String, bool)| match descending {
                true => ColumnOrdering::desc_nulls_last(column),
                false => ColumnOrdering::asc_nulls_last(column),
            };
            let keys = scan.order.into_iter().map(key).collect();
            scanner.order_by(Some(keys)).map_err(error::convert)?;
        }
        if let Some(limit) = scan.limit {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            scanner.limit(Some(limit), None).map_err(error::convert)?;
        }
        scanner.scan_in_order(scan.ordered);
        Ok(())
    }

    /// Reads a whole result into memory. For results whose size is bounded by the caller.
    ///
    /// # Errors
    /// As [`Table::scan`].
    pub async fn collect(&self, scan: Scan) -> Result<Vec<RecordBatch>> {
        self.scan(scan).await?.try_collect().await
    }

    /// Counts rows for which the filter holds.
    ///
    /// # Errors
    /// As [`Table::scan`].
    pub async fn count(&self, filter: Option<Expr>) -> Result<u64> {
        match filter {
            None => Ok(self.rows()),
            Some(filter) => {
                let mut scanner = self.dataset.scan();
                scanner.filter_expr(filter);
                scanner.count_rows().await.map_err(error::convert)
            }
        }
    }

    pub(super) fn shared(&self) -> Arc<::lance::Dataset> {
        self.dataset.clone()
    }
}

fn first_columns(batch: &RecordBatch, count: usize) -> Result<RecordBatch> {
    let wanted: Vec<usize> = (0..count).collect();
    batch.project(&wanted).map_err(|e| Error::internal("a scan returned too few columns").caused_by(e))
}

pub(super) async fn start(scanner: &Scanner) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let stream = scanner.try_into_stream().await.map_err(error::convert)?;
    Ok(stream.map_err(error::convert).boxed())
}
