//! What a cleanup did or would do: as JSON, which is documented and stable, and for people.

use omnigraph_engine::maintenance::cleanup::{CleanupReport, Reclaimed, TableStats};
use serde_json::{Value as Json, json};

use super::table::{cell, to_the_right, with_heads};
use crate::literal::shown;

/// The JSON form.
pub(crate) fn json(root: &str, report: &CleanupReport) -> Json {
    let branches = report.branches.iter().map(|b| {
        json!({
            "branch": b.branch,
            "commits_kept": b.commits_kept,
            "commits_removed": b.commits_removed,
            "oldest_kept": b.oldest_kept,
        })
    });
    let tables = report.tables.iter().map(|t| {
        json!({
            "table_key": t.table_key,
            "bytes_removed": t.bytes_removed,
            "old_versions_removed": t.old_versions_removed,
            "versions_kept": t.versions_kept,
            "error": t.error,
        })
    });
    let reclaimed =
        report.reclaimed.iter().map(|r| json!({"what": r.what, "name": r.name, "bytes": r.bytes, "error": r.error}));
    json!({
        "root": root,
        "preview": report.preview,
        "branches": branches.collect::<Vec<_>>(),
        "commits_kept": report.commits_kept,
        "commits_removed": report.commits_removed,
        "tables": tables.collect::<Vec<_>>(),
        "reclaimed": reclaimed.collect::<Vec<_>>(),
    })
}

/// The form for people.
pub(crate) fn text(report: &CleanupReport) -> String {
    let removed = if report.preview { "would be removed" } else { "removed" };
    let mut text = format!("commits: {} can be read, {} {removed}\n", report.commits_kept, report.commits_removed);
    let mut branches = with_heads(["branch", "kept", removed, "oldest kept"]);
    for branch in &report.branches {
        branches.add_row([
            cell(&branch.branch),
            branch.commits_kept.to_string(),
            branch.commits_removed.to_string(),
            branch.oldest_kept.clone().unwrap_or_default(),
        ]);
    }
    to_the_right(&mut branches, &[1, 2]);
    text.push_str(&format!("{branches}\n\n"));
    text.push_str(&tables(&report.tables, removed));
    if !report.reclaimed.is_empty() {
        text.push_str(&reclaimed(&report.reclaimed, removed));
    }
    if report.preview {
        text.push_str("nothing was removed; repeat it with --confirm to do it\n");
    }
    text
}

/// What went wrong is told at length.
fn in_full(error: &str) -> String {
    shown(error, 300)
}

fn tables(tables: &[TableStats], removed: &str) -> String {
    let mut table = with_heads(["table", &format!("versions {removed}"), "bytes", "versions kept", "error"]);
    for stats in tables {
        let kept: Vec<String> = stats.versions_kept.iter().map(|(why, n)| format!("{}: {n}", cell(why))).collect();
        table.add_row([
            cell(&stats.table_key),
            stats.old_versions_removed.to_string(),
            stats.bytes_removed.to_string(),
            kept.join(", "),
            stats.error.as_deref().map(in_full).unwrap_or_default(),
        ]);
    }
    to_the_right(&mut table, &[1, 2]);
    format!("{table}\n")
}

fn reclaimed(reclaimed: &[Reclaimed], removed: &str) -> String {
    let mut table = with_heads([removed, "name", "bytes", "error"]);
    for one in reclaimed {
        table.add_row([
            one.what.to_string(),
            cell(&one.name),
            one.bytes.to_string(),
            one.error.as_deref().map(in_full).unwrap_or_default(),
        ]);
    }
    to_the_right(&mut table, &[2]);
    format!("\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::maintenance::cleanup::BranchStats;
    use std::collections::BTreeMap;

    fn report(preview: bool) -> CleanupReport {
        CleanupReport {
            preview,
            branches: vec![BranchStats {
                branch: "main".into(),
                commits_kept: 2,
                commits_removed: 3,
                oldest_kept: Some("01J9".into()),
            }],
            commits_kept: 2,
            commits_removed: 3,
            tables: vec![TableStats {
                table_key: "node:Person".into(),
                bytes_removed: 4_096,
                old_versions_removed: 3,
                versions_kept: BTreeMap::from([("head".into(), 1), ("tag v1".into(), 2)]),
                error: Some("1 files could not be removed".into()),
            }],
            reclaimed: vec![Reclaimed { what: "fork", name: "nodes/1/tree/01J9".into(), bytes: 7, error: None }],
        }
    }

    #[test]
    fn the_json_form_is_fixed() {
        let expected = json!({
            "root": "/g",
            "preview": true,
            "branches": [{"branch": "main", "commits_kept": 2, "commits_removed": 3, "oldest_kept": "01J9"}],
            "commits_kept": 2,
            "commits_removed": 3,
            "tables": [{
                "table_key": "node:Person",
                "bytes_removed": 4096,
                "old_versions_removed": 3,
                "versions_kept": {"head": 1, "tag v1": 2},
                "error": "1 files could not be removed",
            }],
            "reclaimed": [{"what": "fork", "name": "nodes/1/tree/01J9", "bytes": 7, "error": null}],
        });
        assert_eq!(json("/g", &report(true)), expected);
    }

    #[test]
    fn only_a_preview_says_how_to_go_on() {
        let preview = text(&report(true));
        assert!(preview.contains("head: 1, tag v1: 2"), "{preview}");
        assert!(preview.contains("3 would be removed") && preview.ends_with("repeat it with --confirm to do it\n"));
        let done = text(&report(false));
        assert!(done.contains("3 removed") && done.contains("could not be removed") && !done.contains("--confirm"));
    }
}
