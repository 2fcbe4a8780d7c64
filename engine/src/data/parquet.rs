//! Parquet files, read in batches whose size follows from what the file says about its rows.
//!
//! The format needs random access, so a stream is first written to an unnamed temporary file.

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::conform::BatchDecoder;
use super::{Compression, Outlet, SharedFile, Source, compression, unreadable};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::EntityType;

/// Decodes a Parquet file.
///
/// # Errors
/// As [`super::decode`]; [`Reason::Internal`] if no temporary file can be written.
pub(super) fn read(source: Source, compression: Compression, ty: &EntityType, outlet: &mut Outlet<'_>) -> Result<()> {
    let failed = |e| unreadable("the Parquet input", e);
    let file = random_access(source, compression)?;
    let length = file.bytes().map_err(|e| unreadable("the Parquet input", e))?;
    let mut decoder = BatchDecoder::new(ty)?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
    decoder.check_schema(builder.schema())?;
    let groups = builder.metadata().row_groups();
    let bytes_per_row = groups.iter().map(|g| g.total_byte_size().max(0) / g.num_rows().max(1)).max();
    let bytes_per_row = usize::try_from(bytes_per_row.unwrap_or_default()).unwrap_or_default().max(1);
    let rows = (limits::BATCH_BYTES / bytes_per_row).clamp(1, limits::BATCH_ROWS);
    let batches = builder.with_batch_size(rows).build().map_err(failed)?;
    for batch in batches {
        let batch = batch.map_err(|e| unreadable("the Parquet input", e))?;
        decoder.feed(&batch, outlet)?;
    }
    outlet.stats.records += decoder.records();
    outlet.stats.bytes += length;
    Ok(())
}

/// The input as an uncompressed file.
fn random_access(source: Source, compression: Compression) -> Result<SharedFile> {
    let source = match (source, compression) {
        (Source::File(file), Compression::None) => return Ok(file),
        (Source::File(file), Compression::Auto) => {
            let (found, _) = compression::sniff(Box::new(file.clone()))?;
            if found == Compression::None {
                return Ok(file);
            }
            Source::File(file)
        }
        (source, _) => source,
    };
    let no_room = |e| {
        let what = format!("a Parquet stream needs a temporary file and none can be written: {e}");
        Error::new(Reason::Internal, what).caused_by(e)
    };
    let mut reader = compression::open(source, compression)?;
    let mut file = tempfile::tempfile().map_err(no_room)?;
    std::io::copy(&mut reader, &mut file).map_err(|e| unreadable("the Parquet input", e))?;
    Ok(SharedFile::new(file))
}
