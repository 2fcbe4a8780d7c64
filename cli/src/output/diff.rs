//! Differences as a code review shows them, as counts, and as JSON. The JSON form is documented in `docs/history.md`
//! and stable. Memory holds one change at a time.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use omnigraph_engine::model::{ChangeKind, Entity, EntityChange, PropertyType, Schema, TypeCounts, TypeRef};
use serde_json::{Value as Json, json};

use super::colour::{Ink, Paint};
use super::shape::{self, property_order, type_text};
use super::table::{NULL, to_the_right, with_heads};
use super::{Answer, answer, evolve};
use crate::context::Context;
use crate::failure::Result;
use crate::literal::{shown, to_cell};
use crate::target::Changes;

/// Characters of a value; more is cut off, since the form is for looking.
const VALUE: usize = 200;

/// Answers with a difference: one change after the other, one a line as JSON.
pub(crate) async fn write(context: &Context, mut changes: Changes, schema: &Schema) -> Result<()> {
    let (mut answer, paint) = (Answer::new(), Paint::stdout());
    if !changes.schema.is_empty() {
        match context.json {
            true => answer.json(&json!({"schema": evolve::steps_json(&changes.schema, false)}))?,
            false => answer.bytes(evolve::steps_text(&changes.schema, false, paint).as_bytes())?,
        }
    }
    while let Some(change) = changes.stream.try_next().await? {
        match context.json {
            true => answer.json(&json(&change, schema))?,
            false => answer.bytes(text(&change, schema, paint).as_bytes())?,
        }
    }
    answer.finish()
}

/// Answers with how many entities of which type differ.
pub(crate) async fn write_stat(context: &Context, mut changes: Changes) -> Result<()> {
    let mut stat = Stat::default();
    while let Some(change) = changes.stream.try_next().await? {
        stat.add(&change);
    }
    let counts = stat.counts();
    let steps = &changes.schema;
    let json = || {
        json!({
            "before": changes.before,
            "after": changes.after,
            "schema": evolve::steps_json(steps, false),
            "counts": shape::counts(&counts),
        })
    };
    answer(context, json, || format!("{}{}", evolve::steps_text(steps, false, Paint::stdout()), counts_table(&counts)))
}

/// How many entities of which type differ.
#[derive(Default)]
struct Stat {
    types: BTreeMap<TypeRef, TypeCounts>,
}

impl Stat {
    fn add(&mut self, change: &EntityChange) {
        let counts = self.types.entry(change.type_ref.clone()).or_insert_with(|| TypeCounts {
            type_ref: change.type_ref.clone(),
            inserted: 0,
            updated: 0,
            deleted: 0,
        });
        match change.kind() {
            ChangeKind::Insert => counts.inserted += 1,
            ChangeKind::Update => counts.updated += 1,
            ChangeKind::Delete => counts.deleted += 1,
        }
    }

    fn counts(self) -> Vec<TypeCounts> {
        self.types.into_values().collect()
    }
}

/// Counts a type, and their sums if there are several types.
pub(crate) fn counts_table(counts: &[TypeCounts]) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let mut table = with_heads(["type", "inserted", "updated", "deleted"]);
    let mut row = |name: String, counts: [u64; 3]| {
        let [inserted, updated, deleted] = counts.map(|count| count.to_string());
        table.add_row([name, inserted, updated, deleted]);
    };
    let mut sums = [0, 0, 0];
    for c in shape::in_order(counts) {
        let one = [c.inserted, c.updated, c.deleted];
        sums.iter_mut().zip(one).for_each(|(sum, count)| *sum += count);
        row(type_text(&c.type_ref), one);
    }
    if counts.len() > 1 {
        row("all".to_string(), sums);
    }
    to_the_right(&mut table, &[1, 2, 3]);
    table.to_string()
}

/// A change, in the members that a conflict has, too.
pub(crate) fn json(change: &EntityChange, schema: &Schema) -> Json {
    let side = |entity: &Option<Entity>| entity.as_ref().map(|entity| shape::entity(entity, schema));
    json!({
        "change": change.kind().as_str(),
        "kind": change.type_ref.kind.as_str(),
        "type": change.type_ref.name,
        "id": change.id,
        "changed": change.changed,
        "before": side(&change.before),
        "after": side(&change.after),
    })
}

/// The same as a code review shows it.
pub(crate) fn text(change: &EntityChange, schema: &Schema, paint: Paint) -> String {
    let kind = change.kind();
    let (sign, ink) = match kind {
        ChangeKind::Insert => ('+', Ink::Green),
        ChangeKind::Update => ('~', Ink::Yellow),
        ChangeKind::Delete => ('-', Ink::Red),
    };
    let mut head = format!("{sign} {}/{}", type_text(&change.type_ref), shown(&change.id, VALUE));
    if let Some((from, to)) = ends(change) {
        head.push_str(&format!(" ({} -> {})", shown(from, VALUE), shown(to, VALUE)));
    }
    let mut out = paint.with(ink, &head);
    out.push('\n');
    let names = match (&change.before, &change.after) {
        (Some(_), Some(_)) => change.changed.iter().map(String::as_str).collect(),
        (Some(one), None) | (None, Some(one)) => present(one, schema),
        (None, None) => Vec::new(),
    };
    for name in names {
        for (side, sign, ink) in [(&change.before, '-', Ink::Red), (&change.after, '+', Ink::Green)] {
            if let Some(entity) = side {
                let value = value_text(entity, name, schema, VALUE);
                out.push_str(&paint.with(ink, &format!("    {sign} {name}: {value}")));
                out.push('\n');
            }
        }
    }
    out
}

/// The ends of an edge, as they are after.
fn ends(change: &EntityChange) -> Option<(&str, &str)> {
    let (from, to) = change.after.as_ref().or(change.before.as_ref())?.endpoints.as_ref()?;
    Some((from, to))
}

/// The properties of an entity that have a value.
fn present<'a>(entity: &'a Entity, schema: &'a Schema) -> Vec<&'a str> {
    let names = property_order(entity, schema.get(&entity.type_ref)).into_iter();
    names.filter(|name| entity.properties.get(*name).is_some_and(|value| !value.is_null())).collect()
}

/// A property's value on one line, `src` and `dst` of an edge included, cut after so many characters.
pub(crate) fn value_text(entity: &Entity, property: &str, schema: &Schema, longest: usize) -> String {
    if let (Some((from, _)), "src") | (Some((_, from)), "dst") = (&entity.endpoints, property) {
        return shown(from, longest);
    }
    let text = entity.properties.get(property).and_then(|value| to_cell(value, type_of(entity, property, schema)));
    text.map_or_else(|| NULL.to_string(), |text| shown(&text, longest))
}

fn type_of<'a>(entity: &Entity, property: &str, schema: &'a Schema) -> Option<&'a PropertyType> {
    Some(&schema.get(&entity.type_ref)?.property(property)?.ty)
}

#[cfg(test)]
mod tests;
