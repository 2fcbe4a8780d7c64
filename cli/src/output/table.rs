//! The forms for people: tables and short texts. They may change; programs read JSON.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};
use omnigraph_engine::maintenance::optimize::OptimizeReport;
use omnigraph_engine::maintenance::verify::VerifyReport;
use omnigraph_engine::model::{BranchInfo, CommitInfo, Entity, EntityKind, EntityType, Schema, TypeCounts};
use omnigraph_engine::read::neighbors::Neighborhood;

use super::merge::note_facts;
use super::shape::{in_order, property_order, type_text};
use crate::literal::{datetime, shown, to_cell};
use crate::target::{About, Outcome, Recovery, Stored};

/// Characters of a cell; more is cut off, since a table is for looking.
pub(crate) const CELL: usize = 60;

/// What stands for null.
pub(crate) const NULL: &str = "∅";

/// A table with these heads.
pub(crate) fn with_heads<H: Into<String>>(heads: impl IntoIterator<Item = H>) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    // One line below the heads, and no other.
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.into_iter().map(Into::into).collect::<Vec<String>>());
    table
}

/// Sets columns of numbers to the right.
pub(crate) fn to_the_right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A text as a cell shows it.
pub(crate) fn cell(text: &str) -> String {
    shown(text, CELL)
}

/// Counts in a few words: `Person +1 ~2`.
pub(crate) fn counts_text(counts: &[TypeCounts]) -> String {
    let one = |c: &&TypeCounts| {
        let part = |sign: &str, count: u64| (count > 0).then(|| format!("{sign}{count}"));
        let parts = [part("+", c.inserted), part("~", c.updated), part("-", c.deleted)];
        format!("{} {}", c.type_ref.name, parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    };
    in_order(counts).iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A truth in a word.
pub(crate) fn yes(truth: bool) -> String {
    if truth { "yes" } else { "no" }.to_string()
}

/// What a write did.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    match (outcome.replayed, outcome.changed) {
        (true, _) => format!("{} (done before under the same request id)", outcome.commit),
        (false, false) => format!("nothing changed; {} is still at {}", outcome.branch, outcome.commit),
        (false, true) if outcome.counts.is_empty() => {
            format!("{} on {}", outcome.commit, outcome.branch)
        }
        (false, true) => format!("{} on {}: {}", outcome.commit, outcome.branch, counts_text(&outcome.counts)),
    }
}

/// Commits, newest first.
pub(crate) fn commits(commits: &[CommitInfo]) -> String {
    let mut table = with_heads(["commit", "created", "actor", "operation", "changes", "message"]);
    for commit in commits {
        table.add_row([
            commit.id.clone(),
            datetime(commit.created_at),
            cell(&commit.actor.0),
            cell(&commit.operation),
            cell(&counts_text(&commit.counts)),
            cell(&commit.message),
        ]);
    }
    table.to_string()
}

/// Names and values, one below the other.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("{name:width$}  {}\n", shown(value, 4000));
    facts.iter().map(line).collect()
}

/// One commit.
pub(crate) fn commit(commit: &CommitInfo) -> String {
    let mut all = vec![
        ("commit", commit.id.clone()),
        ("parents", commit.parents.join(", ")),
        ("branch", commit.branch.clone()),
        ("actor", commit.actor.0.clone()),
        ("created", datetime(commit.created_at)),
        ("operation", commit.operation.clone()),
        ("request id", commit.request_id.clone()),
        ("manifest version", commit.manifest_version.to_string()),
        ("message", commit.message.clone()),
    ];
    all.extend(commit.merge.iter().flat_map(|note| note_facts(note)));
    if let Some(from) = &commit.imported {
        all.push(("imported from", format!("{} of {}", from.id, datetime(from.created_at))));
    }
    let mut text = facts(&all);
    if !commit.counts.is_empty() {
        let mut table = with_heads(["type", "inserted", "updated", "deleted"]);
        for c in in_order(&commit.counts) {
            let counts = [c.inserted, c.updated, c.deleted].map(|count| count.to_string());
            let [inserted, updated, deleted] = counts;
            table.add_row([type_text(&c.type_ref), inserted, updated, deleted]);
        }
        to_the_right(&mut table, &[1, 2, 3]);
        text.push_str(&table.to_string());
    }
    text
}

