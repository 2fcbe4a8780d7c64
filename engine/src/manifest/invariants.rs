//! What every published state must satisfy with respect to the one before. Pure.

use crate::error::{Error, Result};
use crate::format::snapshot_json::SnapshotDoc;

/// Checks one step of a lineage before it is published.
///
/// # Errors
/// [`crate::error::Reason::Internal`] naming what is broken: publishing it would be a defect.
pub fn check_successor(before: &SnapshotDoc, after: &SnapshotDoc) -> Result<()> {
    let broken = |what: String| Err(Error::internal(format!("refusing to publish: {what}")));
    if before.closed {
        return broken("the branch is closed".to_string());
    }
    if after.commit <= before.commit {
        return broken(format!("commit {} does not follow {}", after.commit, before.commit));
    }
    for new in &after.tables {
        let Some(old) = before.tables.iter().find(|t| t.key == new.key) else {
            continue;
        };
        let same_line = old.location == new.location && old.branch == new.branch;
        if same_line && new.version < old.version {
            return broken(format!("{} would go back from version {} to {}", new.key, old.version, new.version));
        }
        if same_line && new.version == old.version && new.rows != old.rows {
            return broken(format!("{} would change without a new version", new.key));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::snapshot_json::TableDoc;

    fn doc(commit: &str, version: u64, rows: u64) -> SnapshotDoc {
        let table = TableDoc {
            key: "node:P".into(),
            location: Some("nodes/p".into()),
            branch: None,
            version,
            line: None,
            rows,
            decl: "{}".into(),
        };
        SnapshotDoc::new(commit.into(), vec![table], Vec::new())
    }

    #[test]
    fn steps_back_are_refused_and_steps_on_are_not() {
        let base = doc("B", 5, 10);
        assert!(check_successor(&base, &doc("C", 6, 11)).is_ok());
        assert!(check_successor(&base, &doc("C", 5, 10)).is_ok());
        for bad in [doc("B", 6, 11), doc("A", 6, 11), doc("C", 4, 10), doc("C", 5, 11)] {
            assert!(check_successor(&base, &bad).is_err(), "{bad:?}");
        }
        let mut forked = doc("C", 1, 3);
        forked.tables[0].branch = Some("L".into());
        assert!(check_successor(&base, &forked).is_ok(), "versions of different lines are not compared");
        let closed = SnapshotDoc { closed: true, ..base };
        assert!(check_successor(&closed, &doc("C", 6, 11)).is_err());
    }
}
