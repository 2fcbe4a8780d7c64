//! Loads: an input of any size as one atomic commit, streamed, in bounded memory.
//!
//! Decoding runs on a thread of its own and hands batches over a short channel; each type's rows go
//! straight to data files that no version shows. What stays in memory is what must be known of every row:
//! hashes of ids and of endpoints not seen yet.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::stream::Stream;
use super::{SharedIndex, ensure_none};
use crate::data::{self, Compression, Input, InputBatch, InputFormat, InputStats, SharedFile, Source};
use crate::error::{Error, Reason, Result};
use crate::id;
use crate::manifest::View;
use crate::model::{LoadMode, Receipt, Schema, TypeRef, WriteOptions};
use crate::txn::{Action, Core, OnChange, Prepared, commit};

/// Decoded batches waiting to be staged.
const BATCHES_IN_FLIGHT: usize = 2;

/// Where the bytes of a load come from. They may be read more than once, when another writer came first.
#[derive(Clone, Debug)]
pub struct LoadSource {
    /// The bytes.
    pub bytes: LoadBytes,
    /// Their format.
    pub format: InputFormat,
    /// Their compression.
    pub compression: Compression,
    /// The type, for formats that hold one type.
    pub type_ref: Option<TypeRef>,
}

/// See [`LoadSource`].
#[derive(Clone, Debug)]
pub enum LoadBytes {
    /// A file, not changed while the load runs.
    File(PathBuf),
    /// Bytes in memory.
    Memory(bytes::Bytes),
    /// A file without a name, which is gone with its last handle, however the process ends. Not changed while the load
    /// runs.
    Spooled(Arc<File>),
}

impl LoadSource {
    fn open(&self) -> Result<Input> {
        let source = match &self.bytes {
            LoadBytes::File(path) => {
                let file = File::open(path).map_err(|e| {
                    Error::new(Reason::InvalidArgument, format!("{} cannot be read: {e}", path.display())).caused_by(e)
                })?;
                // A pipe, say, has no places to read at.
                match file.metadata().is_ok_and(|found| found.is_file()) {
                    true => Source::File(SharedFile::new(file)),
                    false => Source::stream(file),
                }
            }
            LoadBytes::Spooled(file) => Source::File(SharedFile::new(file.clone())),
            LoadBytes::Memory(bytes) => Source::stream(std::io::Cursor::new(bytes.clone())),
        };
        Ok(Input { source, format: self.format, compression: self.compression, type_ref: self.type_ref.clone() })
    }
}

/// Loads an input as one commit.
///
/// # Errors
/// Every wrong record and every violation, with nothing changed.
pub async fn load(core: &Arc<Core>, source: LoadSource, mode: LoadMode, options: &WriteOptions) -> Result<Receipt> {
    let mut action = Load { source, mode, records: 0 };
    let mut receipt = commit::commit(core, &mut action, options).await?.into_receipt();
    if !receipt.replayed {
        receipt.records = action.records;
    }
    Ok(receipt)
}

struct Load {
    source: LoadSource,
    mode: LoadMode,
    records: u64,
}

#[async_trait]
impl Action for Load {
    fn label(&self) -> &'static str {
        "load"
    }

    fn on_change(&self) -> OnChange {
        match self.mode {
            LoadMode::Append | LoadMode::Merge => OnChange::Prepare,
            LoadMode::Overwrite => OnChange::Refuse,
        }
    }

    fn queues_first(&self) -> bool {
        false
    }

    fn writes_directly(&self) -> bool {
        true
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let _held = core.readers.hold(&view.snapshot);
        let (sender, mut batches) = mpsc::channel(BATCHES_IN_FLIGHT);
        let decoder = spawn_decoder(core, self.source.clone(), view.snapshot.schema.clone(), sender);
        let mut stream = Stream::new(core, view, self.mode);
        while let Some(batch) = batches.recv().await {
            // Dropping the receiver ends the decoder at its next batch.
            stream.take(batch).await?;
        }
        let stats = decoder.await.map_err(torn_down)??;
        self.records = stats.records;
        let (prepared, violations) = stream.finish(&stats).await?;
        ensure_none(violations)?;
        Ok((!prepared.effects.is_empty()).then_some(prepared))
    }
}

/// The libraries that read Arrow and Parquet may give up on a damaged file by panicking.
fn torn_down(e: tokio::task::JoinError) -> Error {
    if e.is_panic() {
        return Error::new(Reason::InvalidRecord, "the input is damaged and cannot be read; nothing was written");
    }
    Error::internal("a decoder was torn down").caused_by(e)
}

fn spawn_decoder(
    core: &Core,
    source: LoadSource,
    schema: Arc<Schema>,
    sender: mpsc::Sender<InputBatch>,
) -> tokio::task::JoinHandle<Result<InputStats>> {
    let (ids, now) = (core.options.ids.clone(), core.now());
    tokio::task::spawn_blocking(move || {
        let mut fresh = || id::fresh(ids.as_ref(), now);
        let mut give = |batch| {
            sender
                .blocking_send(batch)
                .map_err(|_| Error::new(Reason::StoreUnavailable, "the load was given up while its input was read"))
        };
        data::decode(source.open()?, schema, &mut fresh, &mut give)
    })
}

/// Indexes to keep in step with a load.
pub(super) type Followers = Vec<(SharedIndex, Vec<Option<crate::store::lance::keys::KeyHash>>)>;
