//! Single entities.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, StringArray, UInt64Array};
use futures::TryStreamExt;

use super::batch::{conform, schema_of};
use crate::data::entity_at;
use crate::error::{Error, Result};
use crate::format::arrow::ID;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Entity, EntityType, Predicate, PropertyType, ScalarType, TypeRef};
use crate::store::lance::keys::hash_text;
use crate::store::lance::scan::{ROW_ADDRESS, Scan};
use crate::store::lance::{Table, filter};
use crate::txn::Core;

/// Entities by id, in the order asked for; missing ones are left out, an id given twice comes twice.
///
/// The first use of a table in a process reads its ids once; after that the cost follows the ids asked
/// for. A table too large to remember, and one older than what is remembered, is searched instead.
///
/// # Errors
/// The type does not exist; the store's.
pub async fn by_ids(core: &Arc<Core>, snapshot: &Snapshot, type_ref: &TypeRef, ids: &[String]) -> Result<Vec<Entity>> {
    let ty = snapshot.ty(type_ref)?;
    let Some(at) = &snapshot.pin(type_ref)?.at else {
        return Ok(Vec::new());
    };
    let table = core.table(at).await?;
    let addresses = locate(core, &table, ids).await?.into_values().collect();
    let found: HashMap<String, Entity> =
        fetch(ty, &table, addresses).await?.into_iter().map(|e| (e.id.clone(), e)).collect();
    Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
}

/// Entities for which a predicate holds, ordered by id, after `after`, at most `limit` and never more than
/// [`limits::MAX_PAGE_SIZE`].
///
/// Pages are found by id, so a page costs the same wherever it is, and rows written meanwhile cannot
/// repeat or hide one: the snapshot does not change. Without an index every page reads the id and the
/// columns of the predicate once over the whole table; whoever wants all rows should scan instead.
///
/// # Errors
/// The type or the predicate does not fit the schema; the store's.
pub async fn by_predicate(
    core: &Arc<Core>,
    snapshot: &Snapshot,
    type_ref: &TypeRef,
    predicate: Option<&Predicate>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Entity>> {
    let ty = snapshot.ty(type_ref)?;
    let wanted = predicate.map(|p| filter::translate(ty, p)).transpose()?;
    let limit = limit.min(limits::MAX_PAGE_SIZE);
    let (Some(at), true) = (&snapshot.pin(type_ref)?.at, limit > 0) else {
        return Ok(Vec::new());
    };
    let table = core.table(at).await?;
    let later = after.map(|id| filter::above(ID, id));
    let filter = match (wanted, later) {
        (Some(wanted), Some(later)) => Some(filter::both(later, wanted)),
        (one, other) => one.or(other),
    };
    let scan = Scan {
        columns: vec![ID.to_string()],
        filter,
        order: vec![(ID.to_string(), false)],
        limit: Some(limit as u64),
        with_address: true,
        ..Scan::default()
    };
    let mut page: Vec<(String, u64)> = Vec::new();
    let mut batches = table.scan(scan).await?;
    while let Some(batch) = batches.try_next().await? {
        page.extend(located(&batch)?);
    }
    let addresses = page.iter().map(|(_, address)| *address).collect();
    let mut found = fetch(ty, &table, addresses).await?;
    found.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// Where the rows with these ids are. Ids that do not exist are absent.
pub(super) async fn locate(core: &Core, table: &Table, ids: &[String]) -> Result<HashMap<String, u64>> {
    if ids.is_empty() || table.rows() == 0 {
        return Ok(HashMap::new());
    }
    match remembered(core, table, ids).await? {
        Some(found) => Ok(found),
        None => search(table, ids).await,
    }
}

/// Looks ids up in the warm index; `None` if that is of no help.
async fn remembered(core: &Core, table: &Table, ids: &[String]) -> Result<Option<HashMap<String, u64>>> {
    if table.rows() > limits::MAX_KEY_DIRECTORY_ENTRIES as u64 {
        return Ok(None);
    }
    let index = core.key_index(table, &[ID.to_string()]);
    // Whoever holds it may be reading a table; a read does not wait for that.
    let Ok(mut index) = tokio::time::timeout(limits::KEY_INDEX_PATIENCE, index.lock()).await else {
        return Ok(None);
    };
    // Going back would make the index useless for the writers it serves.
    if index.at().is_some_and(|at| at.version > table.version()) {
        return Ok(None);
    }
    index.follow(table).await?;
    let address = |id: &String| index.get(hash_text(id)).map(|address| (id.clone(), address));
    Ok(Some(ids.iter().filter_map(address).collect()))
}

async fn search(table: &Table, ids: &[String]) -> Result<HashMap<String, u64>> {
    let distinct: Vec<&String> = ids.iter().collect::<HashSet<_>>().into_iter().collect();
    let mut found = HashMap::with_capacity(distinct.len());
    for chunk in distinct.chunks(limits::FILTER_IDS) {
        let scan = Scan {
            columns: vec![ID.to_string()],
            filter: Some(filter::any_of(ID, chunk.iter().map(ToString::to_string))),
            with_address: true,
            ..Scan::default()
        };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            found.extend(located(&batch)?);
        }
    }
    Ok(found)
}

/// The ids of a batch with their rows' addresses.
fn located(batch: &RecordBatch) -> Result<impl Iterator<Item = (String, u64)>> {
    let ids = texts(batch, ID)?;
    let addresses = addresses(batch)?;
    Ok((0..batch.num_rows()).map(move |row| (ids.value(row).to_string(), addresses.value(row))))
}

/// A text column without nulls.
pub(super) fn texts(batch: &RecordBatch, name: &str) -> Result<StringArray> {
    let column = batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
    column.cloned().ok_or_else(|| Error::internal(format!("a scan returned no texts in {name}")))
}

/// The addresses of a batch's rows.
pub(super) fn addresses(batch: &RecordBatch) -> Result<UInt64Array> {
    let column = batch.column_by_name(ROW_ADDRESS).and_then(|c| c.as_primitive_opt::<UInt64Type>());
    column.cloned().ok_or_else(|| Error::internal("a scan returned no row addresses"))
}

/// Reads whole entities by address, in the order of their addresses.
pub(crate) async fn fetch(ty: &EntityType, table: &Table, mut addresses: Vec<u64>) -> Result<Vec<Entity>> {
    let columns: Vec<String> = ty.columns().map(ToString::to_string).collect();
    let schema = schema_of(ty, &columns)?;
    let is_blob = |ty: &PropertyType| matches!(ty, PropertyType::Scalar(ScalarType::Blob));
    let blobs = ty.properties.iter().any(|p| is_blob(&p.ty));
    addresses.sort_unstable();
    addresses.dedup();
    let mut out = Vec::with_capacity(addresses.len());
    for chunk in addresses.chunks(if blobs { limits::TAKE_BLOB_ROWS } else { limits::TAKE_ROWS }) {
        let batch = conform(&table.take(chunk, &columns).await?, &schema)?;
        if batch.num_rows() != chunk.len() {
            return Err(Error::internal("rows vanished between finding and reading them"));
        }
        for row in 0..chunk.len() {
            out.push(entity_at(ty, &batch, row)?);
        }
    }
    Ok(out)
}
