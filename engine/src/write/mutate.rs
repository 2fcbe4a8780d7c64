//! Mutations: a few steps, each seeing the effects of those before it, as one commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::work::Work;
use super::{constraints, ensure_none, overlay, stage};
use crate::data::{Violations, check_value};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::View;
use crate::model::key;
use crate::model::{
    Change, EdgePolicy, Entity, EntityKind, EntityType, EntityWrite, Receipt, StepResult, Target, TypeRef, Value,
    WriteOptions,
};
use crate::schema::default;
use crate::store::lance::filter::unknown_property;
use crate::txn::{Action, Core, OnChange, Prepared, commit};

/// Carries out steps as one atomic commit. Nothing to change makes no commit.
///
/// # Errors
/// Every violation of the schema and its constraints, with nothing changed.
pub async fn mutate(core: &Arc<Core>, changes: Vec<Change>, options: &WriteOptions) -> Result<Receipt> {
    if changes.len() > limits::MAX_CHANGES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("a mutation has at most {} steps, this one has {}; use a load", limits::MAX_CHANGES, changes.len()),
        ));
    }
    let mut action = Mutate { changes, steps: Vec::new() };
    let mut receipt = commit::commit(core, &mut action, options).await?.into_receipt();
    if !receipt.replayed {
        receipt.steps = action.steps;
    }
    Ok(receipt)
}

struct Mutate {
    changes: Vec<Change>,
    // Of the attempt prepared last.
    steps: Vec<StepResult>,
}

#[async_trait]
impl Action for Mutate {
    fn label(&self) -> &'static str {
        "mutate"
    }

    fn on_change(&self) -> OnChange {
        let safe = |c: &Change| matches!(c, Change::Insert(_) | Change::Upsert(_));
        if self.changes.iter().all(safe) { OnChange::Prepare } else { OnChange::Refuse }
    }

    fn writes_directly(&self) -> bool {
        true
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let mut run = Run {
            core,
            view,
            work: Work::default(),
            reads: Vec::new(),
            violations: Violations::default(),
            steps: Vec::with_capacity(self.changes.len()),
        };
        for (step, change) in (1..).zip(&self.changes) {
            run.apply(step, change).await?;
        }
        let Run { work, reads, violations, steps, .. } = run;
        self.steps = steps;
        ensure_none(violations)?;
        let mut prepared = Prepared { reads, ..Prepared::default() };
        constraints::check(core, view, &work, &mut prepared.reads).await?;
        stage::stage(core, view, work, &mut prepared).await?;
        Ok((!prepared.effects.is_empty()).then_some(prepared))
    }
}

struct Run<'a> {
    core: &'a Core,
    view: &'a View,
    work: Work,
    reads: Vec<TypeRef>,
    violations: Violations,
    steps: Vec<StepResult>,
}

