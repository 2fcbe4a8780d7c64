//! Merging states of different schemas: all sides are seen as the joined schema has them, the target's tables get its
//! columns first, and what its rules ask of rows that one side never checked is checked.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::base::Bases;
use super::decide::Act;
use super::plan::{Plan, TypePlan};
use super::schema::{self, Merged};
use crate::error::{Error, Result};
use crate::manifest::{Snapshot, View};
use crate::model::{Conflict, ConflictKind, Entity, EntityType, SchemaWish, TypeRef};
use crate::read::delta;
use crate::schema::evolve::steps::{Check, Evolution};
use crate::schema::evolve::{self, Overlay, Rows, Source, effects};
use crate::store::lance::Table;
use crate::txn::{Core, Effect, Prepared};
use crate::write::stage::batch_of;
use crate::write::target;

/// The three sides as one schema has them.
pub(super) struct Sides {
    /// What both come from.
    pub bases: Bases,
    /// The target.
    pub target: Snapshot,
    /// The source.
    pub source: Snapshot,
    /// What becomes of the target's schema, if it changes.
    pub change: Option<Change>,
    /// Where the schemas contradict each other.
    pub conflicts: Vec<Conflict>,
    /// What of the joined schema one side never asked of its rows, by type.
    rules: BTreeMap<TypeRef, Vec<Check>>,
}

/// What becomes of the target's schema.
pub(super) struct Change {
    evolution: Evolution,
    // By which the target's tables get their columns, by the name of the type as joined.
    effects: Mutex<BTreeMap<TypeRef, Effect>>,
    // Those tables with their columns.
    shadows: BTreeMap<TypeRef, Table>,
}

impl Sides {
    /// Joins the schemas. Whoever asks must [`Sides::dismiss`] what comes of it.
    ///
    /// # Errors
    /// The store's.
    pub async fn join(core: &Arc<Core>, bases: Bases, view: &View, source: &Snapshot) -> Result<Self> {
        let (target, nothing) = (view.snapshot.as_ref(), HashMap::new());
        let mut sides = Self {
            bases,
            target: target.clone(),
            source: source.clone(),
            change: None,
            conflicts: Vec::new(),
            rules: BTreeMap::new(),
        };
        let Some(first) = sides.bases.states.first() else { return Ok(sides) };
        let same = |state: &Snapshot| Arc::ptr_eq(&state.schema, &target.schema) || state.schema == target.schema;
        if same(source) && sides.bases.states.iter().all(same) {
            return Ok(sides);
        }
        let Merged { schema, conflicts } = schema::merged(&first.schema, &target.schema, &source.schema);
        sides.conflicts = conflicts;
        if !sides.conflicts.is_empty() {
            return Ok(sides);
        }
        sides.conflicts = dropped_and_changed(core, first, target, source, &schema).await?;
        let evolution = evolve::evolution(target, &SchemaWish::from(schema))?;
        sides.conflicts.extend(evolution.steps.iter().filter_map(|step| {
            let refusal = step.refusal.as_ref()?;
            let type_ref = match &step.subject {
                crate::model::Subject::Interface(name) => TypeRef::node(name),
                crate::model::Subject::Type(type_ref) | crate::model::Subject::Property(type_ref, _) => {
                    type_ref.clone()
                }
            };
            let what = format!("the target cannot {}: {}", step.description, refusal.remedy);
            Some(schema::conflict(&type_ref, &[], what))
        }));
        if !sides.conflicts.is_empty() {
            return Ok(sides);
        }
        let joined = Arc::new(evolution.after.clone());
        sides.rules = rules(&evolution, &evolve::evolution(source, &SchemaWish::from(joined.as_ref().clone()))?);
        let mut change = Change { evolution, effects: Mutex::default(), shadows: BTreeMap::new() };
        let shown = change.tables(core, view).await;
        let moved = change.shadows.iter().map(|(ty, shadow)| (ty.clone(), shadow.at().clone())).collect();
        sides.target = target.seen_as(&joined, &moved);
        sides.source = source.seen_as(&joined, &nothing);
        sides.bases = sides.bases.seen_as(&joined);
        sides.change = Some(change);
        if let Err(e) = shown {
            sides.dismiss(core).await;
            return Err(e);
        }
        Ok(sides)
    }

