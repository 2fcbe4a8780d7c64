//! Tags: names for commits that never move.
//!
//! A tag is one small document. What it names is kept by cleanups for as long as the document stands, also when the
//! branch it was found on is deleted.

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::format::tag_json::TagDoc;
use crate::intent::{readers, retention};
use crate::limits;
use crate::manifest::Snapshot;
use crate::manifest::tags::{self, TagEntry};
use crate::model::branch::check_ref_name;
use crate::model::{Actor, ReadSelector, TagInfo};
use crate::read;
use crate::store::object_log::Put;
use crate::txn::Core;

/// Names a state's commit. Copies nothing.
///
/// # Errors
/// [`Reason::InvalidName`], [`Reason::TagExists`], [`Reason::LimitExceeded`] for a message that is too long; the
/// selector's.
pub async fn create(core: &Arc<Core>, name: &str, at: &ReadSelector, message: &str, actor: &Actor) -> Result<TagInfo> {
    core.ensure_writable()?;
    check_ref_name("tag", name)?;
    if message.len() > limits::MAX_MESSAGE_BYTES {
        let (bytes, most) = (message.len(), limits::MAX_MESSAGE_BYTES);
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("the message has {bytes} bytes; at most {most} are kept"),
        ));
    }
    // Refused here for the price of one read; the document's own condition decides.
    if tags::read(&core.store, name).await?.is_some_and(|entry| !entry.doc.deleted) {
        return Err(tags::exists(name));
    }
    let view = read::snapshot::resolve_view(core, at).await?;
    let origin = &view.snapshot;
    // Until the document stands, nothing else tells a cleanup that the state is needed. A head that another process
    // moved long ago is no different from an older state, so it says so in any case.
    let _held = core.readers.pin(origin).await?;
    let doc = TagDoc {
        format: TagDoc::FORMAT,
        tag_id: core.fresh_id(),
        commit: origin.head().to_string(),
        branch: origin.branch.name.clone(),
        lance_branch: origin.branch.lance_branch.clone(),
        manifest_version: origin.version,
        created_at: core.now(),
        actor: actor.0.clone(),
        message: message.to_string(),
        protected: false,
        deleted: false,
    };
    tags::create(&core.store, name, &doc).await?;
    ensure_kept(core, name, &doc, origin).await?;
    Ok(describe(name, &doc))
}

/// A cleanup that looked for tags just before this one was made may be about to remove what it names. Then there is no
/// tag.
async fn ensure_kept(core: &Core, name: &str, doc: &TagDoc, origin: &Snapshot) -> Result<()> {
    if retention::keeps(&core.store, origin.branch.lance_branch.as_deref(), origin.version, core.now()).await? {
        return Ok(());
    }
    if let Some(entry) = tags::read(&core.store, name).await?.filter(|entry| entry.doc.tag_id == doc.tag_id) {
        tags::replace(&core.store, &entry, &TagDoc { deleted: true, ..entry.doc.clone() }).await?;
    }
    Err(readers::gone(origin))
}

/// A tag.
///
/// # Errors
/// [`Reason::TagNotFound`] with the nearest name; [`Reason::DataCorrupt`] if its document cannot be read; the store's.
pub async fn get(core: &Arc<Core>, name: &str) -> Result<TagInfo> {
    let entry = tags::live(&core.store, name).await?;
    Ok(describe(name, &entry.doc))
}

/// Every tag by name. One whose document cannot be read is left out.
///
/// # Errors
/// The store's.
pub async fn list(core: &Arc<Core>) -> Result<Vec<TagInfo>> {
    let entries = tags::list(&core.store).await?;
    Ok(entries.iter().map(|entry| describe(&entry.name, &entry.doc)).collect())
}

/// Sets or lifts a tag's protection against deletion.
///
/// # Errors
/// [`Reason::TagNotFound`], [`Reason::TooMuchContention`]; the store's.
pub async fn protect(core: &Arc<Core>, name: &str, protected: bool) -> Result<TagInfo> {
    change(core, name, |entry| Ok(TagDoc { protected, ..entry.doc.clone() })).await
}

/// Deletes a tag, and returns what it was.
///
/// # Errors
/// [`Reason::TagNotFound`], [`Reason::TagProtected`], [`Reason::TooMuchContention`]; the store's.
pub async fn delete(core: &Arc<Core>, name: &str) -> Result<TagInfo> {
    change(core, name, |entry| match entry.doc.protected {
        true => Err(Error::new(
            Reason::TagProtected,
            format!("tag {name:?} is protected; lift its protection first, then delete it"),
        )
        .with("tag", name)),
        false => Ok(TagDoc { deleted: true, ..entry.doc.clone() }),
    })
    .await
}

/// Changes a tag's document, again if somebody else changed it meanwhile.
async fn change(core: &Core, name: &str, to: impl Fn(&TagEntry) -> Result<TagDoc>) -> Result<TagInfo> {
    core.ensure_writable()?;
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let entry = tags::live(&core.store, name).await?;
        let doc = to(&entry)?;
        if doc == entry.doc || tags::replace(&core.store, &entry, &doc).await? == Put::Done {
            return Ok(describe(name, &doc));
        }
    }
    Err(Error::new(
        Reason::TooMuchContention,
        format!("others changed tag {name:?} in each of {} attempts; try again", limits::MAX_COMMIT_ATTEMPTS),
    )
    .with("tag", name))
}

fn describe(name: &str, doc: &TagDoc) -> TagInfo {
    TagInfo {
        name: name.to_string(),
        commit: doc.commit.clone(),
        branch: doc.branch.clone(),
        created_at: doc.created_at,
        actor: Actor(doc.actor.clone()),
        message: doc.message.clone(),
        protected: doc.protected,
    }
}
