//! Reading rows of one table version as a stream of batches in the logical schema.

use std::sync::Arc;

use ::lance::dataset::scanner::ColumnOrdering;
use ::lance::deps::datafusion::prelude::Expr;
use arrow_array::RecordBatch;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lance_core::datatypes::BlobHandling;

use super::{Table, error};
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
    /// A column or filter that does not fit, or the store's.
    pub async fn scan(&self, scan: Scan) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let mut scanner = self.dataset.scan();
        let mut columns = scan.columns;
        // A scan must read at least one column; addresses alone are columns too.
        if scan.with_address {
            columns.push(ROW_ADDRESS.to_string());
        }
        if scan.with_row_id {
            columns.push(ROW_ID.to_string());
        }
        scanner.project(&columns).map_err(error::convert)?;
        scanner.blob_handling(BlobHandling::AllBinary);
        if let Some(filter) = scan.filter {
            scanner.filter_expr(filter);
        }
        if let Some(wanted) = scan.fragments {
            let fragments = self
                .dataset
                .fragments()
                .iter()
                .filter(|f| wanted.contains(&f.id))
                .cloned()
                .collect::<Vec<_>>();
            if fragments.len() != wanted.len() {
                return Err(Error::internal("a scan names a fragment that the table version lacks"));
            }
            scanner.with_fragments(fragments);
        }
        if !scan.order.is_empty() {
            let keys = scan
                .order
                .into_iter()
                .map(|(column, descending)| {
                    if descending {
                        ColumnOrdering::desc_nulls_last(column)
                    } else {
                        ColumnOrdering::asc_nulls_last(column)
                    }
                })
                .collect();
            scanner.order_by(Some(keys)).map_err(error::convert)?;
        }
        if let Some(limit) = scan.limit {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            scanner.limit(Some(limit), None).map_err(error::convert)?;
        }
        scanner.batch_size(if scan.batch_rows == 0 { limits::BATCH_ROWS } else { scan.batch_rows });
        scanner.scan_in_order(scan.ordered);
        let stream = scanner.try_into_stream().await.map_err(error::convert)?;
        Ok(stream.map_err(error::convert).boxed())
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
