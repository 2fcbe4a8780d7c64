//! Sources that would have too few or too many edges. Counted only where both sides had a hand in it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::decide::Act;
use super::super::plan::{Input, Plan, TypePlan};
use super::{bare, exists};
use crate::error::Result;
use crate::format::arrow::SRC;
use crate::model::{Cardinality, Conflict, ConflictKind, EntityKind, EntityType, TypeRef};
use crate::write::{overlay, probe};

/// Counts the edges of every source that the merge touches.
pub(super) async fn check(input: &Input<'_>, plan: &mut Plan) -> Result<()> {
    let mut found = Vec::new();
    for edge in input.target.schema.types.iter().filter(|t| t.kind == EntityKind::Edge) {
        if let Some(bounds) = edge.cardinality {
            of_type(plan, edge, bounds, &mut found).await?;
        }
    }
    found.into_iter().try_for_each(|conflict| plan.against(conflict))
}

async fn of_type(plan: &mut Plan, edge: &EntityType, bounds: Cardinality, found: &mut Vec<Conflict>) -> Result<()> {
    let Some(ends) = &edge.endpoints else {
        return Ok(());
    };
    let (edge_ref, node_ref) = (edge.type_ref(), TypeRef::node(&ends.from));
    let nodes = plan.types.get(&node_ref);
    let edges = plan.types.get(&edge_ref);
    let sources: BTreeSet<String> =
        touched(edges, nodes, bounds).into_iter().filter(|id| exists(nodes, id)).map(ToString::to_string).collect();
    if sources.is_empty() {
        return Ok(());
    }
    plan.reads.insert(edge_ref.clone());
    let Some(edges) = plan.types.get(&edge_ref) else {
        return Ok(());
    };
    // With nothing of the target's own among them, the merged edges are the source's, which obey.
    let mixed = |planned: &super::super::plan::Planned| match planned.act {
        Act::Put(_) => true,
        Act::Keep => planned.at.is_some() || planned.from.is_some(),
        Act::Delete => planned.from.is_some(),
        Act::TakeSource => false,
    };
    if edges.others.is_empty() && !edges.gave_up && !edges.entities.values().any(mixed) {
        return Ok(());
    }
    let mut counts: BTreeMap<&str, u64> = sources.iter().map(|id| (id.as_str(), 0)).collect();
    let mut add = |src: &str| {
        if let Some(n) = counts.get_mut(src) {
            *n += 1;
        }
    };
    if let Some(table) = &edges.target.table {
        let wanted: Vec<String> = sources.iter().cloned().collect();
        probe::rows_where(table, SRC, &wanted, &["id".to_string(), SRC.to_string()], |batch, _| {
            for (id, src) in overlay::ids(batch, "id")?.iter().zip(overlay::ids(batch, SRC)?) {
                if !edges.entities.contains_key(id) {
                    add(&src);
                }
            }
            Ok(())
        })
        .await?;
    }
    for planned in edges.entities.values().filter(|p| p.exists()) {
        if let Some((src, _)) = &planned.ends {
            add(src);
        }
    }
    for (id, count) in counts {
        if count < bounds.min || bounds.max.is_some_and(|max| count > max) {
            let most = bounds.max.map_or_else(|| "*".to_string(), |m| m.to_string());
            let message = format!(
                "{} {id:?} would have {count} {} edges, allowed are {}..{most}",
                node_ref.name, edge.name, bounds.min
            );
            found.push(bare(ConflictKind::CardinalityViolation, &edge_ref, id, message));
        }
    }
    Ok(())
}

/// Sources of edges that the merge makes, moves or removes, and new nodes that need an edge.
fn touched<'a>(edges: Option<&'a TypePlan>, nodes: Option<&'a TypePlan>, bounds: Cardinality) -> BTreeSet<&'a str> {
    let mut sources = BTreeSet::new();
    for planned in edges.iter().flat_map(|e| e.entities.values()).filter(|p| p.is_change()) {
        for (src, _) in planned.ends.iter().chain(&planned.ends_before) {
            sources.insert(src.as_str());
        }
    }
    for (id, planned) in nodes.iter().flat_map(|n| &n.entities) {
        if bounds.min > 0 && planned.at.is_none() && planned.exists() {
            sources.insert(id.as_str());
        }
    }
    sources
}
