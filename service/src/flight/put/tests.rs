//! Batches are spooled as they came, and what is no batch is refused without a panic.

use super::*;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::IpcWriteOptions;
use omnigraph_engine::EngineOptions;
use std::sync::Arc;

use crate::config::Config;

fn batch(rows: usize) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["Ω"; rows]));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

async fn encoded(batches: Vec<RecordBatch>, compression: Option<CompressionType>) -> Vec<FlightData> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let builder = FlightDataEncoderBuilder::new().with_options(options).with_schema(batch(0).schema());
    builder.build(stream::iter(batches.into_iter().map(Ok))).try_collect().await.unwrap()
}

async fn spooled(messages: Vec<FlightData>) -> Result<(u64, Vec<RecordBatch>)> {
    let state = State::new(&Config::new("data"), EngineOptions::default());
    let mut spool = state.spool()?;
    let rows = spool_batches(stream::iter(messages.into_iter().map(Ok)), &mut spool).await?;
    let spooled = spool.finish().await?;
    let mut file = spooled.file.try_clone().unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let batches = StreamReader::try_new(file, None).unwrap().map(std::result::Result::unwrap);
    Ok((rows, batches.collect()))
}

#[tokio::test]
async fn batches_are_kept_as_they_came() {
    for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        let mut messages = encoded(vec![batch(3), batch(1000)], compression).await;
        messages.insert(1, FlightData::default());
        let (rows, batches) = spooled(messages).await.unwrap();
        assert_eq!(rows, 1003);
        assert_eq!(batches, [batch(3), batch(1000)]);
    }
    let (rows, batches) = spooled(encoded(Vec::new(), None).await).await.unwrap();
    assert_eq!((rows, batches.len()), (0, 0));
}

#[tokio::test]
async fn what_is_no_upload_is_refused() {
    let good = encoded(vec![batch(3)], None).await;
    let twice = vec![good[0].clone(), good[0].clone()];
    for bad in [Vec::new(), vec![FlightData::default()], vec![good[1].clone()], twice] {
        assert!(spooled(bad).await.is_err());
    }
    for at in 0..good[1].data_header.len() {
        let mut header = good[1].data_header.to_vec();
        header[at] ^= 0x7f;
        let damaged = FlightData { data_header: header.into(), ..good[1].clone() };
        // It may still be a batch; it must not be a panic.
        let _ = spooled(vec![good[0].clone(), damaged]).await;
    }
    let short = FlightData { data_body: good[1].data_body.slice(..8), ..good[1].clone() };
    assert_eq!(spooled(vec![good[0].clone(), short]).await.unwrap_err().reason(), Reason::InvalidRecord);
}

#[tokio::test]
async fn claims_of_size_are_not_believed() {
    let good = encoded(vec![batch(1000)], Some(CompressionType::ZSTD)).await;
    let message = root_as_message(&good[1].data_header).unwrap();
    let largest =
        message.header_as_record_batch().unwrap().buffers().unwrap().iter().max_by_key(|b| b.length()).unwrap();
    let at = usize::try_from(largest.offset()).unwrap();
    let mut body = good[1].data_body.to_vec();
    body[at..at + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    let bomb = FlightData { data_body: body.into(), ..good[1].clone() };
    assert_eq!(spooled(vec![good[0].clone(), bomb]).await.unwrap_err().reason(), Reason::LimitExceeded);
}
