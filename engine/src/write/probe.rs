//! Where rows with given keys stand in a table, and the rows themselves. Cost follows the keys asked for,
//! after the first use of a table in this process.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use futures::TryStreamExt;

use super::SharedIndex;
use crate::error::{Error, Result};
use crate::format::arrow::ID;
use crate::limits;
use crate::store::lance::filter;
use crate::store::lance::keys::{KeyHash, hash_rows, hash_text};
use crate::store::lance::scan::{ROW_ADDRESS, Scan};
use crate::store::lance::{Table, TableAt};
use crate::txn::Core;

/// Values in one filter of a probe without an index.
const FILTER_VALUES: usize = 1_000;

/// Where the rows with these ids are. Ids that do not exist are absent from the result.
pub(super) async fn by_id(core: &Core, table: &Table, ids: &[&str]) -> Result<HashMap<KeyHash, u64>> {
    if ids.is_empty() || table.rows() == 0 {
        return Ok(HashMap::new());
    }
    if table.rows() > limits::MAX_KEY_DIRECTORY_ENTRIES as u64 {
        return scan_for(table, ids).await;
    }
    let index = id_index(core, table);
    let mut index = index.lock().await;
    index.follow(table).await?;
    Ok(ids
        .iter()
        .filter_map(|id| {
            let key = hash_text(id);
            index.get(key).map(|address| (key, address))
        })
        .collect())
}

/// The warm index of a table's ids.
pub(super) fn id_index(core: &Core, table: &Table) -> SharedIndex {
    core.key_index(table, &[ID.to_string()])
}

/// Which of these hashes exist, for callers that keep no ids. The table must be small enough to index.
pub(super) async fn existing(core: &Core, table: &Table, keys: &[KeyHash]) -> Result<HashMap<KeyHash, u64>> {
    let index = id_index(core, table);
    let mut index = index.lock().await;
    index.follow(table).await?;
    Ok(keys.iter().filter_map(|k| index.get(*k).map(|a| (*k, a))).collect())
}

async fn scan_for(table: &Table, ids: &[&str]) -> Result<HashMap<KeyHash, u64>> {
    let mut found = HashMap::new();
    for chunk in ids.chunks(FILTER_VALUES) {
        let scan = Scan {
            columns: vec![ID.to_string()],
            filter: Some(filter::any_of(ID, chunk.iter().map(ToString::to_string))),
            with_address: true,
            ..Scan::default()
        };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            let keys = hash_rows(&batch, &[ID.to_string()])?;
            for (key, address) in keys.into_iter().zip(addresses(&batch)?) {
                if let Some(key) = key {
                    found.insert(key, address);
                }
            }
        }
    }
    Ok(found)
}

/// The row addresses of a scanned batch.
pub(super) fn addresses(batch: &RecordBatch) -> Result<Vec<u64>> {
    batch
        .column_by_name(ROW_ADDRESS)
        .and_then(|c| c.as_primitive_opt::<UInt64Type>())
        .map(|a| a.values().to_vec())
        .ok_or_else(|| Error::internal("a scan returned no row addresses"))
}

/// Rows whose text column holds one of the values, with their addresses, batch by batch.
pub(crate) async fn rows_where(
    table: &Table,
    column: &str,
    values: &[String],
    columns: &[String],
    mut each: impl FnMut(&RecordBatch, Vec<u64>) -> Result<()>,
) -> Result<()> {
    for chunk in values.chunks(FILTER_VALUES) {
        let scan = Scan {
            columns: columns.to_vec(),
            filter: Some(filter::any_of(column, chunk.iter().cloned())),
            with_address: true,
            ..Scan::default()
        };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            let at = addresses(&batch)?;
            each(&batch, at)?;
        }
    }
    Ok(())
}

/// Keeps an index in step with a change of our own. `before` is what the change was staged on.
pub(super) fn advance(
    index: &SharedIndex,
    before: &TableAt,
    after: &Table,
    gone: &[(KeyHash, u64)],
    added: &[Option<KeyHash>],
) {
    // Somebody else is using it: it will follow by reading.
    if let Ok(mut index) = index.try_lock() {
        index.advance(before, after, gone, added);
    }
}
