//! Answers tickets: rows as record batches that fit a message.

use arrow_array::{Array, RecordBatch};
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_proto::v1;

use super::question::Question;
use super::ticket;
use crate::convert::write;
use crate::limits::FLIGHT_BATCH_BYTES;
use crate::state::State;

/// `DoGet`: the rows of one part of a planned scan, as they were when it was planned.
pub(super) async fn get(
    state: &State,
    ticket: v1::ScanTicket,
) -> Result<impl Stream<Item = Result<FlightData>> + Send + 'static> {
    let command = ticket.command.ok_or_else(|| ticket::refused("the ticket has no scan"))?;
    write::check_features(&command.required_features)?;
    let question = Question::of(command)?;
    let graph = state.graph(&ticket.graph).await?;
    let line = (!ticket.manifest_branch.is_empty()).then_some(ticket.manifest_branch.as_str());
    let snapshot = graph.snapshot_at(line, ticket.manifest_version).await?;
    if snapshot.head() != ticket.commit_id {
        let what = "the version the ticket was made for is not kept any more; plan the scan again";
        return Err(Error::new(Reason::CommitNotFound, what).with("commit", &ticket.commit_id));
    }
    let fragments = (!ticket.fragments.is_empty()).then_some(ticket.fragments.as_slice());
    let rows = question.rows(&graph, &snapshot, fragments).await?;
    let cut = |batch| stream::iter(split(batch, FLIGHT_BATCH_BYTES).into_iter().map(Ok::<_, Error>));
    let pieces = rows.batches.map_ok(cut);
    let batches = pieces.try_flatten().map_err(|e| FlightError::ExternalError(Box::new(e)));
    let data = FlightDataEncoderBuilder::new()
        .with_schema(rows.schema)
        // The encoder measures whole buffers, also for slices of them; batches were cut to size above.
        .with_max_flight_data_size(usize::MAX)
        .build(batches.boxed());
    Ok(data.map_err(as_engine))
}

/// Rows in pieces of at most `max` bytes, in order. Nothing is copied; a single row is never cut.
fn split(batch: RecordBatch, max: usize) -> Vec<RecordBatch> {
    let mut out = Vec::new();
    let mut left = vec![batch];
    while let Some(batch) = left.pop() {
        let rows = batch.num_rows();
        if rows > 1 && bytes(&batch) > max {
            let half = rows / 2;
            left.push(batch.slice(half, rows - half));
            left.push(batch.slice(0, half));
        } else if rows > 0 {
            out.push(batch);
        }
    }
    out
}

/// Bytes that the rows of a batch take when they are encoded, without headers.
fn bytes(batch: &RecordBatch) -> usize {
    let column = |c: &std::sync::Arc<dyn Array>| {
        c.to_data().get_slice_memory_size().unwrap_or_else(|_| c.get_array_memory_size())
    };
    batch.columns().iter().map(column).sum()
}

/// The engine's error inside a Flight error, or a fault.
pub(super) fn as_engine(error: FlightError) -> Error {
    match error {
        FlightError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => Error::internal(format!("a batch cannot be encoded: {other}")),
        },
        other => Error::internal("a batch cannot be encoded").caused_by(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn batch(texts: &[&str]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..texts.len() as i64));
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    fn numbers(pieces: &[RecordBatch]) -> Vec<i64> {
        let column = |b: &RecordBatch| b.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
        pieces.iter().flat_map(column).collect()
    }

    #[test]
    fn pieces_fit_and_keep_the_order() {
        let long = "x".repeat(1000);
        let texts: Vec<&str> = (0..100).map(|i| if i % 10 == 0 { long.as_str() } else { "y" }).collect();
        let pieces = split(batch(&texts), 1500);
        assert!(pieces.len() > 5);
        assert!(pieces.iter().all(|p| bytes(p) <= 1500));
        assert_eq!(numbers(&pieces), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn one_row_is_never_cut_and_no_row_is_no_piece() {
        let long = "x".repeat(1000);
        let pieces = split(batch(&[&long, "y"]), 10);
        assert_eq!(numbers(&pieces), [0, 1]);
        assert!(split(batch(&[]), 10).is_empty());
        assert_eq!(split(batch(&["a", "b"]), 10_000).len(), 1);
    }

    #[tokio::test]
    async fn encoded_batches_stay_below_the_clients_limit() {
        use prost::Message;
        let text = "z".repeat(300);
        let whole = batch(&vec![text.as_str(); 50_000]);
        let schema = whole.schema();
        let pieces = stream::iter(split(whole, FLIGHT_BATCH_BYTES).into_iter().map(Ok));
        let builder = FlightDataEncoderBuilder::new().with_schema(schema).with_max_flight_data_size(usize::MAX);
        let sent: Vec<FlightData> = builder.build(pieces).try_collect().await.unwrap();
        assert!(sent.len() > 4);
        assert!(sent.iter().all(|data| data.encoded_len() < 4 * 1024 * 1024));
    }

    #[test]
    fn the_engines_errors_come_through() {
        let error = Error::new(Reason::CommitNotFound, "gone");
        assert_eq!(as_engine(FlightError::ExternalError(Box::new(error))).reason(), Reason::CommitNotFound);
        assert_eq!(as_engine(FlightError::protocol("x")).reason(), Reason::Internal);
    }
}