    /// Takes back what was only made to be looked at.
    pub async fn dismiss(&self, core: &Core) {
        for shadow in self.change.iter().flat_map(|change| change.shadows.values()) {
            core.store.discard_shadow(shadow).await;
        }
    }

    /// Checks what one side never asked of its rows, on the merged state.
    ///
    /// # Errors
    /// Too much stands against it; the store's.
    pub async fn check(&self, core: &Core, plan: &mut Plan) -> Result<()> {
        for (type_ref, checks) in &self.rules {
            let ty = self.target.ty(type_ref)?.clone();
            let table = target::pinned(core, &self.target, type_ref).await?;
            let columns: Vec<Source> = ty.properties.iter().map(|p| Source::Kept(p.name.clone())).collect();
            let node = ty.endpoints.as_ref().map(|ends| TypeRef::node(&ends.from));
            let sources = match &node {
                Some(node) => target::pinned(core, &self.target, node).await?,
                None => None,
            };
            let changed_sources = match &node {
                Some(node) => overlay(self.target.ty(node)?, plan.types.get(node)).await?,
                None => Overlay::default(),
            };
            let changed = overlay(&ty, plan.types.get(type_ref)).await?;
            let rows = Rows {
                ty: &ty,
                columns: &columns,
                table: table.as_ref(),
                changed,
                sources: sources.as_ref(),
                changed_sources,
            };
            for check in checks {
                if let Some(what) = rows.offenders(check).await?.sentence(&ty) {
                    let kind = match check {
                        Check::Unique(_) => ConflictKind::UniqueViolation,
                        Check::Cardinality => ConflictKind::CardinalityViolation,
                        _ => ConflictKind::ValueConstraintViolation,
                    };
                    let message = format!("{}: {what}", check.code().as_str());
                    plan.against(Conflict { kind, ..schema::conflict(type_ref, &[], message) })?;
                }
            }
            plan.reads.insert(type_ref.clone());
            plan.reads.extend(node);
        }
        Ok(())
    }

    /// The target's table of a type with its new columns, if it gets any.
    pub fn table_of(&self, type_ref: &TypeRef) -> Option<&Table> {
        self.change.as_ref()?.shadows.get(type_ref)
    }

    /// Puts everything that changes the schema into staged work, whose types are named as joined so far.
    ///
    /// # Errors
    /// None in practice.
    pub fn declare(&mut self, core: &Core, view: &View, prepared: &mut Prepared) -> Result<()> {
        let Some(change) = &mut self.change else { return Ok(()) };
        let effects = change.effects.get_mut().map_err(|_| Error::internal("a merge was torn down"))?;
        for (type_ref, mut columns) in std::mem::take(effects) {
            // The rows go on top of the columns.
            if let Some(at) = prepared.effects.iter().position(|effect| effect.type_ref == type_ref) {
                let rows = prepared.effects.remove(at);
                columns.then = std::iter::once(rows.staged).chain(rows.then).collect();
            }
            prepared.effects.push(Effect { type_ref, ..columns });
        }
        let before: HashMap<TypeRef, TypeRef> = change
            .evolution
            .types
            .iter()
            .zip(&change.evolution.after.types)
            .filter_map(|(found, ty)| Some((ty.type_ref(), found.before.clone()?)))
            .collect();
        for effect in &mut prepared.effects {
            if let Some(before) = before.get(&effect.type_ref) {
                effect.type_ref = before.clone();
            }
        }
        prepared.reads = prepared.reads.iter().filter_map(|read| before.get(read).cloned()).collect();
        effects::declare(core, view, &change.evolution, prepared)
    }
}

