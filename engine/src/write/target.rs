//! The table a change commits on top of: the pinned one, a fork of it, or a new dataset.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use crate::error::{Error, Reason, Result};
use crate::format::{arrow, paths};
use crate::manifest::Snapshot;
use crate::model::{EntityType, TypeRef};
use crate::store::lance::open::Created;
use crate::store::lance::{Table, TableAt};
use crate::txn::Core;

/// Paths tried for a new dataset before giving up: each taken one was left by an abandoned operation.
const MAX_PATHS: u32 = 1_000;

/// Where a change is committed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The version it is committed on top of.
    pub base: Table,
    /// What the base is a fork of, if it was forked just now.
    pub fork_from: Option<TableAt>,
    /// Whether the dataset was made just now.
    pub create: bool,
}

/// The table a type's rows are read from; `None` while it has none.
pub(crate) async fn pinned(core: &Core, snapshot: &Snapshot, type_ref: &TypeRef) -> Result<Option<Table>> {
    match &snapshot.pin(type_ref)?.at {
        Some(at) => core.table(at).await.map(Some),
        None => Ok(None),
    }
}

/// Finds or makes the table to commit to. What it makes is referred to by nothing until a commit does.
pub(crate) async fn open(core: &Core, snapshot: &Snapshot, ty: &EntityType) -> Result<Target> {
    let pin = snapshot.pin(&ty.type_ref())?;
    match &pin.at {
        None => create(core, ty).await,
        Some(at) => {
            let table = core.table(at).await?;
            if pin.owned {
                return Ok(Target { base: table, fork_from: None, create: false });
            }
            let base = core.store.fork_table(&table, &core.fresh_id()).await?;
            Ok(Target { base, fork_from: Some(at.clone()), create: false })
        }
    }
}

/// An empty dataset for the type. Several writers may meet in the same one: it has nothing but its first
/// version, and which of them commits the second is decided like any other commit.
pub(super) async fn create(core: &Core, ty: &EntityType) -> Result<Target> {
    let schema = arrow::storage_schema(ty);
    for n in 0..MAX_PATHS {
        let location = paths::dataset(&ty.type_ref(), n);
        let found = match core.store.open_newest(&location, None).await? {
            Some(found) => found,
            None => {
                let empty = RecordBatch::new_empty(schema.clone());
                match core.store.create_table(&location, empty, HashMap::new()).await? {
                    Created::Done(base) => {
                        return Ok(Target { base, fork_from: None, create: true });
                    }
                    Created::Exists => match core.store.open_newest(&location, None).await? {
                        Some(table) => table,
                        None => continue,
                    },
                }
            }
        };
        if found.version() == 1 && found.rows() == 0 && found.has_fields_of(&schema) {
            return Ok(Target { base: found, fork_from: None, create: true });
        }
    }
    Err(Error::new(
        Reason::LimitExceeded,
        format!("{MAX_PATHS} paths for {} are taken by abandoned datasets; run `omnigraph cleanup`", ty.type_ref()),
    ))
}
