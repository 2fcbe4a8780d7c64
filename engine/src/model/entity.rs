//! Entities: nodes and edges as a caller sees them. Holds data only.

use std::collections::BTreeMap;
use std::fmt;

use super::value::Value;

/// Whether a type or an entity is a node or an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityKind {
    /// A node.
    Node,
    /// An edge, directed from its source to its destination.
    Edge,
}

impl EntityKind {
    /// `node` or `edge`, as used in table keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Edge => "edge",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names one type: `node:Person` or `edge:Knows`. The text form is a table's key in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeRef {
    /// Node or edge.
    pub kind: EntityKind,
    /// The type's name as declared.
    pub name: String,
}

impl TypeRef {
    /// A node type's name.
    pub fn node(name: impl Into<String>) -> Self {
        Self { kind: EntityKind::Node, name: name.into() }
    }

    /// An edge type's name.
    pub fn edge(name: impl Into<String>) -> Self {
        Self { kind: EntityKind::Edge, name: name.into() }
    }

    /// Reads the text form; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("node", name) if !name.is_empty() => Some(Self::node(name)),
            ("edge", name) if !name.is_empty() => Some(Self::edge(name)),
            _ => None,
        }
    }
}

impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}

/// One node or edge with its properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its type.
    pub type_ref: TypeRef,
    /// Its id, unique within the type.
    pub id: String,
    /// An edge's source and destination ids; `None` for a node.
    pub endpoints: Option<(String, String)>,
    /// Every declared property; an unset one is [`Value::Null`].
    pub properties: BTreeMap<String, Value>,
}
