//! Writing whole images of entities to one table, streamed: rows that replace others, then new ones, and rows that go.

use std::collections::HashMap;

use super::probe;
use super::stream::writer::Writer;
use super::target::{self, Target};
use crate::error::Result;
use crate::manifest::Snapshot;
use crate::model::{Entity, EntityType, TypeCounts};
use crate::store::lance::Table;
use crate::store::lance::keys::hash_text;
use crate::txn::{Core, Effect};

use super::stage::batch_of;

/// A change of one table that is being staged. Nothing is visible; what is given up leaves files nobody refers to.
pub(crate) struct Applier {
    ty: EntityType,
    target: Target,
    pinned: Option<Table>,
    updates: Writer,
    inserts: Writer,
    replaced: Vec<u64>,
    gone: Vec<u64>,
}

impl Applier {
    /// Begins a change of the table that a state shows; forks or makes the table if the branch has none of its own.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(core: &Core, snapshot: &Snapshot, ty: &EntityType) -> Result<Self> {
        let pinned = target::pinned(core, snapshot, &ty.type_ref()).await?;
        let target = target::open(core, snapshot, ty).await?;
        Ok(Self::on(target, pinned, ty))
    }

    /// Begins a change on top of a table that only its maker sees.
    pub fn over(ty: &EntityType, shadow: Table) -> Self {
        let target = Target { base: shadow.clone(), fork_from: None, create: false };
        Self::on(target, Some(shadow), ty)
    }

    /// Begins a table of its own for a type, whatever the type has now. It shows nothing but what is added.
    ///
    /// # Errors
    /// The store's.
    pub async fn anew(core: &Core, ty: &EntityType) -> Result<Self> {
        Ok(Self::on(target::create(core, ty).await?, None, ty))
    }

    fn on(target: Target, pinned: Option<Table>, ty: &EntityType) -> Self {
        Self {
            ty: ty.clone(),
            target,
            pinned,
            updates: Writer::default(),
            inserts: Writer::default(),
            replaced: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// The table before the change; `None` while the type has no dataset.
    pub fn pinned(&self) -> Option<&Table> {
        self.pinned.as_ref()
    }

    /// Where the rows of these ids are before the change. Ids that do not exist are absent.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, core: &Core, ids: &[&str]) -> Result<HashMap<String, u64>> {
        let Some(pinned) = &self.pinned else {
            return Ok(HashMap::new());
        };
        let found = probe::by_id(core, pinned, ids).await?;
        let address = |id: &&str| found.get(&hash_text(id)).map(|address| (id.to_string(), *address));
        Ok(ids.iter().filter_map(address).collect())
    }

    /// Replaces the rows at these addresses, which keep their row ids.
    ///
    /// # Errors
    /// The store's.
    pub async fn update(&mut self, core: &Core, rows: &[(u64, &Entity)]) -> Result<()> {
        let entities: Vec<&Entity> = rows.iter().map(|(_, entity)| *entity).collect();
        self.replaced.extend(rows.iter().map(|(address, _)| *address));
        self.updates.send(core, &self.target.base, &self.ty, batch_of(&self.ty, &entities)?).await
    }

    /// Adds rows.
    ///
    /// # Errors
    /// The store's.
    pub async fn insert(&mut self, core: &Core, entities: &[&Entity]) -> Result<()> {
        self.inserts.send(core, &self.target.base, &self.ty, batch_of(&self.ty, entities)?).await
    }

    /// Takes the row at this address away.
    pub fn delete(&mut self, address: u64) {
        self.gone.push(address);
    }

    /// Everything as one effect.
    ///
    /// # Errors
    /// The store's.
    pub async fn finish(self) -> Result<(Effect, TypeCounts)> {
        let Self { ty, target, pinned, updates, inserts, replaced, gone } = self;
        let mut rows = updates.finish().await?;
        let inserts = inserts.finish().await?;
        let counts = TypeCounts {
            type_ref: ty.type_ref(),
            inserted: inserts.rows(),
            updated: rows.rows(),
            deleted: gone.len() as u64,
        };
        if let Some(pinned) = &pinned {
            rows.keep_row_ids(&pinned.row_ids_at(&replaced)?);
        }
        rows.extend(inserts);
        let gone = target.base.stage_gone(replaced.into_iter().chain(gone)).await?;
        let effect = Effect {
            type_ref: ty.type_ref(),
            staged: target.base.stage(rows, gone),
            base: target.base,
            then: Vec::new(),
            fork_from: target.fork_from,
            create: target.create,
            // Warm indexes of keys follow by reading what is new.
            landed: None,
        };
        Ok((effect, counts))
    }
}
