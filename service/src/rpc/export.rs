//! A whole version as a stream of text.

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use omnigraph_engine::error::Result;
use omnigraph_proto::v1;
use omnigraph_proto::v1::export_response::Part;

use super::read;
use crate::limits::EXPORT_CHUNK_BYTES;
use crate::state::State;

/// `Export`: the header, then the bytes. What fails before the first bytes fails before the header.
pub(super) async fn export(
    state: &State,
    request: v1::ExportRequest,
) -> Result<impl Stream<Item = Result<v1::ExportResponse>> + Send + 'static> {
    let read = read(state, &request.graph, request.selector).await?;
    let mut bytes = read.graph.export(&read.snapshot);
    let first = bytes.try_next().await?;
    let header = v1::ExportHeader { read: Some(read.named) };
    let chunks =
        stream::iter(first.map(Ok)).chain(bytes).map_ok(|bytes| stream::iter(cut(bytes).map(Ok))).try_flatten();
    let parts = stream::once(async { Ok(Part::Header(header)) }).chain(chunks.map_ok(Part::Chunk));
    Ok(parts.map_ok(|part| v1::ExportResponse { part: Some(part) }))
}

/// Pieces that fit a message. Nothing is copied.
fn cut(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        Some(bytes.split_to(bytes.len().min(EXPORT_CHUNK_BYTES)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fit_and_make_up_the_whole() {
        let whole = Bytes::from(vec![3; EXPORT_CHUNK_BYTES * 2 + 1]);
        let pieces: Vec<Bytes> = cut(whole.clone()).collect();
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [EXPORT_CHUNK_BYTES, EXPORT_CHUNK_BYTES, 1]);
        assert_eq!(pieces.concat(), whole);
        assert_eq!(cut(Bytes::new()).count(), 0);
    }
}
