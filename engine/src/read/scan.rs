//! Scans of one type.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::batch::{conform, schema_of, split};
use crate::error::{Error, Reason, Result};
use crate::format::arrow::ID;
use crate::intent::Held;
use crate::limits;
use crate::manifest::{Snapshot, TablePin};
use crate::model::{EntityType, OrderBy, Predicate, PropertyType, ScalarType, TypeRef};
use crate::store::lance::FragmentInfo;
use crate::store::lance::filter;
use crate::store::lance::scan::Scan;
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
/// A scan with an order or a limit is one part: parts are read independently, and neither an order nor a
/// limit holds across them. Reads no data.
///
/// # Errors
/// A type, column or predicate that does not fit the schema.
pub async fn plan(core: &Arc<Core>, snapshot: &Snapshot, request: &ScanRequest, max_parts: usize) -> Result<ScanPlan> {
    let checked = Checked::new(snapshot, request)?;
    let limit = request.limit.unwrap_or(u64::MAX);
    let total_rows = match (&request.predicate, &checked.pin.at) {
        (None, _) | (Some(_), None) => Some(checked.pin.rows.min(limit)),
        (Some(_), Some(_)) if limit == 0 => Some(0),
        (Some(_), Some(_)) => None,
    };
    let parts = match &checked.pin.at {
        Some(at) if checked.splits && max_parts > 1 => spread(&core.table(at).await?.fragments(), max_parts),
        _ => vec![Vec::new()],
    };
    Ok(ScanPlan { schema: checked.schema, total_rows, parts })
}

/// Reads rows. `fragments` names one part of a planned scan; `None` and an empty list mean everything.
///
/// Rows come in the table's own order unless the request orders them. Memory is bounded whatever the size
/// of the table; nothing is held while the reader pauses but a few batches, and dropping the stream ends
/// the reading. Until then no cleanup removes what is read, unless the graph was opened read-only: such a reader
/// writes nothing, so nobody knows of it.
///
/// # Errors
/// A type, column or predicate that does not fit the schema; [`Reason::InvalidTicket`] for fragments the
/// snapshot's table lacks or a part of a scan that has none; [`Reason::CommitNotFound`] for a snapshot that a
/// cleanup removed; the store's.
pub async fn scan(
    core: &Arc<Core>,
    snapshot: &Snapshot,
    request: &ScanRequest,
    fragments: Option<&[u64]>,
) -> Result<Rows> {
    let checked = Checked::new(snapshot, request)?;
    if checked.is_empty(request) {
        return read(core, checked, request, fragments).await;
    }
    let held = hold(core, snapshot).await?;
    let Rows { schema, batches } = read(core, checked, request, fragments).await?;
    Ok(Rows { schema, batches: held.over(batches) })
}

/// As [`scan`], for whoever holds the snapshot already.
pub(super) async fn scan_held(core: &Core, snapshot: &Snapshot, request: &ScanRequest) -> Result<Rows> {
    read(core, Checked::new(snapshot, request)?, request, None).await
}

/// Keeps a snapshot from cleanups for a read that may be long. Costs a request only if it is not a head.
pub(crate) async fn hold(core: &Core, snapshot: &Snapshot) -> Result<Held> {
    if core.heads.is_known_head(snapshot) {
        return Ok(core.readers.hold(snapshot));
    }
    core.readers.pin(snapshot).await
}

async fn read(core: &Core, checked: Checked<'_>, request: &ScanRequest, fragments: Option<&[u64]>) -> Result<Rows> {
    let schema = checked.schema.clone();
    let wanted = fragments.filter(|f| !f.is_empty());
    if wanted.is_some() && !checked.splits {
        return Err(Error::new(Reason::InvalidTicket, "a scan with an order or a limit has no parts; plan it again"));
    }
    let (Some(at), false) = (&checked.pin.at, checked.is_empty(request)) else {
        return Ok(Rows { schema, batches: futures::stream::empty().boxed() });
    };
    let table = core.table(at).await?;
    if let Some(wanted) = wanted {
        check_fragments(wanted, &table.fragments())?;
    }
    let predicate = request.predicate.as_ref();
    let scan = Scan {
        columns: checked.columns,
        filter: predicate.map(|p| filter::translate(checked.ty, p)).transpose()?,
        fragments: wanted.map(<[u64]>::to_vec),
        order: sort_keys(&request.order),
        limit: request.limit,
        batch_rows: batch_rows(checked.ty, &schema),
        ordered: true,
        ..Scan::default()
    };
    let shape = schema.clone();
    let batches = table
        .scan(scan)
        .await?
        .map(move |batch| Ok(futures::stream::iter(split(conform(&batch?, &shape)?).into_iter().map(Ok))))
        .try_flatten()
        .boxed();
    Ok(Rows { schema, batches })
}

/// A request that fits the schema.
struct Checked<'a> {
    ty: &'a EntityType,
    pin: &'a TablePin,
    columns: Vec<String>,
    schema: SchemaRef,
    splits: bool,
}

