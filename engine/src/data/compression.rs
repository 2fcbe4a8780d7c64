//! Undoes an input's compression, streaming.
//!
//! It looks at no more than the first bytes to tell what they are, and knows no format.

use std::io::{BufReader, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::{Compression, Source, unreadable};
use crate::error::Result;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Bytes asked of the underlying reader at a time.
const CHUNK: usize = 256 * 1024;

type Peeked = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// The bytes of an input as they were before compression.
///
/// # Errors
/// [`crate::error::Reason::InvalidRecord`] if the first bytes cannot be read.
pub(crate) fn open(source: Source, compression: Compression) -> Result<Box<dyn Read + Send>> {
    let reader: Box<dyn Read + Send> = match source {
        Source::Stream(reader) => reader,
        Source::File(file) => Box::new(file),
    };
    let (found, reader) = match compression {
        Compression::Auto => sniff(reader)?,
        told => (told, Cursor::new(Vec::new()).chain(reader)),
    };
    let reader = BufReader::with_capacity(CHUNK, reader);
    match found {
        Compression::Gzip => Ok(Box::new(MultiGzDecoder::new(reader))),
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(reader);
            Ok(Box::new(decoder.map_err(|e| unreadable("the input", e))?))
        }
        Compression::Auto | Compression::None => Ok(Box::new(reader)),
    }
}

/// Tells a compression from the first bytes, and gives them back in front of the others.
pub(super) fn sniff(mut reader: Box<dyn Read + Send>) -> Result<(Compression, Peeked)> {
    let mut head = Vec::new();
    reader.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head).map_err(|e| unreadable("the input", e))?;
    let found = if head.starts_with(GZIP) {
        Compression::Gzip
    } else if head.starts_with(ZSTD) {
        Compression::Zstd
    } else {
        Compression::None
    };
    Ok((found, Cursor::new(head).chain(reader)))
}
