//! The documents that say which tags exist. The document is the only authority.

use futures::{StreamExt, TryStreamExt};

use super::hint;
use super::snapshot::BranchIdentity;
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::format::tag_json::{self, TagDoc};
use crate::limits;
use crate::model::branch::check_ref_name;
use crate::store::Store;
use crate::store::object_log::{Document, Put};

/// A tag document as read.
#[derive(Clone, Debug)]
pub struct TagEntry {
    /// The tag.
    pub name: String,
    /// What it says.
    pub doc: TagDoc,
    document: Document,
}

impl TagEntry {
    /// The incarnation of the branch that the tag's commit was found on. It need not live any more.
    pub fn identity(&self) -> BranchIdentity {
        let TagDoc { branch, lance_branch, .. } = &self.doc;
        BranchIdentity {
            name: branch.clone(),
            branch_id: lance_branch.as_ref().unwrap_or(branch).clone(),
            lance_branch: lance_branch.clone(),
        }
    }
}

/// Reads a tag's document, deleted ones included; `None` if the name was never used.
///
/// # Errors
/// The store's, damage, or a later shape.
pub async fn read(store: &Store, name: &str) -> Result<Option<TagEntry>> {
    let Some(document) = store.log().read(&paths::tag(name)).await? else {
        return Ok(None);
    };
    let doc = tag_json::decode(name, &document.bytes)?;
    Ok(Some(TagEntry { name: name.to_string(), doc, document }))
}

/// A live tag.
///
/// # Errors
/// [`Reason::TagNotFound`] with the nearest name; the store's, damage, or a later shape.
pub async fn live(store: &Store, name: &str) -> Result<TagEntry> {
    match read(store, name).await? {
        Some(entry) if !entry.doc.deleted => Ok(entry),
        _ => Err(not_found(store, name).await),
    }
}

/// Makes a tag exist. Atomic: the name must be unused, or that of a deleted tag. The document must be unique to the
/// call.
///
/// # Errors
/// [`Reason::TagExists`]; the store's.
pub async fn create(store: &Store, name: &str, doc: &TagDoc) -> Result<()> {
    let bytes = tag_json::encode(doc)?;
    let put = match read(store, name).await? {
        None => store.log().create_if_absent(&paths::tag(name), bytes).await?,
        Some(old) if old.doc.deleted => replace(store, &old, doc).await?,
        Some(_) => Put::Refused,
    };
    match put {
        Put::Done => Ok(()),
        Put::Refused => Err(exists(name)),
    }
}

/// The error for a name that a live tag has.
pub fn exists(name: &str) -> Error {
    Error::new(Reason::TagExists, format!("tag {name:?} exists already")).with("tag", name)
}

/// Replaces a tag's document, if it is still the one that was read.
///
/// # Errors
/// The store's.
pub async fn replace(store: &Store, entry: &TagEntry, doc: &TagDoc) -> Result<Put> {
    store.log().replace_if_match(&paths::tag(&entry.name), &entry.document, tag_json::encode(doc)?).await
}

/// Every tag document by name, deleted ones included, with what is wrong with those that cannot be read
/// ([`Reason::DataCorrupt`], [`Reason::StorageStampTooNew`]). Files that are no documents of tags are left out.
///
/// # Errors
/// The store's.
pub async fn every(store: &Store) -> Result<Vec<(String, Result<TagEntry>)>> {
    let files = store.log().list(paths::TAGS).await?;
    let names: Vec<String> = files.iter().filter_map(|file| paths::tag_of(file)).collect();
    let mut found: Vec<(String, Result<TagEntry>)> = futures::stream::iter(names)
        .map(|name| async move {
            match read(store, &name).await {
                Ok(entry) => Ok(entry.map(|entry| (name, Ok(entry)))),
                Err(e) if matches!(e.reason(), Reason::DataCorrupt | Reason::StorageStampTooNew) => {
                    Ok(Some((name, Err(e))))
                }
                Err(e) => Err(e),
            }
        })
        .buffered(limits::TAGS_READ_AT_ONCE)
        .try_filter_map(|found| async move { Ok(found) })
        .try_collect()
        .await?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Every live tag by name. A document that cannot be read is left out of the result and logged.
///
/// # Errors
/// The store's.
pub async fn list(store: &Store) -> Result<Vec<TagEntry>> {
    let readable = |(name, entry): (String, Result<TagEntry>)| match entry {
        Ok(entry) => Some(entry),
        Err(e) => {
            tracing::warn!(tag = name, error = %e, "a tag document is unreadable");
            None
        }
    };
    Ok(every(store).await?.into_iter().filter_map(readable).filter(|entry| !entry.doc.deleted).collect())
}

/// The error for a tag that does not exist, with the nearest name that does.
async fn not_found(store: &Store, name: &str) -> Error {
    if let Err(e) = check_ref_name("tag", name) {
        return e;
    }
    let names = list(store).await.unwrap_or_default();
    let hint = hint(names.iter().map(|entry| entry.name.as_str()), name);
    Error::new(Reason::TagNotFound, format!("there is no tag {name:?}{hint}")).with("tag", name)
}

#[cfg(test)]
mod tests;
