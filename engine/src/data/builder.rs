//! Gathers the decoded rows of one type into batches.
//!
//! A row is begun, given its values in any order, and ended; what was not given is null and marked as not
//! mentioned. It knows no encoding.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::BooleanBufferBuilder;
use rustc_hash::FxHashSet;

use super::InputBatch;
use super::column::Column;
use super::ids;
use super::plan::TypePlan;
use super::violations::Violations;
use crate::error::{Error, Result};
use crate::limits;
use crate::model::EntityKind;

/// Rows of one type on their way into a batch.
#[derive(Debug)]
pub(super) struct RowBuilder {
    plan: Arc<TypePlan>,
    columns: Vec<Column>,
    mentioned: Vec<BooleanBufferBuilder>,
    /// Whether the row under way has mentioned a property.
    seen: Vec<bool>,
    any_unmentioned: bool,
    given: Option<String>,
    ids: StringBuilder,
    any_given: bool,
    src: StringBuilder,
    dst: StringBuilder,
    records: Vec<u64>,
    bad: FxHashSet<usize>,
    row_is_bad: bool,
    bytes: usize,
}

impl RowBuilder {
    /// No rows yet.
    pub(super) fn new(plan: Arc<TypePlan>) -> Self {
        let properties = &plan.ty.properties;
        let columns = properties.iter().map(|p| Column::new(&p.ty)).collect();
        let mentioned = properties.iter().map(|_| BooleanBufferBuilder::new(0)).collect();
        let seen = vec![false; properties.len()];
        let text = || StringBuilder::with_capacity(0, 0);
        Self {
            plan,
            columns,
            mentioned,
            seen,
            any_unmentioned: false,
            given: None,
            ids: text(),
            any_given: false,
            src: text(),
            dst: text(),
            records: Vec::new(),
            bad: FxHashSet::default(),
            row_is_bad: false,
            bytes: 0,
        }
    }

    /// What is known of the type.
    pub(super) fn plan(&self) -> &Arc<TypePlan> {
        &self.plan
    }

    /// Rows gathered.
    pub(super) fn rows(&self) -> usize {
        self.records.len()
    }

    /// Bytes gathered, estimated.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a batch should be handed on.
    pub(super) fn is_full(&self) -> bool {
        self.records.len() >= limits::BATCH_ROWS || self.bytes >= limits::BATCH_BYTES
    }

    /// The column of a property that the row under way gives a value for, or `None` if it has given one
    /// already. Add exactly one value to it; `bytes` is the size of its text.
    pub(super) fn mention(&mut self, property: usize, bytes: usize) -> Option<&mut Column> {
        if std::mem::replace(&mut self.seen[property], true) {
            return None;
        }
        let column = &mut self.columns[property];
        if column.is_variable() {
            self.bytes += bytes;
        }
        Some(column)
    }

    /// Gives the row under way its id; `false` if it has one already.
    pub(super) fn set_id(&mut self, id: &str) -> bool {
        self.bytes += id.len();
        self.given.replace(id.to_string()).is_none()
    }

    /// Marks the row under way as wrong, so that nothing else is said about it.
    pub(super) fn spoil(&mut self) {
        self.row_is_bad = true;
    }

    /// Ends the row under way. `ends` are the ids at the ends of an edge.
    pub(super) fn end_row(&mut self, record: u64, ends: Option<(&str, &str)>) {
        for (property, seen) in self.seen.iter_mut().enumerate() {
            if !*seen {
                self.columns[property].push_null();
                self.any_unmentioned = true;
            }
            self.mentioned[property].append(*seen);
            *seen = false;
        }
        if self.plan.ty.kind == EntityKind::Edge {
            let (src, dst) = ends.unwrap_or_default();
            self.src.append_value(src);
            self.dst.append_value(dst);
            self.bytes += src.len() + dst.len();
        }
        match self.given.take() {
            Some(id) => {
                self.ids.append_value(id);
                self.any_given = true;
            }
            None => self.ids.append_null(),
        }
        if std::mem::take(&mut self.row_is_bad) {
            self.bad.insert(self.records.len());
        }
        self.records.push(record);
        self.bytes += self.plan.row_bytes;
    }

    /// Takes the rows gathered as a batch; `None` if rows are wrong, in this batch or before it.
    ///
    /// # Errors
    /// [`crate::error::Reason::Internal`] if the columns do not form a batch.
    pub(super) fn finish(
        &mut self,
        fresh: &mut dyn FnMut() -> String,
        violations: &mut Violations,
    ) -> Result<Option<InputBatch>> {
        let records = std::mem::take(&mut self.records);
        let bad = std::mem::take(&mut self.bad);
        self.bytes = 0;
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
        let mentioned: Vec<_> = self.mentioned.iter_mut().map(BooleanBufferBuilder::finish).collect();
        let mentioned = std::mem::take(&mut self.any_unmentioned).then_some(mentioned);
        let given = self.ids.finish();
        let given = std::mem::take(&mut self.any_given).then_some(given);
        let (src, dst) = (self.src.finish(), self.dst.finish());
        let is_edge = self.plan.ty.kind == EntityKind::Edge;
        let rows = ids::Rows {
            plan: &self.plan,
            given: given.as_ref(),
            ends: is_edge.then_some((&src, &dst)),
            columns: &columns,
            records: &records,
            bad: &bad,
        };
        let (id, fresh_ids) = ids::complete(&rows, fresh, violations)?;
        if !violations.is_empty() {
            return Ok(None);
        }
        let mut all: Vec<ArrayRef> = vec![id];
        if is_edge {
            all.push(Arc::new(src));
            all.push(Arc::new(dst));
        }
        all.extend(columns);
        let batch = assemble(&self.plan, all)?;
        Ok(Some(InputBatch { type_ref: self.plan.ty.type_ref(), batch, mentioned, fresh_ids, records }))
    }
}

/// Puts complete columns together as a batch of the type's logical schema.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if they do not fit it.
pub(super) fn assemble(plan: &TypePlan, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(plan.schema.clone(), columns)
        .map_err(|e| Error::internal(format!("decoded rows of {} do not form a batch: {e}", plan.ty.name)).caused_by(e))
}
