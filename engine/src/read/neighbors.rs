//! Breadth-first neighbourhoods.
//!
//! A node is its type and its id: the same id in two node types is two nodes, and an edge type's declared
//! ends say which types its ids mean. Every hop asks the tables of the snapshot, so what is found depends
//! on nothing but the snapshot and the query.

mod incident;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use self::incident::{Incident, incident};
use super::get;
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{Entity, EntityKind, EntityType, TypeRef};
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
    /// At most this many nodes and edges together; 1 to [`crate::limits::MAX_NEIGHBORS`].
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
/// Nodes and edges come by hop, then type, then id; each once, with the smallest hop. If the limit cuts,
/// what comes is a beginning of the edges in that order, each with the node it leads to. Without an index
/// on their ends, every hop reads the ends of the edge types followed once, or once per
/// [`limits::FILTER_IDS`] nodes where that is less.
///
/// # Errors
/// [`Reason::EntityNotFound`] for a start node that does not exist, [`Reason::TypeNotFound`],
/// [`Reason::InvalidArgument`] for a query that means nothing, [`Reason::LimitExceeded`] for too many hops,
/// start nodes or results; the store's.
pub async fn neighbors(core: &Arc<Core>, snapshot: &Snapshot, query: &NeighborsQuery) -> Result<Neighborhood> {
    check(query)?;
    let follow = edge_types(snapshot, &query.edges)?;
    let start = start_nodes(core, snapshot, &query.start).await?;
    let mut walk = Walk::new(start, query.limit);
    for hop in 1..=query.hops {
        if walk.truncated || walk.frontier.is_empty() {
            break;
        }
        walk.hop(core, snapshot, &follow, query.direction, hop).await?;
    }
    walk.finish(core, snapshot).await
}

fn check(query: &NeighborsQuery) -> Result<()> {
    let invalid = |what: &str| Err(Error::new(Reason::InvalidArgument, what));
    let too_many = |what: &str, found: usize, limit: usize| {
        Err(Error::new(Reason::LimitExceeded, format!("{found} {what} are too many; at most {limit} are allowed"))
            .with("limit", limit)
            .with("found", found))
    };
    if query.start.is_empty() {
        return invalid("a neighbourhood needs at least one start node");
    }
    if query.hops == 0 {
        return invalid("a neighbourhood reaches at least one hop");
    }
    if query.limit == 0 {
        return invalid("the limit of a neighbourhood is at least 1");
    }
    if query.hops > limits::MAX_HOPS {
        return too_many("hops", query.hops as usize, limits::MAX_HOPS as usize);
    }
    if query.limit > limits::MAX_NEIGHBORS {
        return too_many("results", query.limit, limits::MAX_NEIGHBORS);
    }
    if query.start.len() > limits::MAX_NEIGHBORS {
        return too_many("start nodes", query.start.len(), limits::MAX_NEIGHBORS);
    }
    if query.edges.len() > limits::MAX_TYPES {
        return too_many("edge types", query.edges.len(), limits::MAX_TYPES);
    }
    Ok(())
}

/// The edge types to follow, each once, by name.
fn edge_types<'a>(snapshot: &'a Snapshot, named: &[TypeRef]) -> Result<Vec<&'a EntityType>> {
    let mut types: Vec<&EntityType> = if named.is_empty() {
        snapshot.schema.types.iter().filter(|t| t.kind == EntityKind::Edge).collect()
    } else {
        named.iter().map(|t| of_kind(snapshot, t, EntityKind::Edge)).collect::<Result<_>>()?
    };
    types.sort_by_key(|t| t.type_ref());
    types.dedup_by_key(|t| t.type_ref());
    Ok(types)
}

fn of_kind<'a>(snapshot: &'a Snapshot, type_ref: &TypeRef, kind: EntityKind) -> Result<&'a EntityType> {
    if type_ref.kind != kind {
        return Err(Error::new(Reason::InvalidArgument, format!("{type_ref} is no {kind} type")).with("type", type_ref));
    }
    snapshot.ty(type_ref)
}

/// The start nodes by type, each once; all of them exist.
async fn start_nodes(
    core: &Core,
    snapshot: &Snapshot,
    named: &[(TypeRef, String)],
) -> Result<BTreeMap<TypeRef, Vec<String>>> {
    let mut by_type: BTreeMap<TypeRef, Vec<String>> = BTreeMap::new();
    for (type_ref, id) in named {
        let ty = of_kind(snapshot, type_ref, EntityKind::Node)?;
        by_type.entry(ty.type_ref()).or_default().push(id.clone());
    }
    for (type_ref, ids) in &mut by_type {
        ids.sort_unstable();
        ids.dedup();
        let found = match &snapshot.pin(type_ref)?.at {
            Some(at) => get::locate(core, &core.table(at).await?, ids).await?,
            None => HashMap::new(),
        };
        if let Some(missing) = ids.iter().find(|id| !found.contains_key(*id)) {
            return Err(Error::new(Reason::EntityNotFound, format!("there is no {type_ref} with id {missing:?}"))
                .with("type", type_ref)
                .with("id", missing));
        }
    }
    Ok(by_type)
}

