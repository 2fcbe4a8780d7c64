//! Sorted scans in bounded memory.
//!
//! Left alone, a sort would keep the whole table in memory. Here every sort has a memory pool of its own
//! and spills what does not fit. With a small limit only the keys are read for all rows, and the rest for
//! the rows that are left.

use std::sync::Arc;

use ::lance::dataset::scanner::Scanner;
use ::lance::deps::datafusion::error::DataFusionError;
use ::lance::deps::datafusion::execution::TaskContext;
use ::lance::deps::datafusion::execution::memory_pool::FairSpillPool;
use ::lance::deps::datafusion::execution::runtime_env::RuntimeEnvBuilder;
use ::lance::deps::datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use ::lance::deps::datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use ::lance::deps::datafusion::prelude::SessionConfig;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::scan::{ROW_ADDRESS, Scan, start};
use super::{Table, error};
use crate::error::{Error, Reason, Result};
use crate::limits;

/// Bytes of a row of which nothing is known but that it is short.
const SHORT_ROW: usize = 64;

type Batches = BoxStream<'static, Result<RecordBatch>>;

impl Table {
    /// Starts a sorted scan of these columns, which include the keys.
    pub(super) async fn sorted(&self, columns: &[String], batch_rows: usize, mut scan: Scan) -> Result<Batches> {
        let width = self.width(columns).await?;
        let rows = (limits::SORT_BATCH_BYTES / width).clamp(1, batch_rows);
        // What a limit returns is held whole unless it is cut off behind the sort.
        let held = scan.limit.unwrap_or(0).saturating_mul(width as u64);
        let cut = scan.limit.filter(|_| held > limits::SORT_MEMORY_BYTES as u64 / 4);
        if cut.is_some() {
            scan.limit = None;
        }
        if scan.limit.is_some() && width > SHORT_ROW && self.blob_columns(columns).is_empty() {
            return self.first_sorted(columns.to_vec(), width, scan).await;
        }
        let mut scanner = self.scanner(columns, batch_rows)?;
        self.narrow(&mut scanner, scan)?;
        let batches = run(&scanner, rows).await?;
        Ok(match cut {
            Some(limit) => first_rows(batches, limit),
            None => batches,
        })
    }

    /// Finds the few rows a limit leaves by their keys alone, then reads those.
    async fn first_sorted(&self, columns: Vec<String>, width: usize, scan: Scan) -> Result<Batches> {
        let mut keys: Vec<String> = scan.order.iter().map(|(column, _)| column.clone()).collect();
        keys.push(ROW_ADDRESS.to_string());
        let mut scanner = self.scanner(&keys, limits::BATCH_ROWS)?;
        self.narrow(&mut scanner, scan)?;
        let mut addresses: Vec<u64> = Vec::new();
        let mut batches = run(&scanner, limits::BATCH_ROWS).await?;
        while let Some(batch) = batches.try_next().await? {
            let found = batch.column_by_name(ROW_ADDRESS).and_then(|c| c.as_primitive_opt::<UInt64Type>());
            let found = found.ok_or_else(|| Error::internal("a sorted scan returned no row addresses"))?;
            addresses.extend(found.values());
        }
        let rows = (limits::SCAN_BATCH_BYTES / width).clamp(1, limits::BATCH_ROWS);
        let table = self.clone();
        let chunks: Vec<Vec<u64>> = addresses.chunks(rows).map(<[u64]>::to_vec).collect();
        let taken = futures::stream::iter(chunks).then(move |chunk| {
            let (table, columns) = (table.clone(), columns.clone());
            async move {
                let batch = table.take(&chunk, &columns).await?;
                match batch.num_rows() == chunk.len() {
                    true => Ok(batch),
                    false => Err(Error::internal("rows vanished between sorting and reading them")),
                }
            }
        });
        Ok(taken.boxed())
    }

