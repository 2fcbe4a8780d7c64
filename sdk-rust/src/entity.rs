//! Nodes, edges and the names of their types.

use std::collections::BTreeMap;
use std::fmt;

use omnigraph_proto::v1 as wire;

use crate::value::Value;

/// Whether something is a node or an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityKind {
    /// A node.
    Node,
    /// An edge.
    Edge,
}

impl EntityKind {
    pub(crate) fn to_wire(self) -> i32 {
        match self {
            Self::Node => wire::EntityKind::Node.into(),
            Self::Edge => wire::EntityKind::Edge.into(),
        }
    }

    pub(crate) fn from_wire(kind: i32) -> Self {
        match wire::EntityKind::try_from(kind) {
            Ok(wire::EntityKind::Edge) => Self::Edge,
            _ => Self::Node,
        }
    }
}

/// Names one declared type. A text is the name of a node type, unless it begins with `edge:` or `node:`.
///
/// ```
/// use omnigraph_client::TypeRef;
///
/// assert_eq!(TypeRef::from("Person"), TypeRef::node("Person"));
/// assert_eq!(TypeRef::from("edge:Knows"), TypeRef::edge("Knows"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeRef {
    /// Node or edge.
    pub kind: EntityKind,
    /// Declared name.
    pub name: String,
}

impl TypeRef {
    /// A node type.
    pub fn node(name: impl Into<String>) -> Self {
        Self { kind: EntityKind::Node, name: name.into() }
    }

    /// An edge type.
    pub fn edge(name: impl Into<String>) -> Self {
        Self { kind: EntityKind::Edge, name: name.into() }
    }
}

impl From<&str> for TypeRef {
    fn from(text: &str) -> Self {
        match text.split_once(':') {
            Some(("edge", name)) => Self::edge(name),
            Some(("node", name)) => Self::node(name),
            _ => Self::node(text),
        }
    }
}

impl From<String> for TypeRef {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&TypeRef> for TypeRef {
    fn from(type_ref: &TypeRef) -> Self {
        type_ref.clone()
    }
}

impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EntityKind::Node => "node",
            EntityKind::Edge => "edge",
        };
        write!(f, "{kind}:{}", self.name)
    }
}

/// A node or an edge as a read returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its type.
    pub type_ref: TypeRef,
    /// Its id, unique within the type.
    pub id: String,
    /// Ids of the nodes an edge leaves and enters; `None` for a node.
    pub endpoints: Option<(String, String)>,
    /// Its properties. Every one that was asked for has an entry, null included.
    pub properties: BTreeMap<String, Value>,
}

impl Entity {
    /// A property's value. `None` if it was not asked for or is not declared.
    pub fn get(&self, property: &str) -> Option<&Value> {
        self.properties.get(property)
    }
}

impl From<wire::Entity> for Entity {
    fn from(entity: wire::Entity) -> Self {
        let kind = EntityKind::from_wire(entity.kind);
        Self {
            type_ref: TypeRef { kind, name: entity.type_name },
            id: entity.id,
            endpoints: (kind == EntityKind::Edge).then_some((entity.from_id, entity.to_id)),
            properties: entity.properties.into_iter().map(|(name, value)| (name, value.into())).collect(),
        }
    }
}
