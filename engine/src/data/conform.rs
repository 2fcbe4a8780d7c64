//! Arrow batches that arrive as such: columns by name, exact conversions only.
//!
//! One type per stream. A column the batch lacks counts as not mentioned; a null in one it has is an
//! explicit null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::Schema;
use rustc_hash::{FxHashMap, FxHashSet};

use super::builder::assemble;
use super::cast::{cast, cast_text};
use super::ids;
use super::plan::{Slot, TypePlan};
use super::violations::{Misfit, Violations};
use super::{InputBatch, Outlet};
use crate::error::{Reason, Result};
use crate::limits;
use crate::model::{EntityKind, EntityType};

/// Turns the Arrow batches of one stream into input batches.
#[derive(Debug)]
pub struct BatchDecoder {
    plan: Arc<TypePlan>,
    records: u64,
}

impl BatchDecoder {
    /// A decoder for rows of `ty`.
    ///
    /// # Errors
    /// [`Reason::InvalidSchema`] if the type's key cannot be one.
    pub fn new(ty: &EntityType) -> Result<Self> {
        Ok(Self { plan: TypePlan::new(ty)?, records: 0 })
    }

    /// Rows decoded so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next batch of the stream. Rows count on from the batch before it. Columns are found by name;
    /// `from` and `to` stand for `src` and `dst`.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] listing every column and row that does not fit.
    pub fn decode(&mut self, batch: &RecordBatch, fresh: &mut dyn FnMut() -> String) -> Result<InputBatch> {
        let mut violations = Violations::default();
        let decoded = self.decode_into(batch, fresh, &mut violations)?;
        decoded.ok_or_else(|| violations.into_error())
    }

    fn decode_into(
        &mut self,
        batch: &RecordBatch,
        fresh: &mut dyn FnMut() -> String,
        violations: &mut Violations,
    ) -> Result<Option<InputBatch>> {
        let first = self.records + 1;
        self.records += batch.num_rows() as u64;
        let records = (first..=self.records).collect();
        let bad = FxHashSet::default();
        Conforming { plan: &self.plan, records, bad, column_is_wrong: false, violations }.run(batch, fresh)
    }

    /// Decodes a batch in pieces of bounded length and gives them to the outlet.
    pub(super) fn feed(&mut self, batch: &RecordBatch, outlet: &mut Outlet<'_>) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let length = limits::BATCH_ROWS.min(batch.num_rows() - start);
            let piece = batch.slice(start, length);
            if let Some(decoded) = self.decode_into(&piece, outlet.fresh, &mut outlet.violations)? {
                outlet.give(decoded)?;
            }
            start += length;
        }
        Ok(())
    }

    /// Checks that an input's columns are known and of types that can fit, whether or not rows follow.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] listing the columns that are not.
    pub fn check_schema(&self, schema: &Schema) -> Result<()> {
        let empty = RecordBatch::new_empty(Arc::new(schema.clone()));
        let mut decoder = Self { plan: self.plan.clone(), records: 0 };
        decoder.decode(&empty, &mut String::new).map(drop)
    }
}

/// One Arrow batch as an input batch; its first row is record `first_record`. See [`BatchDecoder::decode`].
///
/// # Errors
/// As [`BatchDecoder::new`] and [`BatchDecoder::decode`].
pub fn conform(
    ty: &EntityType,
    batch: &RecordBatch,
    first_record: u64,
    fresh: &mut dyn FnMut() -> String,
) -> Result<InputBatch> {
    let mut decoder = BatchDecoder::new(ty)?;
    decoder.records = first_record.saturating_sub(1);
    decoder.decode(batch, fresh)
}

struct Conforming<'a> {
    plan: &'a TypePlan,
    records: Vec<u64>,
    bad: FxHashSet<usize>,
    column_is_wrong: bool,
    violations: &'a mut Violations,
}

