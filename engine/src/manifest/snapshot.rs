//! The visible state of a branch at one manifest version. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::format::commit_row;
use crate::format::manifest_row::{ManifestRow, ObjectType};
use crate::format::snapshot_json::{SnapshotDoc, TableDoc};
use crate::format::type_json;
use crate::model::{EntityType, Schema, TypeRef};
use crate::store::lance::TableAt;

/// Which branch, in which incarnation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BranchIdentity {
    /// Its name.
    pub name: String,
    /// Its incarnation.
    pub branch_id: String,
    /// The Lance branch of the manifest; `None` for main.
    pub lance_branch: Option<String>,
}

impl BranchIdentity {
    /// The branch every graph has.
    pub fn main() -> Self {
        let name = crate::model::branch::MAIN.to_string();
        Self { branch_id: name.clone(), name, lance_branch: None }
    }
}

/// Where a type's rows are. A type without a dataset has no rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePin {
    /// The type.
    pub type_ref: TypeRef,
    /// The table state; `None` while the type has no dataset.
    pub at: Option<TableAt>,
    /// Rows at that state.
    pub rows: u64,
    /// The line of the manifest that made the state; `None` for main.
    pub line: Option<String>,
    /// Whether this branch made the state itself. An inherited one is forked by the first write.
    pub owned: bool,
    /// The declaration the rows were stored under, if the state is seen as another schema has the type.
    pub stored: Option<Arc<EntityType>>,
}

/// See the module header. Immutable; a read holds one from start to end.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Whose state.
    pub branch: BranchIdentity,
    /// The manifest version that shows it.
    pub version: u64,
    /// The declared types.
    pub schema: Arc<Schema>,
    pins: Arc<HashMap<TypeRef, TablePin>>,
    // What types are called today that had another name then.
    today: HashMap<TypeRef, TypeRef>,
    doc: SnapshotDoc,
}

impl Snapshot {
    /// Reads the published form.
    ///
    /// # Errors
    /// [`Reason::DataCorrupt`].
    pub fn from_doc(branch: BranchIdentity, version: u64, doc: SnapshotDoc) -> Result<Self> {
        let schema = Arc::new(decode_schema(&doc)?);
        Self::assemble(branch, version, doc, schema)
    }

    fn assemble(branch: BranchIdentity, version: u64, doc: SnapshotDoc, schema: Arc<Schema>) -> Result<Self> {
        let mut pins = HashMap::with_capacity(doc.tables.len());
        for table in &doc.tables {
            let type_ref = parse_key(&table.key)?;
            let at = table.location.as_ref().filter(|_| table.version > 0).map(|location| TableAt {
                location: location.clone(),
                branch: table.branch.clone(),
                version: table.version,
            });
            let owned = table.line == branch.lance_branch;
            let line = table.line.clone();
            pins.insert(type_ref.clone(), TablePin { type_ref, at, rows: table.rows, line, owned, stored: None });
        }
        Ok(Self { branch, version, schema, pins: Arc::new(pins), today: HashMap::new(), doc })
    }

    /// Rebuilds the state from rows in publish order.
    ///
    /// # Errors
    /// [`Reason::DataCorrupt`].
    pub fn from_rows(branch: BranchIdentity, version: u64, rows: &[ManifestRow]) -> Result<Self> {
        let empty = SnapshotDoc::new(String::new(), Vec::new(), Vec::new());
        let doc = apply(empty, rows)?;
        if doc.commit.is_empty() {
            return Err(Error::new(Reason::DataCorrupt, "the manifest holds no commit"));
        }
        Self::from_doc(branch, version, doc)
    }

    /// The state after publishing `rows` as the next version.
    ///
    /// # Errors
    /// [`Reason::DataCorrupt`].
    pub fn advance(&self, rows: &[ManifestRow]) -> Result<Self> {
        let doc = apply(self.doc.clone(), rows)?;
        let same_schema = doc.interfaces == self.doc.interfaces
            && doc.tables.len() == self.doc.tables.len()
            && doc.tables.iter().zip(&self.doc.tables).all(|(a, b)| a.decl == b.decl);
        if same_schema {
            Self::assemble(self.branch.clone(), self.version + 1, doc, self.schema.clone())
        } else {
            Self::from_doc(self.branch.clone(), self.version + 1, doc)
        }
    }

    /// The same state seen from a branch that was just forked here.
    #[must_use]
    pub fn forked(&self, branch: BranchIdentity) -> Self {
        let mut pins = self.pins.as_ref().clone();
        for pin in pins.values_mut() {
            pin.owned = false;
        }
        Self { branch, pins: Arc::new(pins), ..self.clone() }
    }

