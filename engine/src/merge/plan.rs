//! What a merge does to every entity that the source changed. Reads what either side changed, and nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::base::Bases;
use super::decide::{self, Act, Base};
use super::settle::Words;
use crate::error::{Error, Reason, Result};
use crate::history::diff::types_of;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Conflict, ConflictKind, Entity, MergeHow, TypeCounts, TypeRef, Value};
use crate::read::delta::{self, Side, TypeDelta};
use crate::txn::Core;

/// The three sides and how they are to be joined.
pub(super) struct Input<'a> {
    pub core: &'a Arc<Core>,
    pub bases: &'a Bases,
    pub target: &'a Snapshot,
    pub source: &'a Snapshot,
    pub how: &'a MergeHow,
}

/// What becomes of one entity.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Its row in the target; `None` if it has none.
    pub at: Option<u64>,
    /// Its row in the source.
    pub from: Option<u64>,
    /// What the merged state shows.
    pub act: Act,
    /// Its image in the source, if that is to be taken and was kept in memory.
    pub image: Option<Box<Entity>>,
    /// The ends of the edge that the merged state shows, if it is one and is shown.
    pub ends: Option<(String, String)>,
    /// The ends of the edge that the target shows.
    pub ends_before: Option<(String, String)>,
}

impl Planned {
    /// Whether the merged state shows it.
    pub fn exists(&self) -> bool {
        match self.act {
            Act::Keep => self.at.is_some(),
            Act::Delete => false,
            Act::TakeSource | Act::Put(_) => true,
        }
    }

    /// Whether anything is written for it.
    pub fn is_change(&self) -> bool {
        match self.act {
            Act::Keep => false,
            Act::Delete => self.at.is_some(),
            Act::TakeSource | Act::Put(_) => true,
        }
    }
}

/// One type.
#[derive(Debug)]
pub(super) struct TypePlan {
    /// The declaration and the target's table.
    pub target: Side,
    /// The source's table.
    pub source: Side,
    /// What the source changed, by id.
    pub entities: BTreeMap<String, Planned>,
    /// What the target changed and the source did not: the row, `None` if it was deleted.
    pub others: BTreeMap<String, Option<u64>>,
    /// Whether something only the target changed was given up, and is among the entities now.
    pub gave_up: bool,
    /// Rows of the nearest base of what the target deleted.
    pub base: Side,
    /// Where those are, by id.
    pub base_rows: HashMap<String, u64>,
}

/// A merge, decided.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The types that either side changed.
    pub types: BTreeMap<TypeRef, TypePlan>,
    /// What stands against it, by type and id.
    pub conflicts: Vec<Conflict>,
    /// Conflicts that were settled.
    pub settled: u64,
    /// The entities whose conflicts were settled.
    pub words_used: BTreeSet<(TypeRef, String)>,
    /// Types that must not change before it takes effect, beside those it writes.
    pub reads: BTreeSet<TypeRef>,
    /// Bytes of images kept.
    pub kept: usize,
    conflict_bytes: usize,
}

impl Plan {
    /// Decides about every entity by itself.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] for too many changes or conflicts; the store's.
    pub async fn make(input: &Input<'_>, words: &Words) -> Result<Self> {
        let mut plan = Self::default();
        for type_ref in types_of(input.target) {
            let Some(deltas) = Deltas::find(input, &type_ref).await? else {
                continue;
            };
            let type_plan = plan.decide_type(input, words, &type_ref, deltas).await?;
            plan.types.insert(type_ref, type_plan);
        }
        Ok(plan)
    }

    /// A plan that nothing comes of.
    pub fn against_all(conflicts: Vec<Conflict>) -> Self {
        Self { conflicts, ..Self::default() }
    }

    async fn decide_type(
        &mut self,
        input: &Input<'_>,
        words: &Words,
        type_ref: &TypeRef,
        deltas: Deltas,
    ) -> Result<TypePlan> {
        let mut plan = deltas.begin();
        let ids: Vec<String> = deltas.changed_by_source().into_iter().map(ToString::to_string).collect();
        for chunk in ids.chunks(delta::chunk_of(&plan.target.ty)) {
            let images = deltas.read(chunk).await?;
            for (id, image) in chunk.iter().zip(images) {
                let base = input.bases.image(&plan.target.ty, &image.bases);
                let (target, source) = (image.target.as_ref(), image.source.as_ref());
                let decision =
                    decide::decide(&plan.target.ty, &base, target, source, input.how, words.on(type_ref, id));
                if decision.settled {
                    self.settled += 1;
                    self.words_used.insert((type_ref.clone(), id.clone()));
                }
                if let Some((kind, properties)) = decision.conflict {
                    let message = describe(kind, type_ref, id, &properties, target.is_some());
                    self.against(Conflict {
                        kind,
                        type_ref: type_ref.clone(),
                        id: id.clone(),
                        properties,
                        base: base.entity().cloned(),
                        target: image.target.clone(),
                        source: image.source.clone(),
                        message,
                    })?;
                }
                let planned = self.planned(decision.act, &image, deltas.source_row(id));
                plan.entities.insert(id.clone(), planned);
            }
        }
        deltas.locate(&mut plan).await?;
        Ok(plan)
    }

