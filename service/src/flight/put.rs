//! Takes record batches: all that come on one stream become one commit.
//!
//! Batches are decoded as they come, which checks them, and spooled as one Arrow IPC stream. The engine
//! sees the input once the caller has closed its side.

use std::panic::AssertUnwindSafe;

use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, PutResult};
use arrow_ipc::root_as_message;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::Actor;
use omnigraph_proto::v1;
use prost::Message;
use tonic::Streaming;

use super::ticket;
use crate::convert::{commit, entity, invalid, write};
use crate::limits::MAX_INFLATED_BYTES;
use crate::rpc::broken_upload;
use crate::rpc::load::Accepted;
use crate::state::{Spool, State};

/// The announcement in the first message, and the message itself, which may hold the schema already.
///
/// # Errors
/// [`Reason::InvalidTicket`] if nothing, or something else, is announced.
pub(super) async fn begin(messages: &mut Streaming<FlightData>) -> Result<(v1::LoadCommand, FlightData)> {
    let first = messages.message().await.map_err(|e| broken_upload(&e))?;
    let mut first = first.ok_or_else(|| ticket::refused("the upload is empty; its first message announces it"))?;
    let descriptor = first.flight_descriptor.take();
    let descriptor = descriptor.ok_or_else(|| ticket::refused("the first message of an upload has a descriptor"))?;
    Ok((ticket::load(&descriptor)?, first))
}

/// `DoPut`, after its announcement.
pub(super) async fn put(
    state: &State,
    command: v1::LoadCommand,
    first: FlightData,
    messages: Streaming<FlightData>,
    actor: Actor,
) -> Result<PutResult> {
    let mode = write::mode_to_engine("mode", command.mode)?;
    let (graph, options) = write::options_to_engine(command.options, actor)?;
    let type_ref = entity::type_to_engine("", command.kind, &command.type_name)?;
    let accepted = Accepted {
        graph: state.graph(&graph).await?,
        options,
        mode,
        format: InputFormat::ArrowIpc,
        compression: Compression::None,
        type_ref: Some(type_ref),
    };
    accepted.check(state).await?;
    let rest = messages.map_err(|e| broken_upload(&e));
    let mut spool = state.spool()?;
    let rows = spool_batches(stream::iter([Ok(first)]).chain(rest), &mut spool).await?;
    let branch = accepted.options.branch_name().to_string();
    let receipt = accepted.carry_out(state, spool).await?;
    let records = if receipt.replayed { 0 } else { rows };
    let result = v1::LoadResult { receipt: Some(commit::receipt_to_proto(receipt, &branch)), records };
    Ok(PutResult { app_metadata: result.encode_to_vec().into() })
}

/// Writes what comes as one Arrow IPC stream, and counts its rows.
async fn spool_batches(
    messages: impl Stream<Item = Result<FlightData>> + Send + 'static,
    spool: &mut Spool,
) -> Result<u64> {
    let data = messages.try_filter(|data| std::future::ready(!is_empty(data)));
    let checked = data.and_then(|data| std::future::ready(check_buffers(&data).map(|()| data)));
    let mut decoder = FlightDataDecoder::new(checked.map_err(|e| FlightError::ExternalError(Box::new(e))));
    let mut writer: Option<StreamWriter<Vec<u8>>> = None;
    let mut rows = 0_u64;
    while let Some(part) = next(&mut decoder).await? {
        match part {
            DecodedPayload::None => {}
            DecodedPayload::Schema(_) if writer.is_some() => {
                return Err(invalid("schema", "an upload has one schema, and this one has a second"));
            }
            DecodedPayload::Schema(schema) => {
                writer = Some(StreamWriter::try_new(Vec::new(), &schema).map_err(unspoolable)?);
            }
            DecodedPayload::RecordBatch(batch) => {
                let out = writer.as_mut().ok_or_else(|| invalid("schema", "must come before the first batch"))?;
                out.write(&batch).map_err(unspoolable)?;
                rows += batch.num_rows() as u64;
                let bytes = std::mem::take(out.get_mut());
                spool.push(&Bytes::from(bytes)).await?;
            }
        }
    }
    let mut writer = writer.ok_or_else(|| invalid("schema", "must come with or after the announcement"))?;
    writer.finish().map_err(unspoolable)?;
    spool.push(&Bytes::from(std::mem::take(writer.get_mut()))).await?;
    Ok(rows)
}

/// A message without any Arrow part, which clients send to carry an announcement or metadata alone.
fn is_empty(data: &FlightData) -> bool {
    data.data_header.is_empty() && data.data_body.is_empty()
}

/// Refuses what the decoder would trust: buffers outside the message, and compressed ones that claim to be
/// larger than anyone should allocate on a stranger's word.
fn check_buffers(data: &FlightData) -> Result<()> {
    let Ok(message) = root_as_message(&data.data_header) else {
        // The decoder says what is wrong with it.
        return Ok(());
    };
    let dictionary = message.header_as_dictionary_batch().and_then(|d| d.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else {
        return Ok(());
    };
    let is_compressed = batch.compression().is_some();
    let mut total = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes =
            bytes_of(buffer, &data.data_body).ok_or_else(|| unreadable("a buffer lies outside of its message"))?;
        if is_compressed && let Some(claimed) = bytes.first_chunk().copied().map(i64::from_le_bytes) {
            // A negative length marks a buffer that is not compressed after all.
            total = total.saturating_add(u64::try_from(claimed).unwrap_or(0));
        }
    }
    if total > MAX_INFLATED_BYTES {
        let what = format!("a batch unpacks to {total} bytes, more than {MAX_INFLATED_BYTES}; send smaller ones");
        return Err(Error::new(Reason::LimitExceeded, what)
            .with("limit", "batch_bytes")
            .with("value", total)
            .with("max", MAX_INFLATED_BYTES));
    }
    Ok(())
}

fn bytes_of<'a>(buffer: &arrow_ipc::Buffer, body: &'a Bytes) -> Option<&'a [u8]> {
    let start = usize::try_from(buffer.offset()).ok()?;
    let length = usize::try_from(buffer.length()).ok()?;
    body.get(start..start.checked_add(length)?)
}

/// The next part of an upload. The decoder asserts what it expects of a message; where a message breaks
/// that, it is the message that is wrong, and the upload ends here.
async fn next(decoder: &mut FlightDataDecoder) -> Result<Option<DecodedPayload>> {
    match AssertUnwindSafe(decoder.next()).catch_unwind().await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(decoded))) => Ok(Some(decoded.payload)),
        Ok(Some(Err(e))) => Err(undecodable(e)),
        Err(_) => Err(unreadable("a message contradicts itself")),
    }
}

fn undecodable(error: FlightError) -> Error {
    match error {
        FlightError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => unreadable(&other.to_string()),
        },
        other => unreadable(&other.to_string()),
    }
}

fn unreadable(why: &str) -> Error {
    Error::new(Reason::InvalidRecord, format!("the upload cannot be read: {why}; nothing was written"))
}

fn unspoolable(error: ArrowError) -> Error {
    Error::new(Reason::InvalidRecord, format!("the upload cannot be kept: {error}; nothing was written"))
        .caused_by(error)
}

#[cfg(test)]
mod tests;
