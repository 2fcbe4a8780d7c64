//! The retention marker: a cleanup moves it before it looks who holds what.

use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::format::retention_json::{self, RetentionDoc};
use crate::limits;
use crate::store::Store;
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

/// Whether there ever was a cleanup. One request; an unreadable marker says so as well.
///
/// # Errors
/// The store's.
pub(super) async fn is_marked(store: &Store) -> Result<bool> {
    Ok(store.log().read(paths::RETENTION).await?.is_some())
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
    let next = |generation| RetentionDoc {
        format: RetentionDoc::FORMAT,
        generation,
        operation_id: operation_id.to_string(),
        started_at_micros,
        cutoff_micros,
    };
    let log = store.log();
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let (doc, put) = match log.read(paths::RETENTION).await? {
            None => {
                let doc = next(1);
                let put = log.create_if_absent(paths::RETENTION, retention_json::encode(&doc)?).await?;
                (doc, put)
            }
            Some(read) => {
                let doc = next(retention_json::decode(&read.bytes)?.generation.saturating_add(1));
                let put = log.replace_if_match(paths::RETENTION, &read, retention_json::encode(&doc)?).await?;
                (doc, put)
            }
        };
        if put == Put::Done {
            return Ok(doc);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Stores;
    use crate::store::root::Root;

    #[tokio::test]
    async fn the_marker_counts_every_cleanup_once() {
        let root = Root::parse("shared-memory://retention-counts/g").unwrap();
        let store = Stores::new(None).open(root).await.unwrap();
        assert_eq!(read(&store).await.unwrap(), None);
        assert!(!is_marked(&store).await.unwrap());
        let first = bump(&store, "A", 5, 3).await.unwrap();
        assert_eq!((first.generation, first.started_at_micros, first.cutoff_micros), (1, 5, 3));
        let (b, c) = tokio::join!(bump(&store, "B", 6, 4), bump(&store, "C", 6, 4));
        let mut generations = [b.unwrap().generation, c.unwrap().generation];
        generations.sort_unstable();
        assert_eq!(generations, [2, 3]);
        assert_eq!(read(&store).await.unwrap().unwrap().generation, 3);
        assert!(is_marked(&store).await.unwrap());
    }

    #[tokio::test]
    async fn a_damaged_marker_is_reported_and_left_alone() {
        let root = Root::parse("shared-memory://retention-damaged/g").unwrap();
        let store = Stores::new(None).open(root).await.unwrap();
        store.log().create_if_absent(paths::RETENTION, "{".into()).await.unwrap();
        assert!(is_marked(&store).await.unwrap());
        for error in [read(&store).await.unwrap_err(), bump(&store, "A", 1, 1).await.unwrap_err()] {
            assert_eq!(error.reason(), Reason::DataCorrupt);
            assert!(error.message().contains(paths::RETENTION));
        }
        assert_eq!(store.log().read(paths::RETENTION).await.unwrap().unwrap().bytes, "{");
    }
}
