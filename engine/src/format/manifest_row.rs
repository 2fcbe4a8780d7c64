//! Rows of the manifest and their Arrow form.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::stamp;
use crate::error::{Error, Reason, Result};

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectType {
    /// A type exists; the metadata holds its declaration.
    Table,
    /// A version of a type's dataset was published.
    TableVersion,
    /// A type's versions up to this one are gone.
    TableTombstone,
    /// A commit of the graph.
    GraphCommit,
    /// The newest commit of a branch.
    GraphHead,
}

impl ObjectType {
    const ALL: [Self; 5] = [Self::Table, Self::TableVersion, Self::TableTombstone, Self::GraphCommit, Self::GraphHead];

    fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::TableVersion => "table_version",
            Self::TableTombstone => "table_tombstone",
            Self::GraphCommit => "graph_commit",
            Self::GraphHead => "graph_head",
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ManifestRow {
    /// Unique within the manifest.
    pub object_id: String,
    /// See [`ObjectType`].
    #[serde(with = "object_type_text")]
    pub object_type: ObjectType,
    /// The dataset's path below the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// JSON whose shape depends on the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// `node:<Type>` or `edge:<Type>`; empty on lineage rows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub table_key: String,
    /// The dataset's version on its Lance branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_version: Option<u64>,
    /// The Lance branch that holds the version; `None` for the main line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_branch: Option<String>,
    /// Rows of the table at that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
}

mod object_type_text {
    use super::ObjectType;

    pub fn serialize<S: serde::Serializer>(v: &ObjectType, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(v.as_str())
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<ObjectType, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(d)?;
        ObjectType::ALL
            .into_iter()
            .find(|t| t.as_str() == text)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown object type {text:?}")))
    }
}

/// The manifest's Arrow schema with the format stamp and the key annotation.
pub fn schema() -> SchemaRef {
    let key =
        std::collections::HashMap::from([("lance-schema:unenforced-primary-key".to_string(), "true".to_string())]);
    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    Arc::new(
        Schema::new(vec![
            text("object_id", false).with_metadata(key),
            text("object_type", false),
            text("location", true),
            text("metadata", true),
            Field::new("base_objects", list_type(), true),
            text("table_key", false),
            Field::new("table_version", DataType::UInt64, true),
            text("table_branch", true),
            Field::new("row_count", DataType::UInt64, true),
        ])
        .with_metadata(stamp::metadata()),
    )
}

fn list_type() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
}

/// Rows as one batch.
///
/// # Errors
/// None in practice: the columns are built to fit.
pub fn to_batch(rows: &[ManifestRow]) -> Result<RecordBatch> {
    let text =
        |get: fn(&ManifestRow) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(get).collect::<StringArray>()) };
    let number =
        |get: fn(&ManifestRow) -> Option<u64>| -> ArrayRef { Arc::new(rows.iter().map(get).collect::<UInt64Array>()) };
    let mut base_objects = ListBuilder::new(StringBuilder::new());
    for _ in rows {
        base_objects.append_null();
    }
    let columns: Vec<ArrayRef> = vec![
        text(|r| Some(&r.object_id)),
        text(|r| Some(r.object_type.as_str())),
        text(|r| r.location.as_deref()),
        text(|r| r.metadata.as_deref()),
        Arc::new(base_objects.finish()) as Arc<ListArray>,
        text(|r| Some(&r.table_key)),
        number(|r| r.table_version),
        text(|r| r.table_branch.as_deref()),
        number(|r| r.row_count),
    ];
    RecordBatch::try_new(schema(), columns)
        .map_err(|e| Error::internal("manifest rows do not fit their schema").caused_by(e))
}

/// Reads rows back. Columns are found by name; extra ones are ignored.
///
/// # Errors
/// [`Reason::DataCorrupt`] for a missing column or an unknown object type.
pub fn from_batch(batch: &RecordBatch) -> Result<Vec<ManifestRow>> {
    let corrupt = |what: String| Error::new(Reason::DataCorrupt, format!("the manifest is damaged: {what}"));
    let text = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|c| c.as_any().downcast_ref::<StringArray>().cloned())
            .ok_or_else(|| corrupt(format!("column {name} is missing or not text")))
    };
    let number = |name: &str| {
        batch
            .column_by_name(name)
            .and_then(|c| c.as_any().downcast_ref::<UInt64Array>().cloned())
            .ok_or_else(|| corrupt(format!("column {name} is missing or not a number")))
    };
    let (ids, types, locations) = (text("object_id")?, text("object_type")?, text("location")?);
    let (metadata, keys, branches) = (text("metadata")?, text("table_key")?, text("table_branch")?);
    let (versions, counts) = (number("table_version")?, number("row_count")?);
    let owned = |a: &StringArray, i: usize| a.is_valid(i).then(|| a.value(i).to_string());
    (0..batch.num_rows())
        .map(|i| {
            let kind = types.value(i);
            Ok(ManifestRow {
                object_id: ids.value(i).to_string(),
                object_type: ObjectType::ALL
                    .into_iter()
                    .find(|t| t.as_str() == kind)
                    .ok_or_else(|| corrupt(format!("unknown object type {kind:?}")))?,
                location: owned(&locations, i),
                metadata: owned(&metadata, i),
                table_key: keys.value(i).to_string(),
                table_version: versions.is_valid(i).then(|| versions.value(i)),
                table_branch: owned(&branches, i),
                row_count: counts.is_valid(i).then(|| counts.value(i)),
            })
        })
        .collect()
}

/// The columns in order.
pub fn columns() -> Vec<String> {
    schema().fields().iter().map(|f| f.name().clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip_through_arrow_and_json() {
        let rows = vec![
            ManifestRow {
                object_id: "version:nodes/x::7".into(),
                object_type: ObjectType::TableVersion,
                location: Some("nodes/x".into()),
                metadata: Some("{}".into()),
                table_key: "node:Person".into(),
                table_version: Some(u64::MAX),
                table_branch: Some("b".into()),
                row_count: Some(0),
            },
            ManifestRow {
                object_id: "graph_head:main".into(),
                object_type: ObjectType::GraphHead,
                location: None,
                metadata: None,
                table_key: String::new(),
                table_version: None,
                table_branch: None,
                row_count: None,
            },
        ];
        assert_eq!(from_batch(&to_batch(&rows).unwrap()).unwrap(), rows);
        let json = serde_json::to_string(&rows).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ManifestRow>>(&json).unwrap(), rows);
        assert_eq!(json.split_once("},").unwrap().1, r#"{"object_id":"graph_head:main","object_type":"graph_head"}]"#);
    }

    #[test]
    fn columns_are_exactly_the_published_ones() {
        assert_eq!(
            columns().join(" "),
            "object_id object_type location metadata base_objects table_key table_version table_branch row_count"
        );
    }
}
