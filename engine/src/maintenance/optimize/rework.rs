//! What can be made better about one table: its fragments and its indexes.
//!
//! Three steps, each on top of the one before and none of them visible: indexes that exist are made to cover
//! every row, because only fragments that the same indexes cover are rewritten together; fragments are rewritten;
//! and the indexes that are missing, or that name rows by where they were before the rewriting, are built.

use std::collections::{HashMap, HashSet};

use super::PendingIndex;
use crate::error::Result;
use crate::limits;
use crate::model::{EntityType, IndexMethod, WantedIndex, index};
use crate::store::lance::Table;
use crate::store::lance::compact::Compacted;
use crate::store::lance::filter;
use crate::store::lance::index::{Building, BuiltIndexes, IndexState, StandingIndexes};
use crate::store::lance::stage::Staged;
use crate::txn::Core;

/// Why an index of a type without rows is not built.
pub const NO_ROWS: &str = "the type has no rows yet";

/// Work on one version of a table.
#[derive(Debug)]
pub struct Rework {
    made_on: StandingIndexes,
    before: BuiltIndexes,
    compacted: Option<Compacted>,
    after: BuiltIndexes,
    /// Indexes that could not be built or extended.
    pub pending: Vec<PendingIndex>,
}

/// What of the work fits a version of the table.
#[derive(Debug)]
pub struct Fitting {
    /// The changes, each a version on top of the one before. None if there is nothing to do.
    pub changes: Vec<Staged>,
    /// Fragments that go, and that take their place.
    pub fragments: (usize, usize),
}

/// A declared index that is not built, and why.
pub fn pending(wanted: &WantedIndex, reason: &str) -> PendingIndex {
    PendingIndex { columns: vec![wanted.column.clone()], method: wanted.method, reason: reason.to_string() }
}

impl Rework {
    /// Does the work. Costs as much as the rows that are rewritten or not indexed.
    ///
    /// # Errors
    /// The store's. An index that cannot be built is no error.
    pub async fn make(core: &Core, ty: &EntityType, base: &Table) -> Result<Self> {
        let wanted = index::wanted(ty);
        let names: HashSet<&str> = wanted.iter().map(|w| w.name.as_str()).collect();
        let made_on = base.standing_indexes().await?;
        let mut shadows = Vec::new();
        let work = Self::on(core, base, &wanted, &names, made_on, &mut shadows).await;
        for shadow in &shadows {
            core.store.discard_shadow(shadow).await;
        }
        work
    }

    async fn on(
        core: &Core,
        base: &Table,
        wanted: &[WantedIndex],
        names: &HashSet<&str>,
        made_on: StandingIndexes,
        shadows: &mut Vec<Table>,
    ) -> Result<Self> {
        let states = base.indexes().await?;
        let Building { built: mut before, failed } = base.extend_indexes(&uncovered(base, wanted, &states)).await;
        before.absorb(base.drop_indexes_but(&made_on, names));
        let mut pending = named(wanted, failed);
        let mut table = base.clone();
        if let Some((staged, _)) = base.stage_indexes(&before, &made_on, None) {
            table = table.shadow(&core.store, &staged).await?;
            shadows.push(table.clone());
        }
        let mut compacted: Option<Compacted> = None;
        // What one pass made may be next to more of its like.
        for _ in 0..limits::MAX_COMPACTION_PASSES {
            let Some(next) = table.compact().await? else { break };
            let Some((_, staged)) = table.stage_compacted(&next) else { break };
            table = table.shadow(&core.store, &staged).await?;
            shadows.push(table.clone());
            compacted = Some(match compacted {
                Some(earlier) => earlier.then(next),
                None => next,
            });
        }
        let states = table.indexes().await?;
        let mut after = BuiltIndexes::default();
        // What could not be extended before is not tried again.
        let again = if compacted.is_some() { uncovered(&table, wanted, &states) } else { Vec::new() };
        let Building { built, failed } = table.extend_indexes(&again).await;
        after.absorb(built);
        pending.extend(named(wanted, failed));
        for missing in wanted.iter().filter(|w| !states.contains_key(&w.name)) {
            let vectors = match ready(&table, missing).await? {
                Ok(vectors) => vectors,
                Err(reason) => {
                    pending.push(self::pending(missing, &reason));
                    continue;
                }
            };
            let Building { built, failed } = table.build_indexes(std::slice::from_ref(missing), vectors).await;
            after.absorb(built);
            pending.extend(named(wanted, failed));
        }
        pending.dedup();
        Ok(Self { made_on, before, compacted, after, pending })
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.compacted.is_none() && self.after.is_empty()
    }

    /// What of it fits `base`, a version at or after the one it was made on. `None` if none of it does, or if
    /// somebody else worked on the indexes meanwhile.
    ///
    /// # Errors
    /// The store's.
    pub async fn stage(&self, base: &Table) -> Result<Option<Fitting>> {
        let mut fitting = Fitting { changes: Vec::new(), fragments: (0, 0) };
        fitting.changes.extend(base.stage_without_auto_cleanup());
        if self.is_empty() {
            return Ok(Some(fitting));
        }
        let mut standing = base.standing_indexes().await?;
        if !standing.same_parts(&self.made_on) {
            return Ok(None);
        }
        if let Some((staged, next)) = base.stage_indexes(&self.before, &standing, None) {
            fitting.changes.push(staged);
            standing = next;
        }
        let compacted = self.compacted.as_ref().and_then(|c| base.stage_compacted(c));
        if let Some((applied, staged)) = &compacted {
            fitting.fragments = (applied.removed(), applied.added());
            fitting.changes.push(staged.clone());
        }
        let arriving = compacted.as_ref().map(|(applied, _)| applied);
        if let Some((staged, _)) = base.stage_indexes(&self.after, &standing, arriving) {
            fitting.changes.push(staged);
        }
        Ok((!fitting.changes.is_empty()).then_some(fitting))
    }
}

/// The declared indexes that exist and do not cover every row.
fn uncovered<'a>(
    table: &Table,
    wanted: &'a [WantedIndex],
    states: &'a HashMap<String, IndexState>,
) -> Vec<(&'a IndexState, &'a WantedIndex)> {
    let all: Vec<u64> = table.fragments().iter().map(|f| f.id).collect();
    let lacks = |state: &IndexState| all.iter().any(|id| !state.fragments.contains(id));
    wanted.iter().filter_map(|w| states.get(&w.name).filter(|s| lacks(s)).map(|s| (s, w))).collect()
}

fn named(wanted: &[WantedIndex], failed: Vec<(String, String)>) -> Vec<PendingIndex> {
    let of = |name: &str| wanted.iter().find(|w| w.name == name);
    failed.into_iter().filter_map(|(name, reason)| of(&name).map(|w| pending(w, &reason))).collect()
}

/// Whether there is enough to build an index over: the number of vectors, if it is over vectors, or why not.
///
/// # Errors
/// The store's.
pub async fn ready(table: &Table, wanted: &WantedIndex) -> Result<std::result::Result<u64, String>> {
    if table.rows() == 0 {
        return Ok(Err(NO_ROWS.to_string()));
    }
    if wanted.method != IndexMethod::Vector {
        return Ok(Ok(0));
    }
    let vectors = table.count(Some(filter::is_not_null(&wanted.column))).await?;
    if vectors < limits::MIN_INDEXED_VECTORS {
        return Ok(Err(format!(
            "there are {vectors} vectors; from {} on an index is built, until then a search compares all of them",
            limits::MIN_INDEXED_VECTORS
        )));
    }
    Ok(Ok(vectors))
}
