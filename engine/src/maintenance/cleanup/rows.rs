//! The report's rows, one a table, however many lines it has.

use std::collections::BTreeMap;

use super::TableStats;
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::format::paths;
use crate::maintenance::retention::Reasons;
use crate::model::TypeRef;
use crate::store::lance::clean::Removed;

/// Rows by table key.
#[derive(Default)]
pub(super) struct Rows(BTreeMap<String, TableStats>);

impl Rows {
    /// What stays of every table.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut rows = Self::default();
        for reasons in plan.look.verdict.stays.values() {
            rows.keep(paths::MANIFEST, reasons);
        }
        for table in plan.tables.values() {
            rows.row(&table.key);
            for reasons in table.lines.values().flat_map(|verdict| verdict.stays.values()) {
                rows.keep(&table.key, reasons);
            }
        }
        rows
    }

    pub(super) fn row(&mut self, key: &str) -> &mut TableStats {
        self.0
            .entry(key.to_string())
            .or_insert_with(|| TableStats { table_key: key.to_string(), ..TableStats::default() })
    }

    fn keep(&mut self, key: &str, reasons: &Reasons) {
        let row = self.row(key);
        for why in reasons {
            *row.versions_kept.entry(why.as_str().to_string()).or_default() += 1;
        }
    }

    /// Counts what was done to one line.
    pub(super) fn add(&mut self, key: &str, done: Result<Removed>) {
        match done {
            Ok(removed) => {
                let row = self.row(key);
                row.bytes_removed += removed.bytes;
                row.old_versions_removed += removed.versions;
                if removed.failed > 0 {
                    self.fail(key, &format!("{} files could not be removed", removed.failed));
                }
            }
            Err(e) => self.fail_with(key, &e),
        }
    }

    pub(super) fn fail_with(&mut self, key: &str, error: &Error) {
        self.fail(key, &format!("{} [{}]", error.message(), error.reason()));
    }

    /// Notes what went wrong, once.
    pub(super) fn fail(&mut self, key: &str, what: &str) {
        tracing::warn!(table = key, error = what, "a cleanup left something of a table");
        let row = self.row(key);
        match &mut row.error {
            None => row.error = Some(what.to_string()),
            Some(told) if told.contains(what) => {}
            Some(told) => {
                told.push_str("; ");
                told.push_str(what);
            }
        }
    }

    /// Nodes, edges, then the graph's own tables.
    pub(super) fn into_tables(self) -> Vec<TableStats> {
        let mut tables: Vec<TableStats> = self.0.into_values().collect();
        let place = |table: &TableStats| {
            let ty = TypeRef::parse(&table.table_key);
            (ty.is_none(), ty, table.table_key.clone())
        };
        tables.sort_by_cached_key(place);
        tables
    }
}
