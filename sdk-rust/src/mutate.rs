//! Mutations: operations on entities, one after the other, as one commit.

use std::collections::BTreeMap;

use omnigraph_proto::feature;
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::operation::Kind;

use crate::client::{Graph, unary};
use crate::entity::{EntityKind, TypeRef};
use crate::error::Result;
use crate::predicate::Predicate;
use crate::receipt::{Receipt, WriteOptions, describe_write};
use crate::retry::Safety;
use crate::value::Value;

/// A node to insert or upsert.
///
/// ```
/// use omnigraph_client::node;
///
/// let ada = node("Person").set("slug", "ada").set("age", 36);
/// ```
pub fn node(type_name: impl Into<String>) -> EntityWrite {
    EntityWrite::new(TypeRef::node(type_name), None)
}

/// An edge to insert or upsert, with the ids of the nodes it leaves and enters.
///
/// ```
/// use omnigraph_client::{edge, Value};
///
/// let knows = edge("Knows", "ada", "grace").set("since", Value::date(1843, 1, 31));
/// ```
pub fn edge(type_name: impl Into<String>, from: impl Into<String>, to: impl Into<String>) -> EntityWrite {
    EntityWrite::new(TypeRef::edge(type_name), Some((from.into(), to.into())))
}

/// An entity to write; see [`node`] and [`edge`].
#[derive(Clone, Debug, PartialEq)]
pub struct EntityWrite {
    type_ref: TypeRef,
    id: String,
    endpoints: Option<(String, String)>,
    properties: BTreeMap<String, Value>,
}

impl EntityWrite {
    /// An entity of this type. An upsert of an edge without `endpoints` leaves its ends as they are.
    pub fn new(type_ref: impl Into<TypeRef>, endpoints: Option<(String, String)>) -> Self {
        Self { type_ref: type_ref.into(), id: String::new(), endpoints, properties: BTreeMap::new() }
    }

    /// Gives the id. Without it, it is derived from the key, or made up by the server where the type has none.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets a property; null clears it. One that is not mentioned is null on insert and stays on upsert.
    #[must_use]
    pub fn set(mut self, property: impl Into<String>, value: impl Into<Value>) -> Self {
        self.properties.insert(property.into(), value.into());
        self
    }

    /// Sets several properties.
    #[must_use]
    pub fn set_all<N: Into<String>, V: Into<Value>>(mut self, properties: impl IntoIterator<Item = (N, V)>) -> Self {
        let properties = properties.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.properties.extend(properties);
        self
    }
}

/// Which entities of a type an operation is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    type_ref: TypeRef,
    choice: wire::target::Kind,
}

impl Target {
    /// Those with these ids. One that does not exist is passed over.
    pub fn ids<I: Into<String>>(type_ref: impl Into<TypeRef>, ids: impl IntoIterator<Item = I>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        Self { type_ref: type_ref.into(), choice: wire::target::Kind::Ids(wire::EntityIds { ids }) }
    }

    /// All that satisfy a condition on what the earlier operations left.
    pub fn matching(type_ref: impl Into<TypeRef>, condition: Predicate) -> Self {
        Self { type_ref: type_ref.into(), choice: wire::target::Kind::Predicate(condition.into_wire()) }
    }

    fn into_wire(self) -> (i32, String, Option<wire::Target>) {
        (self.type_ref.kind.to_wire(), self.type_ref.name, Some(wire::Target { kind: Some(self.choice) }))
    }
}

/// What becomes of the edges of a deleted node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgePolicy {
    /// They are deleted in the same commit.
    #[default]
    Cascade,
    /// If there are any, the answer is `RESTRICTED_BY_EDGES` and nothing changes.
    Restrict,
}

/// What one operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationResult {
    /// Insert and upsert: the entity's id. Empty for the others.
    pub id: String,
    /// Entities of the operation's own type that it made, changed or removed.
    pub affected: u64,
}

/// What a mutation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutated {
    /// The receipt.
    pub receipt: Receipt,
    /// One entry for each operation, in order. Empty if the receipt is replayed.
    pub results: Vec<OperationResult>,
}

impl AsRef<Receipt> for Mutated {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// A mutation while it is being described, from [`Graph::mutate`]. Nothing happens before [`Mutation::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct Mutation {
    graph: Graph,
    options: WriteOptions,
    operations: Vec<wire::Operation>,
    chose_edges: bool,
}

impl Mutation {
    describe_write!();

