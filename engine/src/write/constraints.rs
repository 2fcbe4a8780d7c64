//! Constraints on the image a mutation would leave: rows by themselves, uniqueness, endpoints, cardinality.
//!
//! Cost follows the touched entities. Tables that are looked at become part of the read set, so that they
//! are still as seen when the mutation takes effect.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::probe;
use super::stage::batch_of;
use super::work::{Slot, TypeWork, Work};
use super::{ensure_none, overlay};
use crate::data::{RowChecker, Violations};
use crate::error::{Reason, Result};
use crate::format::arrow::SRC;
use crate::manifest::View;
use crate::model::{Cardinality, Entity, EntityKind, TypeRef};
use crate::store::lance::keys::{hash_rows, hash_text};
use crate::txn::Core;

/// Checks everything and reports everything.
pub(super) async fn check(core: &Core, view: &View, work: &Work, reads: &mut Vec<TypeRef>) -> Result<()> {
    let mut violations = Violations::default();
    for touched in work.types.values() {
        let changed: Vec<(&Slot, &Entity)> = touched
            .slots
            .values()
            .filter(|s| s.is_changed())
            .filter_map(|s| s.now.as_ref().map(|now| (s, now)))
            .collect();
        if !changed.is_empty() {
            check_rows(touched, &changed, &mut violations)?;
            unique(core, touched, &changed, &mut violations).await?;
        }
    }
    rename_records(&mut violations);
    ensure_none(std::mem::take(&mut violations))?;
    endpoints(core, view, work, reads, &mut violations).await?;
    cardinality(view, work, reads, &mut violations).await?;
    ensure_none(violations)
}

fn check_rows(work: &TypeWork, changed: &[(&Slot, &Entity)], violations: &mut Violations) -> Result<()> {
    let entities: Vec<&Entity> = changed.iter().map(|c| c.1).collect();
    let steps: Vec<u64> = changed.iter().map(|c| c.0.step).collect();
    let batch = batch_of(&work.ty, &entities)?;
    RowChecker::new(&work.ty)?.check(&batch, None, &steps, violations)
}

/// Problems of rows are reported by record; a mutation has operations.
fn rename_records(violations: &mut Violations) {
    let mut renamed = Violations::default();
    for violation in violations.listed() {
        let field = violation.field.replacen("record ", "operation ", 1);
        renamed.add(violation.reason, || (field, violation.description.clone()));
    }
    *violations = renamed;
}

async fn unique(core: &Core, work: &TypeWork, changed: &[(&Slot, &Entity)], violations: &mut Violations) -> Result<()> {
    if work.ty.unique.is_empty() {
        return Ok(());
    }
    let entities: Vec<&Entity> = changed.iter().map(|c| c.1).collect();
    let batch = batch_of(&work.ty, &entities)?;
    // Every stored row that is touched is judged by its new image, which is in the batch or gone.
    let replaced: HashSet<u64> =
        work.slots.values().filter(|s| s.is_changed()).filter_map(|s| s.before.as_ref().map(|b| b.address)).collect();
    for columns in &work.ty.unique {
        let keys = hash_rows(&batch, columns)?;
        let index = work.table.as_ref().map(|t| (t, core.key_index(t, columns)));
        let mut guard = match &index {
            Some((table, index)) => {
                let mut guard = index.lock().await;
                guard.follow(table).await?;
                Some(guard)
            }
            None => None,
        };
        let mut seen = HashMap::new();
        for (key, (slot, entity)) in keys.into_iter().zip(changed) {
            let Some(key) = key else { continue };
            let stored = guard.as_mut().and_then(|g| g.get(key)).filter(|a| !replaced.contains(a));
            let other = seen.insert(key, &entity.id);
            if stored.is_some() || other.is_some() {
                let with = other.map_or_else(|| "a stored entity".to_string(), |id| format!("{id:?}"));
                violations.at_record(slot.step, Reason::UniqueViolation, || {
                    format!("{} {:?} would share its ({}) with {with}", work.ty.name, entity.id, columns.join(", "))
                });
            }
        }
    }
    Ok(())
}

