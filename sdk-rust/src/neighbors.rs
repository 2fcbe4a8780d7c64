//! Neighbourhoods: what is within some steps of some nodes.

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, unary};
use crate::commits::CommitRef;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};

/// Which way edges are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the node an edge leaves.
    #[default]
    Out,
    /// From the node an edge enters.
    In,
    /// Both ways.
    Both,
}

/// What is near.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighborhood {
    /// The version read.
    pub read: CommitRef,
    /// Nodes that were reached, nearest first, without the start nodes.
    pub nodes: Vec<Neighbor>,
    /// Edges that were followed, nearest first, each once.
    pub edges: Vec<Neighbor>,
    /// Whether the limit cut something off.
    pub truncated: bool,
}

/// A node or an edge with its distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// The node or edge.
    pub entity: Entity,
    /// Fewest steps from a start node, at least 1.
    pub distance: u32,
}

/// A question for a neighbourhood, from [`Graph::neighbors`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct NeighborsRead {
    graph: Graph,
    selector: Selector,
    start: Vec<wire::NodeRef>,
    edge_types: Vec<String>,
    direction: Direction,
    hops: u32,
    limit: u32,
}

impl NeighborsRead {
    choose_version!();

    /// Starts from this node, too.
    pub fn and_from(mut self, type_name: impl Into<String>, id: impl Into<String>) -> Self {
        self.start.push(wire::NodeRef { type_name: type_name.into(), id: id.into() });
        self
    }

    /// Follows only edges of these types. Without it all are followed.
    pub fn edges<N: Into<String>>(mut self, type_names: impl IntoIterator<Item = N>) -> Self {
        self.edge_types = type_names.into_iter().map(Into::into).collect();
        self
    }

    /// Which way edges are followed; out without it.
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Steps to go, one without it.
    pub fn hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Nodes and edges to answer at most, together; the server's choice without it.
    pub fn limit(mut self, entities: u32) -> Self {
        self.limit = entities;
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// `ENTITY_NOT_FOUND` for a start node, or the version or a type does not exist.
    pub async fn send(self) -> Result<Neighborhood> {
        let direction = match self.direction {
            Direction::Out => wire::Direction::Out,
            Direction::In => wire::Direction::In,
            Direction::Both => wire::Direction::Both,
        };
        let ask = wire::NeighborsRequest {
            graph: self.graph.id,
            selector: Some(self.selector.into()),
            start: self.start,
            edge_types: self.edge_types,
            direction: direction.into(),
            hops: self.hops,
            limit: self.limit,
        };
        let answer = unary!(self.graph.core, Safety::Repeatable, graph.neighbors(ask))?;
        Ok(Neighborhood {
            read: CommitRef::read(answer.read)?,
            nodes: read_all(answer.nodes)?,
            edges: read_all(answer.edges)?,
            truncated: answer.truncated,
        })
    }
}

fn read_all(neighbors: Vec<wire::Neighbor>) -> Result<Vec<Neighbor>> {
    let read = |neighbor: wire::Neighbor| {
        let entity = neighbor.entity.ok_or_else(|| Error::malformed("a neighbour without an entity"))?;
        Ok(Neighbor { entity: entity.into(), distance: neighbor.distance })
    };
    neighbors.into_iter().map(read).collect()
}

impl Graph {
    /// Asks what is near a node.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let friends = graph.neighbors("Person", "ada").edges(["Knows"]).hops(2).send().await?;
    /// for friend in &friends.nodes {
    ///     println!("{} at {}", friend.entity.id, friend.distance);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn neighbors(&self, type_name: impl Into<String>, id: impl Into<String>) -> NeighborsRead {
        NeighborsRead {
            graph: self.clone(),
            selector: Selector::default(),
            start: vec![wire::NodeRef { type_name: type_name.into(), id: id.into() }],
            edge_types: Vec::new(),
            direction: Direction::default(),
            hops: 1,
            limit: 0,
        }
    }
}
