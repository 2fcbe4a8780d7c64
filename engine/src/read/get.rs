//! Single entities.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::manifest::Snapshot;
use crate::model::{Entity, Predicate, TypeRef};
use crate::txn::Core;

/// Entities by id, in the order asked for; missing ones are left out.
///
/// # Errors
/// The type does not exist; the store's.
pub async fn by_ids(_core: &Arc<Core>, _snapshot: &Snapshot, _type_ref: &TypeRef, _ids: &[String]) -> Result<Vec<Entity>> {
    Err(Error::new(Reason::NotImplemented, "get"))
}

/// Entities for which a predicate holds, ordered by id, after `after`, at most `limit`.
///
/// # Errors
/// The type or the predicate does not fit the schema; the store's.
pub async fn by_predicate(
    _core: &Arc<Core>,
    _snapshot: &Snapshot,
    _type_ref: &TypeRef,
    _predicate: Option<&Predicate>,
    _after: Option<&str>,
    _limit: usize,
) -> Result<Vec<Entity>> {
    Err(Error::new(Reason::NotImplemented, "find"))
}