impl Run<'_> {
    async fn apply(&mut self, step: u64, change: &Change) -> Result<()> {
        match change {
            Change::Insert(write) => self.write(step, write, false).await,
            Change::Upsert(write) => self.write(step, write, true).await,
            Change::Update { type_ref, target, set } => self.update(step, type_ref, target, set).await,
            Change::Delete { type_ref, target, edges } => self.delete(step, type_ref, target, *edges).await,
        }
    }

    async fn write(&mut self, step: u64, write: &EntityWrite, upsert: bool) -> Result<()> {
        let ty = self.view.snapshot.ty(&write.type_ref)?;
        if !self.fits(step, ty, &write.properties)? {
            return Ok(());
        }
        let id = self.id_of(ty, write).map_err(|e| in_step(step, &e))?;
        if (ty.kind == EntityKind::Edge) != write.endpoints.is_some() {
            return Err(in_step(
                step,
                &Error::new(Reason::InvalidArgument, "an edge has a source and a destination, a node has neither"),
            ));
        }
        self.work.charge(1)?;
        let (core, snapshot) = (self.core, &self.view.snapshot);
        let work = self.work.of(core, snapshot, &write.type_ref).await?;
        work.fetch(core, std::slice::from_ref(&id)).await?;
        let existing = work.now(&id).cloned();
        if existing.is_some() && !upsert {
            let text = format!("{} {id:?} exists already; upsert updates it", ty.type_ref());
            self.violations.add(Reason::KeyConflict, || (format!("operation {step}"), text));
            return Ok(());
        }
        let entity = merged(ty, id.clone(), existing.clone(), write);
        let affected = u64::from(existing.as_ref() != Some(&entity));
        work.set(&id, Some(entity), step);
        self.steps.push(StepResult { id, affected });
        Ok(())
    }

    /// Checks names and types of values; reports what does not fit.
    fn fits(&mut self, step: u64, ty: &EntityType, properties: &BTreeMap<String, Value>) -> Result<bool> {
        let before = self.violations.total();
        for (name, value) in properties {
            let property = ty.property(name).ok_or_else(|| in_step(step, &unknown_property(ty, name)))?;
            if let Err(misfit) = check_value(&property.ty, value) {
                let text = format!("{}.{name}: {misfit}", ty.name);
                self.violations.add(misfit.reason, || (format!("operation {step}"), text));
            }
        }
        Ok(self.violations.total() == before)
    }

    fn id_of(&self, ty: &EntityType, write: &EntityWrite) -> Result<String> {
        if !ty.is_keyed() {
            return match &write.id {
                Some(id) => key::check_id(id).map(|()| id.clone()),
                None => Ok(self.core.fresh_id()),
            };
        }
        let ends = write.endpoints.as_ref().map(|(s, d)| (Value::String(s.clone()), Value::String(d.clone())));
        let derived = key::id_of(ty, |name| match (name, &ends) {
            ("src", Some((src, _))) => Some(src),
            ("dst", Some((_, dst))) => Some(dst),
            _ => write.properties.get(name),
        })?;
        match &write.id {
            Some(given) if *given != derived => Err(Error::new(
                Reason::InvalidArgument,
                format!("the id of a {} follows from its key and is {derived:?}, not {given:?}; leave it out", ty.name),
            )),
            _ => Ok(derived),
        }
    }

    async fn update(
        &mut self,
        step: u64,
        type_ref: &TypeRef,
        target: &Target,
        set: &BTreeMap<String, Value>,
    ) -> Result<()> {
        let ty = self.view.snapshot.ty(type_ref)?;
        if !self.fits(step, ty, set)? {
            return Ok(());
        }
        if let Some(name) = set.keys().find(|name| ty.key.contains(name)) {
            return Err(in_step(
                step,
                &Error::new(
                    Reason::KeyPropertyUpdate,
                    format!(
                        "{name} is part of the key of {}; insert a new entity and delete the old one",
                        ty.type_ref()
                    ),
                )
                .with("property", name),
            ));
        }
        let mut affected = 0;
        for id in self.targets(type_ref, target).await? {
            let work = self.work.of(self.core, &self.view.snapshot, type_ref).await?;
            let Some(old) = work.now(&id).cloned() else {
                continue;
            };
            let mut entity = old.clone();
            entity.properties.extend(set.iter().map(|(k, v)| (k.clone(), v.clone())));
            affected += u64::from(entity != old);
            work.set(&id, Some(entity), step);
        }
        self.steps.push(StepResult { id: String::new(), affected });
        Ok(())
    }

    async fn delete(&mut self, step: u64, type_ref: &TypeRef, target: &Target, edges: EdgePolicy) -> Result<()> {
        let ids = self.targets(type_ref, target).await?;
        let work = self.work.of(self.core, &self.view.snapshot, type_ref).await?;
        let gone: Vec<String> = ids.into_iter().filter(|id| work.now(id).is_some()).collect();
        for id in &gone {
            work.set(id, None, step);
        }
        let ty = work.ty.clone();
        self.steps.push(StepResult { id: String::new(), affected: gone.len() as u64 });
        if ty.kind == EntityKind::Node && !gone.is_empty() {
            self.cascade(step, &ty, &gone, edges).await?;
        }
        Ok(())
    }

    async fn cascade(&mut self, step: u64, node: &EntityType, gone: &[String], policy: EdgePolicy) -> Result<()> {
        let snapshot = self.view.snapshot.clone();
        for edge in snapshot.schema.edges_of(&node.name) {
            let edge_ref = edge.type_ref();
            self.reads.push(edge_ref.clone());
            let work = self.work.of(self.core, &snapshot, &edge_ref).await?;
            let (incident, read) = overlay::incident(work, edge, &node.name, gone).await?;
            self.work.charge(read)?;
            if incident.is_empty() {
                continue;
            }
            if policy == EdgePolicy::Restrict {
                return Err(Error::new(
                    Reason::RestrictedByEdges,
                    format!(
                        "operation {step}: the nodes to delete have {} {} edges, {:?} among them; delete those first or cascade",
                        incident.len(),
                        edge.name,
                        incident[0]
                    ),
                )
                .with("edge_type", &edge.name));
            }
            let work = self.work.of(self.core, &snapshot, &edge_ref).await?;
            for id in incident {
                work.set(&id, None, step);
            }
        }
        Ok(())
    }

    /// The ids an update or delete is about, as things stand at this step.
    async fn targets(&mut self, type_ref: &TypeRef, target: &Target) -> Result<Vec<String>> {
        let work = self.work.of(self.core, &self.view.snapshot, type_ref).await?;
        let (ids, read) = match target {
            Target::Ids(ids) => {
                let mut unique = ids.clone();
                unique.sort();
                unique.dedup();
                let read = work.fetch(self.core, &unique).await?;
                (unique, read)
            }
            Target::Where(predicate) => {
                let found = overlay::matching(work, predicate).await?;
                // Rows that match later are part of the read set.
                self.reads.push(type_ref.clone());
                found
            }
        };
        self.work.charge(read)?;
        Ok(ids)
    }
}

fn merged(ty: &EntityType, id: String, existing: Option<Entity>, write: &EntityWrite) -> Entity {
    let mut properties = match existing {
        Some(entity) => entity.properties,
        None => ty.properties.iter().map(|p| (p.name.clone(), default::value(p))).collect(),
    };
    properties.extend(write.properties.iter().map(|(k, v)| (k.clone(), v.clone())));
    Entity { type_ref: ty.type_ref(), id, endpoints: write.endpoints.clone(), properties }
}

fn in_step(step: u64, error: &Error) -> Error {
    let mut named = Error::new(error.reason(), format!("operation {step}: {}", error.message()))
        .with_violations(error.violations().to_vec())
        .with("operation", step);
    for (key, value) in error.metadata() {
        named = named.with(key, value);
    }
    named
}
