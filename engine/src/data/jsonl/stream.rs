//! A window over the bytes of an input: what has been read and not yet been used.
//!
//! Holds one record at a time, however long up to the limit, and knows where in the input it stands.

use std::io::{ErrorKind, Read};

use crate::data::unreadable;
use crate::error::{Error, Reason, Result};

/// Bytes asked for at a time while records are small.
const CHUNK: usize = 256 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// See the module header.
pub(super) struct Stream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the unused bytes start.
    start: usize,
    ended: bool,
    limit: usize,
    bytes_read: u64,
    /// Line breaks before the buffer.
    lines_before: u64,
    /// Characters between the last of them and the buffer.
    chars_before: u64,
}

impl<R: Read> Stream<R> {
    /// A window whose records have at most `limit` bytes.
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            limit,
            bytes_read: 0,
            lines_before: 0,
            chars_before: 0,
        }
    }

    /// Bytes read from the input so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The unused bytes that are in memory.
    pub(super) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Marks the first pending bytes as used.
    pub(super) fn consume(&mut self, length: usize) {
        self.start += length;
    }

    /// Uses blanks and line breaks up to the next record; `false` at the end of the input.
    pub(super) fn skip_blanks(&mut self) -> Result<bool> {
        if self.bytes_read == 0 {
            self.fill()?;
            if self.pending().starts_with(BYTE_ORDER_MARK) {
                self.start = BYTE_ORDER_MARK.len();
            }
        }
        loop {
            match self.pending().iter().position(|b| !b.is_ascii_whitespace()) {
                Some(blanks) => {
                    self.start += blanks;
                    return Ok(true);
                }
                None => self.start = self.buffer.len(),
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Reads on until the pending bytes have at least doubled, so that a long record is scanned only a few
    /// times; `false` if the input has ended and nothing came.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] if the pending bytes are longer than a record may be.
    pub(super) fn fill(&mut self) -> Result<bool> {
        let pending = self.buffer.len() - self.start;
        self.check_length(pending)?;
        if self.ended {
            return Ok(false);
        }
        self.forget_used();
        // One byte more than the limit is enough to know that a record exceeds it.
        let wanted = (2 * pending).max(pending + CHUNK).min(self.limit.max(CHUNK) + 1).max(pending + 1);
        self.buffer.resize(wanted, 0);
        let mut filled = pending;
        while filled < wanted {
            match self.reader.read(&mut self.buffer[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(unreadable("the input", e)),
            }
        }
        self.buffer.truncate(filled);
        self.bytes_read += (filled - pending) as u64;
        Ok(filled > pending)
    }

    /// Checks the length of the record that starts with the first pending byte.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] if it is longer than a record may be.
    pub(super) fn check_length(&self, length: usize) -> Result<()> {
        if length <= self.limit {
            return Ok(());
        }
        let (line, limit) = (self.lines_before + self.breaks(self.start) + 1, self.limit);
        let what = format!(
            "the record that starts on line {line} has more than {limit} bytes, the most a record may have; \
             nothing was written"
        );
        Err(Error::new(Reason::LimitExceeded, what).with("limit", limit))
    }

    /// Uses everything up to the next line that starts with `{`, looking from the pending byte at `from`
    /// on, where a record turned out not to be JSON.
    pub(super) fn skip_to_record(&mut self, from: usize) -> Result<()> {
        let mut at = from.max(1);
        loop {
            let pending = self.pending();
            while at < pending.len() {
                if pending[at] == b'{' && pending[at - 1] == b'\n' {
                    self.start += at;
                    return Ok(());
                }
                at += 1;
            }
            // The last byte stays: it may be the line break before the record.
            self.start = self.buffer.len().saturating_sub(1).max(self.start);
            at = 1;
            if !self.fill()? {
                self.start = self.buffer.len();
                return Ok(());
            }
        }
    }

    /// Names the place of the pending byte at `at`.
    pub(super) fn place(&self, record: u64, at: usize) -> String {
        let end = (self.start + at).min(self.buffer.len());
        let (breaks, chars) = (self.breaks(end), self.chars_since_break(end));
        format!("record {record}, line {}, column {}", self.lines_before + breaks + 1, chars + 1)
    }

    fn breaks(&self, end: usize) -> u64 {
        self.buffer[..end].iter().filter(|b| **b == b'\n').count() as u64
    }

    fn chars_since_break(&self, end: usize) -> u64 {
        let (carried, line) = match self.buffer[..end].iter().rposition(|b| *b == b'\n') {
            Some(at) => (0, &self.buffer[at + 1..end]),
            None => (self.chars_before, &self.buffer[..end]),
        };
        // Every character of UTF-8 has one byte that does not continue another.
        carried + line.iter().filter(|b| **b & 0xc0 != 0x80).count() as u64
    }

    fn forget_used(&mut self) {
        let chars = self.chars_since_break(self.start);
        self.lines_before += self.breaks(self.start);
        self.chars_before = chars;
        self.buffer.drain(..self.start);
        self.start = 0;
    }
}
