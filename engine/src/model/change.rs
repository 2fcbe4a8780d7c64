//! What a write asks for. Data only; `write` plans and stages it.

use std::collections::BTreeMap;

use super::commit::Actor;
use super::entity::TypeRef;
use super::predicate::Predicate;
use super::value::Value;

/// The conditions and the context of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The branch; empty means main.
    pub branch: String,
    /// The commit that must be the head when the write takes effect; empty for no condition.
    pub expected_head: String,
    /// Makes the write idempotent: a repeat returns the first receipt. Empty for none.
    pub request_id: String,
    /// Free text kept with the commit.
    pub message: String,
    /// Who writes.
    pub actor: Actor,
}

impl WriteOptions {
    /// Options for a write on `branch`, everything else at its default.
    pub fn on(branch: impl Into<String>) -> Self {
        Self { branch: branch.into(), ..Self::default() }
    }

    /// The branch's name with the default filled in.
    pub fn branch_name(&self) -> &str {
        if self.branch.is_empty() { super::branch::MAIN } else { &self.branch }
    }
}

/// How a load treats what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMode {
    /// Strict insert: an id that exists refuses the whole load.
    Append,
    /// Upsert by id: absent properties stay, explicit null clears.
    Merge,
    /// The types named in the input are replaced; other types stay.
    Overwrite,
}

/// An entity to insert or upsert.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityWrite {
    /// Its type.
    pub type_ref: TypeRef,
    /// Its id. Keyed types derive it from the key and refuse a different one; unkeyed ones get a fresh
    /// id when it is absent.
    pub id: Option<String>,
    /// Source and destination ids of an edge.
    pub endpoints: Option<(String, String)>,
    /// The properties mentioned; an unmentioned one is null on insert and stays on upsert.
    pub properties: BTreeMap<String, Value>,
}

/// Which entities an update or delete is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// These ids. A missing id is skipped.
    Ids(Vec<String>),
    /// All that match.
    Where(Predicate),
}

/// What deleting a node does to its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgePolicy {
    /// They are deleted in the same commit.
    #[default]
    Cascade,
    /// Their existence refuses the delete.
    Restrict,
}

/// One step of a mutation. Steps see the effects of the steps before them.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds an entity whose id must be new.
    Insert(EntityWrite),
    /// Adds an entity or updates the one with its id.
    Upsert(EntityWrite),
    /// Sets properties of existing entities.
    Update {
        /// Their type.
        type_ref: TypeRef,
        /// Which ones.
        target: Target,
        /// New values; explicit null clears.
        set: BTreeMap<String, Value>,
    },
    /// Removes entities.
    Delete {
        /// Their type.
        type_ref: TypeRef,
        /// Which ones.
        target: Target,
        /// What happens to the edges of deleted nodes; has no meaning for edges.
        edges: EdgePolicy,
    },
}