async fn endpoints(
    core: &Core,
    view: &View,
    work: &Work,
    reads: &mut Vec<TypeRef>,
    violations: &mut Violations,
) -> Result<()> {
    let mut needed: BTreeMap<TypeRef, BTreeMap<String, (u64, String)>> = BTreeMap::new();
    for edges in work.types.values() {
        let Some(ends) = &edges.ty.endpoints else {
            continue;
        };
        for slot in edges.slots.values().filter(|s| s.is_changed()) {
            let Some(entity) = &slot.now else { continue };
            let Some((src, dst)) = &entity.endpoints else {
                continue;
            };
            for (node, id, side) in [(&ends.from, src, "from"), (&ends.to, dst, "to")] {
                let what = format!("{} {:?}: its {side} {node} {id:?} does not exist", edges.ty.name, entity.id);
                needed.entry(TypeRef::node(node)).or_default().insert(id.clone(), (slot.step, what));
            }
        }
    }
    for (node, ids) in needed {
        let touched = work.types.get(&node);
        let mut unknown: Vec<&str> = Vec::new();
        for (id, (step, what)) in &ids {
            match touched.and_then(|t| t.slots.get(id)) {
                Some(slot) if slot.now.is_some() => {}
                Some(_) => violations.add(Reason::EndpointMissing, || (format!("operation {step}"), what.clone())),
                None => unknown.push(id),
            }
        }
        // Also when every end was looked at already: it must still stand when the edges do.
        reads.push(node.clone());
        if unknown.is_empty() {
            continue;
        }
        let found = match super::target::pinned(core, &view.snapshot, &node).await? {
            Some(table) => probe::by_id(core, &table, &unknown).await?,
            None => HashMap::new(),
        };
        for id in unknown {
            if !found.contains_key(&hash_text(id))
                && let Some((step, what)) = ids.get(id)
            {
                violations.add(Reason::EndpointMissing, || (format!("operation {step}"), what.clone()));
            }
        }
    }
    Ok(())
}

/// Counts the edges of every touched source, the vacated ones included.
async fn cardinality(view: &View, work: &Work, reads: &mut Vec<TypeRef>, violations: &mut Violations) -> Result<()> {
    for edge in view.snapshot.schema.types.iter().filter(|t| t.kind == EntityKind::Edge) {
        let (Some(bounds), Some(ends)) = (edge.cardinality, &edge.endpoints) else {
            continue;
        };
        let edges = work.types.get(&edge.type_ref());
        let nodes = work.types.get(&TypeRef::node(&ends.from));
        let sources = touched_sources(edges, nodes, bounds);
        if sources.is_empty() {
            continue;
        }
        reads.push(edge.type_ref());
        let mut counts: HashMap<String, u64> = sources.iter().map(|s| (s.clone(), 0)).collect();
        let mut add = |src: &str| {
            if let Some(n) = counts.get_mut(src) {
                *n += 1;
            }
        };
        if let Some(edges) = edges {
            let stored: Vec<String> = sources.iter().cloned().collect();
            if let Some(table) = &edges.table {
                let columns = ["id".to_string(), SRC.to_string()];
                probe::rows_where(table, SRC, &stored, &columns, |batch, _| {
                    for (id, src) in overlay::ids(batch, "id")?.iter().zip(overlay::ids(batch, SRC)?) {
                        if !edges.slots.contains_key(id) {
                            add(&src);
                        }
                    }
                    Ok(())
                })
                .await?;
            }
            for slot in edges.slots.values() {
                if let Some((src, _)) = slot.now.as_ref().and_then(|e| e.endpoints.as_ref()) {
                    add(src);
                }
            }
        }
        for (source, count) in counts {
            report(&edge.name, bounds, &source, count, violations);
        }
    }
    Ok(())
}

fn touched_sources(edges: Option<&TypeWork>, nodes: Option<&TypeWork>, bounds: Cardinality) -> BTreeSet<String> {
    let mut sources = BTreeSet::new();
    for slot in edges.iter().flat_map(|e| e.slots.values()).filter(|s| s.is_changed()) {
        let images = slot.before.as_ref().map(|b| &b.entity).into_iter().chain(slot.now.as_ref());
        sources.extend(images.filter_map(|e| e.endpoints.as_ref()).map(|(src, _)| src.clone()));
    }
    for (id, slot) in nodes.iter().flat_map(|n| n.slots.iter()) {
        if slot.now.is_none() {
            sources.remove(id);
        } else if bounds.min > 0 && slot.before.is_none() {
            sources.insert(id.clone());
        }
    }
    sources
}

/// Adds a violation if a source has too few or too many edges.
pub(super) fn report(edge: &str, bounds: Cardinality, source: &str, count: u64, violations: &mut Violations) {
    let most = bounds.max.map_or_else(|| "*".to_string(), |m| m.to_string());
    if count < bounds.min || bounds.max.is_some_and(|max| count > max) {
        violations.add(Reason::CardinalityViolation, || {
            (format!("{edge} from {source:?}"), format!("would have {count} edges, allowed are {}..{most}", bounds.min))
        });
    }
}
