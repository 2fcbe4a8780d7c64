//! Merges and what is one in disguise, as JSON and for people. The JSON forms are documented in `docs/merge.md` and
//! stable. Pure.

use comfy_table::Table;
use omnigraph_engine::model::{
    Conflict, ConflictKind, Entity, MergeNote, MergeOutcome, MergePreview, Resolution, Schema, Side,
};
use serde_json::{Value as Json, json};

use super::diff::{counts_table, value_text};
use super::shape::{self, property_order, some, type_text};
use super::table::{self, NULL, cell, facts, with_heads};
use crate::failure::Failure;
use crate::literal::shown;
use crate::target::{Applied, Merged, Outcome};

/// Characters of a value in a table of conflicts, which has three side by side.
const VALUE: usize = 24;

/// Characters of a whole entity there.
const ENTITY: usize = 40;

/// What a revert or a cherry-pick did.
pub(crate) fn applied_json(applied: &Applied) -> Json {
    json!({
        "outcome": applied.outcome.as_str(),
        "settled": applied.settled,
        "receipt": shape::outcome(&applied.write),
    })
}

/// The same for people.
pub(crate) fn applied_text(applied: &Applied) -> String {
    let begins = match applied.outcome {
        _ if applied.write.replayed => "",
        MergeOutcome::AlreadyUpToDate => "nothing to do: ",
        MergeOutcome::FastForward | MergeOutcome::Merged => "",
    };
    format!("{begins}{}{}", table::outcome(&applied.write), settled_text(applied.settled))
}

fn settled_text(conflicts: u64) -> String {
    if conflicts > 0 { format!("; {conflicts} conflicts settled") } else { String::new() }
}

/// What a merge did.
pub(crate) fn merged_json(merged: &Merged) -> Json {
    let source_deleted = merged.source_deleted.as_ref().map(|deleted| match deleted {
        Ok(()) => json!({"deleted": true, "reason": null, "message": null}),
        Err(failure) => json!({"deleted": false, "reason": failure.reason(), "message": failure.message()}),
    });
    json!({
        "outcome": merged.outcome.as_str(),
        "base": merged.base,
        "source": merged.source,
        "settled": merged.settled,
        "receipt": shape::outcome(&merged.write),
        "source_deletion": source_deleted,
    })
}

/// The same for people.
pub(crate) fn merged_text(merged: &Merged) -> String {
    let begins = match merged.outcome {
        _ if merged.write.replayed => "",
        MergeOutcome::AlreadyUpToDate => "already up to date: ",
        MergeOutcome::FastForward => "fast-forward: ",
        MergeOutcome::Merged => "merged: ",
    };
    format!("{begins}{}{}", table::outcome(&merged.write), settled_text(merged.settled))
}

/// Why the source of a merge is still there, if it should not be.
pub(crate) fn source_stays(source: &str, failure: &Failure) -> String {
    let reason = failure.reason().map(|reason| format!(" [{reason}]")).unwrap_or_default();
    format!("merged, but branch {source} could not be deleted: {}{reason}", failure.message())
}

/// What a restore did.
pub(crate) fn restored_json(source: &str, outcome: &Outcome) -> Json {
    json!({"source": source, "receipt": shape::outcome(outcome)})
}

/// What a merge would do, with everything that stands against it.
pub(crate) fn preview_json(preview: &MergePreview, schema: &Schema) -> Json {
    let summary = &preview.summary;
    json!({
        "outcome": summary.outcome.as_str(),
        "base": summary.base,
        "source": summary.source,
        "target": summary.target,
        "settled": summary.settled,
        "counts": shape::counts(&summary.counts),
        "conflicts": preview.conflicts.iter().map(|conflict| conflict_json(conflict, schema)).collect::<Vec<_>>(),
    })
}

/// The same for people.
pub(crate) fn preview_text(preview: &MergePreview, schema: &Schema) -> String {
    let summary = &preview.summary;
    let mut text = match (preview.conflicts.len(), summary.outcome) {
        (0, MergeOutcome::AlreadyUpToDate) => "already up to date: nothing would change\n".to_string(),
        (0, MergeOutcome::FastForward) => "would fast-forward\n".to_string(),
        (0, MergeOutcome::Merged) => "would merge\n".to_string(),
        (n, _) => format!("{n} conflicts stand against it\n"),
    };
    text.push_str(&facts(&[
        ("base", summary.base.clone()),
        ("ours", summary.target.clone()),
        ("theirs", summary.source.clone()),
        ("settled conflicts", summary.settled.to_string()),
    ]));
    if !summary.counts.is_empty() {
        text.push_str("\nwhat changes in ours:\n");
        text.push_str(&counts_table(&summary.counts));
        text.push('\n');
    }
    if !preview.conflicts.is_empty() {
        text.push('\n');
        text.push_str(&conflicts_text(&preview.conflicts, schema));
    }
    text
}

