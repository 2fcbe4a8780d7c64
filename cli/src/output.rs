//! The only place that writes to the terminal. Answers go to stdout and nothing else does; notes, questions,
//! progress and errors go to stderr.

pub(crate) mod archive;
pub(crate) mod cleanup;
pub(crate) mod colour;
mod dag;
pub(crate) mod diff;
pub(crate) mod evolve;
pub(crate) mod log;
pub(crate) mod merge;
pub(crate) mod note;
pub(crate) mod progress;
pub(crate) mod repair;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod table;
pub(crate) mod tags;
pub(crate) mod upkeep;

use std::io::{self, Write};

use serde_json::Value as Json;

use crate::context::Context;
use crate::failure::{Failure, Result};

/// An answer under way to stdout.
pub(crate) struct Answer {
    out: io::BufWriter<io::Stdout>,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self { out: io::BufWriter::with_capacity(64 * 1024, io::stdout()) }
    }

    /// Adds bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(unwritten)
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Adds JSON on a line of its own.
    pub(crate) fn json(&mut self, json: &Json) -> Result<()> {
        serde_json::to_writer(&mut self.out, json).map_err(|e| unwritten(e.into()))?;
        self.bytes(b"\n")
    }

    /// Hands everything over.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(unwritten)
    }
}

/// Lets formats that write by themselves add to the answer.
impl Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Why an answer could not be written. A reader that has gone away is no failure worth telling.
pub(crate) fn unwritten(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::unheard(),
        _ => Failure::io("cannot write the answer", &error),
    }
}

/// Answers with JSON or with a text for people, whichever is wanted.
pub(crate) fn answer(context: &Context, json: impl FnOnce() -> Json, text: impl FnOnce() -> String) -> Result<()> {
    let mut answer = Answer::new();
    if context.json {
        answer.json(&json())?;
    } else {
        let text = text();
        answer.bytes(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            answer.bytes(b"\n")?;
        }
    }
    answer.finish()
}

/// Answers with a text that has no other form.
pub(crate) fn text(text: &[u8]) -> Result<()> {
    let mut answer = Answer::new();
    answer.bytes(text)?;
    answer.finish()
}
