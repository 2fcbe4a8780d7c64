//! Ranked reads of one table version: the nearest vectors, and the texts that best answer some words.
//!
//! An index proposes rows and says what it can say exactly; what it does not cover is read. Every row is ranked by
//! the same pure functions from its own values and from counts over this version, so the answer is the same with an
//! index, without one, and with one that covers a part. An index that cannot be used, or that says what the rows do
//! not, is left aside.

mod counts;
pub mod inverted;
pub mod nearest;
pub mod text;
mod words;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use ::lance::dataset::rowids::get_row_id_index;
use ::lance::deps::datafusion::prelude::Expr;
use ::lance::index::DatasetIndexExt;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch, StringArray, UInt64Array};
use futures::TryStreamExt;
use lance_table::format::IndexMetadata;

use super::scan::{ROW_ADDRESS, Scan};
use super::{Table, error};
use crate::error::{Error, Result};
use crate::format::arrow::ID;
use crate::limits;

/// A row that a ranked read found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// Its address.
    pub address: u64,
    /// Its distance or its score.
    pub value: f32,
}

/// Nearest first, rows as near by id.
fn nearest_first(a: &Found, b: &Found) -> Ordering {
    a.value.total_cmp(&b.value).then_with(|| a.id.cmp(&b.id))
}

/// Highest score first, rows of one score by id.
fn highest_first(a: &Found, b: &Found) -> Ordering {
    b.value.total_cmp(&a.value).then_with(|| a.id.cmp(&b.id))
}

/// Keeps the first `limit` rows of an order, themselves in no order.
fn keep_first(rows: &mut Vec<Found>, limit: usize, order: fn(&Found, &Found) -> Ordering) {
    if limit == 0 {
        rows.clear();
    } else if rows.len() > limit {
        rows.select_nth_unstable_by(limit - 1, order);
        rows.truncate(limit);
    }
}

impl Table {
    /// The parts of the index of this name that cover something of this version, and all they cover.
    async fn index_parts(&self, name: &str) -> Result<(Vec<IndexMetadata>, HashSet<u64>)> {
        let present: HashSet<u64> = self.dataset.fragments().iter().map(|f| f.id).collect();
        let mut covered = HashSet::new();
        let mut parts = Vec::new();
        for part in self.dataset.load_indices().await.map_err(error::convert)?.iter().filter(|p| p.name == name) {
            let mine = covered_by(part, &present);
            if !mine.is_empty() {
                covered.extend(mine);
                parts.push(part.clone());
            }
        }
        Ok((parts, covered))
    }

    /// The fragments that are none of these.
    fn fragments_but(&self, covered: &HashSet<u64>) -> Vec<u64> {
        self.dataset.fragments().iter().map(|f| f.id).filter(|id| !covered.contains(id)).collect()
    }

    /// Where the rows with these stable ids are now; `None` for those that are gone.
    async fn addresses_of(&self, row_ids: &[u64]) -> Result<Vec<Option<u64>>> {
        if row_ids.is_empty() {
            return Ok(Vec::new());
        }
        let index = get_row_id_index(&self.dataset).await.map_err(error::convert)?;
        let index = index.ok_or_else(|| Error::internal("a dataset has no stable row ids"))?;
        let mut out = Vec::with_capacity(row_ids.len());
        for chunk in row_ids.chunks(limits::BATCH_ROWS) {
            let found = index.get_many(chunk).map_err(error::convert)?;
            out.extend(found.into_iter().map(|address| address.map(u64::from)));
            tokio::task::yield_now().await;
        }
        Ok(out)
    }

    /// Addresses of the rows for which a filter holds, in ascending order.
    async fn addresses_where(&self, filter: Expr) -> Result<Vec<u64>> {
        let scan = Scan { filter: Some(filter), with_address: true, ..Scan::default() };
        let mut batches = self.scan(scan).await?;
        let mut out = Vec::new();
        while let Some(batch) = batches.try_next().await? {
            out.extend_from_slice(addresses(&batch)?.values());
        }
        out.sort_unstable();
        Ok(out)
    }

    /// Some columns of the rows at these addresses, a run of rows at a time, with [`ID`] and [`ROW_ADDRESS`].
    async fn rows_at(&self, addresses: &[u64], columns: &[&str]) -> Result<Vec<RecordBatch>> {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        let named = [&[ID, ROW_ADDRESS], columns].concat();
        let columns: Vec<String> = named.into_iter().map(ToString::to_string).collect();
        let mut out = Vec::with_capacity(sorted.len().div_ceil(limits::TAKE_ROWS));
        for chunk in sorted.chunks(limits::TAKE_ROWS) {
            out.push(self.take(chunk, &columns).await?);
        }
        Ok(out)
    }
}

/// The fragments of a version that one part of an index covers.
fn covered_by(part: &IndexMetadata, present: &HashSet<u64>) -> HashSet<u64> {
    let covers = part.fragment_bitmap.iter().flat_map(|bitmap| bitmap.iter().map(u64::from));
    covers.filter(|id| present.contains(id)).collect()
}

/// The fragment of an address.
fn fragment_of(address: u64) -> u64 {
    address >> 32
}

/// The addresses of a batch's rows.
fn addresses(batch: &RecordBatch) -> Result<UInt64Array> {
    let column = batch.column_by_name(ROW_ADDRESS).and_then(|c| c.as_primitive_opt::<UInt64Type>());
    column.cloned().ok_or_else(|| Error::internal("a scan returned no row addresses"))
}

/// A text column of a batch.
fn texts(batch: &RecordBatch, name: &str) -> Result<StringArray> {
    let column = batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
    column.cloned().ok_or_else(|| Error::internal(format!("a scan returned no texts in {name}")))
}

/// The ids of rows by their addresses.
fn ids_by_address(batches: &[RecordBatch]) -> Result<HashMap<u64, String>> {
    let mut out = HashMap::new();
    for batch in batches {
        let (ids, addresses) = (texts(batch, ID)?, addresses(batch)?);
        out.extend((0..batch.num_rows()).filter(|row| ids.is_valid(*row)).map(|row| {
            let id = ids.value(row).to_string();
            (addresses.value(row), id)
        }));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, value: f32) -> Found {
        Found { id: id.into(), address: 0, value }
    }

    #[test]
    fn rows_as_good_are_told_apart_by_id() {
        let all = || vec![found("d", 1.0), found("b", 1.0), found("c", 0.5), found("a", 1.0), found("e", 2.0)];
        for (order, limit, expected) in [
            (nearest_first as fn(&Found, &Found) -> Ordering, 3, "cab"),
            (highest_first, 3, "eab"),
            (highest_first, 9, "eabdc"),
            (nearest_first, 0, ""),
        ] {
            let mut rows = all();
            keep_first(&mut rows, limit, order);
            rows.sort_unstable_by(order);
            let ids: String = rows.into_iter().map(|r| r.id).collect();
            assert_eq!(ids, expected, "the first {limit}");
        }
    }
}
