//! What the whole merged state has to obey, beside what each entity decides by itself: ends of edges, values,
//! uniqueness, cardinality. Each side alone obeys everything, so only what both sides changed can clash.

mod cardinality;
mod orphans;
mod unique;

use super::decide::Act;
use super::plan::{Input, Plan, TypePlan};
use super::settle::Words;
use crate::data::{RowChecker, Violations};
use crate::error::Result;
use crate::model::{Conflict, ConflictKind, Entity, TypeRef};
use crate::read::delta::{Side, chunk_of};
use crate::write::stage::batch_of;

/// Checks everything and notes everything that stands against the merge. Edges without an end may be settled.
///
/// # Errors
/// Too much stands against it; the store's.
pub(super) async fn check(input: &Input<'_>, plan: &mut Plan, words: &Words) -> Result<()> {
    orphans::check(input, plan, words).await?;
    values(plan)?;
    unique::check(plan).await?;
    cardinality::check(input, plan).await?;
    plan.conflicts.sort_by(|a, b| (&a.type_ref, &a.id, a.kind).cmp(&(&b.type_ref, &b.id, b.kind)));
    Ok(())
}

/// Values that are of neither side.
fn values(plan: &mut Plan) -> Result<()> {
    let mut found = Vec::new();
    for (type_ref, of_type) in &plan.types {
        let mut checker = None;
        for (id, planned) in &of_type.entities {
            let Act::Put(entity) = &planned.act else {
                continue;
            };
            let checker = match &mut checker {
                Some(checker) => checker,
                slot @ None => slot.insert(RowChecker::new(&of_type.target.ty)?),
            };
            let mut violations = Violations::default();
            checker.check(&batch_of(&of_type.target.ty, &[entity])?, None, &[0], &mut violations)?;
            for violation in violations.listed() {
                let ty = &of_type.target.ty;
                let told = violation.description.split_once(": ").map_or("", |(place, _)| place);
                let named =
                    ty.properties.iter().filter(|p| told.strip_prefix(&ty.name) == Some(&format!(".{}", p.name)));
                found.push(Conflict {
                    kind: ConflictKind::ValueConstraintViolation,
                    type_ref: type_ref.clone(),
                    id: id.clone(),
                    properties: named.map(|p| p.name.clone()).collect(),
                    base: None,
                    target: None,
                    source: Some(entity.as_ref().clone()),
                    message: format!("{} {id:?} would break a constraint: {}", ty.name, violation.description),
                });
            }
        }
    }
    found.into_iter().try_for_each(|conflict| plan.against(conflict))
}

/// Reads images in chunks: of the rows of one side, by id.
async fn images(side: &Side, rows: &[(String, u64)], mut each: impl FnMut(Vec<Entity>) -> Result<()>) -> Result<()> {
    for chunk in rows.chunks(chunk_of(&side.ty)) {
        let found = side.read(chunk.iter().map(|(_, row)| *row).collect()).await?;
        each(found.into_values().collect())?;
    }
    Ok(())
}

/// Whether the merged state shows a node. What neither side changed is there: an edge needs it.
fn exists(node: Option<&TypePlan>, id: &str) -> bool {
    let Some(node) = node else { return true };
    match (node.entities.get(id), node.others.get(id)) {
        (Some(planned), _) => planned.exists(),
        (None, Some(row)) => row.is_some(),
        (None, None) => true,
    }
}

/// A conflict about an edge or a node without images.
fn bare(kind: ConflictKind, type_ref: &TypeRef, id: &str, message: String) -> Conflict {
    Conflict {
        kind,
        type_ref: type_ref.clone(),
        id: id.to_string(),
        properties: Vec::new(),
        base: None,
        target: None,
        source: None,
        message,
    }
}
