//! Arrow IPC: the stream format, and the file format read as the stream it contains.
//!
//! Needs no random access: a file is a stream between a magic number and a footer. Lengths that the input
//! claims are not believed: memory grows with the bytes that really come, and one message has a greatest
//! size.

use std::io::Read;

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::conform::BatchDecoder;
use super::{Outlet, unreadable};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::EntityType;

/// What a file starts with, padded to eight bytes.
const MAGIC: &[u8; 8] = b"ARROW1\0\0";

const CHUNK: usize = 1024 * 1024;

/// Decodes an Arrow IPC stream or file.
///
/// # Errors
/// As [`super::decode`].
pub(super) fn read(mut reader: impl Read, ty: &EntityType, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut decoder = BatchDecoder::new(ty)?;
    let mut messages = StreamDecoder::new();
    let mut schema_is_known = false;
    let mut bytes_since_batch = 0;
    let mut chunk = start(&mut reader)?;
    'input: while !chunk.is_empty() {
        outlet.stats.bytes += chunk.len() as u64;
        let mut bytes = Buffer::from(chunk);
        bytes_since_batch += bytes.len();
        while !bytes.is_empty() {
            let batch = match messages.decode(&mut bytes) {
                Ok(batch) => batch,
                // It complains about whatever follows the end of the stream, and so does a file's footer.
                Err(_) if messages.finish().is_ok() => break 'input,
                Err(e) => return Err(unreadable("the Arrow IPC input", e)),
            };
            if let (Some(schema), false) = (messages.schema(), schema_is_known) {
                decoder.check_schema(&schema)?;
                schema_is_known = true;
            }
            if let Some(batch) = batch {
                bytes_since_batch = bytes.len();
                decoder.feed(&batch, outlet)?;
            }
        }
        if bytes_since_batch > limits::MAX_RECORD_BYTES + CHUNK {
            let limit = limits::MAX_RECORD_BYTES;
            let what = format!("a batch of the Arrow IPC input has more than {limit} bytes; write smaller batches");
            return Err(Error::new(Reason::LimitExceeded, what).with("limit", limit));
        }
        chunk = next(&mut reader, CHUNK)?;
    }
    messages.finish().map_err(|e| unreadable("the Arrow IPC input", e))?;
    match messages.schema() {
        Some(schema) if !schema_is_known => decoder.check_schema(&schema)?,
        Some(_) => {}
        None => {
            return Err(Error::new(Reason::InvalidRecord, "the Arrow IPC input is empty; it lacks a schema"));
        }
    }
    outlet.stats.records += decoder.records();
    Ok(())
}

/// The first bytes of the stream, without a file's magic number.
fn start(reader: &mut impl Read) -> Result<Vec<u8>> {
    let mut head = next(reader, MAGIC.len())?;
    if head == MAGIC {
        // Writers pad the magic number further, up to the alignment of what follows. A stream never starts
        // with zeros.
        head = next(reader, MAGIC.len())?;
        while !head.is_empty() && head.iter().all(|b| *b == 0) {
            head = next(reader, MAGIC.len())?;
        }
    }
    Ok(head)
}

/// The next bytes, fewer only at the end of the input.
fn next(reader: &mut impl Read, count: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut bytes).map_err(|e| unreadable("the input", e))?;
    Ok(bytes)
}