impl Conforming<'_> {
    fn run(mut self, batch: &RecordBatch, fresh: &mut dyn FnMut() -> String) -> Result<Option<InputBatch>> {
        let slots = self.slots(batch);
        let given = self.text(batch, &slots, Slot::Id);
        let ends = match self.plan.ty.kind {
            EntityKind::Node => None,
            EntityKind::Edge => {
                let (src, dst) = (self.end(batch, &slots, Slot::Src), self.end(batch, &slots, Slot::Dst));
                Some((src, dst))
            }
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.ty.properties.len());
        for at in 0..self.plan.ty.properties.len() {
            columns.push(self.property(batch, &slots, at));
        }
        if self.column_is_wrong {
            // Ids may depend on it, so nothing true can be said about them.
            return Ok(None);
        }
        let rows = ids::Rows {
            plan: self.plan,
            given: given.as_ref(),
            ends: ends.as_ref().map(|(src, dst)| (src, dst)),
            columns: &columns,
            records: &self.records,
            bad: &self.bad,
        };
        let (id, fresh_ids) = ids::complete(&rows, fresh, self.violations)?;
        if !self.violations.is_empty() {
            return Ok(None);
        }
        let mentioned = self.mentioned(&slots, batch.num_rows());
        let mut all: Vec<ArrayRef> = vec![id];
        if let Some((src, dst)) = ends {
            all.push(Arc::new(src));
            all.push(Arc::new(dst));
        }
        all.extend(columns);
        let batch = assemble(self.plan, all)?;
        let type_ref = self.plan.ty.type_ref();
        Ok(Some(InputBatch { type_ref, batch, mentioned, fresh_ids, records: self.records }))
    }

    fn column_problem(&mut self, column: &str, reason: Reason, what: String) {
        self.column_is_wrong = true;
        self.violations.add(reason, || (format!("column {column}"), what));
    }

    /// Which column of the batch goes to which slot.
    fn slots(&mut self, batch: &RecordBatch) -> FxHashMap<Slot, usize> {
        let mut slots = FxHashMap::default();
        for (at, field) in batch.schema().fields().iter().enumerate() {
            let name = field.name();
            match self.plan.slot(name) {
                None => self.column_problem(name, Reason::PropertyNotFound, self.plan.unknown(name)),
                Some(slot) => {
                    if slots.insert(slot, at).is_some() {
                        let what = format!("{} is given by two columns", self.plan.column_name(slot));
                        self.column_problem(name, Reason::InvalidRecord, what);
                    }
                }
            }
        }
        slots
    }

    fn text(&mut self, batch: &RecordBatch, slots: &FxHashMap<Slot, usize>, slot: Slot) -> Option<StringArray> {
        let column = batch.column(*slots.get(&slot)?);
        match cast_text(column) {
            Ok(texts) => texts.as_string_opt::<i32>().cloned(),
            Err(misfit) => {
                let name = self.plan.column_name(slot).to_string();
                self.column_problem(&name, misfit.reason, misfit.to_string());
                None
            }
        }
    }

    fn end(&mut self, batch: &RecordBatch, slots: &FxHashMap<Slot, usize>, slot: Slot) -> StringArray {
        if !slots.contains_key(&slot) {
            let (column, what) = match slot {
                Slot::Src => ("src", "the ids of the nodes its edges start at"),
                _ => ("dst", "the ids of the nodes its edges end at"),
            };
            let what = format!("{} lacks this column, {what}", self.plan.ty.name);
            self.column_problem(column, Reason::RequiredViolation, what);
        }
        self.text(batch, slots, slot).unwrap_or_else(|| StringArray::new_null(batch.num_rows()))
    }

    fn property(&mut self, batch: &RecordBatch, slots: &FxHashMap<Slot, usize>, at: usize) -> ArrayRef {
        let (plan, property) = (self.plan, &self.plan.ty.properties[at]);
        let absent = || new_null_array(&crate::format::arrow::logical_type(&property.ty), batch.num_rows());
        let Some(column) = slots.get(&Slot::Property(at)) else {
            return absent();
        };
        let mut on_misfit = |row: usize, misfit: Misfit| {
            self.bad.insert(row);
            self.violations.misfit(self.records[row], &plan.ty.name, &property.name, misfit);
        };
        match cast(batch.column(*column), &property.ty, &mut on_misfit) {
            Ok(column) => column,
            Err(misfit) => {
                self.column_problem(&property.name, misfit.reason, misfit.to_string());
                absent()
            }
        }
    }

    fn mentioned(&self, slots: &FxHashMap<Slot, usize>, rows: usize) -> Option<Vec<BooleanBuffer>> {
        let properties = 0..self.plan.ty.properties.len();
        let given: Vec<bool> = properties.map(|at| slots.contains_key(&Slot::Property(at))).collect();
        if given.iter().all(|given| *given) {
            return None;
        }
        let (all, none) = (BooleanBuffer::new_set(rows), BooleanBuffer::new_unset(rows));
        Some(given.into_iter().map(|given| if given { all.clone() } else { none.clone() }).collect())
    }
}

#[cfg(test)]
mod tests;
