//! Turning a mutation's work into effects: one transaction a table.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use futures::StreamExt;

use super::work::{Slot, TypeWork, Work};
use super::{SharedIndex, probe, target};
use crate::data::array_from_values;
use crate::error::{Error, Result};
use crate::format::arrow;
use crate::manifest::View;
use crate::model::{Entity, EntityKind, EntityType, TypeCounts, Value};
use crate::store::lance::Table;
use crate::store::lance::keys::{KeyHash, hash_rows, hash_text};
use crate::store::lance::stage::{GoneRows, NewRows};
use crate::txn::{Core, Effect, Landed, Prepared};

/// Stages every changed table; tables at once, since each waits for the store.
pub(super) async fn stage(core: &Core, view: &View, work: Work, prepared: &mut Prepared) -> Result<()> {
    let changed = work.types.into_values().filter(TypeWork::is_changed);
    let staged = futures::future::try_join_all(changed.map(|work| stage_type(core, view, work))).await?;
    for (effect, counts) in staged {
        prepared.effects.push(effect);
        prepared.counts.push(counts);
    }
    Ok(())
}

async fn stage_type(core: &Core, view: &View, work: TypeWork) -> Result<(Effect, TypeCounts)> {
    let TypeWork { ty, table, slots } = work;
    let slots: Vec<Slot> = slots.into_values().filter(Slot::is_changed).collect();
    let updated: Vec<&Slot> = slots.iter().filter(|s| s.before.is_some() && s.now.is_some()).collect();
    let inserted: Vec<&Slot> = slots.iter().filter(|s| s.before.is_none()).collect();
    let images: Vec<&Entity> = updated.iter().chain(&inserted).filter_map(|s| s.now.as_ref()).collect();
    let gone: Vec<(KeyHash, u64)> =
        slots.iter().filter_map(|s| s.before.as_ref()).map(|b| (hash_text(&b.entity.id), b.address)).collect();
    let counts = TypeCounts {
        type_ref: ty.type_ref(),
        inserted: inserted.len() as u64,
        updated: updated.len() as u64,
        deleted: (slots.len() - images.len()) as u64,
    };
    let kept: Vec<u64> = updated.iter().filter_map(|s| s.before.as_ref()).map(|b| b.address).collect();
    let target = target::open(core, &view.snapshot, &ty).await?;
    let mut new = NewRows::default();
    let mut rows = None;
    if !images.is_empty() {
        let batch = batch_of(&ty, &images)?;
        new = write(core, &target.base, &ty, batch.clone()).await?;
        if let Some(table) = &table {
            new.keep_row_ids(&table.row_ids_at(&kept)?);
        }
        rows = Some(batch);
    }
    let addresses = gone.iter().map(|g| g.1);
    let gone_rows = if gone.is_empty() { GoneRows::default() } else { target.base.stage_gone(addresses).await? };
    let old: Vec<&Entity> = slots.iter().filter_map(|s| s.before.as_ref()).map(|b| &b.entity).collect();
    let before = if old.is_empty() || ty.unique.is_empty() { None } else { Some(batch_of(&ty, &old)?) };
    let landed = follow_up(core, &target.base, &ty, rows.as_ref(), before.as_ref(), &gone)?;
    let effect = Effect {
        type_ref: ty.type_ref(),
        staged: target.base.stage(new, gone_rows),
        base: target.base,
        fork_from: target.fork_from,
        create: target.create,
        then: Vec::new(),
        landed: Some(landed),
    };
    Ok((effect, counts))
}

async fn write(core: &Core, base: &Table, ty: &EntityType, batch: RecordBatch) -> Result<NewRows> {
    let stored = arrow::to_storage(ty, &batch)?;
    let schema = stored.schema();
    base.stage_rows(&core.store, schema, futures::stream::once(async move { Ok(stored) }).boxed()).await
}

/// One index, the entries to take out, the keys of the new rows.
type Step = (SharedIndex, Vec<(KeyHash, u64)>, Vec<Option<KeyHash>>);

/// Keeps the warm indexes of the table in step once the change is published.
fn follow_up(
    core: &Core,
    base: &Table,
    ty: &EntityType,
    rows: Option<&RecordBatch>,
    before: Option<&RecordBatch>,
    gone: &[(KeyHash, u64)],
) -> Result<Landed> {
    let mut steps: Vec<Step> = Vec::new();
    let keys = |columns: &[String]| rows.map_or_else(|| Ok(Vec::new()), |batch| hash_rows(batch, columns));
    let ids = [arrow::ID.to_string()];
    steps.push((probe::id_index(core, base), gone.to_vec(), keys(&ids)?));
    for columns in &ty.unique {
        let taken = match before {
            Some(batch) => hash_rows(batch, columns)?,
            None => Vec::new(),
        };
        let gone = taken.into_iter().zip(gone).filter_map(|(key, (_, at))| key.map(|k| (k, *at))).collect();
        steps.push((core.key_index(base, columns), gone, keys(columns)?));
    }
    let staged_on = base.at().clone();
    Ok(Box::new(move |after| {
        for (index, gone, added) in steps {
            probe::advance(&index, &staged_on, after, &gone, &added);
        }
    }))
}

/// Entities as one batch of the type's logical schema.
pub(crate) fn batch_of(ty: &EntityType, entities: &[&Entity]) -> Result<RecordBatch> {
    let text = |get: fn(&Entity) -> Option<&str>| -> ArrayRef {
        Arc::new(entities.iter().map(|e| get(e)).collect::<StringArray>())
    };
    let mut columns = vec![text(|e| Some(&e.id))];
    if ty.kind == EntityKind::Edge {
        columns.push(text(|e| e.endpoints.as_ref().map(|p| p.0.as_str())));
        columns.push(text(|e| e.endpoints.as_ref().map(|p| p.1.as_str())));
    }
    for property in &ty.properties {
        let values: Vec<Value> =
            entities.iter().map(|e| e.properties.get(&property.name).cloned().unwrap_or(Value::Null)).collect();
        columns.push(array_from_values(&property.ty, &values)?);
    }
    RecordBatch::try_new(arrow::logical_schema(ty), columns)
        .map_err(|e| Error::internal(format!("entities of {} do not fit its schema", ty.name)).caused_by(e))
}
