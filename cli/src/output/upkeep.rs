//! How a graph is, as JSON and for people: what its tables take, and how far its indexes are. The JSON forms are
//! documented in `docs/maintenance/stats.md` and stable. Pure.

use comfy_table::Table;
use omnigraph_engine::maintenance::stats::{GraphStats, TableSpace};
use serde_json::{Value as Json, json};

use super::shape::type_text;
use super::table::{cell, facts, to_the_right, with_heads};
use crate::target::{Index, Indexes};

/// What a graph takes, and how it is.
pub(crate) fn stats_json(stats: &GraphStats) -> Json {
    let totals = &stats.totals;
    json!({
        "tables": stats.tables.iter().map(table_json).collect::<Vec<_>>(),
        "manifests": stats.manifests.iter().map(table_json).collect::<Vec<_>>(),
        "recovery_log": stats.recovery_log.as_ref().map(table_json),
        "totals": {
            "files": totals.files,
            "bytes": totals.bytes,
            "orphaned_files": totals.orphaned_files,
            "orphaned_bytes": totals.orphaned_bytes,
        },
        "branches_live": stats.branches_live,
        "intents_pending": stats.intents_pending,
        "leases": stats.leases,
    })
}

fn table_json(space: &TableSpace) -> Json {
    json!({
        "table_key": space.table_key,
        "branch": (!space.branch.is_empty()).then_some(&space.branch),
        "rows": space.rows,
        "versions": space.versions,
        "fragments": space.fragments,
        "files": space.files,
        "bytes_live": space.bytes_live,
        "bytes_inherited": space.bytes_inherited,
        "bytes_history": space.bytes_history,
        "indexes_declared": space.indexes_declared,
        "indexes_present": space.indexes_present,
        "index_rows_uncovered": space.index_rows_uncovered,
    })
}

/// The same for people: every table, then the sums.
pub(crate) fn stats_text(stats: &GraphStats) -> String {
    let heads = [
        "table",
        "branch",
        "rows",
        "versions",
        "fragments",
        "files",
        "live",
        "inherited",
        "history",
        "indexes",
        "not indexed",
    ];
    let mut table = with_heads(heads);
    for space in stats.tables.iter().chain(&stats.manifests).chain(&stats.recovery_log) {
        add_space(&mut table, space);
    }
    to_the_right(&mut table, &[2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let totals = &stats.totals;
    let orphaned = format!("{} in {} files", size(totals.orphaned_bytes), totals.orphaned_files);
    let mut text = table.to_string();
    text.push_str("\n\n");
    text.push_str(&facts(&[
        ("total", format!("{} in {} files", size(totals.bytes), totals.files)),
        ("of no live branch", orphaned),
        ("live branches", stats.branches_live.to_string()),
        ("pending intents", stats.intents_pending.to_string()),
        ("leases of reads", stats.leases.to_string()),
    ]));
    text
}

fn add_space(table: &mut Table, space: &TableSpace) {
    let indexes = match space.indexes_declared {
        0 => String::new(),
        declared => format!("{} of {declared}", space.indexes_present),
    };
    table.add_row([
        cell(&space.table_key),
        cell(&space.branch),
        space.rows.to_string(),
        space.versions.to_string(),
        space.fragments.to_string(),
        space.files.to_string(),
        size(space.bytes_live),
        size(space.bytes_inherited),
        size(space.bytes_history),
        indexes,
        space.index_rows_uncovered.to_string(),
    ]);
}

/// How far the indexes of a version are.
pub(crate) fn indexes_json(found: &Indexes) -> Json {
    let indexes: Vec<Json> = found.indexes.iter().map(index_json).collect();
    json!({"commit": found.commit, "indexes": indexes})
}

fn index_json(index: &Index) -> Json {
    json!({
        "kind": index.type_ref.kind.as_str(),
        "type": index.type_ref.name,
        "property": index.property,
        "name": index.name,
        "method": index.method,
        "metric": index.metric,
        "present": index.present,
        "pending": (!index.pending.is_empty()).then_some(&index.pending),
        "rows_covered": index.rows_covered,
        "rows_uncovered": index.rows_uncovered,
        "bytes": index.bytes,
    })
}

/// The same for people.
pub(crate) fn indexes_text(found: &Indexes) -> String {
    let mut table = with_heads(["type", "property", "method", "present", "covered", "uncovered", "size", "pending"]);
    for index in &found.indexes {
        let method = match index.metric {
            Some(metric) => format!("{} ({metric})", index.method),
            None => index.method.to_string(),
        };
        table.add_row([
            cell(&type_text(&index.type_ref)),
            cell(&index.property),
            method,
            if index.present { "yes" } else { "no" }.to_string(),
            index.rows_covered.to_string(),
            index.rows_uncovered.to_string(),
            size(index.bytes),
            index.pending.clone(),
        ]);
    }
    to_the_right(&mut table, &[4, 5, 6]);
    table.to_string()
}

/// Bytes with a unit, three digits or so.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    // What would be rounded to 1024 is one of the next unit.
    while value >= 1023.5
        && let Some(next) = units.next()
    {
        value /= 1024.0;
        unit = next;
    }
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_never_a_thousand_of_a_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (102_348, "99.9 KiB"),
            (102_400, "100 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (5 * 1024 * 1024 * 1024, "5.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn absent_things_are_null() {
        let space = TableSpace { table_key: "log".into(), rows: 3, ..TableSpace::default() };
        let stats = GraphStats { tables: vec![space], ..GraphStats::default() };
        let json = stats_json(&stats);
        assert_eq!((&json["tables"][0]["branch"], &json["recovery_log"]), (&Json::Null, &Json::Null));
        assert_eq!(json["tables"][0]["rows"], 3);
        let text = stats_text(&stats);
        assert!(text.contains("total") && text.contains("0 B in 0 files"), "{text}");
    }
}
