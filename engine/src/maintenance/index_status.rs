//! How far the indexes of a snapshot are.

use futures::{StreamExt, TryStreamExt};

use super::optimize::rework;
use crate::error::Result;
use crate::limits;
use crate::manifest::{Snapshot, TablePin};
use crate::model::index::{self, IndexStatus};
use crate::txn::Core;

/// The state of every index that should exist, by type and name. Costs a few requests a table, and for vectors
/// that are not indexed a count of them.
///
/// # Errors
/// The store's.
pub async fn status(core: &Core, snapshot: &Snapshot) -> Result<Vec<IndexStatus>> {
    let pins: Vec<TablePin> = snapshot.pins().cloned().collect();
    let tables: Vec<Vec<IndexStatus>> = futures::stream::iter(pins)
        .map(|pin| async move { of_table(core, snapshot, &pin).await })
        .buffered(limits::MAINTENANCE_CONCURRENCY)
        .try_collect()
        .await?;
    Ok(tables.into_iter().flatten().collect())
}

async fn of_table(core: &Core, snapshot: &Snapshot, pin: &TablePin) -> Result<Vec<IndexStatus>> {
    let ty = snapshot.ty(&pin.type_ref)?;
    let table = match &pin.at {
        Some(at) => Some(core.table(at).await?),
        None => None,
    };
    let states = match &table {
        Some(table) => table.indexes().await?,
        None => std::collections::HashMap::new(),
    };
    let mut out = Vec::new();
    for wanted in index::wanted(ty) {
        let rows = table.as_ref().map_or(0, |t| t.rows());
        let state = states.get(&wanted.name);
        let covered = match (&table, state) {
            (Some(table), Some(state)) => table.rows_in(&state.fragments),
            _ => 0,
        };
        let pending = match (&table, state) {
            (None, _) => rework::NO_ROWS.to_string(),
            (Some(_), Some(_)) if covered < rows => {
                format!("{} rows were written since it was built; `omnigraph optimize` adds them", rows - covered)
            }
            (Some(_), Some(_)) => String::new(),
            (Some(table), None) => match rework::ready(table, &wanted).await? {
                Ok(_) => "it is not built yet; `omnigraph optimize` builds it".to_string(),
                Err(reason) => reason,
            },
        };
        out.push(IndexStatus {
            type_ref: pin.type_ref.clone(),
            present: state.is_some(),
            pending,
            rows_covered: covered,
            rows_uncovered: rows - covered,
            bytes: state.map_or(0, |s| s.bytes),
            index: wanted,
        });
    }
    Ok(out)
}
