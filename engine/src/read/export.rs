//! The whole graph as text that a load reads back.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::scan::{self, ScanRequest};
use crate::data::write_rows;
use crate::error::Result;
use crate::intent::Held;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{EntityKind, TypeRef};
use crate::txn::Core;

/// Rows turned into text at most between two looks at the size of the chunk.
const MAX_STEP_ROWS: usize = 256;

/// Newline-delimited JSON, nodes first, then edges, each in declaration order, in chunks of whole lines
/// near [`limits::EXPORT_CHUNK_BYTES`].
///
/// One immutable state, whatever is written meanwhile. Nothing is read before the reader asks for it, and
/// nothing after it goes away; after an error the stream ends. From its first poll to its end no cleanup removes what
/// it reads, unless the graph was opened read-only: such a reader writes nothing, so nobody knows of it.
pub fn export(core: Arc<Core>, snapshot: Snapshot) -> BoxStream<'static, Result<Bytes>> {
    futures::stream::try_unfold(Exporter::new(core, snapshot), |mut exporter| async move {
        Ok(exporter.next_chunk().await?.map(|chunk| (chunk, exporter)))
    })
    .boxed()
}

struct Exporter {
    core: Arc<Core>,
    snapshot: Snapshot,
    held: Option<Held>,
    types: VecDeque<TypeRef>,
    current: Option<Current>,
    text: Vec<u8>,
}

/// The type being written.
struct Current {
    type_ref: TypeRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
    /// What is left of the newest batch, and how many of its rows to write at once.
    rest: Option<(RecordBatch, usize)>,
}

impl Exporter {
    fn new(core: Arc<Core>, snapshot: Snapshot) -> Self {
        let of = |kind| snapshot.schema.types.iter().filter(move |t| t.kind == kind).map(|t| t.type_ref());
        let types = of(EntityKind::Node).chain(of(EntityKind::Edge)).collect();
        Self { core, snapshot, held: None, types, current: None, text: Vec::new() }
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        if self.held.is_none() {
            self.held = Some(scan::hold(&self.core, &self.snapshot).await?);
        }
        while self.text.len() < limits::EXPORT_CHUNK_BYTES {
            if !self.step().await? {
                break;
            }
        }
        let text = std::mem::take(&mut self.text);
        Ok((!text.is_empty()).then(|| Bytes::from(text)))
    }

    /// Writes some more rows, or moves on to the next batch or type; false if there is nothing left.
    async fn step(&mut self) -> Result<bool> {
        let Some(current) = &mut self.current else {
            let Some(type_ref) = self.types.pop_front() else {
                return Ok(false);
            };
            self.current = Some(open(&self.core, &self.snapshot, type_ref).await?);
            return Ok(true);
        };
        let Some((batch, step)) = current.rest.take() else {
            match current.batches.try_next().await? {
                Some(batch) => current.rest = Some((batch.clone(), step_rows(&batch))),
                None => self.current = None,
            }
            return Ok(true);
        };
        let rows = step.min(batch.num_rows());
        write_rows(self.snapshot.ty(&current.type_ref)?, &batch.slice(0, rows), &mut self.text)?;
        current.rest = (rows < batch.num_rows()).then(|| (batch.slice(rows, batch.num_rows() - rows), step));
        Ok(true)
    }
}

/// Rows whose text stays well below a chunk.
fn step_rows(batch: &RecordBatch) -> usize {
    let per_row = batch.get_array_memory_size() / batch.num_rows().max(1);
    (limits::EXPORT_CHUNK_BYTES / 4 / per_row.max(1)).clamp(1, MAX_STEP_ROWS)
}

async fn open(core: &Arc<Core>, snapshot: &Snapshot, type_ref: TypeRef) -> Result<Current> {
    let request = ScanRequest {
        type_ref: type_ref.clone(),
        columns: Vec::new(),
        predicate: None,
        order: Vec::new(),
        limit: None,
    };
    let rows = scan::scan_held(core, snapshot, &request).await?;
    Ok(Current { type_ref, batches: rows.batches, rest: None })
}