    fn planned(&mut self, act: Act, image: &Images, from: Option<u64>) -> Planned {
        let ends_of = |entity: Option<&Entity>| entity.and_then(|e| e.endpoints.clone());
        let shown = match &act {
            Act::Keep => image.target.as_ref(),
            Act::Delete => None,
            Act::TakeSource => image.source.as_ref(),
            Act::Put(entity) => Some(entity.as_ref()),
        };
        let ends = ends_of(shown);
        let mut kept = None;
        if let (Act::TakeSource, Some(entity)) = (&act, &image.source) {
            let weight = weight(entity);
            if self.kept + weight <= limits::MERGE_IMAGE_BYTES {
                self.kept += weight;
                kept = Some(Box::new(entity.clone()));
            }
        }
        Planned { at: image.target_row, from, ends, ends_before: ends_of(image.target.as_ref()), act, image: kept }
    }

    /// Notes something that stands against the merge.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] if there is too much.
    pub fn against(&mut self, conflict: Conflict) -> Result<()> {
        let sides = [&conflict.base, &conflict.target, &conflict.source];
        self.conflict_bytes += sides.into_iter().flatten().map(weight).sum::<usize>() + conflict.message.len();
        if self.conflicts.len() >= limits::MAX_CONFLICTS || self.conflict_bytes > limits::CONFLICT_BYTES {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "more stands against the merge than can be listed ({} conflicts, {} MiB); merge with a strategy, \
                     or bring the branches together in smaller steps",
                    limits::MAX_CONFLICTS,
                    limits::CONFLICT_BYTES >> 20
                ),
            ));
        }
        self.conflicts.push(conflict);
        Ok(())
    }

    /// What changes in the target, by type.
    pub fn counts(&self) -> Vec<TypeCounts> {
        let counts = |(type_ref, plan): (&TypeRef, &TypePlan)| {
            let mut counts = TypeCounts { type_ref: type_ref.clone(), inserted: 0, updated: 0, deleted: 0 };
            for planned in plan.entities.values().filter(|p| p.is_change()) {
                match (planned.at, planned.exists()) {
                    (None, _) => counts.inserted += 1,
                    (Some(_), true) => counts.updated += 1,
                    (Some(_), false) => counts.deleted += 1,
                }
            }
            counts
        };
        let all = self.types.iter().map(counts);
        all.filter(|c| c.inserted + c.updated + c.deleted > 0).collect()
    }
}

/// The differences of one type: of every base from the source and from the target.
struct Deltas {
    to_source: Vec<Option<TypeDelta>>,
    to_target: Vec<Option<TypeDelta>>,
    target: Side,
    source: Side,
    bases: Vec<Side>,
}

/// One entity on all sides.
struct Images {
    bases: Vec<Base>,
    target: Option<Entity>,
    source: Option<Entity>,
    target_row: Option<u64>,
}

impl Deltas {
    /// `None` if neither side changed anything.
    async fn find(input: &Input<'_>, type_ref: &TypeRef) -> Result<Option<Self>> {
        let (core, target, source) = (input.core, input.target, input.source);
        let (mut to_source, mut to_target) = (Vec::new(), Vec::new());
        let mut bases = Vec::new();
        for base in &input.bases.states {
            to_source.push(delta::of_type(core, base, source, type_ref).await?);
            to_target.push(delta::of_type(core, base, target, type_ref).await?);
            bases.push(delta::side(core, base, source, type_ref).await?);
        }
        if to_source.iter().chain(&to_target).all(Option::is_none) {
            return Ok(None);
        }
        let (target, source) =
            (delta::side(core, target, source, type_ref).await?, delta::side(core, source, target, type_ref).await?);
        Ok(Some(Self { to_source, to_target, target, source, bases }))
    }

    fn changed_by_source(&self) -> BTreeSet<&str> {
        self.to_source.iter().flatten().flat_map(|d| d.entries.keys().map(String::as_str)).collect()
    }

    fn begin(&self) -> TypePlan {
        let by_source = |id: &String| self.to_source.iter().flatten().any(|d| d.entries.contains_key(id));
        let mut others = BTreeMap::new();
        let mut base_rows = HashMap::new();
        for (at, delta) in self.to_target.iter().enumerate().filter_map(|(at, d)| d.as_ref().map(|d| (at, d))) {
            for (id, places) in delta.entries.iter().filter(|(id, _)| !by_source(id)) {
                others.insert(id.clone(), places.right);
                if let (0, Some(row)) = (at, places.left) {
                    base_rows.insert(id.clone(), row);
                }
            }
        }
        let base = self.bases.first().cloned().unwrap_or_else(|| self.target.clone());
        TypePlan {
            target: self.target.clone(),
            source: self.source.clone(),
            entities: BTreeMap::new(),
            others,
            gave_up: false,
            base,
            base_rows,
        }
    }

