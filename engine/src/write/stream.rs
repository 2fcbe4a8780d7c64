//! The running state of a load: per type what was written and what must be known of its rows.

mod check;
mod ends;
mod merge;
pub(super) mod writer;

use std::collections::{BTreeMap, HashSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;

use self::check::Uniques;
use self::ends::Ends;
use self::writer::Writer;
use super::target::{self, Target};
use super::{load::Followers, probe};
use crate::data::{InputBatch, InputStats, RowChecker, Violations};
use crate::error::{Error, Reason, Result};
use crate::format::arrow::ID;
use crate::manifest::View;
use crate::model::{EntityType, LoadMode, TypeCounts, TypeRef};
use crate::store::lance::Table;
use crate::store::lance::keys::{KeyHash, hash_rows};
use crate::store::lance::stage::GoneRows;
use crate::txn::{Core, Effect, Prepared};

/// See the module header.
pub(super) struct Stream<'a> {
    core: &'a Core,
    view: &'a View,
    mode: LoadMode,
    types: BTreeMap<TypeRef, TypeLoad>,
    ends: Ends,
    violations: Violations,
}

/// One type's part of a load.
struct TypeLoad {
    ty: EntityType,
    pinned: Option<Table>,
    // Opened by the first row that is written: a refused load forks and creates nothing.
    target: Option<Target>,
    checker: RowChecker,
    seen: HashSet<KeyHash>,
    uniques: Uniques,
    inserts: Writer,
    updates: Writer,
    gone: Vec<(KeyHash, u64)>,
    added: Vec<Option<KeyHash>>,
    updated: Vec<Option<KeyHash>>,
}

impl<'a> Stream<'a> {
    pub fn new(core: &'a Core, view: &'a View, mode: LoadMode) -> Self {
        Self { core, view, mode, types: BTreeMap::new(), ends: Ends::default(), violations: Violations::default() }
    }

    /// Checks and stages one batch. Problems of rows are collected; from the first one on nothing more is
    /// written, since nothing will be used.
    pub async fn take(&mut self, input: InputBatch) -> Result<()> {
        self.begin(&input.type_ref).await?;
        let Self { core, view, mode, types, ends, violations } = self;
        let load = types.get_mut(&input.type_ref).ok_or_else(|| Error::internal("a type's load vanished"))?;
        let keys = hash_rows(&input.batch, &[ID.to_string()])?;
        load.note_ids(&input, &keys, violations);
        let found = match (&load.pinned, *mode) {
            (None, _) | (_, LoadMode::Overwrite) => vec![None; keys.len()],
            (Some(table), _) => find(core, table, &input, &keys).await?,
        };
        if *mode == LoadMode::Append {
            for (row, _) in found.iter().enumerate().filter(|(_, f)| f.is_some()) {
                violations.at_record(input.records[row], Reason::KeyConflict, || {
                    format!("{} {:?} exists already; merge updates it", load.ty.name, id_at(&input.batch, row))
                });
            }
        }
        let parts = merge::split(load.pinned.as_ref(), &load.ty, &input, &keys, &found).await?;
        for part in [&parts.inserts, &parts.updates] {
            if part.batch.num_rows() > 0 {
                load.checker.check(&part.batch, None, &part.records, violations)?;
                load.uniques.note(&load.ty, part, violations)?;
                ends.note(&load.ty, part)?;
            }
        }
        ends.note_vacated(&load.ty, &parts)?;
        if violations.is_empty() {
            load.write(core, view, parts).await?;
        }
        Ok(())
    }

    async fn begin(&mut self, type_ref: &TypeRef) -> Result<()> {
        if self.types.contains_key(type_ref) {
            return Ok(());
        }
        let snapshot = &self.view.snapshot;
        let ty = snapshot.ty(type_ref)?.clone();
        let load = TypeLoad {
            pinned: target::pinned(self.core, snapshot, type_ref).await?,
            target: None,
            checker: RowChecker::new(&ty)?,
            uniques: Uniques::new(&ty),
            seen: HashSet::new(),
            inserts: Writer::default(),
            updates: Writer::default(),
            gone: Vec::new(),
            added: Vec::new(),
            updated: Vec::new(),
            ty,
        };
        self.types.insert(type_ref.clone(), load);
        Ok(())
    }

    /// Checks what only the whole input shows and turns everything into effects.
    pub async fn finish(mut self, stats: &InputStats) -> Result<(Prepared, Violations)> {
        if self.mode == LoadMode::Overwrite {
            for type_ref in stats.rows.keys() {
                self.begin(type_ref).await?;
            }
        }
        let mut prepared = Prepared::default();
        let Self { core, view, mode, mut types, ends, mut violations } = self;
        for load in types.values_mut() {
            let replaced: HashSet<u64> = load.gone.iter().map(|g| g.1).collect();
            let pinned = load.pinned.as_ref().filter(|_| mode != LoadMode::Overwrite);
            load.uniques.check(core, pinned, &replaced, &load.ty, &mut violations).await?;
        }
        let images = ends::Images { core, view, mode, types: &types };
        ends.check(&images, &mut prepared.reads, &mut violations).await?;
        for (_, load) in types {
            // Writers are always awaited: what they hold must not outlive the load.
            if let Some((effect, counts)) = load.finish(core, view, mode, violations.is_empty()).await? {
                prepared.effects.push(effect);
                prepared.counts.push(counts);
            }
        }
        Ok((prepared, violations))
    }
}

