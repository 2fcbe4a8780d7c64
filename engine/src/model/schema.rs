//! The declared shape of a graph. Data and look-ups; parsing and checking live in `schema`.

use super::entity::{EntityKind, TypeRef};
use super::index::IndexDecl;
use super::value::Value;

/// Every type of a graph, in declaration order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// Shared property sets.
    pub interfaces: Vec<InterfaceType>,
    /// Node and edge types.
    pub types: Vec<EntityType>,
}

/// A named set of properties that node types can implement.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceType {
    /// Its name.
    pub name: String,
    /// Its properties; an implementing type has them too.
    pub properties: Vec<Property>,
    /// Indexes that should exist.
    pub indexes: Vec<IndexDecl>,
    /// For people.
    pub description: String,
    /// What this release does not interpret, kept as given.
    pub annotations: Vec<Annotation>,
}

/// A node or edge type.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityType {
    /// Stable through renames; a dropped and re-added name gets another. Empty until the graph assigns it.
    pub id: String,
    /// Node or edge.
    pub kind: EntityKind,
    /// Its name.
    pub name: String,
    /// Interfaces it implements; their properties are in `properties` already.
    pub implements: Vec<String>,
    /// Its properties, own and inherited, in stable order.
    pub properties: Vec<Property>,
    /// The properties that make up an entity's id; empty for unkeyed types.
    pub key: Vec<String>,
    /// Tuples of columns that must be unique; nulls are exempt. May name `src` and `dst` on edges.
    pub unique: Vec<Vec<String>>,
    /// Indexes that should exist.
    pub indexes: Vec<IndexDecl>,
    /// Value ranges.
    pub ranges: Vec<RangeConstraint>,
    /// Text patterns.
    pub checks: Vec<CheckConstraint>,
    /// Out-edges per source; `None` means any number. Edges only.
    pub cardinality: Option<Cardinality>,
    /// Source and destination node types. Edges only.
    pub endpoints: Option<Endpoints>,
    /// For people.
    pub description: String,
    /// What this release does not interpret (`@embed` included), kept as given.
    pub annotations: Vec<Annotation>,
}

/// One property.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Stable through renames, unique within the type, never reused. 0 until the graph assigns it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: PropertyType,
    /// Whether null is a legal value.
    pub nullable: bool,
    /// For people.
    pub description: String,
    /// What this release does not interpret, kept as given.
    pub annotations: Vec<Annotation>,
}

/// A property's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyType {
    /// One scalar.
    Scalar(ScalarType),
    /// Text from a closed set.
    Enum(Vec<String>),
    /// A fixed number of 32-bit floats.
    Vector(u32),
    /// A list of scalars; members may be null.
    List(ScalarType),
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// UTF-8 text.
    String,
    /// True or false.
    Bool,
    /// 32-bit signed.
    I32,
    /// 64-bit signed.
    I64,
    /// 32-bit unsigned.
    U32,
    /// 64-bit unsigned.
    U64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// A calendar day.
    Date,
    /// An instant, microseconds, UTC.
    DateTime,
    /// Bytes of any length.
    Blob,
}

/// An annotation kept as given: `@name(arguments)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its name without the `@`.
    pub name: String,
    /// The text between the parentheses; empty if there were none.
    pub arguments: String,
}

/// Both bounds inclusive; an absent bound is open.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeConstraint {
    /// The property.
    pub property: String,
    /// Lowest allowed value.
    pub min: Option<Value>,
    /// Highest allowed value.
    pub max: Option<Value>,
}

/// A pattern that non-null text must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckConstraint {
    /// The property.
    pub property: String,
    /// A regular expression in the syntax of the `regex` crate; unanchored unless it says so.
    pub pattern: String,
}

/// Out-edges per source node that has any reason to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cardinality {
    /// Fewest; counted for every node of the source type touched by a write.
    pub min: u64,
    /// Most; `None` for no bound.
    pub max: Option<u64>,
}

/// An edge type's ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The source node type's name.
    pub from: String,
    /// The destination node type's name.
    pub to: String,
}

impl Schema {
    /// The declared type of this name and kind. Edge names compare case-insensitively.
    pub fn get(&self, type_ref: &TypeRef) -> Option<&EntityType> {
        self.types.iter().find(|t| {
            t.kind == type_ref.kind
                && match t.kind {
                    EntityKind::Node => t.name == type_ref.name,
                    EntityKind::Edge => t.name.eq_ignore_ascii_case(&type_ref.name),
                }
        })
    }

    /// Edge types that start or end at this node type.
    pub fn edges_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a EntityType> {
        self.types.iter().filter(move |t| t.endpoints.as_ref().is_some_and(|e| e.from == node || e.to == node))
    }
}

impl EntityType {
    /// This type's name with its kind.
    pub fn type_ref(&self) -> TypeRef {
        TypeRef { kind: self.kind, name: self.name.clone() }
    }

    /// The declared property of this name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|p| p.name == name)
    }

    /// Every column a row has, in order: `id`, then `src` and `dst` on edges, then the properties.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let system: &[&str] = match self.kind {
            EntityKind::Node => &["id"],
            EntityKind::Edge => &["id", "src", "dst"],
        };
        system.iter().copied().chain(self.properties.iter().map(|p| p.name.as_str()))
    }

    /// Whether an entity's id follows from its properties.
    pub fn is_keyed(&self) -> bool {
        !self.key.is_empty()
    }
}
