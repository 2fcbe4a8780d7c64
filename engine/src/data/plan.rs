//! What decoding needs to know about one type, worked out once.
//!
//! Look-ups only; it reads no data.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::format::arrow::logical_schema;
use crate::model::key::{KeySource, key_sources};
use crate::model::{EntityKind, EntityType, PropertyType, ScalarType, Schema, TypeRef};

/// Where a named column of an input goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// The entity's id.
    Id,
    /// An edge's source id.
    Src,
    /// An edge's destination id.
    Dst,
    /// The property at this position.
    Property(usize),
}

/// One type, ready for decoding.
#[derive(Debug)]
pub(super) struct TypePlan {
    pub ty: EntityType,
    pub schema: SchemaRef,
    pub key: Vec<KeySource>,
    /// Bytes one row takes whatever its values are.
    pub row_bytes: usize,
    slots: FxHashMap<String, Slot>,
}

impl TypePlan {
    /// Prepares a type.
    ///
    /// # Errors
    /// [`crate::error::Reason::InvalidSchema`] if its key cannot be one.
    pub(super) fn new(ty: &EntityType) -> Result<Arc<Self>> {
        let properties = ty.properties.iter().enumerate();
        let mut slots: FxHashMap<_, _> = properties.map(|(at, p)| (p.name.clone(), Slot::Property(at))).collect();
        slots.insert("id".to_string(), Slot::Id);
        if ty.kind == EntityKind::Edge {
            for (name, slot) in [("src", Slot::Src), ("from", Slot::Src), ("dst", Slot::Dst), ("to", Slot::Dst)] {
                slots.insert(name.to_string(), slot);
            }
        }
        // An id, a record number, and per property a value and two bits.
        let row_bytes = 64 + ty.properties.iter().map(|p| width(&p.ty)).sum::<usize>();
        Ok(Arc::new(Self { ty: ty.clone(), schema: logical_schema(ty), key: key_sources(ty)?, row_bytes, slots }))
    }

    /// Where the column of this name goes; `None` if the type has no such column.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// Why there is no column of this name, and which one may have been meant.
    pub(super) fn unknown(&self, name: &str) -> String {
        let hint = near_miss(name, self.ty.properties.iter().map(|p| p.name.as_str()));
        let ends = match (self.ty.kind, name) {
            (EntityKind::Edge, "src" | "dst" | "from" | "to") => {
                "; an edge's ends are given as from and to beside data"
            }
            (EntityKind::Node, "src" | "dst" | "from" | "to") => "; only edges have ends",
            _ => "",
        };
        format!("{} has no property {}{hint}{ends}", self.ty.name, super::scalar::quote(name))
    }

    /// The column a slot stands for.
    pub(super) fn column_name(&self, slot: Slot) -> &str {
        match slot {
            Slot::Id => "id",
            Slot::Src => "src",
            Slot::Dst => "dst",
            Slot::Property(at) => &self.ty.properties[at].name,
        }
    }
}

fn width(ty: &PropertyType) -> usize {
    match ty {
        PropertyType::Scalar(ScalarType::Bool) => 1,
        PropertyType::Scalar(ScalarType::I32 | ScalarType::U32 | ScalarType::F32 | ScalarType::Date) => 5,
        PropertyType::Vector(length) => 4 * *length as usize + 1,
        _ => 9,
    }
}

/// Finds types by the names records use.
#[derive(Debug)]
pub(super) struct TypeNames {
    schema: Arc<Schema>,
    nodes: FxHashMap<String, usize>,
    edges: FxHashMap<String, usize>,
}

impl TypeNames {
    /// Look-ups over a schema.
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        let (mut nodes, mut edges) = (FxHashMap::default(), FxHashMap::default());
        for (at, ty) in schema.types.iter().enumerate() {
            match ty.kind {
                EntityKind::Node => nodes.insert(ty.name.clone(), at),
                EntityKind::Edge => edges.insert(ty.name.to_ascii_lowercase(), at),
            };
        }
        Self { schema, nodes, edges }
    }

    /// The position of a type in the schema.
    pub(super) fn position(&self, kind: EntityKind, name: &str) -> Option<usize> {
        match kind {
            EntityKind::Node => self.nodes.get(name).copied(),
            EntityKind::Edge => match self.edges.get(name) {
                Some(at) => Some(*at),
                None => self.edges.get(&name.to_ascii_lowercase()).copied(),
            },
        }
    }

    /// The type at a position.
    pub(super) fn get(&self, at: usize) -> &EntityType {
        &self.schema.types[at]
    }

    /// How many types there are.
    pub(super) fn len(&self) -> usize {
        self.schema.types.len()
    }

    /// Why there is no such type, and which one may have been meant.
    pub(super) fn unknown(&self, type_ref: &TypeRef) -> String {
        let same = self.schema.types.iter().filter(|t| t.kind == type_ref.kind);
        let hint = near_miss(&type_ref.name, same.map(|t| t.name.as_str()));
        let other = match type_ref.kind {
            EntityKind::Node => {
                self.position(EntityKind::Edge, &type_ref.name).map(|_| "; there is an edge type of this name")
            }
            EntityKind::Edge => {
                self.position(EntityKind::Node, &type_ref.name).map(|_| "; there is a node type of this name")
            }
        };
        let name = super::scalar::quote(&type_ref.name);
        format!("the schema has no {} type {name}{hint}{}", type_ref.kind, other.unwrap_or_default())
    }
}

/// `; did you mean x?` if a candidate is close enough, else nothing.
pub(super) fn near_miss<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    // Comparing costs the product of the lengths, and nobody mistypes a name this long.
    if name.len() > 200 {
        return String::new();
    }
    let folded = name.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
    let best = candidates.map(|candidate| (distance(candidate), candidate)).min();
    match best {
        Some((distance, candidate)) if distance <= 1 + candidate.chars().count() / 4 => {
            format!("; did you mean {candidate}?")
        }
        _ => String::new(),
    }
}
