//! What differs between two states of a graph, entity by entity. Cost follows what was written since their histories
//! parted, not what the tables hold.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;

use super::log;
use crate::error::{Error, Reason, Result};
use crate::intent::Held;
use crate::manifest::Snapshot;
use crate::manifest::snapshot::unknown_type;
use crate::model::{
    DiffFilter, Entity, EntityChange, EntityKind, EntityType, ReadSelector, SchemaStep, TypeRef, Value,
};
use crate::read::delta::{self, Places, TypeDelta};
use crate::read::{scan, snapshot};
use crate::schema::evolve;
use crate::txn::Core;

/// A difference.
pub struct Diff {
    /// The state before; `None` stands for an empty graph.
    pub before: Option<Snapshot>,
    /// The state after.
    pub after: Snapshot,
    /// How the schema changed. What went with a type or a property is not told entity by entity.
    pub schema: Vec<SchemaStep>,
    /// The changes, ordered by kind, type and id, as the schema after has the types. Both states are held until the
    /// stream is dropped.
    pub changes: BoxStream<'static, Result<EntityChange>>,
}

impl std::fmt::Debug for Diff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diff").field("before", &self.before).field("after", &self.after).finish_non_exhaustive()
    }
}

/// See [`crate::Graph::diff`].
///
/// # Errors
/// See there.
pub async fn between(
    core: &Arc<Core>,
    before: &ReadSelector,
    after: &ReadSelector,
    filter: &DiffFilter,
) -> Result<Diff> {
    let before = snapshot::resolve(core, before).await?;
    let after = snapshot::resolve(core, after).await?;
    let changes = of_snapshots(core, Some(&before), &after, filter).await?;
    let schema = evolve::changes(&before, &after)?;
    Ok(Diff { before: Some(before), after, schema, changes })
}

/// See [`crate::Graph::changes_of`].
///
/// # Errors
/// See there.
pub async fn of_commit(core: &Arc<Core>, commit: &str, filter: &DiffFilter) -> Result<Diff> {
    let found = log::commit(core, commit).await?;
    let after = snapshot::resolve(core, &ReadSelector::Commit(found.id)).await?;
    let before = match found.parents.into_iter().next() {
        Some(parent) => Some(snapshot::resolve(core, &ReadSelector::Commit(parent)).await?),
        None => None,
    };
    let changes = of_snapshots(core, before.as_ref(), &after, filter).await?;
    let schema = before.as_ref().map_or(Ok(Vec::new()), |before| evolve::changes(before, &after))?;
    Ok(Diff { before, after, schema, changes })
}

/// The changes from one fixed state, or from nothing, to another.
///
/// # Errors
/// [`Reason::TypeNotFound`] for a type in the filter that neither state declares; the store's.
pub(crate) async fn of_snapshots(
    core: &Arc<Core>,
    before: Option<&Snapshot>,
    after: &Snapshot,
    filter: &DiffFilter,
) -> Result<BoxStream<'static, Result<EntityChange>>> {
    let declared = |type_ref: &TypeRef| after.ty(type_ref).is_ok() || before.is_some_and(|b| b.ty(type_ref).is_ok());
    if let Some(unknown) = filter.types.iter().find(|type_ref| !declared(type_ref)) {
        return Err(unknown_type(&after.schema, unknown));
    }
    let seen = before.map(|before| before.seen_as(&after.schema, &HashMap::new()));
    let before = seen.as_ref();
    let Some(before) = before else {
        // A graph begins without an entity.
        return match after.pins().all(|pin| pin.rows == 0) {
            true => Ok(futures::stream::empty().boxed()),
            false => Err(Error::new(Reason::DataCorrupt, "a first commit shows entities")),
        };
    };
    let held = vec![scan::hold(core, before).await?, scan::hold(core, after).await?];
    let walk = Walk {
        core: core.clone(),
        types: types_of(after).into_iter().filter(|t| filter.wants_type(t)).collect(),
        before: before.clone(),
        after: after.clone(),
        filter: filter.clone(),
        current: None,
        ready: VecDeque::new(),
        _held: held,
    };
    let changes =
        futures::stream::try_unfold(
            walk,
            |mut walk| async move { Ok(walk.next().await?.map(|change| (change, walk))) },
        );
    Ok(changes.boxed())
}

