//! Splitting a batch into rows that are new and rows that update stored ones, and filling in what updates
//! do not mention.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take_record_batch;

use crate::data::{InputBatch, array_from_values};
use crate::error::{Error, Result};
use crate::format::arrow::{DST, SRC};
use crate::model::{EntityKind, EntityType};
use crate::schema::default;
use crate::store::lance::Table;
use crate::store::lance::keys::KeyHash;

/// Complete rows of one kind.
pub(super) struct Part {
    pub batch: RecordBatch,
    pub records: Vec<u64>,
    pub keys: Vec<Option<KeyHash>>,
    /// For updates: the key and the address of the row each replaces.
    pub found: Vec<(KeyHash, u64)>,
    /// For updates of edges: the source ids they had.
    pub vacated: Option<ArrayRef>,
}

/// A batch, split.
pub(super) struct Parts {
    pub inserts: Part,
    pub updates: Part,
}

/// Splits by `found`, the stored address of each row's id.
pub(super) async fn split(
    table: Option<&Table>,
    ty: &EntityType,
    input: &InputBatch,
    keys: &[Option<KeyHash>],
    found: &[Option<u64>],
) -> Result<Parts> {
    let rows_where = |hit: bool| -> Vec<usize> {
        found.iter().enumerate().filter(|(_, f)| f.is_some() == hit).map(|(r, _)| r).collect()
    };
    let (new, old) = (rows_where(false), rows_where(true));
    let mut inserts = part(input, keys, found, &new)?;
    fill_defaults(ty, input, &new, &mut inserts)?;
    let mut updates = part(input, keys, found, &old)?;
    if let (Some(table), false) = (table, old.is_empty()) {
        fill(table, ty, input, &old, &mut updates).await?;
    }
    Ok(Parts { inserts, updates })
}

fn part(input: &InputBatch, keys: &[Option<KeyHash>], found: &[Option<u64>], rows: &[usize]) -> Result<Part> {
    let batch = if rows.len() == input.batch.num_rows() {
        input.batch.clone()
    } else {
        let at: UInt64Array = rows.iter().map(|r| *r as u64).collect();
        take_record_batch(&input.batch, &at).map_err(|e| Error::internal("a batch does not split").caused_by(e))?
    };
    Ok(Part {
        batch,
        records: rows.iter().map(|r| input.records[*r]).collect(),
        keys: rows.iter().map(|r| keys[*r]).collect(),
        found: rows.iter().filter_map(|r| keys[*r].zip(found[*r])).collect(),
        vacated: None,
    })
}

/// Gives new rows the defaults of properties they do not mention.
fn fill_defaults(ty: &EntityType, input: &InputBatch, rows: &[usize], part: &mut Part) -> Result<()> {
    let Some(mentioned) = input.mentioned.as_ref().filter(|_| !rows.is_empty()) else { return Ok(()) };
    let schema = part.batch.schema();
    let mut filled = part.batch.columns().to_vec();
    for (property, bits) in ty.properties.iter().zip(mentioned) {
        if rows.iter().all(|row| bits.value(*row)) {
            continue;
        }
        let value = default::value(property);
        if value.is_null() {
            continue;
        }
        let default = array_from_values(&property.ty, &[value])?;
        let position =
            schema.index_of(&property.name).map_err(|_| Error::internal("a column is missing from an input"))?;
        let pick: Vec<(usize, usize)> =
            rows.iter().enumerate().map(|(i, row)| if bits.value(*row) { (0, i) } else { (1, 0) }).collect();
        filled[position] = interleave(&[filled[position].as_ref(), default.as_ref()], &pick)
            .map_err(|e| Error::internal(format!("the default of {} does not fit", property.name)).caused_by(e))?;
    }
    part.batch =
        RecordBatch::try_new(schema, filled).map_err(|e| Error::internal("filled rows do not fit").caused_by(e))?;
    Ok(())
}

/// Fills unmentioned properties of updates with their stored values, and notes where edges started.
async fn fill(table: &Table, ty: &EntityType, input: &InputBatch, rows: &[usize], part: &mut Part) -> Result<()> {
    let unmentioned = |property: usize, row: usize| {
        input.mentioned.as_ref().is_some_and(|m| m.get(property).is_some_and(|bits| !bits.value(row)))
    };
    let partial: Vec<usize> =
        (0..ty.properties.len()).filter(|p| rows.iter().any(|row| unmentioned(*p, *row))).collect();
    let edges = ty.kind == EntityKind::Edge && ty.cardinality.is_some();
    let mut columns: Vec<String> = partial.iter().map(|p| ty.properties[*p].name.clone()).collect();
    if edges {
        columns.push(SRC.to_string());
    }
    if columns.is_empty() {
        return Ok(());
    }
    let addresses: Vec<u64> = part.found.iter().map(|f| f.1).collect();
    let stored = table.take(&addresses, &columns).await?;
    if stored.num_rows() != addresses.len() {
        return Err(Error::internal("rows vanished between finding and reading them"));
    }
    let missing = |name: &str| Error::internal(format!("column {name} is missing from a read"));
    let mut filled = part.batch.columns().to_vec();
    let schema = part.batch.schema();
    for property in partial {
        let name = &ty.properties[property].name;
        let position = schema.index_of(name).map_err(|_| missing(name))?;
        let old = stored.column_by_name(name).ok_or_else(|| missing(name))?;
        let pick: Vec<(usize, usize)> =
            rows.iter().enumerate().map(|(i, row)| if unmentioned(property, *row) { (1, i) } else { (0, i) }).collect();
        filled[position] = interleave(&[filled[position].as_ref(), old.as_ref()], &pick)
            .map_err(|e| Error::internal(format!("stored values of {name} do not fit")).caused_by(e))?;
    }
    part.batch =
        RecordBatch::try_new(schema, filled).map_err(|e| Error::internal("filled rows do not fit").caused_by(e))?;
    if edges {
        part.vacated = stored.column_by_name(SRC).cloned();
    }
    Ok(())
}

/// The source and destination ids of a batch of edges.
pub(super) fn ends_of(batch: &RecordBatch) -> Result<(&arrow_array::StringArray, &arrow_array::StringArray)> {
    let column = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|c| c.as_string_opt::<i32>())
            .filter(|c| c.null_count() == 0)
            .ok_or_else(|| Error::internal(format!("a batch of edges has no usable {name}")))
    };
    Ok((column(SRC)?, column(DST)?))
}
