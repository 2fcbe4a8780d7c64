//! Breadth-first neighbourhoods.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::manifest::Snapshot;
use crate::model::{Entity, TypeRef};
use crate::txn::Core;

/// Which edges to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From source to destination.
    #[default]
    Out,
    /// From destination to source.
    In,
    /// Both.
    Both,
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborsQuery {
    /// Where to start: node type and id.
    pub start: Vec<(TypeRef, String)>,
    /// Edge types to follow; empty means all.
    pub edges: Vec<TypeRef>,
    /// Which way.
    pub direction: Direction,
    /// How far; 1 to [`crate::limits::MAX_HOPS`].
    pub hops: u32,
    /// At most this many nodes and edges together.
    pub limit: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighborhood {
    /// Nodes with their distance, nearest first; start nodes are not repeated.
    pub nodes: Vec<(Entity, u32)>,
    /// Edges with the hop they were followed in. Both ends are start nodes or in `nodes`.
    pub edges: Vec<(Entity, u32)>,
    /// Whether the limit cut something off.
    pub truncated: bool,
}

/// Finds what is within some hops of some nodes.
///
/// # Errors
/// A start node or type that does not exist; the store's.
pub async fn neighbors(_core: &Arc<Core>, _snapshot: &Snapshot, _query: &NeighborsQuery) -> Result<Neighborhood> {
    Err(Error::new(Reason::NotImplemented, "neighbors"))
}