/// Every type that a state declares: nodes before edges, each by name.
pub(crate) fn types_of(state: &Snapshot) -> Vec<TypeRef> {
    let mut types: Vec<TypeRef> = state.schema.types.iter().map(EntityType::type_ref).collect();
    types.sort();
    types
}

struct Walk {
    core: Arc<Core>,
    types: VecDeque<TypeRef>,
    before: Snapshot,
    after: Snapshot,
    filter: DiffFilter,
    current: Option<(TypeDelta, std::collections::btree_map::IntoIter<String, Places>)>,
    ready: VecDeque<EntityChange>,
    _held: Vec<Held>,
}

impl Walk {
    async fn next(&mut self) -> Result<Option<EntityChange>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(Some(change));
            }
            if self.current.is_none() {
                let Some(type_ref) = self.types.pop_front() else {
                    return Ok(None);
                };
                let found = delta::of_type(&self.core, &self.before, &self.after, &type_ref).await?;
                self.current = found.map(|mut found| {
                    let entries = std::mem::take(&mut found.entries);
                    (found, entries.into_iter())
                });
            }
            self.fill().await?;
        }
    }

    /// Compares the next few entities of the current type.
    async fn fill(&mut self) -> Result<()> {
        let Some((delta, entries)) = &mut self.current else {
            return Ok(());
        };
        let filter = &self.filter;
        let most = delta::chunk_of(&delta.right.ty);
        let chunk: Vec<(String, Places)> = entries.filter(|(id, _)| filter.wants_id(id)).take(most).collect();
        if chunk.is_empty() {
            self.current = None;
            return Ok(());
        }
        let mut left = delta.left.read(chunk.iter().filter_map(|(_, places)| places.left).collect()).await?;
        let mut right = delta.right.read(chunk.iter().filter_map(|(_, places)| places.right).collect()).await?;
        for (id, _) in chunk {
            let change = compare(&delta.right.ty, left.remove(&id), right.remove(&id));
            self.ready.extend(change.filter(|change| filter.wants_kind(change.kind())));
        }
        Ok(())
    }
}

/// The change from one image of an entity to another; `None` if there is none.
fn compare(ty: &EntityType, before: Option<Entity>, after: Option<Entity>) -> Option<EntityChange> {
    let id = after.as_ref().or(before.as_ref())?.id.clone();
    let changed = match (&before, &after) {
        (Some(before), Some(after)) => {
            let changed = differing(ty, before, after);
            if changed.is_empty() {
                return None;
            }
            changed
        }
        _ => Vec::new(),
    };
    Some(EntityChange { type_ref: ty.type_ref(), id, before, after, changed })
}

/// The properties in which two images of one entity differ, in declaration order, an edge's ends first.
pub(crate) fn differing(ty: &EntityType, a: &Entity, b: &Entity) -> Vec<String> {
    let mut changed = Vec::new();
    if ty.kind == EntityKind::Edge {
        let ends = |e: &Entity| e.endpoints.clone().unwrap_or_default();
        let (from, to) = (ends(a), ends(b));
        if from.0 != to.0 {
            changed.push("src".to_string());
        }
        if from.1 != to.1 {
            changed.push("dst".to_string());
        }
    }
    for property in &ty.properties {
        let is_same = match (a.properties.get(&property.name), b.properties.get(&property.name)) {
            (Some(a), Some(b)) => same_value(a, b),
            (a, b) => a.or(b).is_none_or(Value::is_null),
        };
        if !is_same {
            changed.push(property.name.clone());
        }
    }
    changed
}

/// Whether two values are the same to the last bit: null is not empty, and two values that print alike may differ.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
        (Value::Vector(a), Value::Vector(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (a, b) => a == b,
    }
}
