//! Entities that would share a value declared unique. Nulls never equal anything.

use std::collections::HashMap;

use futures::TryStreamExt;

use super::super::decide::Act;
use super::super::plan::{Plan, TypePlan};
use super::{bare, images};
use crate::error::Result;
use crate::model::{CompareOp, Conflict, ConflictKind, Entity, Predicate, TypeRef, Value};
use crate::store::lance::filter;
use crate::store::lance::keys::{KeyHash, hash_rows};
use crate::store::lance::scan::Scan;
use crate::write::overlay;
use crate::write::stage::batch_of;

/// An entity of the merged state that either side changed.
struct Holder {
    id: String,
    is_change: bool,
}

/// Finds every pair.
pub(super) async fn check(plan: &mut Plan) -> Result<()> {
    let mut found = Vec::new();
    for (type_ref, of_type) in &plan.types {
        let any = of_type.entities.values().any(|p| p.is_change() && p.exists());
        if of_type.target.ty.unique.is_empty() || !any {
            continue;
        }
        let mut tuples: Vec<HashMap<KeyHash, Vec<Holder>>> =
            of_type.target.ty.unique.iter().map(|_| HashMap::new()).collect();
        gather(of_type, &mut tuples).await?;
        for (columns, tuples) in of_type.target.ty.unique.iter().zip(tuples) {
            for holders in tuples.into_values().filter(|h| h.len() > 1) {
                clash(type_ref, columns, &holders, &mut found);
            }
            beyond_both(type_ref, of_type, columns, &mut found).await?;
        }
    }
    found.into_iter().try_for_each(|conflict| plan.against(conflict))
}

/// The tuples of everything that either side changed and the merged state shows.
async fn gather(of_type: &TypePlan, tuples: &mut [HashMap<KeyHash, Vec<Holder>>]) -> Result<()> {
    let ty = &of_type.target.ty;
    let mut note = |entities: &[&Entity], is_change: bool| -> Result<()> {
        let batch = batch_of(ty, entities)?;
        for (columns, tuples) in ty.unique.iter().zip(tuples.iter_mut()) {
            for (key, entity) in hash_rows(&batch, columns)?.into_iter().zip(entities) {
                if let Some(key) = key {
                    tuples.entry(key).or_default().push(Holder { id: entity.id.clone(), is_change });
                }
            }
        }
        Ok(())
    };
    let (mut from_source, mut kept) = (Vec::new(), Vec::new());
    for (id, planned) in &of_type.entities {
        match (&planned.act, &planned.image, planned.at, planned.from) {
            (Act::Put(entity), ..) => note(&[entity], true)?,
            (Act::TakeSource, Some(image), ..) => note(&[image], true)?,
            (Act::TakeSource, None, _, Some(row)) => from_source.push((id.clone(), row)),
            (Act::Keep, _, Some(row), _) => kept.push((id.clone(), row)),
            _ => {}
        }
    }
    kept.extend(of_type.others.iter().filter_map(|(id, row)| Some((id.clone(), (*row)?))));
    images(&of_type.source, &from_source, |found| note(&found.iter().collect::<Vec<_>>(), true)).await?;
    images(&of_type.target, &kept, |found| note(&found.iter().collect::<Vec<_>>(), false)).await
}

fn clash(type_ref: &TypeRef, columns: &[String], holders: &[Holder], found: &mut Vec<Conflict>) {
    let mut ids: Vec<&str> = holders.iter().map(|h| h.id.as_str()).collect();
    ids.sort_unstable();
    for holder in holders.iter().filter(|h| h.is_change) {
        let others: Vec<String> = ids.iter().filter(|id| **id != holder.id).map(|id| format!("{id:?}")).collect();
        let message = format!(
            "{} {:?} would share its ({}) with {}",
            type_ref.name,
            holder.id,
            columns.join(", "),
            others.join(", ")
        );
        let plain = bare(ConflictKind::UniqueViolation, type_ref, &holder.id, message);
        found.push(Conflict { properties: columns.to_vec(), ..plain });
    }
}

/// An entity that took one part of a tuple from each side has one that neither side ever checked: it may be that of an
/// entity nobody changed. Only these are looked up in the table, by its index if there is one.
async fn beyond_both(
    type_ref: &TypeRef,
    of_type: &TypePlan,
    columns: &[String],
    found: &mut Vec<Conflict>,
) -> Result<()> {
    let (Some(table), true) = (&of_type.target.table, columns.len() > 1) else {
        return Ok(());
    };
    let ty = &of_type.target.ty;
    for (id, planned) in &of_type.entities {
        let Act::Put(entity) = &planned.act else { continue };
        let parts: Vec<Value> = columns.iter().map(|c| value_of(entity, c)).collect();
        if parts.iter().any(Value::is_null) {
            continue;
        }
        let equal = |(property, value): (&String, Value)| Predicate::Compare {
            property: property.clone(),
            op: CompareOp::Eq,
            value,
        };
        let predicate = Predicate::And(columns.iter().zip(parts).map(equal).collect());
        let filter = Some(filter::translate(ty, &predicate)?);
        let mut batches = table.scan(Scan { columns: vec!["id".to_string()], filter, ..Scan::default() }).await?;
        while let Some(batch) = batches.try_next().await? {
            for other in overlay::ids(&batch, "id")? {
                if other != *id && !of_type.entities.contains_key(&other) && !of_type.others.contains_key(&other) {
                    let holders = [Holder { id: id.clone(), is_change: true }, Holder { id: other, is_change: false }];
                    clash(type_ref, columns, &holders, found);
                }
            }
        }
    }
    Ok(())
}

fn value_of(entity: &Entity, column: &str) -> Value {
    match (column, &entity.endpoints) {
        ("src", Some((src, _))) => Value::String(src.clone()),
        ("dst", Some((_, dst))) => Value::String(dst.clone()),
        (name, _) => entity.properties.get(name).cloned().unwrap_or(Value::Null),
    }
}