impl TypeLoad {
    /// Notes ids and reports those that stand twice in the input.
    fn note_ids(&mut self, input: &InputBatch, keys: &[Option<KeyHash>], violations: &mut Violations) {
        for (row, key) in keys.iter().enumerate() {
            let fresh = input.fresh_ids.as_ref().is_some_and(|f| f.value(row));
            if let (Some(key), false) = (key, fresh)
                && !self.seen.insert(*key)
            {
                violations.at_record(input.records[row], Reason::DuplicateKeyInInput, || {
                    format!("{} {:?} stands in the input twice", self.ty.name, id_at(&input.batch, row))
                });
            }
        }
    }

    async fn write(&mut self, core: &Core, view: &View, parts: merge::Parts) -> Result<()> {
        let merge::Parts { inserts, updates } = parts;
        if self.target.is_none() {
            self.target = Some(target::open(core, &view.snapshot, &self.ty).await?);
        }
        let Some(Target { base, .. }) = &self.target else {
            return Ok(());
        };
        self.gone.extend(updates.found.iter().copied());
        // Keys are only worth their memory if an index of the table is warm already.
        if self.pinned.is_some() {
            self.added.extend(inserts.keys);
            self.updated.extend(updates.keys);
        }
        self.inserts.send(core, base, &self.ty, inserts.batch).await?;
        self.updates.send(core, base, &self.ty, updates.batch).await
    }

    async fn finish(
        self,
        core: &Core,
        view: &View,
        mode: LoadMode,
        wanted: bool,
    ) -> Result<Option<(Effect, TypeCounts)>> {
        let mut updates = self.updates.finish().await?;
        let inserts = self.inserts.finish().await?;
        let (inserted, updated) = (inserts.rows(), updates.rows());
        let overwrites = mode == LoadMode::Overwrite;
        let deleted = self.pinned.as_ref().filter(|_| overwrites).map_or(0, Table::rows);
        if !wanted || inserted + updated + deleted == 0 {
            return Ok(None);
        }
        let target = match self.target {
            Some(target) => target,
            None => target::open(core, &view.snapshot, &self.ty).await?,
        };
        let gone = if overwrites {
            GoneRows::everything(&target.base)
        } else {
            let kept: Vec<u64> = self.gone.iter().map(|g| g.1).collect();
            if let Some(pinned) = &self.pinned {
                updates.keep_row_ids(&pinned.row_ids_at(&kept)?);
            }
            target.base.stage_gone(kept).await?
        };
        updates.extend(inserts);
        let mut followers: Followers = Vec::new();
        if self.pinned.is_some() && !overwrites {
            let mut added = self.updated;
            added.extend(self.added);
            followers.push((probe::id_index(core, &target.base), added));
        }
        let (before, keys) = (target.base.at().clone(), self.gone);
        let effect = Effect {
            type_ref: self.ty.type_ref(),
            staged: target.base.stage(updates, gone),
            base: target.base,
            fork_from: target.fork_from,
            create: target.create,
            then: Vec::new(),
            landed: Some(Box::new(move |after| {
                for (index, added) in followers {
                    probe::advance(&index, &before, after, &keys, &added);
                }
            })),
        };
        let counts = TypeCounts { type_ref: self.ty.type_ref(), inserted, updated, deleted };
        Ok(Some((effect, counts)))
    }
}

/// The stored addresses of a batch's rows, for rows whose id exists.
async fn find(core: &Core, table: &Table, input: &InputBatch, keys: &[Option<KeyHash>]) -> Result<Vec<Option<u64>>> {
    let fresh = |row: usize| input.fresh_ids.as_ref().is_some_and(|f| f.value(row));
    let ids: Vec<&str> = match input.batch.column_by_name(ID).and_then(|c| c.as_string_opt::<i32>()) {
        Some(column) => column.iter().enumerate().filter(|(r, _)| !fresh(*r)).filter_map(|(_, id)| id).collect(),
        None => return Err(Error::internal("a batch without ids")),
    };
    let found = probe::by_id(core, table, &ids).await?;
    Ok(keys
        .iter()
        .enumerate()
        .map(|(row, key)| key.filter(|_| !fresh(row)).and_then(|k| found.get(&k).copied()))
        .collect())
}

fn id_at(batch: &RecordBatch, row: usize) -> String {
    batch
        .column_by_name(ID)
        .and_then(|c| c.as_string_opt::<i32>())
        .map(|c| c.value(row).to_string())
        .unwrap_or_default()
}
