//! The documents that say which branches exist. The document is the only authority.

use super::hint;
use super::snapshot::BranchIdentity;
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::format::ref_json::{self, RefDoc};
use crate::model::branch::{MAIN, check_name};
use crate::store::Store;
use crate::store::object_log::{Document, Put};

/// Listing reads this many documents at once.
const LIST_PARALLELISM: usize = 16;

/// A branch document as read.
#[derive(Clone, Debug)]
pub struct RefEntry {
    /// The branch.
    pub name: String,
    /// What it says.
    pub doc: RefDoc,
    document: Document,
}

impl RefEntry {
    /// The incarnation it names.
    pub fn identity(&self) -> BranchIdentity {
        BranchIdentity {
            name: self.name.clone(),
            branch_id: self.doc.branch_id.clone(),
            lance_branch: Some(self.doc.lance_branch.clone()),
        }
    }
}

/// Reads a branch's document, deleted ones included; `None` if the name was never used.
///
/// # Errors
/// The store's, or damage.
pub async fn read(store: &Store, name: &str) -> Result<Option<RefEntry>> {
    let Some(document) = store.log().read(&paths::branch(name)).await? else {
        return Ok(None);
    };
    let doc = ref_json::decode(name, &document.bytes)?;
    Ok(Some(RefEntry { name: name.to_string(), doc, document }))
}

/// Makes a branch exist. Atomic: the name must be unused, or that of a deleted branch.
///
/// # Errors
/// [`Reason::BranchExists`], or the store's.
pub async fn create(store: &Store, name: &str, doc: &RefDoc) -> Result<()> {
    let exists = || Error::new(Reason::BranchExists, format!("branch {name:?} exists already")).with("branch", name);
    if name == MAIN {
        return Err(exists());
    }
    let bytes = ref_json::encode(doc)?;
    let put = match read(store, name).await? {
        None => store.log().create_if_absent(&paths::branch(name), bytes).await?,
        Some(old) if old.doc.deleted => {
            match store.log().replace_if_match(&paths::branch(name), &old.document, bytes.clone()).await? {
                Put::Done => Put::Done,
                // A cleanup may have removed what the deleted branch left.
                Put::Refused => store.log().create_if_absent(&paths::branch(name), bytes).await?,
            }
        }
        Some(_) => Put::Refused,
    };
    match put {
        Put::Done => Ok(()),
        Put::Refused => Err(exists()),
    }
}

/// Marks a branch as deleted, if its document still names the incarnation that was read.
///
/// # Errors
/// The store's.
pub async fn mark_deleted(store: &Store, entry: &RefEntry) -> Result<Put> {
    let doc = RefDoc { deleted: true, ..entry.doc.clone() };
    store.log().replace_if_match(&paths::branch(&entry.name), &entry.document, ref_json::encode(&doc)?).await
}

/// Every live branch but main, by name. A document that vanishes or is damaged meanwhile is left out of
/// the result and, if damaged, logged.
///
/// # Errors
/// The store's.
pub async fn list(store: &Store) -> Result<Vec<RefEntry>> {
    use futures::{StreamExt, TryStreamExt};
    let names: Vec<String> =
        store.log().list(paths::BRANCHES).await?.iter().filter_map(|file| paths::branch_of(file)).collect();
    let mut entries: Vec<RefEntry> = futures::stream::iter(names)
        .map(|name| async move {
            match read(store, &name).await {
                Err(e) if e.reason() == Reason::DataCorrupt => {
                    tracing::warn!(branch = name, error = %e, "a branch document is unreadable");
                    Ok(None)
                }
                other => other,
            }
        })
        .buffered(LIST_PARALLELISM)
        .try_filter_map(|entry| async move { Ok(entry.filter(|e| !e.doc.deleted)) })
        .try_collect()
        .await?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// The error for a branch that does not exist, with the nearest name that does.
pub async fn not_found(store: &Store, name: &str) -> Error {
    if let Err(e) = check_name(name) {
        return e;
    }
    let mut names = vec![MAIN.to_string()];
    if let Ok(entries) = list(store).await {
        names.extend(entries.into_iter().map(|e| e.name));
    }
    let hint = hint(names.iter().map(String::as_str), name);
    Error::new(Reason::BranchNotFound, format!("there is no branch {name:?}{hint}")).with("branch", name)
}
