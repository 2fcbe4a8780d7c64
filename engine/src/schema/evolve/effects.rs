//! A change of schema as effects on tables and rows of the manifest.

use std::sync::Arc;

use futures::{FutureExt, StreamExt, TryStreamExt};

use super::image;
use super::steps::{Evolution, TypeChange};
use crate::error::Result;
use crate::format::manifest_row::ManifestRow;
use crate::format::type_json;
use crate::limits;
use crate::manifest::View;
use crate::manifest::snapshot::{changed_row, table_row, tombstone_row};
use crate::model::{EntityType, Schema, TypeRef};
use crate::txn::{Core, Effect, Prepared};
use crate::write::target;

/// Stages the columns that change and works out the rows to publish.
pub(super) async fn prepared(core: &Arc<Core>, view: &View, mut evolution: Evolution) -> Result<Prepared> {
    assign_ids(core, &mut evolution.after);
    let mut prepared = Prepared::default();
    declare(core, view, &evolution, &mut prepared)?;
    let mut work = Vec::new();
    for (change, ty) in evolution.types.iter().zip(&evolution.after.types) {
        let Some(before) = &change.before else { continue };
        // What was checked must be what the rules hold for; so must the nodes whose edges were counted.
        if !change.checks.is_empty() {
            prepared.reads.push(before.clone());
            prepared.reads.extend(starts(&evolution, ty));
        }
        if change.physical {
            work.push(effect(core, view, before, ty, change).boxed());
        }
    }
    prepared.reads.extend(evolution.dropped.iter().cloned());
    let effects: Vec<Option<Effect>> =
        futures::stream::iter(work).buffered(limits::STAGE_PARALLELISM).try_collect().await?;
    prepared.effects = effects.into_iter().flatten().collect();
    Ok(prepared)
}

/// Adds the rows that publish the declarations.
///
/// # Errors
/// None in practice.
pub(crate) fn declare(core: &Core, view: &View, evolution: &Evolution, prepared: &mut Prepared) -> Result<()> {
    prepared.declarations = declarations(core, view, evolution)?;
    if evolution.interfaces {
        let interfaces = evolution.after.interfaces.iter().map(type_json::encode_interface).collect();
        prepared.extras.interfaces = Some(interfaces);
    }
    Ok(())
}

/// The node type that edges of a type start at, by its name before the change.
fn starts(evolution: &Evolution, ty: &EntityType) -> Option<TypeRef> {
    let from = TypeRef::node(&ty.endpoints.as_ref()?.from);
    let types = evolution.types.iter().zip(&evolution.after.types);
    types.into_iter().find(|(_, ty)| ty.type_ref() == from).and_then(|(change, _)| change.before.clone())
}

/// Stages the columns of one type that stays; `None` if it has no table.
///
/// # Errors
/// The store's.
pub(crate) async fn effect(
    core: &Core,
    view: &View,
    before: &TypeRef,
    ty: &EntityType,
    change: &TypeChange,
) -> Result<Option<Effect>> {
    if view.snapshot.pin(before)?.at.is_none() {
        return Ok(None);
    }
    let old = view.snapshot.ty(before)?;
    let target = target::open(core, &view.snapshot, old).await?;
    let staged = target.base.stage_columns(&image::columns(ty, &change.columns)?).await?;
    Ok(Some(Effect {
        type_ref: before.clone(),
        base: target.base,
        staged,
        then: Vec::new(),
        fork_from: target.fork_from,
        create: target.create,
        landed: None,
    }))
}

/// What goes, what is declared differently, what comes, in this order: a name that goes can be used again at once.
fn declarations(core: &Core, view: &View, evolution: &Evolution) -> Result<Vec<ManifestRow>> {
    let mut rows = Vec::new();
    for dropped in &evolution.dropped {
        rows.push(tombstone_row(view.snapshot.pin(dropped)?, &core.fresh_id()));
    }
    let types = || evolution.types.iter().zip(&evolution.after.types);
    for (_, ty) in types().filter(|(change, _)| change.before.is_some() && change.changed) {
        rows.push(changed_row(ty, &core.fresh_id())?);
    }
    for (_, ty) in types().filter(|(change, _)| change.before.is_none()) {
        rows.push(table_row(ty)?);
    }
    Ok(rows)
}

/// Gives what is new its ids. Two branches that add different properties to one type must not give both the same.
fn assign_ids(core: &Core, schema: &mut Schema) {
    for ty in &mut schema.types {
        if ty.id.is_empty() {
            super::super::assign_type(ty, &mut || core.fresh_id());
            continue;
        }
        for at in 0..ty.properties.len() {
            while ty.properties[at].id == 0 {
                #[expect(clippy::cast_possible_truncation, reason = "any 31 bits will do")]
                let id = (core.options.ids.random() as u32) | FIRST_RANDOM_ID;
                if !ty.properties.iter().any(|p| p.id == id) {
                    ty.properties[at].id = id;
                }
            }
        }
    }
}

/// Ids from here on were drawn; those below were counted when their type was made.
const FIRST_RANDOM_ID: u32 = 1 << 31;
