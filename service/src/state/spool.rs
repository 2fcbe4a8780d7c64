//! Loads on their way in: bytes on disk until the whole input is there, so that memory is not bounded by
//! the size of a load, and so that the engine can read an input again after another writer came first.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use omnigraph_engine::error::{Error, Reason, Result};

use crate::limits::SPOOL_BUFFER_BYTES;

/// Bytes that all loads of a server may hold on disk.
#[derive(Clone, Debug)]
pub struct SpoolBudget {
    used: Arc<AtomicU64>,
    max: u64,
}

impl SpoolBudget {
    /// At most `max` bytes at once.
    pub fn new(max: u64) -> Self {
        Self { used: Arc::default(), max }
    }

    fn take(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

/// Bytes taken from the budget. Given back when dropped.
#[derive(Debug)]
struct Share {
    budget: SpoolBudget,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The bytes of one load. Gone when dropped.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    share: Share,
    max: u64,
    buffer: BytesMut,
}

/// A whole input on disk, and its share of the budget.
#[derive(Debug)]
pub struct Spooled {
    /// The file. It has no name and is gone with its last holder, even if the server is killed.
    pub file: Arc<File>,
    _share: Share,
}

impl Spool {
    pub(super) fn create(folder: &Path, budget: SpoolBudget, max: u64) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        Ok(Self { file: Arc::new(file), share: Share { budget, bytes: 0 }, max, buffer: BytesMut::new() })
    }

    /// Adds bytes. Waits for the disk, and so slows a sender that is faster.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] for a load that is too large, and with a delay if all loads together are at
    /// the moment; [`Reason::StoreUnavailable`] if the disk fails.
    pub async fn push(&mut self, bytes: &Bytes) -> Result<()> {
        let length = bytes.len() as u64;
        let total = self.share.bytes.saturating_add(length);
        if total > self.max {
            let what = format!("the load has more than {} bytes; nothing was written, load it in parts", self.max);
            return Err(Error::new(Reason::LimitExceeded, what)
                .with("limit", "load_bytes")
                .with("value", total)
                .with("max", self.max));
        }
        if !self.share.budget.take(length) {
            let what = "all loads under way together are too large at the moment; try again a little later";
            return Err(Error::new(Reason::LimitExceeded, what)
                .with("limit", "load_bytes_in_flight")
                .with("max", self.share.budget.max)
                .retry_after(crate::limits::RETRY_DELAY));
        }
        self.share.bytes = total;
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= SPOOL_BUFFER_BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<()> {
        let bytes = self.buffer.split().freeze();
        if bytes.is_empty() {
            return Ok(());
        }
        let file = self.file.clone();
        let write = move || io::Write::write_all(&mut file.as_ref(), &bytes);
        let written = tokio::task::spawn_blocking(write).await;
        written.map_err(|e| Error::internal("a write to the spool was torn down").caused_by(e))?.map_err(failed)
    }

    /// The whole input.
    ///
    /// # Errors
    /// [`Reason::StoreUnavailable`] if the disk fails.
    pub async fn finish(mut self) -> Result<Spooled> {
        self.flush().await?;
        Ok(Spooled { file: self.file, _share: self.share })
    }
}

fn failed(error: io::Error) -> Error {
    Error::new(Reason::StoreUnavailable, format!("the spool of loads failed: {error}; nothing was written"))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(budget: &SpoolBudget, max: u64) -> Spool {
        Spool::create(&std::env::temp_dir(), budget.clone(), max).unwrap()
    }

    fn read(spooled: &Spooled) -> Vec<u8> {
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut spooled.file.as_ref()).unwrap();
        io::Read::read_to_end(&mut spooled.file.as_ref(), &mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_load_whoever_dies() {
        let folder = tempfile::tempdir().unwrap();
        let mut input = Spool::create(folder.path(), SpoolBudget::new(u64::MAX), u64::MAX).unwrap();
        input.push(&Bytes::from(vec![7; SPOOL_BUFFER_BYTES])).await.unwrap();
        let spooled = input.finish().await.unwrap();
        // It has no name while it is in use, so nobody has to remove it.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(read(&spooled).len(), SPOOL_BUFFER_BYTES);
    }

    #[tokio::test]
    async fn bytes_arrive_whole_and_in_order() {
        let budget = SpoolBudget::new(u64::MAX);
        let mut input = spool(&budget, u64::MAX);
        let chunk = Bytes::from(vec![7; SPOOL_BUFFER_BYTES / 3]);
        for part in [&chunk, &Bytes::new(), &chunk, &chunk, &Bytes::from_static(b"end"), &chunk] {
            input.push(part).await.unwrap();
        }
        let spooled = input.finish().await.unwrap();
        let bytes = read(&spooled);
        assert_eq!(bytes.len(), chunk.len() * 4 + 3);
        assert_eq!(&bytes[chunk.len() * 3..chunk.len() * 3 + 3], b"end");
        assert_eq!(budget.used.load(Ordering::Relaxed), bytes.len() as u64);
        drop(spooled);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn too_much_is_refused_and_given_back() {
        let budget = SpoolBudget::new(10);
        let eight = Bytes::from_static(b"12345678");
        let mut first = spool(&budget, 8);
        first.push(&eight).await.unwrap();
        let error = first.push(&Bytes::from_static(b"9")).await.unwrap_err();
        assert_eq!(error.reason(), Reason::LimitExceeded);
        let mut second = spool(&budget, 100);
        let error = second.push(&eight).await.unwrap_err();
        assert_eq!(error.metadata()["limit"], "load_bytes_in_flight");
        assert!(error.retry_delay().is_some());
        drop(first);
        second.push(&eight).await.unwrap();
    }
}
