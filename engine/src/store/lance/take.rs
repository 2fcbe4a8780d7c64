//! Reading single rows by address. Cost follows the rows asked for.

use std::sync::Arc;

use ::lance::dataset::{ProjectionRequest, TakeBuilder};
use arrow_array::RecordBatch;
use lance_core::datatypes::BlobHandling;

use super::{Table, error};
use crate::error::Result;

impl Table {
    /// Reads rows by address, in the order given. Addresses of deleted rows are an error of the caller:
    /// the result then has fewer rows.
    ///
    /// # Errors
    /// The store's.
    pub async fn take(&self, addresses: &[u64], columns: &[String]) -> Result<RecordBatch> {
        let projection = ProjectionRequest::from_columns(columns, self.dataset.schema());
        let mut plan = projection.into_projection_plan(self.shared()).map_err(error::convert)?;
        plan.physical_projection = plan.physical_projection.with_blob_handling(BlobHandling::AllBinary);
        TakeBuilder::try_new_from_addresses(self.shared(), addresses.to_vec(), Arc::new(plan))
            .map_err(error::convert)?
            .execute()
            .await
            .map_err(error::convert)
    }
}
