//! The retention marker: a cleanup moves it before it looks who holds what, and says in it which states of the manifest
//! it is about to remove.
//!
//! Whoever wants a state to last first writes down that it does (a lease, a tag, the document of a branch) and then
//! asks [`keeps`]. A cleanup first announces what it removes, then looks what is written down, and takes the
//! announcement back if any of it was. So whoever comes second sees the other, at whatever pace both go. What a cleanup
//! that died has begun to remove stays announced, so nobody begins to refer to a state that is there in parts.

use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::format::retention_json::{self, GoingLine, Removing, RetentionDoc};
use crate::limits;
use crate::store::Store;
use crate::store::lance::TableAt;
use crate::store::object_log::Put;

/// The marker; `None` if there never was a cleanup.
///
/// # Errors
/// The store's, damage, or a later shape.
pub async fn read(store: &Store) -> Result<Option<RetentionDoc>> {
    match store.log().read(paths::RETENTION).await? {
        Some(document) => retention_json::decode(&document.bytes).map(Some),
        None => Ok(None),
    }
}

/// A number that changes whenever a cleanup begins; zero before the first. One request; a marker that cannot be read
/// has one, too.
///
/// # Errors
/// The store's.
pub async fn generation(store: &Store) -> Result<u64> {
    use std::hash::Hasher;
    let Some(document) = store.log().read(paths::RETENTION).await? else { return Ok(0) };
    let mut hash = fnv::FnvHasher::default();
    hash.write(&document.bytes);
    Ok(hash.finish().max(1))
}

/// Whether a version of the manifest is there and stays, for whoever has just written down that it is needed. One
/// request if there never was a cleanup, else two. With a marker that cannot be read no cleanup goes on.
///
/// # Errors
/// The store's.
pub async fn keeps(store: &Store, lance_branch: Option<&str>, version: u64, now: i64) -> Result<bool> {
    let marker = match read(store).await {
        Ok(None) => return Ok(true),
        Ok(marker) => marker,
        Err(e) if matches!(e.reason(), Reason::DataCorrupt | Reason::StorageStampTooNew) => None,
        Err(e) => return Err(e),
    };
    let goes = |doc: &RetentionDoc| doc.removing.iter().any(|removing| removing.names(lance_branch, version));
    if let Some(doc) = marker
        && goes(&doc)
    {
        let left = doc.removing.iter().any(|removing| is_forgotten(removing, now));
        if !left || change(store, |doc| Ok(without_forgotten(doc, now))).await?.as_ref().is_none_or(goes) {
            return Ok(false);
        }
    }
    let at = TableAt { location: paths::MANIFEST.to_string(), branch: lance_branch.map(ToString::to_string), version };
    Ok(store.open_table(&at).await?.is_some())
}

/// Moves the marker on. A cleanup does so before it lists the leases ([`super::readers::held_by_others`]) and
/// removes anything. `operation_id` must be fresh. Returns the marker as it is now.
///
/// # Errors
/// [`Reason::TooMuchContention`] if other cleanups moved it in every bounded attempt; the store's, damage, or a
/// later shape. The marker may then have moved, which hurts nobody.
pub async fn bump(
    store: &Store,
    operation_id: &str,
    started_at_micros: i64,
    cutoff_micros: i64,
) -> Result<RetentionDoc> {
    let moved = change(store, |doc| {
        let (generation, removing) = doc.map_or((0, Vec::new()), |doc| (doc.generation, doc.removing));
        Ok(Some(RetentionDoc {
            format: RetentionDoc::FORMAT,
            generation: generation.saturating_add(1),
            operation_id: operation_id.to_string(),
            started_at_micros,
            cutoff_micros,
            removing,
        }))
    });
    moved.await?.ok_or_else(vanished)
}

/// Says what a cleanup is about to remove of the manifest. Nothing may be removed yet.
///
/// # Errors
/// [`Reason::LimitExceeded`] if [`limits::MAX_REMOVALS`] others are not over; as [`bump`].
pub async fn announce(store: &Store, operation_id: &str, now: i64, lines: Vec<GoingLine>) -> Result<()> {
    let announced = change(store, |doc| {
        let mut doc = without_forgotten(doc.clone(), now).or(doc).ok_or_else(vanished)?;
        if doc.removing.len() >= limits::MAX_REMOVALS {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "{} cleanups of this graph are not over; nothing was removed, try again when one of them is",
                    doc.removing.len()
                ),
            ));
        }
        doc.removing.push(Removing {
            operation_id: operation_id.to_string(),
            announced_at_micros: now,
            begun: false,
            lines: lines.clone(),
        });
        Ok(Some(doc))
    });
    announced.await.map(|_| ())
}

