//! The entities a mutation touches: as they are stored, and as they will be.

use std::collections::BTreeMap;

use crate::data::entity_at;
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Entity, EntityType, PropertyType, ScalarType, TypeRef};
use crate::store::lance::Table;
use crate::store::lance::keys::hash_text;
use crate::txn::Core;

use super::{probe, target};

/// A stored row.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub address: u64,
    pub entity: Entity,
}

/// One entity before and after.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub before: Option<Stored>,
    pub now: Option<Entity>,
    /// The step that touched it last.
    pub step: u64,
}

/// Everything touched of one type.
#[derive(Debug)]
pub(super) struct TypeWork {
    pub ty: EntityType,
    pub table: Option<Table>,
    pub slots: BTreeMap<String, Slot>,
}

/// Everything touched.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub types: BTreeMap<TypeRef, TypeWork>,
    touched: usize,
}

impl Work {
    /// The work on one type, begun if need be.
    pub async fn of(&mut self, core: &Core, snapshot: &Snapshot, type_ref: &TypeRef) -> Result<&mut TypeWork> {
        let ty = snapshot.ty(type_ref)?;
        let key = ty.type_ref();
        if !self.types.contains_key(&key) {
            let table = target::pinned(core, snapshot, &key).await?;
            self.types.insert(key.clone(), TypeWork { ty: ty.clone(), table, slots: BTreeMap::new() });
        }
        self.types.get_mut(&key).ok_or_else(|| Error::internal("a type's work vanished"))
    }

    /// Counts what was touched against the limit.
    pub fn charge(&mut self, entities: usize) -> Result<()> {
        self.touched += entities;
        if self.touched > limits::MAX_MUTATED_ENTITIES {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "the mutation touches more than {} entities; use a load, or several mutations",
                    limits::MAX_MUTATED_ENTITIES
                ),
            ));
        }
        Ok(())
    }
}

impl TypeWork {
    /// Reads the stored rows of these ids that were not looked at yet.
    pub async fn fetch(&mut self, core: &Core, ids: &[String]) -> Result<usize> {
        let unknown: Vec<&str> = ids.iter().map(String::as_str).filter(|id| !self.slots.contains_key(*id)).collect();
        let mut found = Vec::new();
        if let Some(table) = &self.table {
            let addresses = probe::by_id(core, table, &unknown).await?;
            let wanted: Vec<u64> = unknown.iter().filter_map(|id| addresses.get(&hash_text(id)).copied()).collect();
            found = read(&self.ty, table, &wanted).await?;
        }
        let count = unknown.len();
        for id in unknown {
            self.slots.insert(id.to_string(), Slot::default());
        }
        for stored in found {
            self.put(stored);
        }
        Ok(count)
    }

    /// Takes note of stored rows found otherwise, unless they were looked at already.
    pub async fn adopt(&mut self, addresses: &[u64], ids: &[String]) -> Result<usize> {
        let Some(table) = self.table.clone() else {
            return Ok(0);
        };
        let new: Vec<u64> =
            addresses.iter().zip(ids).filter(|(_, id)| !self.slots.contains_key(*id)).map(|(a, _)| *a).collect();
        for stored in read(&self.ty, &table, &new).await? {
            self.put(stored);
        }
        Ok(new.len())
    }

    fn put(&mut self, stored: Stored) {
        let now = Some(stored.entity.clone());
        let id = stored.entity.id.clone();
        self.slots.insert(id, Slot { before: Some(stored), now, step: 0 });
    }

    /// The entity as it will be.
    pub fn now(&self, id: &str) -> Option<&Entity> {
        self.slots.get(id).and_then(|s| s.now.as_ref())
    }

    /// Sets what the entity will be.
    pub fn set(&mut self, id: &str, entity: Option<Entity>, step: u64) {
        let slot = self.slots.entry(id.to_string()).or_default();
        slot.now = entity;
        slot.step = step;
    }

    /// Whether anything will be different.
    pub fn is_changed(&self) -> bool {
        self.slots.values().any(Slot::is_changed)
    }
}

impl Slot {
    /// Whether the entity will be different from what is stored.
    pub fn is_changed(&self) -> bool {
        match (&self.before, &self.now) {
            (None, None) => false,
            (Some(before), Some(now)) => before.entity != *now,
            _ => true,
        }
    }
}

/// Reads rows by address.
async fn read(ty: &EntityType, table: &Table, addresses: &[u64]) -> Result<Vec<Stored>> {
    let columns: Vec<String> = ty.columns().map(ToString::to_string).collect();
    let mut out = Vec::with_capacity(addresses.len());
    let blobs = ty.properties.iter().any(|p| p.ty == PropertyType::Scalar(ScalarType::Blob));
    let rows = if blobs { limits::TAKE_BLOB_ROWS } else { limits::BATCH_ROWS };
    for chunk in addresses.chunks(rows) {
        let batch = table.take(chunk, &columns).await?;
        if batch.num_rows() != chunk.len() {
            return Err(Error::internal("rows vanished between finding and reading them"));
        }
        for (row, address) in chunk.iter().enumerate() {
            out.push(Stored { address: *address, entity: entity_at(ty, &batch, row)? });
        }
    }
    Ok(out)
}