    /// The same state as another schema has it. Types and properties are known by their stable ids; what the other
    /// schema lacks is not seen, and what this state lacks is empty. Only [`crate::read::delta`] reads through it.
    /// `moved` says where the rows of a type are, by its name in the other schema, if they are elsewhere, stored as
    /// that schema has them.
    #[must_use]
    pub fn seen_as(&self, schema: &Arc<Schema>, moved: &HashMap<TypeRef, TableAt>) -> Self {
        if Arc::ptr_eq(&self.schema, schema) && moved.is_empty() {
            return self.clone();
        }
        let mut pins = HashMap::with_capacity(schema.types.len());
        for ty in &schema.types {
            let type_ref = ty.type_ref();
            let Some(own) = self.twin(ty) else { continue };
            let Some(pin) = self.pins.get(&own.type_ref()) else { continue };
            let mut pin = TablePin { type_ref: type_ref.clone(), ..pin.clone() };
            match moved.get(&type_ref) {
                Some(at) => {
                    pin.at = Some(at.clone());
                    pin.owned = true;
                }
                None if own.properties != ty.properties => pin.stored = Some(Arc::new(own.clone())),
                None => {}
            }
            pins.insert(type_ref, pin);
        }
        Self { schema: schema.clone(), pins: Arc::new(pins), ..self.clone() }
    }

    /// The same state, whose types can be asked for by the names that a later schema gives them, too.
    #[must_use]
    pub fn known_as(mut self, later: &Arc<Schema>) -> Self {
        if Arc::ptr_eq(&self.schema, later) {
            return self;
        }
        for ty in &later.types {
            let own = self.schema.types.iter().find(|own| own.id == ty.id && own.name != ty.name);
            if let Some(own) = own.filter(|_| self.schema.get(&ty.type_ref()).is_none()) {
                self.today.insert(ty.type_ref(), own.type_ref());
            }
        }
        self
    }

    /// What a type of another schema is here: the one of its id, or else the one of its name.
    pub fn twin(&self, ty: &EntityType) -> Option<&EntityType> {
        let by_id = self.schema.types.iter().find(|own| own.kind == ty.kind && own.id == ty.id);
        by_id.or_else(|| self.schema.types.iter().find(|own| own.kind == ty.kind && own.name == ty.name))
    }

    /// The newest commit.
    pub fn head(&self) -> &str {
        &self.doc.commit
    }

    /// Whether the branch was deleted with the newest commit.
    pub fn is_closed(&self) -> bool {
        self.doc.closed
    }

    /// Whether the branch takes no direct writes.
    pub fn is_protected(&self) -> bool {
        self.doc.protected.as_deref() == Some(self.branch.branch_id.as_str())
    }

    /// The published form.
    pub fn doc(&self) -> &SnapshotDoc {
        &self.doc
    }

    /// Where a type's rows are.
    ///
    /// # Errors
    /// [`Reason::TypeNotFound`].
    pub fn pin(&self, type_ref: &TypeRef) -> Result<&TablePin> {
        let ty = self.ty(type_ref)?;
        self.pins.get(&ty.type_ref()).ok_or_else(|| unknown_type(&self.schema, type_ref))
    }

    /// A type's declaration.
    ///
    /// # Errors
    /// [`Reason::TypeNotFound`] with the nearest name.
    pub fn ty(&self, type_ref: &TypeRef) -> Result<&EntityType> {
        let found = self.schema.get(type_ref);
        let found = found.or_else(|| self.schema.get(self.today.get(type_ref)?));
        found.ok_or_else(|| unknown_type(&self.schema, type_ref))
    }

    /// Every type's pin, in declaration order.
    pub fn pins(&self) -> impl Iterator<Item = &TablePin> {
        self.schema.types.iter().filter_map(|t| self.pins.get(&t.type_ref()))
    }
}

/// The error for a type that is not declared, with the nearest name that is.
pub fn unknown_type(schema: &Schema, type_ref: &TypeRef) -> Error {
    let near = schema
        .types
        .iter()
        .filter(|t| t.kind == type_ref.kind)
        .map(|t| (strsim::damerau_levenshtein(&t.name, &type_ref.name), t.name.as_str()))
        .filter(|(d, name)| *d <= 2.max(name.len() / 3))
        .min();
    let hint = near.map(|(_, n)| format!("; did you mean {n:?}?")).unwrap_or_default();
    Error::new(Reason::TypeNotFound, format!("the schema declares no {} type {:?}{hint}", type_ref.kind, type_ref.name))
        .with("type", type_ref)
}

fn parse_key(key: &str) -> Result<TypeRef> {
    TypeRef::parse(key)
        .ok_or_else(|| Error::new(Reason::DataCorrupt, format!("the manifest holds a table key {key:?}")))
}

fn decode_schema(doc: &SnapshotDoc) -> Result<Schema> {
    let types = doc.tables.iter().map(|t| type_json::decode_type(&t.decl)).collect::<Result<_>>()?;
    let interfaces = doc.interfaces.iter().map(|i| type_json::decode_interface(i)).collect::<Result<_>>()?;
    Ok(Schema { interfaces, types })
}

