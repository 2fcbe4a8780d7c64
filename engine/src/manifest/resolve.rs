//! From a branch to the view of one of its versions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::snapshot::{BranchIdentity, Snapshot};
use super::{RowCache, View};
use crate::error::{Error, Reason, Result};
use crate::format::{paths, snapshot_json, stamp};
use crate::intent::retention;
use crate::store::Store;
use crate::store::lance::{Table, TableAt};

/// Forks of forks that were never written are followed at most this far.
const MAX_FORK_CHAIN: usize = 1_000;

/// The newest version of a branch's manifest; `None` if there is none.
///
/// # Errors
/// The store's, a stamp this release does not serve, or damage.
pub async fn newest(store: &Store, branch: &BranchIdentity) -> Result<Option<View>> {
    // First: a cleanup that begins later is then noticed.
    let generation = retention::generation(store).await?;
    match store.open_newest(paths::MANIFEST, branch.lance_branch.as_deref()).await? {
        Some(table) => Ok(Some(view(store, branch.clone(), table, empty_cache()).await?.known_since(generation))),
        None => Ok(None),
    }
}

/// One version of a branch's manifest; `None` if it does not exist or is not retained.
///
/// # Errors
/// As [`newest`].
pub async fn at(store: &Store, branch: &BranchIdentity, version: u64) -> Result<Option<View>> {
    let at = TableAt { location: paths::MANIFEST.to_string(), branch: branch.lance_branch.clone(), version };
    match store.open_table(&at).await? {
        Some(table) => view(store, branch.clone(), table, empty_cache()).await.map(Some),
        None => Ok(None),
    }
}

/// The view of an open manifest version.
pub(super) async fn view(store: &Store, branch: BranchIdentity, table: Table, rows: RowCache) -> Result<View> {
    stamp::check(table.schema_metadata(), store.root().uri())?;
    let version = table.version();
    if let Some(doc) = published(store, &table).await? {
        return Ok(View::new(Snapshot::from_doc(branch, version, doc)?, table, rows));
    }
    let bare = View::new(placeholder(branch.clone(), version)?, table.clone(), rows.clone());
    let all = bare.all_rows().await?;
    Ok(View::new(Snapshot::from_rows(branch, version, &all)?, table, rows))
}

/// The snapshot recorded with a version. A fork shows what its origin showed.
async fn published(store: &Store, table: &Table) -> Result<Option<snapshot_json::SnapshotDoc>> {
    let mut current = table.clone();
    for _ in 0..MAX_FORK_CHAIN {
        let Some(standing) = current.standing().await? else {
            return Ok(None);
        };
        if let Some(value) = standing.properties.get(snapshot_json::KEY) {
            return snapshot_json::decode(value).map(Some);
        }
        let Some((branch, version)) = standing.forked_from else {
            return Ok(None);
        };
        let at = TableAt { location: paths::MANIFEST.to_string(), branch, version };
        match store.open_table(&at).await? {
            Some(origin) => current = origin,
            None => return Ok(None),
        }
    }
    Err(Error::new(Reason::LimitExceeded, "a branch is a fork of a fork more than 1000 times over"))
}

fn placeholder(branch: BranchIdentity, version: u64) -> Result<Snapshot> {
    let doc = snapshot_json::SnapshotDoc::new(String::new(), Vec::new(), Vec::new());
    Snapshot::from_doc(branch, version, doc)
}

pub(super) fn empty_cache() -> RowCache {
    Arc::new(Mutex::new(HashMap::new()))
}

/// Whether the snapshot recorded with a version says the same as its rows.
///
/// # Errors
/// The store's, or damage.
pub async fn agrees_with_rows(view: &View) -> Result<bool> {
    let rows = view.all_rows().await?;
    let rebuilt = Snapshot::from_rows(view.snapshot.branch.clone(), view.snapshot.version, &rows)?;
    let sorted = |s: &Snapshot| {
        let mut doc = s.doc().clone();
        doc.tables.sort_by(|a, b| a.key.cmp(&b.key));
        doc
    };
    Ok(sorted(&rebuilt) == sorted(&view.snapshot))
}
