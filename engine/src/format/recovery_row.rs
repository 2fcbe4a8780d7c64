//! Rows of the recovery log: one per completed recovery, with the outcome of every table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::paths;
use crate::error::{Error, Reason, Result};

/// What an interrupted operation had done to one table. Stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveredTable {
    /// `node:<Type>` or `edge:<Type>`.
    pub table_key: String,
    /// The dataset's path.
    pub location: String,
    /// The version it was prepared on.
    pub base_version: u64,
    /// What stood at the version after: `nothing`, `applied` if it was its own, or `other`.
    pub observed: String,
}

/// One completed recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryRow {
    /// The interrupted operation.
    pub operation_id: String,
    /// The manifest version it had claimed the turn after.
    pub base_version: u64,
    /// The branch.
    pub branch: String,
    /// The branch's incarnation.
    pub branch_id: String,
    /// What kind of operation it was.
    pub label: String,
    /// Who had asked for it.
    pub actor: String,
    /// `completed` or `superseded` if it was decided already, `rolled_forward` or `rolled_back` if not.
    pub outcome: String,
    /// The commit that decided it.
    pub graph_commit_id: String,
    /// What it had done to each table.
    pub tables: Vec<RecoveredTable>,
    /// When, microseconds since the epoch.
    pub recovered_at: i64,
    /// The engine that did it.
    pub recovered_by: String,
}

const TEXTS: [&str; 9] =
    ["operation_id", "branch", "branch_id", "label", "actor", "outcome", "graph_commit_id", "tables", "recovered_by"];

/// The log's Arrow schema.
pub fn schema() -> SchemaRef {
    let mut fields: Vec<Field> = TEXTS.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    fields.push(Field::new("base_version", DataType::UInt64, false));
    fields.push(Field::new("recovered_at", DataType::Int64, false));
    Arc::new(Schema::new(fields))
}

/// The columns in order.
pub fn columns() -> Vec<String> {
    schema().fields().iter().map(|f| f.name().clone()).collect()
}

/// Rows as one batch.
///
/// # Errors
/// None in practice.
pub fn to_batch(rows: &[RecoveryRow]) -> Result<RecordBatch> {
    let text = |get: fn(&RecoveryRow) -> &str| -> ArrayRef {
        Arc::new(rows.iter().map(|r| Some(get(r))).collect::<StringArray>())
    };
    let tables = rows.iter().map(|r| serde_json::to_string(&r.tables)).collect::<std::result::Result<Vec<_>, _>>();
    let tables = tables.map_err(|e| Error::internal("a recovery record does not serialize").caused_by(e))?;
    let columns: Vec<ArrayRef> = vec![
        text(|r| &r.operation_id),
        text(|r| &r.branch),
        text(|r| &r.branch_id),
        text(|r| &r.label),
        text(|r| &r.actor),
        text(|r| &r.outcome),
        text(|r| &r.graph_commit_id),
        Arc::new(StringArray::from(tables)),
        text(|r| &r.recovered_by),
        Arc::new(rows.iter().map(|r| r.base_version).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|r| r.recovered_at).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(schema(), columns)
        .map_err(|e| Error::internal("recovery rows do not fit their schema").caused_by(e))
}

/// Reads rows back.
///
/// # Errors
/// [`Reason::DataCorrupt`] for a missing column.
pub fn from_batch(batch: &RecordBatch) -> Result<Vec<RecoveryRow>> {
    let corrupt = |name: &str| Error::new(Reason::DataCorrupt, format!("the recovery log lacks its column {name}"));
    let text = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|c| c.as_any().downcast_ref::<StringArray>().cloned())
            .ok_or_else(|| corrupt(name))
    };
    let texts = TEXTS.iter().map(|n| text(n)).collect::<Result<Vec<_>>>()?;
    let versions = batch
        .column_by_name("base_version")
        .and_then(|c| c.as_any().downcast_ref::<UInt64Array>().cloned())
        .ok_or_else(|| corrupt("base_version"))?;
    let times = batch
        .column_by_name("recovered_at")
        .and_then(|c| c.as_any().downcast_ref::<Int64Array>().cloned())
        .ok_or_else(|| corrupt("recovered_at"))?;
    (0..batch.num_rows())
        .map(|i| {
            let get = |n: usize| texts[n].value(i).to_string();
            let tables = serde_json::from_str(texts[7].value(i)).map_err(|e| {
                let what = format!("the recovery log does not say legibly which tables operation {} wrote", get(0));
                Error::new(Reason::DataCorrupt, what).with("path", paths::RECOVERIES).caused_by(e)
            })?;
            Ok(RecoveryRow {
                operation_id: get(0),
                branch: get(1),
                branch_id: get(2),
                label: get(3),
                actor: get(4),
                outcome: get(5),
                graph_commit_id: get(6),
                tables,
                recovered_by: get(8),
                base_version: versions.value(i),
                recovered_at: times.value(i),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip() {
        let row = RecoveryRow {
            operation_id: "O".into(),
            base_version: 3,
            branch: "b".into(),
            branch_id: "I".into(),
            label: "load".into(),
            actor: "ada".into(),
            outcome: "rolled_back".into(),
            graph_commit_id: "C".into(),
            tables: vec![RecoveredTable { table_key: "node:P".into(), base_version: 2, ..RecoveredTable::default() }],
            recovered_at: -1,
            recovered_by: "W".into(),
        };
        assert_eq!(from_batch(&to_batch(std::slice::from_ref(&row)).unwrap()).unwrap(), vec![row]);
    }
}
