//! A file that several readers share, each at a place of its own. The file needs no name.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

/// Reads a file from a place of its own, whatever others do with it. Clones begin where this one is and go their own
/// ways.
#[derive(Clone, Debug)]
pub struct SharedFile {
    file: Arc<File>,
    /// The next byte to read.
    at: u64,
}

impl SharedFile {
    /// The bytes of a file, from its beginning. Nobody may write to it meanwhile.
    pub fn new(file: impl Into<Arc<File>>) -> Self {
        Self { file: file.into(), at: 0 }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

impl Read for SharedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// What the reader of Parquet asks of its input.
impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes().unwrap_or(0)
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(Self { file: self.file.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged file may ask for more than there is.
        let there = self.bytes()?.saturating_sub(start);
        if there < length as u64 {
            return Err(ParquetError::EOF(format!("{length} bytes were expected at {start}, and {there} are there")));
        }
        let mut bytes = vec![0; length];
        Self { file: self.file.clone(), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn shared(bytes: &[u8]) -> SharedFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        SharedFile::new(file)
    }

    fn next(file: &mut SharedFile, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.take(count as u64).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn readers_of_one_file_do_not_move_each_other() {
        let mut first = shared(b"0123456789");
        // It begins at the beginning, although whoever wrote the file stands at its end.
        assert_eq!(next(&mut first, 3), b"012");
        let mut second = first.clone();
        assert_eq!(next(&mut second, 4), b"3456");
        assert_eq!(next(&mut first, 100), b"3456789");
        assert_eq!(next(&mut SharedFile::new(second.file.clone()), 2), b"01");
        assert_eq!(next(&mut second, 100), b"789");
        assert_eq!(next(&mut second, 1), b"");
    }

    #[test]
    fn more_than_there_is_is_no_reason_to_reserve_memory_for_it() {
        let file = shared(b"0123456789");
        assert_eq!(file.get_bytes(7, 3).unwrap(), b"789"[..]);
        for (start, length) in [(7, 4), (11, 1), (0, usize::MAX)] {
            assert!(matches!(file.get_bytes(start, length), Err(ParquetError::EOF(_))));
        }
    }
}