/// A conflict. Its members name an entity as a change does, and as a resolution is written.
fn conflict_json(conflict: &Conflict, schema: &Schema) -> Json {
    let side = |entity: &Option<Entity>| entity.as_ref().map(|entity| shape::entity(entity, schema));
    json!({
        "conflict": conflict.kind.as_str(),
        "kind": conflict.type_ref.kind.as_str(),
        "type": conflict.type_ref.name,
        "id": conflict.id,
        "properties": conflict.properties,
        "base": side(&conflict.base),
        "ours": side(&conflict.target),
        "theirs": side(&conflict.source),
        "message": conflict.message,
    })
}

/// Conflicts in a table, a row for each property, and then what no row can say.
pub(crate) fn conflicts_text(conflicts: &[Conflict], schema: &Schema) -> String {
    let mut table = with_heads(["conflict", "type", "id", "property", "base", "ours", "theirs"]);
    for conflict in conflicts {
        add_rows(&mut table, conflict, schema);
    }
    let mut text = table.to_string();
    text.push('\n');
    for conflict in conflicts.iter().filter(|conflict| needs_words(conflict.kind)) {
        let name = format!("{}/{}", type_text(&conflict.type_ref), conflict.id);
        text.push_str(&format!("  {}: {}\n", cell(&name), shown(&conflict.message, 400)));
    }
    text
}

/// Whether the values of three sides do not say what is wrong.
fn needs_words(kind: ConflictKind) -> bool {
    match kind {
        ConflictKind::DivergentInsert | ConflictKind::DivergentUpdate | ConflictKind::DeleteVsUpdate => false,
        ConflictKind::OrphanEdge
        | ConflictKind::UniqueViolation
        | ConflictKind::CardinalityViolation
        | ConflictKind::ValueConstraintViolation
        | ConflictKind::Schema => true,
    }
}

fn add_rows(table: &mut Table, conflict: &Conflict, schema: &Schema) {
    let sides = [&conflict.base, &conflict.target, &conflict.source];
    // What is wrong by a constraint is not always told with all sides.
    let absent = match (needs_words(conflict.kind), conflict.base.is_some()) {
        (true, _) => "",
        (false, true) => "(deleted)",
        (false, false) => "(absent)",
    };
    let mut row = |property: &str, values: [String; 3]| {
        let [base, ours, theirs] = values;
        table.add_row([
            conflict.kind.as_str().to_string(),
            type_text(&conflict.type_ref),
            cell(&conflict.id),
            cell(property),
            base,
            ours,
            theirs,
        ]);
    };
    if conflict.properties.is_empty() {
        row("", sides.map(|side| side.as_ref().map_or_else(|| absent.to_string(), |entity| summary(entity, schema))));
    }
    for property in &conflict.properties {
        let value = |entity: &Entity| value_text(entity, property, schema, VALUE);
        row(property, sides.map(|side| side.as_ref().map_or_else(|| absent.to_string(), value)));
    }
}

/// An entity in one cell.
fn summary(entity: &Entity, schema: &Schema) -> String {
    let names = property_order(entity, schema.get(&entity.type_ref)).into_iter();
    let known = names.filter_map(|name| {
        let value = value_text(entity, name, schema, VALUE);
        (value != NULL).then(|| format!("{name}={value}"))
    });
    let ends = entity.endpoints.as_ref().map(|(from, to)| format!("{from} -> {to}"));
    shown(&ends.into_iter().chain(known).collect::<Vec<_>>().join(" "), ENTITY)
}

/// What a commit remembers of a merge.
pub(crate) fn note_json(note: &MergeNote) -> Json {
    let resolution = |resolution: &Resolution| {
        json!({
            "kind": resolution.type_ref.kind.as_str(),
            "type": resolution.type_ref.name,
            "id": resolution.id,
            "property": resolution.property,
            "take": resolution.take.as_str(),
        })
    };
    json!({
        "outcome": note.outcome.as_str(),
        "base": some(&note.base),
        "source": note.source,
        "source_branch": some(&note.source_branch),
        "strategy": note.strategy.map(Side::as_str),
        "settled": note.settled,
        "resolutions": note.resolutions.iter().map(resolution).collect::<Vec<_>>(),
    })
}

/// The same for people, as names and values.
pub(crate) fn note_facts(note: &MergeNote) -> Vec<(&'static str, String)> {
    let from = match note.source_branch.as_str() {
        "" => note.source.clone(),
        branch => format!("{} of branch {branch}", note.source),
    };
    let resolution = |r: &Resolution| {
        let property = r.property.as_ref().map(|name| format!(".{name}")).unwrap_or_default();
        format!("{}/{}{property}={}", type_text(&r.type_ref), r.id, r.take.as_str())
    };
    let mut facts = vec![("outcome", note.outcome.as_str().to_string()), ("brought in", from)];
    facts.push(("compared with", note.base.clone()));
    if let Some(side) = note.strategy {
        facts.push(("strategy", side.as_str().to_string()));
    }
    if note.settled > 0 {
        facts.push(("settled", format!("{} conflicts", note.settled)));
    }
    facts.extend(note.resolutions.iter().map(|r| ("resolution", resolution(r))));
    facts
}

#[cfg(test)]
mod tests;
