//! Scans of one type.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;

use crate::error::{Error, Reason, Result};
use crate::manifest::Snapshot;
use crate::model::{OrderBy, Predicate, TypeRef};
use crate::txn::Core;

/// What to read.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanRequest {
    /// The type.
    pub type_ref: TypeRef,
    /// Columns in order; empty means all: `id`, `src`, `dst`, then the properties.
    pub columns: Vec<String>,
    /// Only rows for which this holds.
    pub predicate: Option<Predicate>,
    /// Sort keys; ties are broken by id.
    pub order: Vec<OrderBy>,
    /// At most this many rows; `None` for all.
    pub limit: Option<u64>,
}

/// A scan split into parts.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The columns of every batch.
    pub schema: SchemaRef,
    /// Rows the scan returns, if that is known without reading.
    pub total_rows: Option<u64>,
    /// The fragments of each part. One part that names none reads everything.
    pub parts: Vec<Vec<u64>>,
}

/// Rows as they arrive.
pub struct Rows {
    /// The columns of every batch.
    pub schema: SchemaRef,
    /// The batches.
    pub batches: BoxStream<'static, Result<RecordBatch>>,
}

/// Splits a scan into at most `max_parts` parts.
///
/// # Errors
/// A type, column or predicate that does not fit the schema.
pub async fn plan(_core: &Arc<Core>, _snapshot: &Snapshot, _request: &ScanRequest, _max_parts: usize) -> Result<ScanPlan> {
    Err(Error::new(Reason::NotImplemented, "scan"))
}

/// Reads rows.
///
/// # Errors
/// A type, column or predicate that does not fit the schema; the store's.
pub async fn scan(_core: &Arc<Core>, _snapshot: &Snapshot, _request: &ScanRequest, _fragments: Option<&[u64]>) -> Result<Rows> {
    Err(Error::new(Reason::NotImplemented, "scan"))
}
