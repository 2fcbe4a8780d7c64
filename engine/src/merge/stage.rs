//! A decided merge as effects on the target's tables. Images that were not kept are read again, a few at a time.

use std::collections::HashMap;

use futures::{FutureExt, StreamExt, TryStreamExt};

use super::decide::Act;
use super::evolve::Sides;
use super::plan::{Plan, Planned, TypePlan};
use crate::error::{Error, Result};
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Entity, TypeCounts, TypeRef};
use crate::read::delta::chunk_of;
use crate::txn::{Core, Effect, PinMove, Prepared};
use crate::write::apply::Applier;

/// Stages every change of a plan against which nothing stands.
///
/// # Errors
/// The store's.
pub(super) async fn stage(core: &Core, sides: &Sides, plan: &Plan) -> Result<Prepared> {
    let mut prepared = Prepared { reads: plan.reads.iter().cloned().collect(), ..Prepared::default() };
    let mut rows = Vec::new();
    for (type_ref, of_type) in plan.types.iter().filter(|(_, t)| t.entities.values().any(Planned::is_change)) {
        match whole(&sides.target, &sides.source, type_ref, of_type)? {
            Some((pin, counts)) => {
                prepared.pins.push(pin);
                prepared.counts.push(counts);
            }
            None => rows.push(of_type),
        }
    }
    // Boxed one by one: a closure would have to be good for any lifetime.
    let work: Vec<_> = rows.into_iter().map(|of_type| apply(core, sides, of_type).boxed()).collect();
    let staged: Vec<(Effect, TypeCounts)> =
        futures::stream::iter(work).buffered(limits::STAGE_PARALLELISM).try_collect().await?;
    for (effect, counts) in staged {
        prepared.effects.push(effect);
        prepared.counts.push(counts);
    }
    prepared.counts.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
    Ok(prepared)
}

/// Where the target has no table yet and takes everything, it shows the source's: no row is copied.
fn whole(
    target: &Snapshot,
    source: &Snapshot,
    type_ref: &TypeRef,
    of_type: &TypePlan,
) -> Result<Option<(PinMove, TypeCounts)>> {
    let from = source.pin(type_ref)?;
    let at_target = target.pin(type_ref).ok().and_then(|pin| pin.at.as_ref());
    // Rows that were stored under another declaration are written anew.
    let (None, Some(at), None) = (at_target, &from.at, &from.stored) else {
        return Ok(None);
    };
    let taken = of_type.entities.values().filter(|p| p.act == Act::TakeSource).count() as u64;
    if taken != from.rows || of_type.entities.values().any(|p| p.exists() && p.act != Act::TakeSource) {
        return Ok(None);
    }
    let pin = PinMove {
        type_ref: type_ref.clone(),
        at: at.clone(),
        rows: from.rows,
        inherited_from: Some(from.line.clone()),
    };
    Ok(Some((pin, TypeCounts { type_ref: type_ref.clone(), inserted: taken, updated: 0, deleted: 0 })))
}

async fn apply(core: &Core, sides: &Sides, of_type: &TypePlan) -> Result<(Effect, TypeCounts)> {
    let ty = &of_type.target.ty;
    let mut applier = match sides.table_of(&ty.type_ref()) {
        Some(shadow) => Applier::over(ty, shadow.clone()),
        None => Applier::open(core, &sides.target, ty).await?,
    };
    let changes: Vec<(&String, &Planned)> = of_type.entities.iter().filter(|(_, p)| p.is_change()).collect();
    for chunk in changes.chunks(chunk_of(ty)) {
        let unread = chunk.iter().filter(|(_, p)| p.act == Act::TakeSource && p.image.is_none());
        let read = of_type.source.read(unread.filter_map(|(_, p)| p.from).collect()).await?;
        let (mut updates, mut inserts) = (Vec::new(), Vec::new());
        for (id, planned) in chunk {
            match (shown(planned, id, &read)?, planned.at) {
                (Some(entity), Some(at)) => updates.push((at, entity)),
                (Some(entity), None) => inserts.push(entity),
                (None, Some(at)) => applier.delete(at),
                (None, None) => {}
            }
        }
        if !updates.is_empty() {
            applier.update(core, &updates).await?;
        }
        if !inserts.is_empty() {
            applier.insert(core, &inserts).await?;
        }
    }
    applier.finish().await
}

fn shown<'a>(planned: &'a Planned, id: &str, read: &'a HashMap<String, Entity>) -> Result<Option<&'a Entity>> {
    match &planned.act {
        Act::Keep | Act::Delete => Ok(None),
        Act::Put(entity) => Ok(Some(entity)),
        Act::TakeSource => {
            let image = planned.image.as_deref().or_else(|| read.get(id));
            image.map(Some).ok_or_else(|| Error::internal(format!("{id:?} vanished from the source of a merge")))
        }
    }
}
