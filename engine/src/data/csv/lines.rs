//! Splits CSV bytes into records and fields.
//!
//! Holds one record at a time. It knows quotes and line ends; what a field means is not its business.

use std::io::{ErrorKind, Read};

use crate::data::unreadable;
use crate::error::{Error, Reason, Result};
use crate::limits;

const CHUNK: usize = 128 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A record, whose fields can be asked for.
    Fields,
    /// A record that is not CSV, and why.
    Broken(&'static str),
    /// The end of the input.
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    AfterQuote,
}

/// See the module header.
pub(super) struct Lines<R> {
    reader: R,
    chunk: Vec<u8>,
    pos: usize,
    bytes_read: u64,
    /// Line breaks taken.
    breaks: u64,
    /// The fields of the record, one after another.
    text: Vec<u8>,
    /// Where each field ends, and whether it stood in quotes.
    fields: Vec<(usize, bool)>,
    started_on: u64,
}

impl<R> Lines<R> {
    /// How many fields the record has.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field and whether it stood in quotes; `None` if it is not UTF-8.
    pub(super) fn field(&self, at: usize) -> Option<(&str, bool)> {
        let start = if at == 0 { 0 } else { self.fields[at - 1].0 };
        let (end, quoted) = self.fields[at];
        std::str::from_utf8(&self.text[start..end]).ok().map(|text| (text, quoted))
    }

    /// The line the record starts on, from 1.
    pub(super) fn line(&self) -> u64 {
        self.started_on
    }

    /// Bytes read from the input so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}

impl<R: Read> Lines<R> {
    /// Nothing read yet.
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            chunk: Vec::new(),
            pos: 0,
            bytes_read: 0,
            breaks: 0,
            text: Vec::new(),
            fields: Vec::new(),
            started_on: 1,
        }
    }

    /// Reads the next record that is not an empty line. After a broken one, goes on with the next line.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] if the input cannot be read, [`Reason::LimitExceeded`] if a record is too
    /// long.
    pub(super) fn next(&mut self) -> Result<Line> {
        if self.bytes_read == 0 {
            self.fill()?;
            if self.chunk.starts_with(BYTE_ORDER_MARK) {
                self.pos = BYTE_ORDER_MARK.len();
            }
        }
        loop {
            self.text.clear();
            self.fields.clear();
            self.started_on = self.breaks + 1;
            let line = self.record()?;
            let blank = line == Line::Fields && self.text.is_empty() && matches!(*self.fields, [(_, false)]);
            if !blank {
                return Ok(line);
            }
        }
    }

    fn record(&mut self) -> Result<Line> {
        let mut state = State::FieldStart;
        loop {
            if self.pos == self.chunk.len() && !self.fill()? {
                return Ok(self.end(state));
            }
            self.take_run(state)?;
            let Some(&byte) = self.chunk.get(self.pos) else {
                state = if state == State::FieldStart { State::Plain } else { state };
                continue;
            };
            // A run may have been taken in front of this byte.
            if state == State::FieldStart && self.text.len() > self.field_start() {
                state = State::Plain;
            }
            self.pos += 1;
            self.breaks += u64::from(byte == b'\n');
            state = match (state, byte) {
                (State::FieldStart, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::AfterQuote,
                (State::AfterQuote, b'"') => {
                    self.text.push(b'"');
                    State::Quoted
                }
                (State::Quoted, _) => {
                    self.text.push(byte);
                    State::Quoted
                }
                (_, b',') => {
                    self.fields.push((self.text.len(), state == State::AfterQuote));
                    State::FieldStart
                }
                (_, b'\n') => {
                    self.end_line(state);
                    return Ok(Line::Fields);
                }
                (State::AfterQuote, b'\r') => State::AfterQuote,
                (State::AfterQuote, _) => return self.broken("text follows a closing quote"),
                (State::Plain, b'"') => {
                    return self
                        .broken("a quote stands in a field without quotes; quote the field and double the quote");
                }
                (State::FieldStart | State::Plain, _) => {
                    self.text.push(byte);
                    State::Plain
                }
            };
        }
    }

    /// Takes bytes that have no meaning of their own, many at a time.
    fn take_run(&mut self, state: State) -> Result<()> {
        let rest = &self.chunk[self.pos..];
        let length = match state {
            State::Quoted => rest.iter().position(|b| *b == b'"' || *b == b'\n'),
            State::FieldStart | State::Plain => rest.iter().position(|b| matches!(b, b',' | b'"' | b'\n')),
            State::AfterQuote => Some(0),
        };
        let length = length.unwrap_or(rest.len());
        self.text.extend_from_slice(&rest[..length]);
        self.pos += length;
        if self.text.len() > limits::MAX_RECORD_BYTES {
            let (line, limit) = (self.started_on, limits::MAX_RECORD_BYTES);
            let what =
                format!("the record that starts on line {line} has more than {limit} bytes; nothing was written");
            return Err(Error::new(Reason::LimitExceeded, what).with("limit", limit));
        }
        Ok(())
    }

    fn field_start(&self) -> usize {
        self.fields.last().map_or(0, |(end, _)| *end)
    }

    fn end_line(&mut self, state: State) {
        if state != State::AfterQuote && self.text.len() > self.field_start() && self.text.last() == Some(&b'\r') {
            self.text.pop();
        }
        self.fields.push((self.text.len(), state == State::AfterQuote));
    }

    fn end(&mut self, state: State) -> Line {
        let nothing = self.fields.is_empty() && self.text.is_empty();
        match state {
            State::FieldStart | State::Plain if nothing => Line::End,
            State::Quoted => Line::Broken("the input ends inside quotes"),
            _ => {
                self.end_line(state);
                Line::Fields
            }
        }
    }

    fn broken(&mut self, what: &'static str) -> Result<Line> {
        loop {
            if let Some(at) = self.chunk[self.pos..].iter().position(|b| *b == b'\n') {
                self.pos += at + 1;
                self.breaks += 1;
                return Ok(Line::Broken(what));
            }
            self.pos = self.chunk.len();
            if !self.fill()? {
                return Ok(Line::Broken(what));
            }
        }
    }

    /// Replaces the chunk; `false` at the end of the input.
    fn fill(&mut self) -> Result<bool> {
        self.chunk.resize(CHUNK, 0);
        self.pos = 0;
        let count = loop {
            match self.reader.read(&mut self.chunk) {
                Ok(count) => break count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(unreadable("the input", e)),
            }
        };
        self.chunk.truncate(count);
        self.bytes_read += count as u64;
        Ok(count > 0)
    }
}