    /// Bytes of a row, as the first rows of the table show them.
    async fn width(&self, columns: &[String]) -> Result<usize> {
        let schema = self.dataset.schema();
        let known = |name: &String| {
            let ty = schema.field(name).map(|f| f.data_type());
            ty.is_none_or(|ty| ty.is_primitive() || ty == DataType::Boolean) || name == crate::format::arrow::ID
        };
        if columns.iter().all(known) {
            return Ok(SHORT_ROW.max(columns.len() * 16));
        }
        let mut scanner = self.scanner(columns, limits::SORT_SAMPLE_ROWS)?;
        let sample = Scan { limit: Some(limits::SORT_SAMPLE_ROWS as u64), ..Scan::default() };
        self.narrow(&mut scanner, sample)?;
        let (mut rows, mut bytes) = (0, 0);
        let mut batches = start(&scanner).await?;
        while let Some(batch) = batches.try_next().await? {
            rows += batch.num_rows();
            bytes += batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap_or(0)).sum::<usize>();
        }
        Ok(bytes.div_ceil(rows.max(1)).max(SHORT_ROW))
    }
}

async fn run(scanner: &Scanner, batch_rows: usize) -> Result<Batches> {
    let plan = scanner.create_plan().await.map_err(error::convert)?;
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(limits::SORT_MEMORY_BYTES)))
        .build_arc()
        .map_err(failed)?;
    let config = SessionConfig::new()
        .with_batch_size(batch_rows)
        .with_sort_spill_reservation_bytes(limits::SORT_MEMORY_BYTES / 4);
    let context = TaskContext::default().with_session_config(config).with_runtime(runtime);
    let plan: Arc<dyn ExecutionPlan> = match (plan.output_partitioning().partition_count(), plan.output_ordering()) {
        (1, _) => plan,
        (_, Some(order)) => Arc::new(SortPreservingMergeExec::new(order.clone(), plan)),
        (_, None) => return Err(Error::internal("a sorted scan lost its order")),
    };
    let stream = plan.execute(0, Arc::new(context)).map_err(failed)?;
    Ok(stream.map_err(failed).boxed())
}

fn first_rows(batches: Batches, limit: u64) -> Batches {
    let state = (batches, usize::try_from(limit).unwrap_or(usize::MAX));
    futures::stream::try_unfold(state, |(mut batches, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = batches.try_next().await? else {
            return Ok(None);
        };
        let batch = batch.slice(0, left.min(batch.num_rows()));
        let left = left - batch.num_rows();
        Ok(Some((batch, (batches, left))))
    })
    .boxed()
}

fn failed(error: DataFusionError) -> Error {
    if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) {
        let what = format!(
            "sorting needs more than the {} MiB of memory and the temporary disk space there is; limit the \
             result or sort by fewer columns",
            limits::SORT_MEMORY_BYTES >> 20
        );
        return Error::new(Reason::LimitExceeded, what).with("limit", limits::SORT_MEMORY_BYTES).caused_by(error);
    }
    error::convert(error.into())
}

#[cfg(test)]
mod tests {
    use arrow_array::UInt64Array;
    use arrow_schema::{Field, Schema};

    use super::*;

    #[tokio::test]
    async fn a_limit_behind_a_sort_cuts_exactly() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::UInt64, false)]));
        for (limit, batches) in [(0, 0), (1, 1), (3, 1), (4, 2), (6, 2), (9, 3), (100, 3)] {
            let batch =
                || Ok(RecordBatch::try_new(schema.clone(), vec![Arc::new(UInt64Array::from(vec![1, 2, 3]))]).unwrap());
            let all = futures::stream::iter([batch(), batch(), batch()]).boxed();
            let cut: Vec<RecordBatch> = first_rows(all, limit).try_collect().await.unwrap();
            let rows: usize = cut.iter().map(RecordBatch::num_rows).sum();
            assert_eq!((rows as u64, cut.len()), (limit.min(9), batches), "{limit}");
        }
    }
}
