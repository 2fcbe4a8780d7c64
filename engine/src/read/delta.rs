//! Which entities of one type may differ between two states, and their images, without reading what is the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use futures::TryStreamExt;

use super::{get, lens};
use crate::error::{Error, Reason, Result};
use crate::format::arrow::ID;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Entity, EntityType, PropertyType, ScalarType, TypeRef};
use crate::store::lance::delta::SomeRows;
use crate::store::lance::scan::{ROW_ADDRESS, Scan};
use crate::store::lance::{Table, TableAt};
use crate::txn::Core;

/// Where the row of an entity that may differ is on each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Its address on the left; `None` if it has no row there.
    pub left: Option<u64>,
    /// Its address on the right.
    pub right: Option<u64>,
}

/// One side of a difference: a type and where its rows are.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// The declaration that its entities are shown by.
    pub ty: EntityType,
    /// The declaration they are stored under, if it is another one.
    pub stored: Option<Arc<EntityType>>,
    /// The table; `None` while the type has no dataset.
    pub table: Option<Table>,
}

/// The entities of one type that may differ. All others are the same on both sides, or on neither.
#[derive(Clone, Debug)]
pub(crate) struct TypeDelta {
    /// The one state.
    pub left: Side,
    /// The other.
    pub right: Side,
    /// By id.
    pub entries: BTreeMap<String, Places>,
}

/// Finds the entities of a type that may differ; `None` if both states show the same table, or neither declares the
/// type. Reads the ids of rows that differ and nothing else of the data.
///
/// # Errors
/// [`Reason::LimitExceeded`] if too many differ; the store's.
pub(crate) async fn of_type(
    core: &Core,
    left: &Snapshot,
    right: &Snapshot,
    type_ref: &TypeRef,
) -> Result<Option<TypeDelta>> {
    if at(left, type_ref) == at(right, type_ref) {
        return Ok(None);
    }
    let (left, right) = (side(core, left, right, type_ref).await?, side(core, right, left, type_ref).await?);
    let entries = entries(&left, &right).await?;
    Ok(Some(TypeDelta { left, right, entries }))
}

fn at<'a>(snapshot: &'a Snapshot, type_ref: &TypeRef) -> Option<&'a TableAt> {
    snapshot.pin(type_ref).ok().and_then(|pin| pin.at.as_ref())
}

/// A type as a state shows it; declared as in another state if this one does not declare it.
///
/// # Errors
/// [`Reason::TypeNotFound`] if neither does; the store's.
pub(crate) async fn side(core: &Core, state: &Snapshot, other: &Snapshot, type_ref: &TypeRef) -> Result<Side> {
    let ty = state.ty(type_ref).or_else(|_| other.ty(type_ref))?.clone();
    let table = match at(state, type_ref) {
        Some(at) => Some(core.table(at).await?),
        None => None,
    };
    let stored = state.pin(type_ref).ok().and_then(|pin| pin.stored.clone());
    Ok(Side { ty, stored, table })
}

async fn entries(of: &Side, and: &Side) -> Result<BTreeMap<String, Places>> {
    let (left, right) = (of.table.as_ref(), and.table.as_ref());
    let mut entries = BTreeMap::new();
    let everything =
        |table: &Table| SomeRows { fragments: table.fragments().iter().map(|f| f.id).collect(), addresses: Vec::new() };
    let (of_left, of_right) = match (left, right) {
        (Some(a), Some(b)) => {
            let shared = a.shared_with(&a.forks().await?, b, &b.forks().await?);
            // No row says that a column it had is gone.
            let shared = shared.filter(|shared| {
                !(a.version() == *shared && of.shows_more_than(and)
                    || b.version() == *shared && and.shows_more_than(of))
            });
            let delta = a.delta(b, shared).await?;
            (delta.left, delta.right)
        }
        (a, b) => (a.map(everything).unwrap_or_default(), b.map(everything).unwrap_or_default()),
    };
    if let Some(table) = left {
        ids(table, of_left, |id, address| note(&mut entries, id, |places| places.left = Some(address))).await?;
    }
    if let Some(table) = right {
        ids(table, of_right, |id, address| note(&mut entries, id, |places| places.right = Some(address))).await?;
    }
    Ok(entries)
}

