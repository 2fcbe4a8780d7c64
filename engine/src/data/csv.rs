//! Comma-separated values (RFC 4180) with a header row, one type an input.
//!
//! Columns are found by their names in the header; one that is absent counts as not mentioned. An empty
//! field without quotes is null, an empty field in quotes is the empty text. Lists and vectors are JSON
//! arrays, blobs `base64:…`, everything else is spelled as in JSON without its quotes. A line without any
//! character is skipped. Records are numbered from 1 after the header.

mod lines;

use std::io::Read;

use super::Outlet;
use super::builder::RowBuilder;
use super::plan::{Slot, TypePlan};
use crate::error::{Reason, Result};
use crate::model::{EntityKind, EntityType};
use lines::{Line, Lines};

/// Decodes a CSV input.
///
/// # Errors
/// As [`super::decode`].
pub(super) fn read(reader: impl Read, ty: &EntityType, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut lines = Lines::new(reader);
    let mut rows = RowBuilder::new(TypePlan::new(ty)?);
    let slots = match lines.next()? {
        Line::Fields => header(&lines, rows.plan(), outlet),
        Line::Broken(what) => {
            outlet.violations.add(Reason::InvalidRecord, || ("header".to_string(), what.to_string()));
            None
        }
        Line::End => {
            let what = || ("header".to_string(), "the input is empty; a CSV input starts with a header".to_string());
            outlet.violations.add(Reason::InvalidRecord, what);
            None
        }
    };
    let Some(slots) = slots else {
        return Ok(());
    };
    let mut scratch = String::new();
    let mut number = 0;
    loop {
        let line = lines.next()?;
        match line {
            Line::End => break,
            Line::Broken(what) => {
                number += 1;
                let place = || (format!("record {number}, line {}", lines.line()), what.to_string());
                outlet.violations.add(Reason::InvalidRecord, place);
            }
            Line::Fields => {
                number += 1;
                add_row(number, &lines, &slots, &mut rows, &mut scratch, outlet);
                if rows.is_full() {
                    flush(&mut rows, outlet)?;
                }
            }
        }
    }
    outlet.stats.records += number;
    outlet.stats.bytes += lines.bytes_read();
    flush(&mut rows, outlet)
}

fn flush(rows: &mut RowBuilder, outlet: &mut Outlet<'_>) -> Result<()> {
    if rows.rows() == 0 {
        return Ok(());
    }
    match rows.finish(outlet.fresh, &mut outlet.violations)? {
        Some(batch) => outlet.give(batch),
        None => Ok(()),
    }
}

/// Which field goes where; `None` if the header is wrong.
fn header<R>(lines: &Lines<R>, plan: &TypePlan, outlet: &mut Outlet<'_>) -> Option<Vec<Slot>> {
    let mut slots = Vec::new();
    let mut wrong = Vec::new();
    for field in 0..lines.len() {
        let Some((name, _)) = lines.field(field) else {
            wrong.push(("header".to_string(), Reason::InvalidRecord, "it is not UTF-8".to_string()));
            continue;
        };
        match plan.slot(name) {
            None => wrong.push((format!("column {name}"), Reason::PropertyNotFound, plan.unknown(name))),
            Some(slot) if slots.contains(&slot) => {
                let what = format!("{} is given by two columns", plan.column_name(slot));
                wrong.push((format!("column {name}"), Reason::InvalidRecord, what));
            }
            Some(slot) => slots.push(slot),
        }
    }
    if plan.ty.kind == EntityKind::Edge {
        for (slot, name) in [(Slot::Src, "from"), (Slot::Dst, "to")] {
            if !slots.contains(&slot) {
                let what = format!("{} lacks this column, the ids of nodes", plan.ty.name);
                wrong.push((format!("column {name}"), Reason::RequiredViolation, what));
            }
        }
    }
    let right = wrong.is_empty();
    for (place, reason, what) in wrong {
        outlet.violations.add(reason, || (place, what));
    }
    right.then_some(slots)
}

fn add_row<R>(
    number: u64,
    lines: &Lines<R>,
    slots: &[Slot],
    rows: &mut RowBuilder,
    scratch: &mut String,
    outlet: &mut Outlet<'_>,
) {
    let violations = &mut outlet.violations;
    if lines.len() != slots.len() {
        violations.at_record(number, Reason::InvalidRecord, || {
            format!("found {} fields, expected {} as in the header", lines.len(), slots.len())
        });
        return;
    }
    let plan = rows.plan().clone();
    let (mut src, mut dst) = (None, None);
    for (at, slot) in slots.iter().enumerate() {
        let name = plan.column_name(*slot);
        let Some((text, quoted)) = lines.field(at) else {
            rows.spoil();
            violations.at_record(number, Reason::InvalidRecord, || format!("{}.{name} is not UTF-8", plan.ty.name));
            continue;
        };
        let value = (quoted || !text.is_empty()).then_some(text);
        match (slot, value) {
            (Slot::Id, Some(id)) => drop(rows.set_id(id)),
            (Slot::Id, None) => {}
            (Slot::Src, end) => src = end,
            (Slot::Dst, end) => dst = end,
            (Slot::Property(property), value) => {
                // The header names each column once.
                let Some(column) = rows.mention(*property, text.len()) else {
                    continue;
                };
                let pushed = match value {
                    Some(text) => column.push_cell(text, scratch),
                    None => {
                        column.push_null();
                        Ok(())
                    }
                };
                if let Err(misfit) = pushed {
                    rows.spoil();
                    violations.misfit(number, &plan.ty.name, name, misfit);
                }
            }
        }
    }
    if plan.ty.kind == EntityKind::Edge {
        for (end, name) in [(src, "from"), (dst, "to")] {
            if end.is_none() {
                rows.spoil();
                let what = || format!("{} lacks {name}, the id of a node", plan.ty.name);
                violations.at_record(number, Reason::RequiredViolation, what);
            }
        }
    }
    rows.end_row(number, src.zip(dst));
}

#[cfg(test)]
mod tests;