impl<'a> Checked<'a> {
    fn new(snapshot: &'a Snapshot, request: &ScanRequest) -> Result<Self> {
        let ty = snapshot.ty(&request.type_ref)?;
        let pin = snapshot.pin(&request.type_ref)?;
        check_count("sort keys", request.order.len())?;
        let columns = columns_of(ty, &request.columns)?;
        for key in &request.order {
            check_sort_key(ty, &key.property)?;
        }
        if let Some(predicate) = &request.predicate {
            filter::translate(ty, predicate)?;
        }
        let schema = schema_of(ty, &columns)?;
        Ok(Self { ty, pin, columns, schema, splits: request.order.is_empty() && request.limit.is_none() })
    }

    /// Whether there is nothing to read.
    fn is_empty(&self, request: &ScanRequest) -> bool {
        self.pin.at.is_none() || request.limit == Some(0)
    }
}

/// The columns of a result: those named, each once, or all.
pub(super) fn columns_of(ty: &EntityType, named: &[String]) -> Result<Vec<String>> {
    check_count("columns", named.len())?;
    if named.is_empty() {
        return Ok(ty.columns().map(ToString::to_string).collect());
    }
    let mut seen = HashSet::with_capacity(named.len());
    for column in named {
        if !ty.columns().any(|c| c == column) {
            return Err(filter::unknown_property(ty, column));
        }
        if !seen.insert(column.as_str()) {
            let what = format!("the result would have two columns with one name, {column:?}; name each once");
            return Err(Error::new(Reason::InvalidArgument, what).with("property", column));
        }
    }
    Ok(named.to_vec())
}

fn check_count(what: &str, count: usize) -> Result<()> {
    if count <= limits::MAX_SCAN_COLUMNS {
        return Ok(());
    }
    let limit = limits::MAX_SCAN_COLUMNS;
    Err(Error::new(Reason::LimitExceeded, format!("the scan names {count} {what}; at most {limit} are allowed"))
        .with("limit", limit))
}

fn check_sort_key(ty: &EntityType, column: &str) -> Result<()> {
    if !ty.columns().any(|c| c == column) {
        return Err(filter::unknown_property(ty, column));
    }
    match ty.property(column).map(|p| &p.ty) {
        Some(PropertyType::Scalar(ScalarType::Blob) | PropertyType::Vector(_) | PropertyType::List(_)) => {
            let what = format!("{column} of {} has no order: rows sort by scalars other than blobs", ty.type_ref());
            Err(Error::new(Reason::InvalidArgument, what).with("property", column))
        }
        _ => Ok(()),
    }
}

/// The sort keys with the id as the last, so that the order is total. Empty stays empty.
fn sort_keys(order: &[OrderBy]) -> Vec<(String, bool)> {
    let mut keys: Vec<(String, bool)> = Vec::with_capacity(order.len() + 1);
    for key in order {
        // A column that was a key before decides nothing any more.
        if keys.iter().all(|(column, _)| *column != key.property) {
            keys.push((key.property.clone(), key.descending));
        }
    }
    if !keys.is_empty() && keys.iter().all(|(column, _)| column != ID) {
        keys.push((ID.to_string(), false));
    }
    keys
}

/// Rows of one batch, by what is known of their width, so that wide rows do not have to be cut later.
fn batch_rows(ty: &EntityType, schema: &SchemaRef) -> usize {
    let width = |name: &String| match ty.property(name).map(|p| &p.ty) {
        Some(PropertyType::Vector(length)) => 4 * *length as usize,
        Some(PropertyType::List(_)) => 64,
        _ => 16,
    };
    let row: usize = schema.fields().iter().map(|f| width(f.name())).sum();
    (limits::SCAN_BATCH_BYTES / row.max(1)).clamp(1, limits::BATCH_ROWS)
}

fn check_fragments(wanted: &[u64], known: &[FragmentInfo]) -> Result<()> {
    let refuse = |what: String| Err(Error::new(Reason::InvalidTicket, what));
    let known: HashSet<u64> = known.iter().map(|f| f.id).collect();
    let mut seen = HashSet::with_capacity(wanted.len());
    for id in wanted {
        if !known.contains(id) {
            return refuse(format!("the snapshot's table has no fragment {id}; plan the scan again"));
        }
        if !seen.insert(id) {
            return refuse(format!("the part names fragment {id} twice; plan the scan again"));
        }
    }
    Ok(())
}

/// Spreads fragments over parts of about the same number of rows: the largest first, each to the part that
/// has the fewest. Pure, so every reader of a plan gets the same.
fn spread(fragments: &[FragmentInfo], max_parts: usize) -> Vec<Vec<u64>> {
    let mut live: Vec<(u64, u64)> = fragments.iter().map(|f| (f.live_rows, f.id)).filter(|f| f.0 > 0).collect();
    let rows: u64 = live.iter().map(|f| f.0).sum();
    let worth = usize::try_from(rows / limits::MIN_PART_ROWS).unwrap_or(usize::MAX);
    let count = max_parts.min(live.len()).min(worth);
    if count < 2 {
        return vec![Vec::new()];
    }
    live.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut parts: Vec<(u64, Vec<u64>)> = vec![(0, Vec::new()); count];
    for (rows, id) in live {
        if let Some(least) = parts.iter_mut().min_by_key(|p| p.0) {
            least.0 += rows;
            least.1.push(id);
        }
    }
    let mut parts: Vec<Vec<u64>> = parts.into_iter().map(|p| p.1).collect();
    parts.iter_mut().for_each(|p| p.sort_unstable());
    parts.sort_unstable();
    parts
}

#[cfg(test)]
mod tests;
