//! Stored rows and a mutation's own changes seen as one: which entities match, which edges touch a node.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use futures::TryStreamExt;

use super::probe;
use super::work::TypeWork;
use crate::error::{Error, Reason, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::limits;
use crate::model::{EntityType, Predicate};
use crate::store::lance::filter;
use crate::store::lance::scan::Scan;

/// Ids of the entities for which the predicate holds now, and how many rows were read for it.
pub(super) async fn matching(work: &mut TypeWork, predicate: &Predicate) -> Result<(Vec<String>, usize)> {
    let expr = filter::translate(&work.ty, predicate)?;
    let mut stored = Vec::new();
    let mut addresses = Vec::new();
    if let Some(table) = &work.table {
        let scan = Scan { columns: vec![ID.to_string()], filter: Some(expr), with_address: true, ..Scan::default() };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            addresses.extend(probe::addresses(&batch)?);
            stored.extend(ids(&batch, ID)?);
            if stored.len() > limits::MAX_MUTATED_ENTITIES {
                return Err(too_many());
            }
        }
    }
    let mut found = BTreeSet::new();
    // What this mutation touched already is judged by what it will be.
    for (id, slot) in &work.slots {
        if let Some(entity) = &slot.now
            && predicate.matches(&work.ty, entity)? == Some(true)
        {
            found.insert(id.clone());
        }
    }
    for id in &stored {
        if !work.slots.contains_key(id) {
            found.insert(id.clone());
        }
    }
    let read = work.adopt(&addresses, &stored).await?;
    Ok((found.into_iter().collect(), read))
}

/// Ids of the edges that start or end at one of these nodes now, and how many rows were read for it.
pub(super) async fn incident(
    work: &mut TypeWork,
    edge: &EntityType,
    node_type: &str,
    nodes: &[String],
) -> Result<(Vec<String>, usize)> {
    let ends = edge.endpoints.as_ref().ok_or_else(|| Error::internal("an edge type without endpoints"))?;
    let gone: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    let (from, to) = (ends.from == node_type, ends.to == node_type);
    let touches = |src: &str, dst: &str| (from && gone.contains(src)) || (to && gone.contains(dst));
    let (mut addresses, mut stored) = (Vec::new(), Vec::new());
    if let Some(table) = work.table.clone() {
        for (column, applies) in [(SRC, from), (DST, to)] {
            if !applies {
                continue;
            }
            probe::rows_where(&table, column, nodes, &[ID.to_string()], |batch, at| {
                addresses.extend(at);
                stored.extend(ids(batch, ID)?);
                if stored.len() > limits::MAX_MUTATED_ENTITIES { Err(too_many()) } else { Ok(()) }
            })
            .await?;
        }
    }
    let read = work.adopt(&addresses, &stored).await?;
    let found = work
        .slots
        .iter()
        .filter(|(_, slot)| {
            slot.now.as_ref().and_then(|e| e.endpoints.as_ref()).is_some_and(|(src, dst)| touches(src, dst))
        })
        .map(|(id, _)| id.clone())
        .collect();
    Ok((found, read))
}

/// The texts of a column that holds no nulls.
pub(crate) fn ids(batch: &arrow_array::RecordBatch, column: &str) -> Result<Vec<String>> {
    batch
        .column_by_name(column)
        .and_then(|c| c.as_string_opt::<i32>())
        .map(|c| c.iter().map(|v| v.unwrap_or_default().to_string()).collect())
        .ok_or_else(|| Error::internal(format!("a scan returned no {column}")))
}

fn too_many() -> Error {
    Error::new(
        Reason::LimitExceeded,
        format!(
            "the mutation touches more than {} entities; use a load, or several mutations",
            limits::MAX_MUTATED_ENTITIES
        ),
    )
}
