//! The lines of an archive, read and decoded on a thread of their own, in order, with their numbers.

use std::io::{BufRead, BufReader, Read};

use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::line::{self, Line};
use super::sink::hex;
use crate::data::{Compression, Source, uncompressed};
use crate::error::{Error, Reason, Result};
use crate::limits;

/// Batches of lines that are decoded ahead.
const BATCHES_IN_FLIGHT: usize = 2;

type Batch = Vec<(u64, Line)>;

/// See the module header.
pub(super) struct Lines {
    from: mpsc::Receiver<Result<Batch>>,
    batch: std::vec::IntoIter<(u64, Line)>,
    number: u64,
}

impl Lines {
    /// Begins to read.
    pub(super) fn open(source: Source) -> Self {
        let (to, from) = mpsc::channel(BATCHES_IN_FLIGHT);
        tokio::task::spawn_blocking(move || {
            if let Err(e) = read(source, &to) {
                // Nobody hears of it if whoever read the lines is gone.
                let _ = to.blocking_send(Err(e));
            }
        });
        Self { from, batch: Vec::new().into_iter(), number: 0 }
    }

    /// The next line.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] for a line that is none, for a checksum that is another, and if there is no next line;
    /// [`Reason::StorageStampTooNew`] for a later format. The message names the line, and so does `line`.
    pub(super) async fn next(&mut self) -> Result<Line> {
        loop {
            if let Some((number, line)) = self.batch.next() {
                self.number = number;
                return Ok(line);
            }
            match self.from.recv().await {
                Some(batch) => self.batch = batch?.into_iter(),
                None => return Err(self.wrong("nothing may follow the last line of an archive")),
            }
        }
    }

    /// Makes sure that there is no further line.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] if there is one.
    pub(super) async fn finish(&mut self) -> Result<()> {
        match (self.batch.next(), self.from.recv().await) {
            (None, None) => Ok(()),
            (None, Some(Err(e))) => Err(e),
            _ => Err(self.wrong("nothing may follow the last line of an archive")),
        }
    }

    /// The number of the line that was read last.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The error for what is wrong with the line that was read last.
    pub(super) fn wrong(&self, what: &str) -> Error {
        at(self.number, &wrong(what))
    }
}

/// An error that a line led to, with its number.
pub(super) fn at(number: u64, error: &Error) -> Error {
    let mut told = Error::new(error.reason(), format!("line {number} of the archive: {}", error.message()))
        .with_violations(error.violations().to_vec())
        .with("line", number);
    for (key, value) in error.metadata() {
        told = told.with(key, value);
    }
    told.caused_by(error.clone())
}

/// Reads everything and hands it on, the last line only if all before it is as it was written.
fn read(source: Source, to: &mpsc::Sender<Result<Batch>>) -> Result<()> {
    let mut from = BufReader::new(uncompressed(source, Compression::Auto)?);
    let mut text = Vec::new();
    let mut checked = Checked::default();
    let (mut batch, mut bytes, mut number) = (Vec::new(), 0, 1);
    while read_line(&mut from, &mut text).map_err(|e| at(number, &e))? {
        batch.push((number, checked.line(number, &text).map_err(|e| at(number, &e))?));
        number += 1;
        bytes += text.len();
        if bytes >= limits::ARCHIVE_BATCH_BYTES {
            bytes = 0;
            if to.blocking_send(Ok(std::mem::take(&mut batch))).is_err() {
                return Ok(());
            }
        }
    }
    match to.blocking_send(Ok(batch)) {
        Ok(()) if !checked.ended => Err(at(number, &wrong("the archive ends before its last line: it is not whole"))),
        _ => Ok(()),
    }
}

/// What came so far.
#[derive(Default)]
struct Checked {
    checksum: Sha256,
    ended: bool,
}

impl Checked {
    /// The next line.
    fn line(&mut self, number: u64, text: &[u8]) -> Result<Line> {
        if self.ended {
            return Err(wrong("nothing may follow the last line of an archive"));
        }
        if number == 1 {
            self.checksum.update(text);
            return line::decode_head(text).map(Line::Archive);
        }
        let line = line::decode(text)?;
        if let Line::End(end) = &line {
            self.ended = true;
            if end.sha256 != hex(&self.checksum.clone().finalize()) {
                return Err(wrong("the checksum is another: something before it was changed or lost"));
            }
        }
        self.checksum.update(text);
        Ok(line)
    }
}

/// The error for a line that makes no sense.
pub(super) fn wrong(what: &str) -> Error {
    Error::new(Reason::InvalidRecord, what)
}

/// Reads a line with its end; false at the end of the input. A last line without its end is an error.
fn read_line(from: &mut impl BufRead, text: &mut Vec<u8>) -> Result<bool> {
    text.clear();
    let most = limits::MAX_ARCHIVE_LINE_BYTES as u64;
    let read = from.take(most).read_until(b'\n', text);
    let read = read.map_err(|e| wrong(&format!("it cannot be read: {e}")).caused_by(e))?;
    match text.last() {
        None => Ok(false),
        Some(b'\n') => Ok(true),
        Some(_) if read as u64 >= most => {
            let what = format!("it has more than {most} bytes");
            Err(Error::new(Reason::LimitExceeded, what).with("limit", most))
        }
        Some(_) => Err(wrong("it breaks off: the archive is not whole")),
    }
}
