//! Writing rows and deletions that no version shows yet.
//!
//! Everything a commit does to a table is expressed as one transaction: rows added and rows taken away.
//! An updated row is taken away at its old address and added again under its old row id, so its creation
//! version survives and one version holds the whole change.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::lance::dataset::InsertBuilder;
use ::lance::dataset::transaction::{Operation, Transaction, TransactionBuilder, UpdateMode};
use ::lance::deps::datafusion::error::DataFusionError;
use ::lance::deps::datafusion::physical_plan::SendableRecordBatchStream;
use ::lance::deps::datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::{Stream, StreamExt};
use lance_table::format::{Fragment, RowIdMeta};
use lance_table::rowids::{RowIdSequence, write_row_ids};

use super::{Table, error};
use crate::error::{Error, Result};
use crate::store::Store;

/// Rows written to data files but part of no version.
#[derive(Clone, Debug, Default)]
pub struct NewRows {
    fragments: Vec<Fragment>,
}

/// Rows of a table version marked as gone, in files that no version refers to yet.
#[derive(Clone, Debug, Default)]
pub struct GoneRows {
    updated: Vec<Fragment>,
    removed: Vec<u64>,
    rows: u64,
}

/// One transaction against one table version, not committed.
#[derive(Clone, Debug)]
pub struct Staged {
    pub(super) transaction: Transaction,
    rows_after: u64,
}

impl NewRows {
    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.fragments.iter().map(|f| f.physical_rows.unwrap_or(0) as u64).sum()
    }

    /// Gives the first rows these row ids, in order; the rest get fresh ones at commit.
    pub fn keep_row_ids(&mut self, ids: &[u64]) {
        let mut rest = ids;
        for fragment in &mut self.fragments {
            let take = rest.len().min(fragment.physical_rows.unwrap_or(0));
            if take == 0 {
                break;
            }
            let (mine, others) = rest.split_at(take);
            let encoded = write_row_ids(&RowIdSequence::from(mine));
            fragment.row_id_meta = Some(RowIdMeta::Inline(encoded.into()));
            rest = others;
        }
    }

    /// Joins two sets of rows; `other`'s follow.
    pub fn extend(&mut self, other: Self) {
        self.fragments.extend(other.fragments);
    }
}

impl GoneRows {
    /// How many rows are gone.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whole fragments gone, without looking at their rows.
    pub fn whole_fragments(table: &Table, ids: &[u64]) -> Self {
        let rows = table.fragments().iter().filter(|f| ids.contains(&f.id)).map(|f| f.live_rows).sum();
        Self { updated: Vec::new(), removed: ids.to_vec(), rows }
    }

    /// Every row of the table gone.
    pub fn everything(table: &Table) -> Self {
        let ids: Vec<u64> = table.fragments().iter().map(|f| f.id).collect();
        Self::whole_fragments(table, &ids)
    }
}

impl Staged {
    pub(super) fn new(transaction: Transaction, rows_after: u64) -> Self {
        Self { transaction, rows_after }
    }

    /// The transaction's own id, by which it is recognised later.
    pub fn uuid(&self) -> &str {
        &self.transaction.uuid
    }

    /// Rows of the table once this is committed.
    pub fn rows_after(&self) -> u64 {
        self.rows_after
    }

    /// Sets the properties the version will carry.
    pub fn set_properties(&mut self, properties: std::collections::HashMap<String, String>) {
        self.transaction.transaction_properties = Some(Arc::new(properties));
    }
}

impl Table {
    /// Writes rows for this table. Files are streamed out as the batches arrive; nothing becomes visible.
    ///
    /// # Errors
    /// The stream's or the store's.
    pub async fn stage_rows(
        &self,
        store: &Store,
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Result<NewRows> {
        let batches = batches.map(|b| b.map_err(|e| DataFusionError::External(Box::new(e))));
        let stream: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(schema, batches));
        let params = store.write_params();
        let staged =
            InsertBuilder::new(self.dataset.clone()).with_params(&params).execute_uncommitted_stream(stream).await;
        let transaction = match staged {
            Ok(transaction) => transaction,
            Err(e) => return Err(own_error(&e).unwrap_or_else(|| error::convert(e))),
        };
        match transaction.operation {
            Operation::Append { fragments } => Ok(NewRows { fragments }),
            other => Err(Error::internal(format!("an append was staged as {other}"))),
        }
    }

    /// Marks rows as gone by their addresses (fragment id in the high 32 bits, offset in the low).
    ///
    /// # Errors
    /// The store's, or an address outside the table.
    pub async fn stage_gone(&self, addresses: impl IntoIterator<Item = u64>) -> Result<GoneRows> {
        let mut by_fragment: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for address in addresses {
            by_fragment.entry(address >> 32).or_default().push((address & 0xffff_ffff) as u32);
        }
        let mut gone = GoneRows::default();
        for (id, mut offsets) in by_fragment {
            offsets.sort_unstable();
            offsets.dedup();
            let fragment = usize::try_from(id)
                .ok()
                .and_then(|id| self.dataset.get_fragment(id))
                .ok_or_else(|| Error::internal(format!("fragment {id} is not part of the table")))?;
            let before = super::describe(fragment.metadata()).live_rows;
            match fragment.extend_deletions(offsets).await.map_err(error::convert)? {
                Some(after) => {
                    gone.rows += before - super::describe(after.metadata()).live_rows;
                    gone.updated.push(after.metadata().clone());
                }
                None => {
                    gone.rows += before;
                    gone.removed.push(id);
                }
            }
        }
        Ok(gone)
    }

    /// One transaction that takes `gone` away and adds `new`.
    pub fn stage(&self, new: NewRows, gone: GoneRows) -> Staged {
        let rows_after = (self.rows() + new.rows()).saturating_sub(gone.rows);
        let plain =
            gone.updated.is_empty() && gone.removed.is_empty() && new.fragments.iter().all(|f| f.row_id_meta.is_none());
        let operation = if plain {
            Operation::Append { fragments: new.fragments }
        } else {
            let fields = self.dataset.schema().fields_pre_order();
            Operation::Update {
                removed_fragment_ids: gone.removed,
                updated_fragments: gone.updated,
                new_fragments: new.fragments,
                fields_modified: Vec::new(),
                compacted_sstables: Vec::new(),
                fields_for_preserving_frag_bitmap: fields.filter_map(|f| u32::try_from(f.id).ok()).collect(),
                update_mode: Some(UpdateMode::RewriteRows),
                inserted_rows_filter: None,
                updated_fragment_offsets: None,
            }
        };
        Staged { transaction: TransactionBuilder::new(self.version(), operation).build(), rows_after }
    }

    /// One transaction, on top of this version, that brings back the content of an older version of the
    /// same Lance branch, which has `rows` rows.
    pub fn stage_restore(&self, version: u64, rows: u64) -> Staged {
        let operation = Operation::Restore { version };
        Staged { transaction: TransactionBuilder::new(self.version(), operation).build(), rows_after: rows }
    }
}

/// The engine's own error, if it travelled through Lance's write path inside the stream.
fn own_error(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut current = Some(error);
    while let Some(e) = current {
        if let Some(own) = e.downcast_ref::<Error>() {
            return Some(own.clone());
        }
        if let Some(DataFusionError::External(inner)) = e.downcast_ref::<DataFusionError>()
            && let Some(own) = inner.downcast_ref::<Error>()
        {
            return Some(own.clone());
        }
        current = e.source();
    }
    None
}