/// A breadth-first walk under way.
struct Walk {
    /// Nodes met, start nodes included, by type.
    met: HashMap<TypeRef, HashSet<String>>,
    /// The nodes met in the hop before this one.
    frontier: BTreeMap<TypeRef, Vec<String>>,
    nodes: Vec<(u32, TypeRef, String)>,
    /// Edges followed by type and id: the hop and where the row is.
    edges: BTreeMap<TypeRef, BTreeMap<String, (u32, u64)>>,
    budget: usize,
    truncated: bool,
}

impl Walk {
    fn new(start: BTreeMap<TypeRef, Vec<String>>, limit: usize) -> Self {
        let met = start.iter().map(|(t, ids)| (t.clone(), ids.iter().cloned().collect())).collect();
        Self { met, frontier: start, nodes: Vec::new(), edges: BTreeMap::new(), budget: limit, truncated: false }
    }

    async fn hop(
        &mut self,
        core: &Core,
        snapshot: &Snapshot,
        follow: &[&EntityType],
        direction: Direction,
        hop: u32,
    ) -> Result<()> {
        let mut reached: BTreeMap<TypeRef, Vec<String>> = BTreeMap::new();
        for edge in follow {
            let type_ref = edge.type_ref();
            let Some(at) = &snapshot.pin(&type_ref)?.at else {
                continue;
            };
            let table = core.table(at).await?;
            let known = self.edges.entry(type_ref.clone()).or_default();
            // One more than fits, to learn whether the limit cuts.
            let found = incident(&table, edge, direction, &self.frontier, known, self.budget + 1).await?;
            for (id, found) in found {
                if !self.take(edge, &type_ref, id, found, hop, &mut reached)? {
                    self.truncated = true;
                    return Ok(());
                }
            }
        }
        self.frontier = reached;
        Ok(())
    }

    /// Takes an edge with the nodes it leads to; false if they do not fit.
    fn take(
        &mut self,
        edge: &EntityType,
        type_ref: &TypeRef,
        id: String,
        found: Incident,
        hop: u32,
        reached: &mut BTreeMap<TypeRef, Vec<String>>,
    ) -> Result<bool> {
        let ends = edge.endpoints.as_ref().ok_or_else(|| Error::internal(format!("{type_ref} has no ends")))?;
        let (src, dst) = ((TypeRef::node(&ends.from), found.src), (TypeRef::node(&ends.to), found.dst));
        let mut new: Vec<(TypeRef, String)> = if src == dst { vec![src] } else { vec![src, dst] };
        new.retain(|(node, id)| !self.met.get(node).is_some_and(|met| met.contains(id)));
        if new.len() >= self.budget {
            return Ok(false);
        }
        self.budget -= 1 + new.len();
        self.edges.entry(type_ref.clone()).or_default().insert(id, (hop, found.address));
        for (node, id) in new {
            self.met.entry(node.clone()).or_default().insert(id.clone());
            reached.entry(node.clone()).or_default().push(id.clone());
            self.nodes.push((hop, node, id));
        }
        Ok(true)
    }

    async fn finish(self, core: &Core, snapshot: &Snapshot) -> Result<Neighborhood> {
        let mut nodes: Vec<(Entity, u32)> = Vec::with_capacity(self.nodes.len());
        let mut by_type: BTreeMap<TypeRef, HashMap<String, u32>> = BTreeMap::new();
        for (hop, node, id) in self.nodes {
            by_type.entry(node).or_default().insert(id, hop);
        }
        for (node, hops) in by_type {
            let ids: Vec<String> = hops.keys().cloned().collect();
            let found = match &snapshot.pin(&node)?.at {
                Some(at) => {
                    let table = core.table(at).await?;
                    let addresses = get::locate(core, &table, &ids).await?.into_values().collect();
                    get::fetch(snapshot.ty(&node)?, &table, addresses).await?
                }
                None => Vec::new(),
            };
            if found.len() != ids.len() {
                let what = format!("edges lead to {} nodes of {node} that do not exist", ids.len() - found.len());
                return Err(Error::new(Reason::DataCorrupt, format!("{what}; run `omnigraph verify`")));
            }
            nodes.extend(found.into_iter().map(|node| {
                let hop = hops.get(&node.id).copied().unwrap_or_default();
                (node, hop)
            }));
        }
        let mut edges: Vec<(Entity, u32)> = Vec::new();
        for (type_ref, followed) in self.edges {
            let Some(at) = &snapshot.pin(&type_ref)?.at else {
                continue;
            };
            let addresses = followed.values().map(|(_, address)| *address).collect();
            let found = get::fetch(snapshot.ty(&type_ref)?, &core.table(at).await?, addresses).await?;
            edges.extend(found.into_iter().map(|edge| {
                let hop = followed.get(&edge.id).map(|(hop, _)| *hop).unwrap_or_default();
                (edge, hop)
            }));
        }
        let key = |(entity, hop): &(Entity, u32)| (*hop, entity.type_ref.clone(), entity.id.clone());
        nodes.sort_by_cached_key(key);
        edges.sort_by_cached_key(key);
        Ok(Neighborhood { nodes, edges, truncated: self.truncated })
    }
}
