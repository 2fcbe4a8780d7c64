//! Reading single rows by address. Cost follows the rows asked for.

use std::sync::Arc;

use ::lance::dataset::{ProjectionRequest, TakeBuilder};
use arrow_array::RecordBatch;

use super::scan::ROW_ADDRESS;
use super::{Table, blob, error};
use crate::error::{Error, Result};

impl Table {
    /// Reads rows by address, in the order given; blobs come as bytes and are all held at once. Addresses
    /// of deleted rows are an error of the caller: the result then has fewer rows.
    ///
    /// # Errors
    /// A column the table lacks, or the store's.
    pub async fn take(&self, addresses: &[u64], columns: &[String]) -> Result<RecordBatch> {
        let schema = self.dataset.schema();
        let known = |name: &str| schema.field(name).is_some() || lance_core::is_system_column(name);
        if let Some(missing) = columns.iter().find(|c| !known(c)) {
            return Err(Error::internal(format!("the dataset {} has no column {missing}", self.at.location)));
        }
        let blobs = self.blob_columns(columns);
        let mut wanted = columns.to_vec();
        if !blobs.is_empty() {
            wanted.push(ROW_ADDRESS.to_string());
        }
        let projection = ProjectionRequest::from_columns(&wanted, schema);
        let plan = projection.into_projection_plan(self.shared()).map_err(error::convert)?;
        let batch = TakeBuilder::try_new_from_addresses(self.shared(), addresses.to_vec(), Arc::new(plan))
            .map_err(error::convert)?
            .execute()
            .await
            .map_err(error::convert)?;
        if blobs.is_empty() {
            return Ok(batch);
        }
        blob::fill(&self.dataset, &blobs, columns, &batch).await
    }
}
