//! JSON records: `{"type":"Person","data":{…}}` and `{"edge":"Knows","from":"a","to":"b","data":{…}}`.
//!
//! Records stand one after another, on one line each or spread over several. A record is scanned once for
//! its tokens and its values go straight into Arrow columns. After a wrong record reading goes on with the
//! next; after one that is not JSON, with the next line that starts with `{`. Memory is bounded over all
//! types together.

mod record;
mod stream;

use std::io::Read;
use std::sync::Arc;

use super::Outlet;
use super::builder::RowBuilder;
use super::json_scan::{Record, Stop};
use super::plan::{TypeNames, TypePlan};
use crate::error::{Reason, Result};
use crate::limits;
use crate::model::Schema;
use stream::Stream;

/// Bytes gathered over all types before the largest batch is handed on although it is not full.
const TOTAL_BYTES: usize = 4 * limits::BATCH_BYTES;

/// Decodes a stream of JSON records.
///
/// # Errors
/// As [`super::decode`].
pub(super) fn read(reader: impl Read, schema: Arc<Schema>, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut stream = Stream::new(reader, limits::MAX_RECORD_BYTES);
    let mut tables = Tables::new(schema);
    let mut record = Record::default();
    let mut number = 0;
    while stream.skip_blanks()? {
        number += 1;
        let scanned = loop {
            match record.scan(stream.pending()) {
                Err(Stop::Incomplete) if stream.fill()? => {}
                scanned => break scanned,
            }
        };
        match scanned {
            Ok(length) => {
                stream.check_length(length)?;
                tables.add(number, &record, &stream.pending()[..length], outlet)?;
                stream.consume(length);
            }
            Err(Stop::Syntax(at, what)) => {
                let place = || (stream.place(number, at), format!("not a JSON record: {what}"));
                outlet.violations.add(Reason::InvalidRecord, place);
                stream.skip_to_record(at)?;
            }
            Err(Stop::Incomplete) => {
                let place =
                    || (stream.place(number, 0), "the input ends inside the record that starts here".to_string());
                outlet.violations.add(Reason::InvalidRecord, place);
                break;
            }
        }
    }
    outlet.stats.records += number;
    outlet.stats.bytes += stream.bytes_read();
    tables.finish(outlet)
}

/// The rows under way, by type.
#[derive(Debug)]
struct Tables {
    names: TypeNames,
    builders: Vec<Option<RowBuilder>>,
    total_bytes: usize,
    scratch: record::Scratch,
}

impl Tables {
    fn new(schema: Arc<Schema>) -> Self {
        let names = TypeNames::new(schema);
        let builders = (0..names.len()).map(|_| None).collect();
        Self { names, builders, total_bytes: 0, scratch: record::Scratch::default() }
    }

    /// Adds one record, whose tokens are known, to the rows of its type.
    fn add(&mut self, number: u64, record: &Record, bytes: &[u8], outlet: &mut Outlet<'_>) -> Result<()> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            outlet.violations.at_record(number, Reason::InvalidRecord, || "the record is not UTF-8".to_string());
            return Ok(());
        };
        let envelope = record::Envelope::read(text, &record.envelope, &self.names);
        let envelope = match envelope {
            Ok(envelope) => envelope,
            Err(wrong) => {
                wrong.report(number, &self.names, &mut outlet.violations);
                return Ok(());
            }
        };
        let at = envelope.type_position;
        let builder = match &mut self.builders[at] {
            Some(builder) => builder,
            empty => empty.insert(RowBuilder::new(TypePlan::new(self.names.get(at))?)),
        };
        let before = builder.bytes();
        record::add_row(number, text, &envelope, &record.data, builder, &mut self.scratch, &mut outlet.violations);
        self.total_bytes += builder.bytes() - before;
        if builder.is_full() {
            self.flush(at, outlet)?;
        }
        while self.total_bytes >= TOTAL_BYTES {
            let sizes = self.builders.iter().map(|b| b.as_ref().map_or(0, RowBuilder::bytes));
            let Some((largest, _)) = sizes.enumerate().max_by_key(|(_, bytes)| *bytes) else {
                break;
            };
            self.flush(largest, outlet)?;
        }
        Ok(())
    }

    fn flush(&mut self, at: usize, outlet: &mut Outlet<'_>) -> Result<()> {
        let Some(builder) = self.builders[at].as_mut().filter(|b| b.rows() > 0) else {
            return Ok(());
        };
        self.total_bytes -= builder.bytes();
        match builder.finish(outlet.fresh, &mut outlet.violations)? {
            Some(batch) => outlet.give(batch),
            None => Ok(()),
        }
    }

    fn finish(mut self, outlet: &mut Outlet<'_>) -> Result<()> {
        (0..self.builders.len()).try_for_each(|at| self.flush(at, outlet))
    }
}

#[cfg(test)]
mod tests;
