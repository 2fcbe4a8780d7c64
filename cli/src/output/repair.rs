//! What a repair did or would do: as JSON, which is documented in `docs/maintenance/repair.md` and stable, and for
//! people. Pure.

use omnigraph_engine::maintenance::repair::{RepairReport, TableRepair};
use serde_json::{Value as Json, json};

use super::table::{cell, to_the_right, with_heads};
use crate::literal::shown;

/// Characters of an error; it says what to do.
const ERROR: usize = 300;

/// One branch, as JSON.
pub(crate) fn json(report: &RepairReport) -> Json {
    let tables = report.tables.iter().map(|t| {
        json!({
            "table_key": t.table_key,
            "classification": t.classification.as_str(),
            "action": t.action.as_str(),
            "manifest_version": t.manifest_version,
            "lance_head_version": t.lance_head_version,
            "operations": t.operations,
            "error": t.error,
        })
    });
    json!({
        "branch": report.branch,
        "preview": report.preview,
        "commit": report.commit,
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// One branch, for people.
pub(crate) fn text(report: &RepairReport) -> String {
    let mut text = match (&report.commit, report.preview) {
        (Some(commit), _) => format!("branch {}: commit {commit}\n", report.branch),
        (None, true) => format!("branch {}: preview\n", report.branch),
        (None, false) => format!("branch {}: nothing published\n", report.branch),
    };
    let mut table = with_heads(["table", "classification", "action", "published", "newest", "operations", "error"]);
    for t in &report.tables {
        table.add_row([
            t.table_key.clone(),
            t.classification.as_str().to_string(),
            t.action.as_str().to_string(),
            version(t.manifest_version),
            version(t.lance_head_version),
            cell(&operations(t)),
            t.error.as_deref().map(|error| shown(error, ERROR)).unwrap_or_default(),
        ]);
    }
    to_the_right(&mut table, &[3, 4]);
    text.push_str(&format!("{table}\n"));
    text
}

fn version(version: Option<u64>) -> String {
    version.map(|version| version.to_string()).unwrap_or_default()
}

/// The operations in order, each run of the same as one.
fn operations(table: &TableRepair) -> String {
    let runs = table.operations.chunk_by(|a, b| a == b);
    let run = |run: &[String]| match run {
        [only] => only.clone(),
        [first, ..] => format!("{} {first}", run.len()),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::maintenance::repair::{Classification, RepairAction};

    fn report(preview: bool) -> RepairReport {
        let operations = ["Append", "Append", "Rewrite"].map(ToString::to_string).to_vec();
        RepairReport {
            branch: "main".into(),
            preview,
            commit: (!preview).then(|| "01J9".to_string()),
            tables: vec![
                TableRepair {
                    table_key: "node:Person".into(),
                    classification: Classification::Suspicious,
                    action: RepairAction::Refused,
                    manifest_version: Some(4),
                    lance_head_version: Some(7),
                    operations,
                    error: Some("why".into()),
                },
                TableRepair {
                    table_key: "node:Note".into(),
                    classification: Classification::None,
                    action: RepairAction::None,
                    manifest_version: None,
                    lance_head_version: None,
                    operations: Vec::new(),
                    error: None,
                },
            ],
        }
    }

    #[test]
    fn the_json_form_is_fixed() {
        let expected = json!({
            "branch": "main",
            "preview": false,
            "commit": "01J9",
            "tables": [
                {
                    "table_key": "node:Person",
                    "classification": "suspicious",
                    "action": "refused",
                    "manifest_version": 4,
                    "lance_head_version": 7,
                    "operations": ["Append", "Append", "Rewrite"],
                    "error": "why",
                },
                {
                    "table_key": "node:Note",
                    "classification": "none",
                    "action": "none",
                    "manifest_version": null,
                    "lance_head_version": null,
                    "operations": [],
                    "error": null,
                },
            ],
        });
        assert_eq!(json(&report(false)), expected);
    }

    #[test]
    fn people_see_runs_of_operations_and_whether_anything_was_done() {
        let preview = text(&report(true));
        assert!(preview.starts_with("branch main: preview\n"), "{preview}");
        assert!(preview.contains("2 Append, Rewrite") && preview.contains("why"), "{preview}");
        assert!(text(&report(false)).starts_with("branch main: commit 01J9\n"));
    }
}