fn apply(mut doc: SnapshotDoc, rows: &[ManifestRow]) -> Result<SnapshotDoc> {
    let corrupt =
        |row: &ManifestRow| Error::new(Reason::DataCorrupt, format!("the manifest row {} is damaged", row.object_id));
    for row in rows {
        match row.object_type {
            ObjectType::Table => {
                let decl = row.metadata.clone().ok_or_else(|| corrupt(row))?;
                // Known by its id: its name may be another now.
                let known = match row.object_id.split(':').nth(CHANGED) {
                    Some(_) => position_of(&doc, &type_json::id_of(&decl)?),
                    None => None,
                };
                if known.is_none() && doc.tables.iter().any(|t| t.key == row.table_key) {
                    return Err(corrupt(row));
                }
                match known.and_then(|at| doc.tables.get_mut(at)) {
                    Some(table) => {
                        table.key.clone_from(&row.table_key);
                        table.decl = decl;
                    }
                    None => doc.tables.push(TableDoc {
                        key: row.table_key.clone(),
                        location: None,
                        branch: None,
                        version: 0,
                        line: None,
                        rows: 0,
                        decl,
                    }),
                }
            }
            ObjectType::TableVersion => {
                let table = doc.tables.iter_mut().find(|t| t.key == row.table_key).ok_or_else(|| corrupt(row))?;
                table.location = Some(row.location.clone().ok_or_else(|| corrupt(row))?);
                table.branch = row.table_branch.clone();
                table.version = row.table_version.ok_or_else(|| corrupt(row))?;
                table.rows = row.row_count.ok_or_else(|| corrupt(row))?;
                let text = row.metadata.as_deref().ok_or_else(|| corrupt(row))?;
                let metadata: VersionMetadata = serde_json::from_str(text).map_err(|e| corrupt(row).caused_by(e))?;
                table.line = metadata.line;
            }
            ObjectType::TableTombstone => doc.tables.retain(|t| t.key != row.table_key),
            ObjectType::GraphCommit => {
                let (commit, extras) = commit_row::decode(row)?;
                if extras.brought_in {
                    continue;
                }
                doc.commit = commit.id;
                doc.closed = extras.closes_branch;
                if let Some(protects) = extras.protects {
                    doc.protected = Some(protects).filter(|branch| !branch.is_empty());
                }
                if let Some(interfaces) = extras.interfaces {
                    doc.interfaces = interfaces;
                }
            }
            ObjectType::GraphHead => {}
        }
    }
    Ok(doc)
}

/// The part of a declaration's object id that only a changed one has.
const CHANGED: usize = 2;

fn position_of(doc: &SnapshotDoc, id: &str) -> Option<usize> {
    doc.tables.iter().position(|t| type_json::id_of(&t.decl).is_ok_and(|other| other == id))
}

/// The metadata of a `table_version` row.
#[derive(serde::Serialize, serde::Deserialize)]
struct VersionMetadata {
    commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

/// The row that publishes a table state made by a commit on a line of the manifest.
///
/// # Errors
/// None in practice.
pub fn version_row(
    type_ref: &TypeRef,
    at: &TableAt,
    rows: u64,
    commit: &str,
    line: Option<&str>,
) -> Result<ManifestRow> {
    let branch = at.branch.as_deref().unwrap_or_default();
    let metadata = VersionMetadata { commit: commit.to_string(), line: line.map(ToString::to_string) };
    let text = serde_json::to_string(&metadata)
        .map_err(|e| Error::internal("a table version does not serialize").caused_by(e))?;
    Ok(ManifestRow {
        object_id: format!("table_version:{}:{branch}:{}", at.location, at.version),
        object_type: ObjectType::TableVersion,
        location: Some(at.location.clone()),
        metadata: Some(text),
        table_key: type_ref.to_string(),
        table_version: Some(at.version),
        table_branch: at.branch.clone(),
        row_count: Some(rows),
    })
}

/// The row that declares a known type differently, by another name perhaps. `fresh` must be unique.
///
/// # Errors
/// None in practice.
pub fn changed_row(ty: &EntityType, fresh: &str) -> Result<ManifestRow> {
    Ok(ManifestRow { object_id: format!("table:{}:{fresh}", ty.id), location: None, ..table_row(ty)? })
}

/// The row by which a type goes with what it shows. `fresh` must be unique.
pub fn tombstone_row(pin: &TablePin, fresh: &str) -> ManifestRow {
    ManifestRow {
        object_id: format!("table_tombstone:{}:{fresh}", pin.type_ref),
        object_type: ObjectType::TableTombstone,
        location: pin.at.as_ref().map(|at| at.location.clone()),
        metadata: None,
        table_key: pin.type_ref.to_string(),
        table_version: pin.at.as_ref().map(|at| at.version),
        table_branch: pin.at.as_ref().and_then(|at| at.branch.clone()),
        row_count: Some(pin.rows),
    }
}

/// The row that registers a type.
///
/// # Errors
/// None in practice.
pub fn table_row(ty: &EntityType) -> Result<ManifestRow> {
    Ok(ManifestRow {
        object_id: format!("table:{}", ty.id),
        object_type: ObjectType::Table,
        location: Some(crate::format::paths::dataset(&ty.type_ref(), 0)),
        metadata: Some(type_json::encode_type(ty)),
        table_key: ty.type_ref().to_string(),
        table_version: None,
        table_branch: None,
        row_count: None,
    })
}
