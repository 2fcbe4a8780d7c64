//! Edges that would lose an end: one side deleted a node that an edge of the other needs.

use std::collections::BTreeSet;

use super::super::decide::Act;
use super::super::plan::{Input, Plan, Planned};
use super::super::settle::Words;
use super::{bare, exists, images};
use crate::error::{Error, Result};
use crate::model::{Conflict, ConflictKind, EntityKind, EntityType, Side, TypeRef};

/// An edge that would miss a node.
struct Orphan {
    edge: TypeRef,
    id: String,
    /// `src` or `dst`.
    end: &'static str,
    node: TypeRef,
    node_id: String,
    /// The edge's row in the target if only the target changed it.
    other: Option<u64>,
    /// Both its ends.
    ends: (String, String),
}

/// Finds them and settles those that a resolution or the strategy speaks of.
pub(super) async fn check(input: &Input<'_>, plan: &mut Plan, words: &Words) -> Result<()> {
    let edges: Vec<EntityType> =
        input.target.schema.types.iter().filter(|t| t.kind == EntityKind::Edge).cloned().collect();
    let mut orphans = Vec::new();
    for edge in &edges {
        reads(plan, edge);
        planned(plan, edge, &mut orphans);
        others(plan, edge, &mut orphans).await?;
    }
    for orphan in orphans {
        // A node restored or kept for an edge before this one is there for this one, too.
        if exists(plan.types.get(&orphan.node), &orphan.node_id) || is_dropped(plan, &orphan) {
            continue;
        }
        // What becomes of the node, or of the edge, is open anyway.
        let is_about = |c: &Conflict| {
            c.type_ref == orphan.node && c.id == orphan.node_id
                || c.type_ref == orphan.edge && c.id == orphan.id && c.kind != ConflictKind::OrphanEdge
        };
        if plan.conflicts.iter().any(is_about) {
            continue;
        }
        let word = words.on(&orphan.edge, &orphan.id).whole.or(input.how.strategy);
        match word {
            Some(side @ (Side::Target | Side::Source)) => settle(plan, &orphan, side).await?,
            _ => against(plan, &orphan).await?,
        }
    }
    Ok(())
}

/// Ends must still stand when edges are written, and edges must not appear where their node goes.
fn reads(plan: &mut Plan, edge: &EntityType) {
    let Some(ends) = &edge.endpoints else { return };
    let ends = [TypeRef::node(&ends.from), TypeRef::node(&ends.to)];
    let edge = edge.type_ref();
    let changes = |plan: &Plan, of: &TypeRef, wanted: &dyn Fn(&Planned) -> bool| {
        plan.types.get(of).is_some_and(|t| t.entities.values().any(|p| p.is_change() && wanted(p)))
    };
    if changes(plan, &edge, &Planned::exists) {
        plan.reads.extend(ends.clone());
    }
    if ends.iter().any(|node| changes(plan, node, &|p| !p.exists())) {
        plan.reads.insert(edge);
    }
}

/// Edges that the source changed.
fn planned(plan: &Plan, edge: &EntityType, orphans: &mut Vec<Orphan>) {
    let (Some(of_type), Some(ends)) = (plan.types.get(&edge.type_ref()), &edge.endpoints) else {
        return;
    };
    for (id, planned) in &of_type.entities {
        if let (true, Some((src, dst))) = (planned.exists(), &planned.ends) {
            for (end, node, node_id) in [("src", &ends.from, src), ("dst", &ends.to, dst)] {
                let node = TypeRef::node(node);
                if !exists(plan.types.get(&node), node_id) {
                    let (id, node_id, ends) = (id.clone(), node_id.clone(), (src.clone(), dst.clone()));
                    orphans.push(Orphan { edge: edge.type_ref(), id, end, node, node_id, other: None, ends });
                }
            }
        }
    }
}