impl Change {
    /// Makes the tables with the new columns, for nobody else to see.
    async fn tables(&mut self, core: &Arc<Core>, view: &View) -> Result<()> {
        for (found, ty) in self.evolution.types.iter().zip(&self.evolution.after.types) {
            let Some(before) = found.before.as_ref().filter(|_| found.physical) else { continue };
            let Some(effect) = effects::effect(core, view, before, ty, found).await? else { continue };
            let shadow = effect.base.shadow(&core.store, &effect.staged).await?;
            core.keep_table(&shadow).await;
            self.shadows.insert(ty.type_ref(), shadow);
            if let Ok(effects) = self.effects.get_mut() {
                effects.insert(ty.type_ref(), effect);
            }
        }
        Ok(())
    }
}

/// What of the joined schema either side's rows were never asked, by type.
fn rules(target: &Evolution, source: &Evolution) -> BTreeMap<TypeRef, Vec<Check>> {
    let mut rules: BTreeMap<TypeRef, Vec<Check>> = BTreeMap::new();
    for evolution in [target, source] {
        for (change, ty) in evolution.types.iter().zip(&evolution.after.types) {
            for (_, check) in &change.checks {
                // A position among rules is one in the joined declaration, which both have.
                let known = rules.entry(ty.type_ref()).or_default();
                if !known.contains(check) {
                    known.push(check.clone());
                }
            }
        }
    }
    rules
}

/// Types that one side dropped, with rows that the other changed.
async fn dropped_and_changed(
    core: &Core,
    base: &Snapshot,
    target: &Snapshot,
    source: &Snapshot,
    joined: &crate::model::Schema,
) -> Result<Vec<Conflict>> {
    let mut conflicts = Vec::new();
    let gone: Vec<&EntityType> =
        base.schema.types.iter().filter(|ty| !joined.types.iter().any(|kept| kept.id == ty.id)).collect();
    for ty in gone {
        for (side, which, other) in [(target, "target", "source"), (source, "source", "target")] {
            let Some(own) = side.schema.types.iter().find(|own| own.id == ty.id) else { continue };
            let before = base.seen_as(&side.schema, &HashMap::new());
            let found = delta::of_type(core, &before, side, &own.type_ref()).await?;
            let changed = found.map_or(0, |found| found.entries.len());
            if changed > 0 {
                let what =
                    format!("the {other} dropped {}, of which the {which} changed {changed} entities", own.type_ref());
                conflicts.push(schema::conflict(&own.type_ref(), &[], what));
            }
        }
    }
    Ok(conflicts)
}

/// What a merge changes of a type, as rows.
async fn overlay(ty: &EntityType, plan: Option<&TypePlan>) -> Result<Overlay> {
    let mut overlay = Overlay::default();
    let Some(plan) = plan else { return Ok(overlay) };
    let changes: Vec<_> = plan.entities.iter().filter(|(_, planned)| planned.is_change()).collect();
    overlay.hidden = changes.iter().map(|(id, _)| (*id).clone()).collect::<HashSet<_>>();
    for chunk in changes.chunks(delta::chunk_of(ty)) {
        let unread = chunk.iter().filter(|(_, p)| p.act == Act::TakeSource && p.image.is_none());
        let read = plan.source.read(unread.filter_map(|(_, p)| p.from).collect()).await?;
        let shown: Vec<&Entity> = chunk
            .iter()
            .filter_map(|(id, planned)| match &planned.act {
                Act::Put(entity) => Some(entity.as_ref()),
                Act::TakeSource => planned.image.as_deref().or_else(|| read.get(*id)),
                Act::Keep | Act::Delete => None,
            })
            .collect();
        if !shown.is_empty() {
            overlay.rows.push(batch_of(ty, &shown)?);
        }
    }
    Ok(overlay)
}
