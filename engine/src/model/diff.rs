//! How entities differ between two states of a graph. Data only.

use std::collections::BTreeSet;

use super::entity::{Entity, TypeRef};

/// What happened to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It exists only after.
    Insert,
    /// It exists before and after, and differs.
    Update,
    /// It exists only before.
    Delete,
}

impl ChangeKind {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// How one entity differs between two states. At least one side is there; both are equal nowhere.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityChange {
    /// Its type.
    pub type_ref: TypeRef,
    /// Its id.
    pub id: String,
    /// The entity before; `None` if it was inserted.
    pub before: Option<Entity>,
    /// The entity after; `None` if it was deleted.
    pub after: Option<Entity>,
    /// For an update, the properties that differ, in the order declared; `src` and `dst` first if an edge's ends
    /// differ. Empty for inserts and deletes.
    pub changed: Vec<String>,
}

impl EntityChange {
    /// What happened.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Insert,
            (Some(_), None) => ChangeKind::Delete,
            (Some(_), Some(_)) => ChangeKind::Update,
        }
    }
}

/// What of a difference is wanted. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffFilter {
    /// Only these types; empty means all.
    pub types: Vec<TypeRef>,
    /// Only these kinds of change; empty means all.
    pub kinds: BTreeSet<ChangeKind>,
    /// Only these ids; empty means all.
    pub ids: BTreeSet<String>,
}

impl DiffFilter {
    /// Whether changes of a type are wanted.
    pub fn wants_type(&self, type_ref: &TypeRef) -> bool {
        self.types.is_empty() || self.types.contains(type_ref)
    }

    /// Whether changes of this kind are wanted.
    pub fn wants_kind(&self, kind: ChangeKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether changes of an entity are wanted.
    pub fn wants_id(&self, id: &str) -> bool {
        self.ids.is_empty() || self.ids.contains(id)
    }
}
