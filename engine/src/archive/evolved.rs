//! The schema of a point beside that of the state before it. A type that is declared differently gets a table of its
//! own with all its rows, so that no value has to be carried from one declaration to the other.

use std::collections::HashMap;

use super::line::SchemaDoc;
use crate::error::{Error, Reason, Result};
use crate::format::manifest_row::ManifestRow;
use crate::format::type_json;
use crate::manifest::Snapshot;
use crate::manifest::snapshot::{changed_row, table_row, tombstone_row};
use crate::model::{EntityType, Schema, TypeRef};
use crate::schema;
use crate::txn::Core;

/// What a type is beside the state before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Declared the same.
    Unchanged,
    /// Declared differently.
    Changed,
    /// Not declared before.
    New,
}

/// See the module header.
pub(super) struct Evolved {
    /// The schema.
    pub schema: Schema,
    interfaces_changed: bool,
    /// What each type was called that is declared differently.
    changed: HashMap<TypeRef, TypeRef>,
    /// The types that are not declared any more.
    dropped: Vec<TypeRef>,
    /// Those that were not declared before.
    new: Vec<TypeRef>,
}

impl Evolved {
    /// The schema of the state before.
    pub(super) fn unchanged(before: &Snapshot) -> Self {
        Self {
            schema: before.schema.as_ref().clone(),
            interfaces_changed: false,
            changed: HashMap::new(),
            dropped: Vec::new(),
            new: Vec::new(),
        }
    }

    /// The schema that a point says.
    ///
    /// # Errors
    /// [`Reason::InvalidSchema`], [`Reason::DataCorrupt`], [`Reason::StorageStampTooNew`]; [`Reason::NotImplemented`]
    /// for a name that two types have one right after the other.
    pub(super) fn new(before: &Snapshot, doc: &SchemaDoc) -> Result<Self> {
        let schema = doc.schema()?;
        schema::ensure_valid(&schema)?;
        let known: HashMap<&str, &EntityType> = before.schema.types.iter().map(|ty| (ty.id.as_str(), ty)).collect();
        let (mut changed, mut new) = (HashMap::new(), Vec::new());
        for ty in &schema.types {
            match known.get(ty.id.as_str()) {
                None if before.ty(&ty.type_ref()).is_ok() => return Err(reused(&ty.type_ref())),
                None => new.push(ty.type_ref()),
                Some(old) if *old == ty => {}
                Some(old) => drop(changed.insert(ty.type_ref(), old.type_ref())),
            }
        }
        let stays = |old: &&EntityType| schema.types.iter().any(|ty| ty.id == old.id);
        let dropped = before.schema.types.iter().filter(|old| !stays(old)).map(EntityType::type_ref).collect();
        let interfaces_changed = schema.interfaces != before.schema.interfaces;
        Ok(Self { schema, interfaces_changed, changed, dropped, new })
    }

    pub(super) fn kind(&self, type_ref: &TypeRef) -> Kind {
        match self.changed.contains_key(type_ref) {
            true => Kind::Changed,
            false if self.new.contains(type_ref) => Kind::New,
            false => Kind::Unchanged,
        }
    }

    /// A type by its name before.
    pub(super) fn before(&self, type_ref: &TypeRef) -> TypeRef {
        self.changed.get(type_ref).unwrap_or(type_ref).clone()
    }

    /// The types that are declared differently, by their names from now on.
    pub(super) fn replaced(&self) -> impl Iterator<Item = &TypeRef> {
        self.changed.keys()
    }

    /// The interfaces to store, if they are others.
    pub(super) fn interfaces(&self) -> Option<Vec<String>> {
        self.interfaces_changed.then(|| self.schema.interfaces.iter().map(type_json::encode_interface).collect())
    }

    /// What goes, what is declared differently, what comes, in this order: a name that goes can be used again at once.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn declarations(&self, core: &Core, before: &Snapshot) -> Result<Vec<ManifestRow>> {
        let mut rows = Vec::new();
        for dropped in &self.dropped {
            rows.push(tombstone_row(before.pin(dropped)?, &core.fresh_id()));
        }
        let of = |kind| self.schema.types.iter().filter(move |ty| self.kind(&ty.type_ref()) == kind);
        for ty in of(Kind::Changed) {
            rows.push(changed_row(ty, &core.fresh_id())?);
        }
        for ty in of(Kind::New) {
            rows.push(table_row(ty)?);
        }
        Ok(rows)
    }
}

/// A commit cannot give rows to a type whose name another one gives up with it.
fn reused(type_ref: &TypeRef) -> Error {
    Error::new(
        Reason::NotImplemented,
        format!(
            "{type_ref} is another type than the one of this name before it, and no state between them was retained; \
             such an archive cannot be imported"
        ),
    )
    .with("type", type_ref)
}