fn note(entries: &mut BTreeMap<String, Places>, id: &str, set: impl FnOnce(&mut Places)) -> Result<()> {
    if let Some(places) = entries.get_mut(id) {
        set(places);
        return Ok(());
    }
    if entries.len() >= limits::MAX_DELTA_ENTRIES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("more than {} entities of one type differ between the two states", limits::MAX_DELTA_ENTRIES),
        ));
    }
    let mut places = Places::default();
    set(&mut places);
    entries.insert(id.to_string(), places);
    Ok(())
}

/// Calls `each` with the id and the address of these rows.
async fn ids(table: &Table, rows: SomeRows, mut each: impl FnMut(&str, u64) -> Result<()>) -> Result<()> {
    let text = |batch: &RecordBatch| {
        batch.column_by_name(ID).and_then(|c| c.as_string_opt::<i32>()).cloned().ok_or_else(malformed)
    };
    if !rows.fragments.is_empty() {
        let scan = Scan {
            columns: vec![ID.to_string()],
            fragments: Some(rows.fragments),
            with_address: true,
            ..Scan::default()
        };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            let addresses = batch
                .column_by_name(ROW_ADDRESS)
                .and_then(|c| c.as_primitive_opt::<UInt64Type>())
                .ok_or_else(malformed)?;
            for (id, address) in text(&batch)?.iter().zip(addresses.values()) {
                each(id.ok_or_else(malformed)?, *address)?;
            }
        }
    }
    for chunk in rows.addresses.chunks(limits::TAKE_ROWS) {
        let batch = table.take(chunk, &[ID.to_string()]).await?;
        if batch.num_rows() != chunk.len() {
            return Err(Error::internal("rows vanished between finding and reading them"));
        }
        for (id, address) in text(&batch)?.iter().zip(chunk) {
            each(id.ok_or_else(malformed)?, *address)?;
        }
    }
    Ok(())
}

impl Side {
    /// Whether it stores a property that is shown and that another side does not store.
    fn shows_more_than(&self, other: &Self) -> bool {
        let stored = |side: &Self, name: &str, id: u32| {
            side.stored.as_deref().is_none_or(|stored| lens::property(stored, &side.ty, id, name).is_some())
        };
        self.ty.properties.iter().any(|p| stored(self, &p.name, p.id) && !stored(other, &p.name, p.id))
    }

    /// The entities at these addresses, by id.
    ///
    /// # Errors
    /// The store's.
    pub async fn read(&self, addresses: Vec<u64>) -> Result<HashMap<String, Entity>> {
        match &self.table {
            Some(table) if !addresses.is_empty() => {
                let stored = self.stored.as_deref();
                let found = get::fetch(stored.unwrap_or(&self.ty), table, addresses).await?;
                let shown = |entity: Entity| match stored {
                    Some(stored) => lens::shown(entity, stored, &self.ty),
                    None => entity,
                };
                Ok(found.into_iter().map(|entity| (entity.id.clone(), shown(entity))).collect())
            }
            _ => Ok(HashMap::new()),
        }
    }
}

/// Entities whose images are held at once: few where they have blobs.
pub(crate) fn chunk_of(ty: &EntityType) -> usize {
    let is_blob = |ty: &PropertyType| matches!(ty, PropertyType::Scalar(ScalarType::Blob));
    match ty.properties.iter().any(|p| is_blob(&p.ty)) {
        true => limits::TAKE_BLOB_ROWS,
        false => limits::DELTA_CHUNK_ENTITIES,
    }
}

fn malformed() -> Error {
    Error::internal("a read of ids returned something else")
}
