//! The block of one commit: what it changed, in messages of bounded size.

use std::sync::Arc;

use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::error::Result;
use crate::history::diff;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{CommitInfo, DiffFilter, Entity, EntityChange, SchemaStep, TypeRef, Value};
use crate::schema::evolve;
use crate::txn::Core;

/// A commit that is being told.
pub(super) struct Block {
    /// Which.
    pub commit: Arc<CommitInfo>,
    /// The state it made, if that was looked at.
    pub state: Option<Arc<Snapshot>>,
    schema: Vec<SchemaStep>,
    changes: Option<BoxStream<'static, Result<EntityChange>>>,
}

impl Block {
    /// Of a commit that changed nothing that is wanted.
    pub fn empty(commit: Arc<CommitInfo>) -> Self {
        Self { commit, state: None, schema: Vec::new(), changes: None }
    }

    /// Of the difference that a commit makes. Both states are held until the last change was told.
    ///
    /// # Errors
    /// The store's.
    pub async fn comparing(
        core: &Arc<Core>,
        commit: Arc<CommitInfo>,
        before: &Snapshot,
        after: Arc<Snapshot>,
        filter: &DiffFilter,
    ) -> Result<Self> {
        let changes = match declared(filter, before, &after) {
            Some(filter) => Some(diff::of_snapshots(core, Some(before), &after, &filter).await?),
            None => None,
        };
        let schema = evolve::changes(before, &after)?;
        Ok(Self { commit, state: Some(after), schema, changes })
    }

    /// How the commit changed the schema, told once.
    pub fn schema(&mut self) -> Option<Vec<SchemaStep>> {
        let steps = std::mem::take(&mut self.schema);
        (!steps.is_empty()).then_some(steps)
    }

    /// The next changes; `None` once all were told.
    ///
    /// # Errors
    /// The store's.
    pub async fn batch(&mut self) -> Result<Option<Vec<EntityChange>>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(changes) = &mut self.changes
            && batch.len() < limits::FEED_BATCH_ENTITIES
            && bytes < limits::FEED_BATCH_BYTES
        {
            match changes.try_next().await? {
                Some(change) => {
                    bytes += weight(&change);
                    batch.push(change);
                }
                None => self.changes = None,
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

/// What of a filter can be asked of two states: types come and go with the history. `None` if they declare none of
/// those that are wanted.
fn declared(filter: &DiffFilter, before: &Snapshot, after: &Snapshot) -> Option<DiffFilter> {
    if filter.types.is_empty() {
        return Some(filter.clone());
    }
    let is_declared = |t: &&TypeRef| before.ty(t).is_ok() || after.ty(t).is_ok();
    let types: Vec<_> = filter.types.iter().filter(is_declared).cloned().collect();
    (!types.is_empty()).then(|| DiffFilter { types, ..filter.clone() })
}

/// About how many bytes a change takes.
fn weight(change: &EntityChange) -> usize {
    let of_entity = |entity: &Entity| {
        let ends = entity.endpoints.as_ref().map_or(0, |(src, dst)| src.len() + dst.len());
        let properties = entity.properties.iter().map(|(name, value)| name.len() + weight_of(value));
        entity.id.len() + ends + properties.sum::<usize>()
    };
    change.id.len() + change.before.as_ref().map_or(0, of_entity) + change.after.as_ref().map_or(0, of_entity)
}

fn weight_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(members) => members.iter().map(weight_of).sum(),
        Value::Vector(numbers) => 4 * numbers.len(),
        Value::Null | Value::Bool(_) => 1,
        Value::I64(_) | Value::U64(_) | Value::F64(_) | Value::Date(_) | Value::Timestamp(_) => 8,
    }
}

#[cfg(test)]
mod tests;