/// Takes an announcement back.
///
/// # Errors
/// As [`bump`].
pub async fn take_back(store: &Store, operation_id: &str) -> Result<()> {
    change(store, |doc| {
        let Some(mut doc) = doc else { return Ok(None) };
        let before = doc.removing.len();
        doc.removing.retain(|removing| removing.operation_id != operation_id);
        Ok((doc.removing.len() < before).then_some(doc))
    })
    .await
    .map(|_| ())
}

/// Makes an announcement final: from now on it may be carried out.
///
/// # Errors
/// [`Reason::TooMuchContention`] if it took so long that somebody took it back; as [`bump`].
pub async fn begin(store: &Store, operation_id: &str) -> Result<()> {
    let begun = change(store, |doc| {
        let Some(mut doc) = doc else { return Ok(None) };
        let Some(own) = doc.removing.iter_mut().find(|removing| removing.operation_id == operation_id) else {
            return Ok(None);
        };
        own.begun = true;
        Ok(Some(doc))
    });
    match begun.await? {
        Some(_) => Ok(()),
        None => Err(Error::new(
            Reason::TooMuchContention,
            "the store was so slow that what this cleanup had announced to remove was taken back; nothing was removed, \
             try again",
        )),
    }
}

/// Drops what is removed completely: `is_left` tells whether any version of a line in some ranges exists.
///
/// # Errors
/// As [`bump`].
pub async fn finish(store: &Store, is_left: impl Fn(&GoingLine) -> bool) -> Result<()> {
    change(store, |doc| {
        let Some(mut doc) = doc else { return Ok(None) };
        let before = doc.clone();
        for removing in doc.removing.iter_mut().filter(|removing| removing.begun) {
            removing.lines.retain(&is_left);
        }
        doc.removing.retain(|removing| !removing.begun || !removing.lines.is_empty());
        Ok((doc != before).then_some(doc))
    })
    .await
    .map(|_| ())
}

/// The marker without what was announced long ago and never begun; `None` if there is no such thing.
fn without_forgotten(doc: Option<RetentionDoc>, now: i64) -> Option<RetentionDoc> {
    let mut doc = doc?;
    let before = doc.removing.len();
    doc.removing.retain(|removing| !is_forgotten(removing, now));
    (doc.removing.len() < before).then_some(doc)
}

fn is_forgotten(removing: &Removing, now: i64) -> bool {
    let age = u128::try_from(now.saturating_sub(removing.announced_at_micros)).unwrap_or(0);
    !removing.begun && age > limits::ANNOUNCEMENT.as_micros()
}

/// Changes the marker, again if somebody else changed it meanwhile. Returns what it is then; `None` if `to` had nothing
/// to change.
async fn change(
    store: &Store,
    to: impl Fn(Option<RetentionDoc>) -> Result<Option<RetentionDoc>>,
) -> Result<Option<RetentionDoc>> {
    let log = store.log();
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let read = log.read(paths::RETENTION).await?;
        let standing = read.as_ref().map(|read| retention_json::decode(&read.bytes)).transpose()?;
        let Some(doc) = to(standing)? else { return Ok(None) };
        let bytes = retention_json::encode(&doc)?;
        let put = match &read {
            None => log.create_if_absent(paths::RETENTION, bytes).await?,
            Some(read) => log.replace_if_match(paths::RETENTION, read, bytes).await?,
        };
        if put == Put::Done {
            return Ok(Some(doc));
        }
    }
    Err(Error::new(
        Reason::TooMuchContention,
        format!(
            "other cleanups moved {} in each of {} attempts; nothing was removed, try again",
            paths::RETENTION,
            limits::MAX_COMMIT_ATTEMPTS
        ),
    ))
}

fn vanished() -> Error {
    let what = format!("{} was removed while a cleanup ran; nothing more is removed, try again", paths::RETENTION);
    Error::new(Reason::DataCorrupt, what)
}

#[cfg(test)]
mod tests;
