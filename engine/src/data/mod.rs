//! What users send and receive: inputs in several encodings become typed Arrow batches, and rows become
//! text again.
//!
//! Every load path ends in the same conversion rules ([`scalar`]), so they agree on what a value may look
//! like. Decoding is synchronous, streams, and holds a bounded number of rows. It checks each record by
//! itself: whether ids repeat, endpoints exist or a required property is still missing after a merge is
//! decided elsewhere, on complete images, with [`RowChecker`] for what a row shows by itself.

mod arrow_ipc;
mod builder;
mod cast;
mod column;
mod compression;
mod conform;
mod csv;
mod file;
mod ids;
mod json_out;
mod json_scan;
mod jsonl;
mod parquet;
mod plan;
mod rows;
mod scalar;
mod values;
mod violations;

pub(crate) use compression::open as uncompressed;
pub use conform::{BatchDecoder, conform};
pub use file::SharedFile;
pub use json_out::write_rows;
pub use rows::{RowChecker, check_rows};
pub use values::{array_from_values, check_value, entity_at, value_at};
pub use violations::{Misfit, Violations};

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use crate::error::{Error, Reason, Result};
use crate::model::{EntityType, Schema, TypeRef};

/// Decoded rows of one type.
#[derive(Clone, Debug)]
pub struct InputBatch {
    /// Their type, named as the schema names it.
    pub type_ref: TypeRef,
    /// The rows, in the type's logical schema ([`crate::format::arrow::logical_schema`]), ids included.
    pub batch: RecordBatch,
    /// Per property, which rows mention it; an unmentioned property is null in `batch`. `None` if all
    /// rows mention all properties.
    pub mentioned: Option<Vec<BooleanBuffer>>,
    /// Which rows have an id that was made here, so that it cannot exist yet. `None` if none has.
    pub fresh_ids: Option<BooleanBuffer>,
    /// The number of the record each row comes from, counted from 1 over the whole input.
    pub records: Vec<u64>,
}

/// How an input is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// JSON records one after another, on one line each or spread over several.
    Jsonl,
    /// Comma-separated values with a header row; one type.
    Csv,
    /// An Arrow IPC stream or file; one type.
    ArrowIpc,
    /// A Parquet file; one type.
    Parquet,
}

/// How an input is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Told from the first bytes.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
}

/// Where the bytes of an input come from.
pub enum Source {
    /// Bytes in order, each seen once.
    Stream(Box<dyn Read + Send>),
    /// A file. Formats that need random access read it in place.
    File(SharedFile),
}

impl Source {
    /// Bytes from any reader.
    pub fn stream(reader: impl Read + Send + 'static) -> Self {
        Self::Stream(Box::new(reader))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Stream"),
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
        }
    }
}

/// One input of a load.
#[derive(Debug)]
pub struct Input {
    /// Its bytes.
    pub source: Source,
    /// Its encoding.
    pub format: InputFormat,
    /// Its compression.
    pub compression: Compression,
    /// The type of all its rows. Required by formats of one type, refused by JSON records, which name
    /// their types themselves.
    pub type_ref: Option<TypeRef>,
}

/// What an input held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputStats {
    /// Records read.
    pub records: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Rows by type. A type that an input names without giving rows for it is here with zero.
    pub rows: BTreeMap<TypeRef, u64>,
}

/// Where decoded batches and fresh ids come from and go to.
pub(crate) struct Outlet<'a> {
    fresh: &'a mut dyn FnMut() -> String,
    sink: &'a mut dyn FnMut(InputBatch) -> Result<()>,
    stats: InputStats,
    violations: Violations,
}

impl Outlet<'_> {
    /// Hands a batch on, unless something was wrong already: then nothing of the input will be used.
    fn give(&mut self, batch: InputBatch) -> Result<()> {
        let rows = batch.batch.num_rows() as u64;
        *self.stats.rows.entry(batch.type_ref.clone()).or_default() += rows;
        if !self.violations.is_empty() || rows == 0 {
            return Ok(());
        }
        (self.sink)(batch)
    }

    fn named(&mut self, type_ref: TypeRef) {
        self.stats.rows.entry(type_ref).or_default();
    }
}

/// Decodes an input. `ids` makes ids for rows of unkeyed types that carry none; `sink` gets the batches as
/// they fill, each of one type, rows of one type in input order.
///
/// Reading goes on after a wrong record so that all problems are found, but from the first one on `sink`
/// gets nothing more. Batches it got before must not take effect if this returns an error.
///
/// # Errors
/// [`Reason::InvalidRecord`] listing what is wrong with the records, [`Reason::TypeNotFound`] or
/// [`Reason::InvalidArgument`] if the input's type is unknown, missing or not wanted,
/// [`Reason::LimitExceeded`] if a record is too large, and what `sink` returns.
pub fn decode(
    input: Input,
    schema: Arc<Schema>,
    ids: &mut dyn FnMut() -> String,
    sink: &mut dyn FnMut(InputBatch) -> Result<()>,
) -> Result<InputStats> {
    let mut outlet = Outlet { fresh: ids, sink, stats: InputStats::default(), violations: Violations::default() };
    if input.format == InputFormat::Jsonl {
        if input.type_ref.is_some() {
            let what = "JSON records name their types themselves; leave the input's type out";
            return Err(Error::new(Reason::InvalidArgument, what));
        }
        jsonl::read(compression::open(input.source, input.compression)?, schema, &mut outlet)?;
    } else {
        let ty = input_type(&schema, input.type_ref.as_ref())?;
        outlet.named(ty.type_ref());
        match input.format {
            InputFormat::Csv => csv::read(compression::open(input.source, input.compression)?, ty, &mut outlet)?,
            InputFormat::ArrowIpc => {
                arrow_ipc::read(compression::open(input.source, input.compression)?, ty, &mut outlet)?;
            }
            _ => parquet::read(input.source, input.compression, ty, &mut outlet)?,
        }
    }
    outlet.violations.into_result()?;
    Ok(outlet.stats)
}

fn input_type<'a>(schema: &'a Arc<Schema>, type_ref: Option<&TypeRef>) -> Result<&'a EntityType> {
    let type_ref = type_ref
        .ok_or_else(|| Error::new(Reason::InvalidArgument, "an input of this format holds one type; say which"))?;
    schema.get(type_ref).ok_or_else(|| {
        let what = plan::TypeNames::new(schema.clone()).unknown(type_ref);
        Error::new(Reason::TypeNotFound, what).with("type", type_ref)
    })
}

/// An input that cannot be read any further.
fn unreadable(what: &str, e: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Reason::InvalidRecord, format!("{what} cannot be read: {e}; nothing was written")).caused_by(e)
}

#[cfg(test)]
mod tests;