/// Edges that only the target changed, if the source deleted nodes they may need.
async fn others(plan: &Plan, edge: &EntityType, orphans: &mut Vec<Orphan>) -> Result<()> {
    let (Some(of_type), Some(ends)) = (plan.types.get(&edge.type_ref()), &edge.endpoints) else {
        return Ok(());
    };
    let gone = |node: &str| -> BTreeSet<&str> {
        let planned = plan.types.get(&TypeRef::node(node)).map(|t| &t.entities);
        planned
            .into_iter()
            .flatten()
            .filter(|(_, p)| p.at.is_some() && !p.exists())
            .map(|(id, _)| id.as_str())
            .collect()
    };
    let (from, to) = (gone(&ends.from), gone(&ends.to));
    if from.is_empty() && to.is_empty() {
        return Ok(());
    }
    let rows: Vec<(String, u64)> = of_type.others.iter().filter_map(|(id, row)| Some((id.clone(), (*row)?))).collect();
    images(&of_type.target, &rows, |entities| {
        for entity in entities {
            let Some((src, dst)) = &entity.endpoints else { continue };
            for (end, gone, node, node_id) in [("src", &from, &ends.from, src), ("dst", &to, &ends.to, dst)] {
                if gone.contains(node_id.as_str()) {
                    orphans.push(Orphan {
                        edge: edge.type_ref(),
                        id: entity.id.clone(),
                        end,
                        node: TypeRef::node(node),
                        node_id: node_id.clone(),
                        other: of_type.others.get(&entity.id).copied().flatten(),
                        ends: (src.clone(), dst.clone()),
                    });
                }
            }
        }
        Ok(())
    })
    .await?;
    let place = |o: &Orphan| (o.edge.clone(), o.id.clone(), o.end != "src");
    orphans.sort_by_cached_key(place);
    Ok(())
}

/// Whether the edge itself was dropped meanwhile, for its other end.
fn is_dropped(plan: &Plan, orphan: &Orphan) -> bool {
    plan.types
        .get(&orphan.edge)
        .and_then(|of_type| of_type.entities.get(&orphan.id))
        .is_some_and(|planned| !planned.exists())
}

/// Who deleted the node wins, or who has the edge.
async fn settle(plan: &mut Plan, orphan: &Orphan, side: Side) -> Result<()> {
    plan.settled += 1;
    plan.words_used.insert((orphan.edge.clone(), orphan.id.clone()));
    let by_source = plan
        .types
        .get(&orphan.node)
        .and_then(|node| node.entities.get(&orphan.node_id))
        .is_some_and(|node| node.at.is_some());
    let keeps_edge = by_source == (side == Side::Target);
    let missing = || Error::internal("a type of a merge vanished");
    if !keeps_edge {
        let of_type = plan.types.get_mut(&orphan.edge).ok_or_else(missing)?;
        of_type.gave_up |= of_type.others.remove(&orphan.id).is_some();
        let planned = of_type.entities.entry(orphan.id.clone()).or_insert(Planned {
            at: orphan.other,
            from: None,
            act: Act::Keep,
            image: None,
            ends: None,
            ends_before: Some(orphan.ends.clone()),
        });
        planned.act = if planned.at.is_some() { Act::Delete } else { Act::Keep };
        planned.ends = None;
        return Ok(());
    }
    let node = plan.types.get_mut(&orphan.node).ok_or_else(missing)?;
    if let Some(planned) = node.entities.get_mut(&orphan.node_id) {
        planned.act = if planned.at.is_some() { Act::Keep } else { Act::TakeSource };
        return Ok(());
    }
    // Only the target changed it, by deleting it: the source shows what the base shows.
    node.others.remove(&orphan.node_id);
    let row = node.base_rows.get(&orphan.node_id).copied().ok_or_else(missing)?;
    let image = node.base.read(vec![row]).await?.remove(&orphan.node_id).ok_or_else(missing)?;
    let restored =
        Planned { at: None, from: None, act: Act::Put(Box::new(image)), image: None, ends: None, ends_before: None };
    node.entities.insert(orphan.node_id.clone(), restored);
    Ok(())
}

async fn against(plan: &mut Plan, orphan: &Orphan) -> Result<()> {
    let Orphan { edge, id, end, node, node_id, .. } = orphan;
    let message =
        format!("{} {id:?} needs {} {node_id:?} as its {end}, which the other side deleted", edge.name, node.name);
    let mut conflict =
        Conflict { properties: vec![(*end).to_string()], ..bare(ConflictKind::OrphanEdge, edge, id, message) };
    if let Some(of_type) = plan.types.get(edge) {
        let planned = of_type.entities.get(id);
        let at = planned.map_or(orphan.other, |p| p.at);
        conflict.target = of_type.target.read(at.into_iter().collect()).await?.remove(id);
        let from = planned.and_then(|p| p.from);
        conflict.source = of_type.source.read(from.into_iter().collect()).await?.remove(id);
    }
    plan.against(conflict)
}