/// Branches by name.
pub(crate) fn branches(branches: &[BranchInfo]) -> String {
    let mut table = with_heads(["branch", "head", "parent", "created", "actor", "protected"]);
    for branch in branches {
        table.add_row([
            cell(&branch.name),
            branch.head.clone(),
            cell(&branch.parent),
            datetime(branch.created_at),
            cell(&branch.actor.0),
            yes(branch.protected),
        ]);
    }
    table.to_string()
}

/// One branch.
pub(crate) fn branch(branch: &BranchInfo) -> String {
    facts(&[
        ("branch", branch.name.clone()),
        ("branch id", branch.branch_id.clone()),
        ("head", branch.head.clone()),
        ("parent", branch.parent.clone()),
        ("forked from", branch.forked_from.clone()),
        ("created", datetime(branch.created_at)),
        ("actor", branch.actor.0.clone()),
        ("protected", yes(branch.protected)),
    ])
}

/// Entities of one type.
pub(crate) fn entities(entities: &[Entity], ty: Option<&EntityType>) -> String {
    let Some(first) = entities.first() else {
        return String::new();
    };
    let names = property_order(first, ty);
    let ends: &[&str] = match first.type_ref.kind {
        EntityKind::Node => &["id"],
        EntityKind::Edge => &["id", "src", "dst"],
    };
    let mut table = with_heads(ends.iter().chain(&names).map(ToString::to_string));
    for entity in entities {
        table.add_row(entity_cells(entity, &names, ty));
    }
    table.to_string()
}

fn entity_cells(entity: &Entity, names: &[&str], ty: Option<&EntityType>) -> Vec<String> {
    let mut cells = vec![cell(&entity.id)];
    if let Some((from, to)) = &entity.endpoints {
        cells.extend([cell(from), cell(to)]);
    }
    cells.extend(names.iter().map(|name| {
        let ty = ty.and_then(|ty| ty.property(name)).map(|property| &property.ty);
        let text = entity.properties.get(*name).and_then(|value| to_cell(value, ty));
        text.map_or_else(|| NULL.to_string(), |text| cell(&text))
    }));
    cells
}

/// What is near: nodes, then edges, with their properties in one cell since they are of many types.
pub(crate) fn neighborhood(found: &Neighborhood, schema: &Schema) -> String {
    let mut table = with_heads(["steps", "type", "id", "from", "to", "properties"]);
    for (entity, distance) in found.nodes.iter().chain(&found.edges) {
        let ty = schema.get(&entity.type_ref);
        let known = property_order(entity, ty).into_iter().filter_map(|name| {
            let ty = ty.and_then(|ty| ty.property(name)).map(|property| &property.ty);
            let text = to_cell(entity.properties.get(name)?, ty)?;
            Some(format!("{name}={}", shown(&text, 24)))
        });
        let (from, to) = entity.endpoints.clone().unwrap_or_default();
        table.add_row([
            distance.to_string(),
            type_text(&entity.type_ref),
            cell(&entity.id),
            cell(&from),
            cell(&to),
            cell(&known.collect::<Vec<_>>().join(" ")),
        ]);
    }
    to_the_right(&mut table, &[0]);
    table.to_string()
}

/// How a version is stored.
pub(crate) fn stored(stored: &Stored) -> String {
    let mut text = facts(&[
        ("commit", stored.commit.clone()),
        ("root", stored.root.clone()),
        ("storage stamp", stored.stamp.to_string()),
        ("manifest branch", stored.manifest_branch.clone().unwrap_or_default()),
        ("manifest version", stored.manifest_version.to_string()),
    ]);
    let mut table = with_heads(["type", "rows", "version", "location", "lance branch"]);
    for stored in &stored.tables {
        table.add_row([
            type_text(&stored.type_ref),
            stored.rows.to_string(),
            stored.version.map(|version| version.to_string()).unwrap_or_default(),
            stored.location.clone().unwrap_or_default(),
            stored.lance_branch.clone().unwrap_or_default(),
        ]);
    }
    to_the_right(&mut table, &[1, 2]);
    text.push_str(&table.to_string());
    text
}

