//! Rows of a scan, as they arrive, in the form that was asked for. Memory holds a batch or a screenful.

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use clap::ValueEnum;
use futures::TryStreamExt;
use omnigraph_engine::data::value_at;
use omnigraph_engine::model::{PropertyType, Value};
use serde_json::json;

use super::table::{CELL, NULL, with_heads};
use super::{Answer, unwritten};
use crate::failure::{Exit, Failure, Result};
use crate::literal::{shown, to_cell, to_json};
use crate::target::Rows;

/// Rows in one table. A longer answer repeats the heads, so that it needs no more memory.
const TABLE_ROWS: usize = 1000;

/// Forms of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// A table for people; long cells are cut
    Table,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    Jsonl,
    /// CSV with a header line
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

/// Answers with rows.
pub(crate) async fn write(mut rows: Rows, format: RowFormat) -> Result<()> {
    match format {
        RowFormat::Arrow => return arrow(rows).await,
        RowFormat::Table => return table(rows).await,
        RowFormat::Json | RowFormat::Jsonl | RowFormat::Csv => {}
    }
    let mut answer = Answer::new();
    let mut separator = "";
    match format {
        RowFormat::Json => answer.bytes(b"[")?,
        RowFormat::Csv => {
            let names: Vec<String> = rows.columns.iter().map(|(name, _)| csv_field(Some(name))).collect();
            answer.line(&names.join(","))?;
        }
        _ => {}
    }
    while let Some(batch) = rows.batches.try_next().await? {
        for row in 0..batch.num_rows() {
            let values = values(&rows.columns, &batch, row)?;
            match format {
                RowFormat::Csv => answer.line(&csv_line(&rows.columns, &values))?,
                RowFormat::Json => {
                    answer.bytes(separator.as_bytes())?;
                    answer.bytes(object(&rows.columns, &values).as_bytes())?;
                    separator = ",\n";
                }
                _ => answer.line(&object(&rows.columns, &values))?,
            }
        }
    }
    if format == RowFormat::Json {
        answer.bytes(b"]\n")?;
    }
    answer.finish()
}

/// The values of one row, in the order of the columns.
fn values(columns: &[(String, PropertyType)], batch: &RecordBatch, row: usize) -> Result<Vec<Value>> {
    let value = |(at, (name, ty)): (usize, &(String, PropertyType))| {
        let missing = || Failure::new(Exit::Failed, format!("a batch of rows lacks the column {name}"));
        let column = batch.columns().get(at).ok_or_else(missing)?;
        Ok(value_at(column.as_ref(), ty, row)?)
    };
    columns.iter().enumerate().map(value).collect()
}

/// A JSON object with its members in the order of the columns, which a map would not keep.
fn object(columns: &[(String, PropertyType)], values: &[Value]) -> String {
    let members = columns.iter().zip(values);
    let members = members.map(|((name, ty), value)| format!("{}:{}", json!(name), to_json(value, Some(ty))));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn csv_line(columns: &[(String, PropertyType)], values: &[Value]) -> String {
    let cells = columns.iter().zip(values);
    let cells = cells.map(|((_, ty), value)| csv_field(to_cell(value, Some(ty)).as_deref()));
    cells.collect::<Vec<_>>().join(",")
}

/// A field as loading reads it: nothing is null, quotes around nothing are the empty text.
fn csv_field(text: Option<&str>) -> String {
    match text {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) || text.trim() != text => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text.to_string(),
    }
}

async fn table(mut rows: Rows) -> Result<()> {
    let heads = || with_heads(rows.columns.iter().map(|(name, _)| name.clone()));
    let mut answer = Answer::new();
    let (mut table, mut held, mut told) = (heads(), 0, false);
    while let Some(batch) = rows.batches.try_next().await? {
        for row in 0..batch.num_rows() {
            let values = values(&rows.columns, &batch, row)?;
            let cells = rows.columns.iter().zip(&values).map(|((_, ty), value)| match to_cell(value, Some(ty)) {
                Some(text) => shown(&text, CELL),
                None => NULL.to_string(),
            });
            table.add_row(cells.collect::<Vec<_>>());
            held += 1;
            if held == TABLE_ROWS {
                answer.line(&table.to_string())?;
                (table, held, told) = (heads(), 0, true);
            }
        }
    }
    if held > 0 || !told {
        answer.line(&table.to_string())?;
    }
    answer.finish()
}

async fn arrow(mut rows: Rows) -> Result<()> {
    let cannot = |e: arrow_schema::ArrowError| match e {
        arrow_schema::ArrowError::IoError(_, error) => unwritten(error),
        other => Failure::new(Exit::Failed, format!("cannot write Arrow: {other}")),
    };
    let mut writer = StreamWriter::try_new(Answer::new(), &rows.schema).map_err(cannot)?;
    while let Some(batch) = rows.batches.try_next().await? {
        writer.write(&batch).map_err(cannot)?;
    }
    writer.finish().map_err(cannot)?;
    writer.into_inner().map_err(cannot)?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::ScalarType;

    #[test]
    fn csv_tells_null_from_the_empty_text() {
        let column = |name: &str, ty| (name.to_string(), ty);
        let columns = [
            column("a", PropertyType::Scalar(ScalarType::String)),
            column("b", PropertyType::Scalar(ScalarType::String)),
            column("c", PropertyType::Scalar(ScalarType::String)),
            column("d", PropertyType::List(ScalarType::I32)),
        ];
        let values = [
            Value::Null,
            Value::String(String::new()),
            Value::String("say \"hi\"".into()),
            Value::List(vec![Value::I64(1), Value::I64(2)]),
        ];
        assert_eq!(csv_line(&columns, &values), ",\"\",\"say \"\"hi\"\"\",\"[1,2]\"");
        assert_eq!(object(&columns, &values), r#"{"a":null,"b":"","c":"say \"hi\"","d":[1,2]}"#);
    }
}
