//! Differences: which are wanted, what they are, and how many fit one message.

use std::collections::BTreeSet;

use omnigraph_engine::error::Result;
use omnigraph_engine::model::{ChangeKind, DiffFilter, EntityChange, TypeRef};
use omnigraph_proto::v1;
use prost::Message;

use super::{entity, invalid, required};
use crate::limits::{CHANGE_BATCH_BYTES, CHANGE_BATCH_ENTITIES};

/// Which changes are wanted; everything for nothing said.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming a part that is missing or unknown.
pub fn filter_to_engine(path: &str, filter: Option<v1::ChangeFilter>) -> Result<DiffFilter> {
    let filter = filter.unwrap_or_default();
    let ty =
        |(i, ty): (usize, v1::TypeRef)| entity::type_to_engine(&format!("{path}.types[{i}]."), ty.kind, &ty.type_name);
    let types: Vec<TypeRef> = filter.types.into_iter().enumerate().map(ty).collect::<Result<_>>()?;
    let kind = |(i, kind)| kind_to_engine(&format!("{path}.kinds[{i}]"), kind);
    let kinds: BTreeSet<ChangeKind> = filter.kinds.into_iter().enumerate().map(kind).collect::<Result<_>>()?;
    for (i, id) in filter.ids.iter().enumerate() {
        required(&format!("{path}.ids[{i}]"), id)?;
    }
    Ok(DiffFilter { types, kinds, ids: filter.ids.into_iter().collect() })
}

fn kind_to_engine(field: &str, kind: i32) -> Result<ChangeKind> {
    match v1::ChangeKind::try_from(kind) {
        Ok(v1::ChangeKind::Insert) => Ok(ChangeKind::Insert),
        Ok(v1::ChangeKind::Update) => Ok(ChangeKind::Update),
        Ok(v1::ChangeKind::Delete) => Ok(ChangeKind::Delete),
        Ok(v1::ChangeKind::Unspecified) => Err(invalid(field, "must say insert, update or delete")),
        Err(_) => Err(invalid(field, format!("{kind} is no kind of change this server knows"))),
    }
}

/// Which changes are wanted, as a message.
pub fn filter_to_proto(filter: DiffFilter) -> v1::ChangeFilter {
    let kind = |kind| match kind {
        ChangeKind::Insert => v1::ChangeKind::Insert.into(),
        ChangeKind::Update => v1::ChangeKind::Update.into(),
        ChangeKind::Delete => v1::ChangeKind::Delete.into(),
    };
    v1::ChangeFilter {
        types: filter.types.iter().map(entity::type_to_proto).collect(),
        kinds: filter.kinds.into_iter().map(kind).collect(),
        ids: filter.ids.into_iter().collect(),
    }
}

/// How one entity differs, as a message.
pub fn to_proto(change: EntityChange) -> v1::Change {
    v1::Change {
        before: change.before.map(entity::to_proto),
        after: change.after.map(entity::to_proto),
        changed_properties: change.changed,
    }
}

/// Gathers changes until a message has no room for more.
#[derive(Debug, Default)]
pub struct Gathered {
    changes: Vec<v1::Change>,
    bytes: usize,
}

impl Gathered {
    /// Takes in a change. Answers what was gathered before it if there was no room for both; the first change
    /// always has room.
    pub fn push(&mut self, change: EntityChange) -> Option<v1::ChangeBatch> {
        let change = to_proto(change);
        let bytes = change.encoded_len();
        let full = self.bytes + bytes > CHANGE_BATCH_BYTES || self.changes.len() >= CHANGE_BATCH_ENTITIES;
        let before = if full { self.take() } else { None };
        self.changes.push(change);
        self.bytes += bytes;
        before
    }

    /// What is gathered; `None` if nothing is.
    pub fn take(&mut self) -> Option<v1::ChangeBatch> {
        let gathered = std::mem::take(self);
        (!gathered.changes.is_empty()).then_some(v1::ChangeBatch { changes: gathered.changes })
    }
}

/// Changes cut into pieces that fit a message.
pub fn cut(changes: Vec<EntityChange>) -> Vec<v1::ChangeBatch> {
    let mut gathered = Gathered::default();
    let mut batches: Vec<v1::ChangeBatch> = changes.into_iter().filter_map(|change| gathered.push(change)).collect();
    batches.extend(gathered.take());
    batches
}

#[cfg(test)]
mod tests;
