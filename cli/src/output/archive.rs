//! Archives: what was written, and what was made of one. The JSON forms are documented in `docs/upgrade.md` and stable.
//! Pure.

use std::path::Path;

use omnigraph_engine::archive::ImportReport;
use serde_json::{Value as Json, json};

use super::table::facts;

/// An archive that was written.
pub(crate) fn exported(root: &str, file: &Path, bytes: u64) -> Json {
    json!({"root": root, "file": file.display().to_string(), "bytes": bytes})
}

/// A graph that was made of an archive.
pub(crate) fn imported_json(root: &str, report: &ImportReport) -> Json {
    let commits: Vec<Json> = report.commits.iter().map(|(old, new)| json!({"imported": old, "commit": new})).collect();
    json!({
        "root": root,
        "from_storage_stamp": report.stamp,
        "branches": report.branches,
        "tags": report.tags,
        "commits": commits,
    })
}

/// The same for people.
pub(crate) fn imported(root: &str, report: &ImportReport) -> String {
    facts(&[
        ("graph", root.to_string()),
        ("from storage stamp", report.stamp.to_string()),
        ("branches", report.branches.to_string()),
        ("tags", report.tags.to_string()),
        ("commits", report.commits.len().to_string()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_an_import() {
        let commits = vec![("A".to_string(), "X".to_string()), ("B".to_string(), "Y".to_string())];
        let report = ImportReport { stamp: 3, branches: 2, tags: 1, commits };
        assert_eq!(
            imported_json("/g", &report).to_string(),
            r#"{"branches":2,"commits":[{"commit":"X","imported":"A"},{"commit":"Y","imported":"B"}],"from_storage_stamp":3,"root":"/g","tags":1}"#
        );
        assert!(imported("/g", &report).contains("commits"), "{}", imported("/g", &report));
        assert_eq!(exported("/g", Path::new("a.zst"), 5)["bytes"], 5);
    }
}