/// A graph.
pub(crate) fn about(about: &About) -> String {
    let mut all = vec![
        ("root", about.root.clone()),
        ("head", about.head.clone()),
        ("storage stamp", about.stamp.to_string()),
        ("created", datetime(about.created_at)),
    ];
    if let Some(id) = &about.id {
        all.insert(0, ("graph", id.clone()));
    }
    facts(&all)
}

/// What a check found.
pub(crate) fn report(report: &VerifyReport) -> String {
    let mut text = format!(
        "checked {} branches, {} table states, {} commits; {} operations under way or interrupted\n",
        report.branches, report.tables, report.commits, report.pending
    );
    if report.is_clean() {
        text.push_str("every invariant holds\n");
        return text;
    }
    let mut table = with_heads(["invariant", "branch", "problem"]);
    for problem in &report.problems {
        table.add_row([problem.invariant.to_string(), cell(&problem.branch), shown(&problem.detail, 200)]);
    }
    text.push_str(&table.to_string());
    text
}

/// What an optimize did to a branch.
pub(crate) fn optimized(report: &OptimizeReport) -> String {
    let mut text = match &report.commit {
        Some(commit) => format!("branch {}: commit {commit}\n", report.branch),
        None => format!("branch {}: nothing to do\n", report.branch),
    };
    let mut table = with_heads(["table", "fragments", "version", "skipped"]);
    for stats in &report.tables {
        let fragments = match stats.committed {
            true => format!("{} to {}", stats.fragments_removed, stats.fragments_added),
            false => String::new(),
        };
        let version = stats.manifest_version.or(stats.lance_head_version).map(|v| v.to_string()).unwrap_or_default();
        let skipped = stats.skipped.map(|s| s.as_str().to_string()).unwrap_or_default();
        table.add_row([stats.table_key.clone(), fragments, version, skipped]);
    }
    text.push_str(&table.to_string());
    text.push('\n');
    text
}

/// Recoveries, newest first.
pub(crate) fn recoveries(recoveries: &[Recovery]) -> String {
    let mut table = with_heads(["operation", "recovered", "outcome", "label", "branch", "actor", "commit"]);
    for recovery in recoveries {
        table.add_row([
            recovery.operation.clone(),
            datetime(recovery.recovered_at),
            cell(&recovery.outcome),
            cell(&recovery.label),
            cell(&recovery.branch),
            cell(&recovery.actor),
            recovery.commit.clone(),
        ]);
    }
    table.to_string()
}

/// One recovery.
pub(crate) fn recovery(recovery: &Recovery) -> String {
    let mut text = facts(&[
        ("operation", recovery.operation.clone()),
        ("label", recovery.label.clone()),
        ("actor", recovery.actor.clone()),
        ("branch", recovery.branch.clone()),
        ("branch id", recovery.branch_id.clone()),
        ("manifest version", format!("after {}", recovery.base_version)),
        ("outcome", recovery.outcome.clone()),
        ("decided by", recovery.commit.clone()),
        ("recovered", datetime(recovery.recovered_at)),
        ("recovered by", recovery.recovered_by.clone()),
    ]);
    if !recovery.tables.is_empty() {
        let mut table = with_heads(["type", "found", "after version", "location"]);
        for recovered in &recovery.tables {
            table.add_row([
                cell(&recovered.table_key),
                cell(&recovered.observed),
                recovered.base_version.to_string(),
                recovered.location.clone(),
            ]);
        }
        to_the_right(&mut table, &[2]);
        text.push_str(&table.to_string());
    }
    text
}