    fn source_row(&self, id: &str) -> Option<u64> {
        self.to_source.iter().flatten().find_map(|d| d.entries.get(id)).and_then(|places| places.right)
    }

    /// The row of the target, if it changed the entity.
    fn target_row(&self, id: &str) -> Option<Option<u64>> {
        self.to_target.iter().flatten().find_map(|d| d.entries.get(id)).map(|places| places.right)
    }

    /// The row of a base; `None` if the base shows the same as the source.
    fn base_row(&self, at: usize, id: &str) -> Option<Option<u64>> {
        let entry = |deltas: &[Option<TypeDelta>]| {
            deltas.get(at).and_then(Option::as_ref).and_then(|d| d.entries.get(id)).map(|places| places.left)
        };
        entry(&self.to_source).or_else(|| entry(&self.to_target))
    }

    async fn read(&self, ids: &[String]) -> Result<Vec<Images>> {
        let source = self.source.read(ids.iter().filter_map(|id| self.source_row(id)).collect()).await?;
        let target = self.target.read(ids.iter().filter_map(|id| self.target_row(id).flatten()).collect()).await?;
        let mut bases = Vec::with_capacity(self.bases.len());
        for (at, side) in self.bases.iter().enumerate() {
            bases.push(side.read(ids.iter().filter_map(|id| self.base_row(at, id).flatten()).collect()).await?);
        }
        let image = |id: &String| {
            let source = source.get(id).cloned();
            let bases: Vec<Base> = (0..self.bases.len())
                .map(|at| match self.base_row(at, id) {
                    Some(_) => Base::of(bases[at].get(id).cloned()),
                    None => Base::of(source.clone()),
                })
                .collect();
            let (target, target_row) = match self.target_row(id) {
                Some(row) => (target.get(id).cloned(), row),
                // Unchanged by the target: it shows what every base shows.
                None => (bases.first().and_then(|base| base.entity().cloned()), None),
            };
            Images { bases, target, source, target_row }
        };
        Ok(ids.iter().map(image).collect())
    }

    /// Finds the rows in the target of entities it did not change: they are those of the base, perhaps elsewhere.
    async fn locate(&self, plan: &mut TypePlan) -> Result<()> {
        let (Some(base), Some(target)) = (self.bases.first().and_then(|b| b.table.as_ref()), &self.target.table) else {
            return Ok(());
        };
        let mut wanted = Vec::new();
        for (id, planned) in &plan.entities {
            if planned.at.is_none()
                && self.target_row(id).is_none()
                && let Some(Some(row)) = self.base_row(0, id)
            {
                wanted.push((id.clone(), row));
            }
        }
        let row_ids = base.row_ids_at(&wanted.iter().map(|w| w.1).collect::<Vec<_>>())?;
        for ((id, _), at) in wanted.into_iter().zip(target.locate(&row_ids).await?) {
            let at = at.ok_or_else(|| Error::internal(format!("the row of {id:?} is not where it has to be")))?;
            if let Some(planned) = plan.entities.get_mut(&id) {
                planned.at = Some(at);
            }
        }
        Ok(())
    }
}

fn describe(kind: ConflictKind, type_ref: &TypeRef, id: &str, properties: &[String], target_has_it: bool) -> String {
    let what = format!("{} {id:?}", type_ref.name);
    let listed = properties.join(", ");
    match (kind, target_has_it) {
        (ConflictKind::DivergentInsert, _) => format!("both sides made {what}, with different {listed}"),
        (ConflictKind::DeleteVsUpdate, true) => format!("the source deleted {what}, which the target changed"),
        (ConflictKind::DeleteVsUpdate, false) => format!("the target deleted {what}, which the source changed"),
        _ => format!("both sides changed {listed} of {what} in different ways"),
    }
}

/// About how many bytes an entity takes.
pub(super) fn weight(entity: &Entity) -> usize {
    fn of(value: &Value) -> usize {
        std::mem::size_of::<Value>()
            + match value {
                Value::String(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                Value::List(items) => items.iter().map(of).sum(),
                Value::Vector(items) => items.len() * 4,
                _ => 0,
            }
    }
    let ends = entity.endpoints.as_ref().map_or(0, |(src, dst)| src.len() + dst.len());
    let properties = entity.properties.iter().map(|(name, value)| name.len() + 48 + of(value)).sum::<usize>();
    std::mem::size_of::<Entity>() + entity.id.len() + ends + properties
}