    /// Makes an entity that must not exist yet.
    pub fn insert(self, entity: EntityWrite) -> Self {
        let EntityWrite { type_ref, id, endpoints, properties } = entity;
        let (type_name, properties) = (type_ref.name, on_wire(properties));
        let (from_id, to_id) = endpoints.unwrap_or_default();
        self.with(match type_ref.kind {
            EntityKind::Node => Kind::InsertNode(wire::InsertNode { type_name, id, properties }),
            EntityKind::Edge => Kind::InsertEdge(wire::InsertEdge { type_name, id, from_id, to_id, properties }),
        })
    }

    /// Makes an entity, or changes the one with its id: what is not mentioned stays.
    pub fn upsert(self, entity: EntityWrite) -> Self {
        let EntityWrite { type_ref, id, endpoints, properties } = entity;
        let (type_name, properties) = (type_ref.name, on_wire(properties));
        let (from_id, to_id) = endpoints.unwrap_or_default();
        self.with(match type_ref.kind {
            EntityKind::Node => Kind::UpsertNode(wire::UpsertNode { type_name, id, properties }),
            EntityKind::Edge => Kind::UpsertEdge(wire::UpsertEdge { type_name, id, from_id, to_id, properties }),
        })
    }

    /// Shorthand for [`Mutation::insert`] of a node.
    pub fn insert_node<N: Into<String>, V: Into<Value>>(
        self,
        type_name: impl Into<String>,
        properties: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.insert(node(type_name).set_all(properties))
    }

    /// Shorthand for [`Mutation::upsert`] of a node.
    pub fn upsert_node<N: Into<String>, V: Into<Value>>(
        self,
        type_name: impl Into<String>,
        properties: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.upsert(node(type_name).set_all(properties))
    }

    /// Gives new values to properties of entities that exist; null clears.
    pub fn update<N: Into<String>, V: Into<Value>>(
        self,
        target: Target,
        set: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let set = set.into_iter().map(|(name, value)| (name.into(), value.into().into())).collect();
        let (kind, type_name, target) = target.into_wire();
        self.with(Kind::Update(wire::Update { kind, type_name, target, set }))
    }

    /// Removes entities, and the edges of removed nodes with them.
    pub fn delete(self, target: Target) -> Self {
        self.delete_with(target, EdgePolicy::Cascade)
    }

    /// Removes entities, and says what becomes of the edges of removed nodes.
    pub fn delete_with(mut self, target: Target, edges: EdgePolicy) -> Self {
        let edges = match edges {
            EdgePolicy::Cascade => wire::EdgePolicy::Cascade,
            EdgePolicy::Restrict => {
                self.chose_edges = true;
                wire::EdgePolicy::Restrict
            }
        };
        let (kind, type_name, target) = target.into_wire();
        self.with(Kind::Delete(wire::Delete { kind, type_name, target, edges: edges.into() }))
    }

    /// Applies the operations as one commit. If none finds anything to do, there is no commit.
    ///
    /// # Errors
    /// A type or property that does not exist, and every violated constraint, with nothing changed.
    pub async fn send(self) -> Result<Mutated> {
        let safety = Safety::of_write(&self.options.request_id);
        let (graph, chose_edges) = (self.graph, self.chose_edges);
        let mut options = self.options.into_wire(&graph.id);
        if chose_edges {
            options.required_features.push(feature::EDGE_POLICY.to_string());
        }
        let ask = wire::MutateRequest { options: Some(options), operations: self.operations };
        let answer = unary!(graph.core, safety, graph.mutate(ask))?;
        let results = answer.results.into_iter();
        Ok(Mutated {
            receipt: Receipt::read(answer.receipt)?,
            results: results.map(|r| OperationResult { id: r.id, affected: r.affected }).collect(),
        })
    }

    fn with(mut self, kind: Kind) -> Self {
        self.operations.push(wire::Operation { kind: Some(kind) });
        self
    }
}

fn on_wire(properties: BTreeMap<String, Value>) -> BTreeMap<String, wire::Value> {
    properties.into_iter().map(|(name, value)| (name, value.into())).collect()
}

impl Graph {
    /// Begins a mutation.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::{Target, edge, node, prop};
    ///
    /// let done = graph
    ///     .mutate()
    ///     .insert(node("Person").set("slug", "ada").set("age", 36))
    ///     .insert(node("Person").set("slug", "grace"))
    ///     .insert(edge("Knows", "ada", "grace"))
    ///     .delete(Target::matching("Person", prop("age").lt(18)))
    ///     .message("first guests")
    ///     .send()
    ///     .await?;
    /// println!("{}", done.receipt.commit_id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn mutate(&self) -> Mutation {
        Mutation { graph: self.clone(), options: WriteOptions::new(), operations: Vec::new(), chose_edges: false }
    }
}
