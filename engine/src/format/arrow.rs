//! The Arrow schema of a type: as rows travel inside the engine and to clients, and as they are stored.
//!
//! Persisted shape: field names, types and metadata written here are found again in every table. It knows
//! types, not values; checking values is the job of `data`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use crate::error::{Error, Result};
use crate::model::{EntityKind, EntityType, Property, PropertyType, ScalarType};

/// Metadata key of a property's stable id on its field.
pub const PROPERTY_ID: &str = "omnigraph:property_id";

/// Name of the column that holds an entity's id.
pub const ID: &str = "id";
/// Name of the column that holds an edge's source id.
pub const SRC: &str = "src";
/// Name of the column that holds an edge's destination id.
pub const DST: &str = "dst";

const UTC: &str = "UTC";
const ITEM: &str = "item";
const EXTENSION_NAME: &str = "ARROW:extension:name";
const BLOB_V2: &str = "lance.blob.v2";
const PRIMARY_KEY: &str = "lance-schema:unenforced-primary-key";

static BLOB_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![Field::new("data", DataType::LargeBinary, true), Field::new("uri", DataType::Utf8, true)])
});

/// The schema of a type's rows inside the engine: `id`, on edges `src` and `dst`, then the properties in
/// their order. Every property is nullable here whatever it declares, because a row on its way to being
/// merged need not mention it.
pub fn logical_schema(ty: &EntityType) -> SchemaRef {
    schema_of(ty, &|property| property_field(property, logical_type(&property.ty), true))
}

/// The schema of a type's rows as shown to clients: as [`logical_schema`], and a property that must have
/// a value says so.
pub fn declared_schema(ty: &EntityType) -> SchemaRef {
    schema_of(ty, &|property| property_field(property, logical_type(&property.ty), property.nullable))
}

/// The schema of a type's table: as [`logical_schema`], with blobs as Lance stores them and `id` marked as
/// the key. Storage enforces nothing about properties, so changing what a property requires never
/// rewrites data. Blobs inside a list stay plain bytes.
pub fn storage_schema(ty: &EntityType) -> SchemaRef {
    let fields = system_fields(ty.kind).map(|field| match field.name().as_str() {
        ID => field.with_metadata(HashMap::from([(PRIMARY_KEY.to_string(), "true".to_string())])),
        _ => field,
    });
    let properties = ty.properties.iter().map(storage_field);
    Arc::new(Schema::new(fields.chain(properties).collect::<Vec<_>>()))
}

/// The field of one property in its type's table.
pub fn storage_field(property: &Property) -> Field {
    if property.ty != PropertyType::Scalar(ScalarType::Blob) {
        return property_field(property, logical_type(&property.ty), true);
    }
    let mut field = property_field(property, DataType::Struct(BLOB_FIELDS.clone()), true);
    field.metadata_mut().insert(EXTENSION_NAME.to_string(), BLOB_V2.to_string());
    field
}

/// Turns rows of the [`logical_schema`] into rows of the [`storage_schema`]. Only blobs change shape; no
/// bytes are copied.
///
/// # Errors
/// [`crate::error::Reason::Internal`] if the rows are not of this type's logical schema.
pub fn to_storage(ty: &EntityType, batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = storage_schema(ty);
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| match field.data_type() {
        DataType::Struct(_) => stored_blob(column),
        _ => Ok(column.clone()),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema, columns)
        .map_err(|e| Error::internal(format!("rows of {} do not have its schema: {e}", ty.name)).caused_by(e))
}

fn stored_blob(column: &ArrayRef) -> Result<ArrayRef> {
    if column.as_binary_opt::<i64>().is_none() {
        return Err(Error::internal(format!("a blob column holds {}", column.data_type())));
    }
    let uri = new_null_array(&DataType::Utf8, column.len());
    let columns = vec![column.clone(), uri];
    let stored = StructArray::try_new(BLOB_FIELDS.clone(), columns, column.nulls().cloned());
    let stored = stored.map_err(|e| Error::internal(format!("a blob column cannot be stored: {e}")).caused_by(e))?;
    Ok(Arc::new(stored))
}

/// The Arrow type of a property's values outside storage.
pub fn logical_type(ty: &PropertyType) -> DataType {
    match ty {
        PropertyType::Scalar(scalar) => scalar_type(*scalar),
        PropertyType::Enum(_) => DataType::Utf8,
        PropertyType::Vector(length) => {
            // The schema keeps dimensions far below this bound.
            let length = i32::try_from(*length).unwrap_or(i32::MAX);
            DataType::FixedSizeList(item_field(DataType::Float32), length)
        }
        PropertyType::List(scalar) => DataType::List(item_field(scalar_type(*scalar))),
    }
}

/// The Arrow type of a scalar.
pub fn scalar_type(scalar: ScalarType) -> DataType {
    match scalar {
        ScalarType::String => DataType::Utf8,
        ScalarType::Bool => DataType::Boolean,
        ScalarType::I32 => DataType::Int32,
        ScalarType::I64 => DataType::Int64,
        ScalarType::U32 => DataType::UInt32,
        ScalarType::U64 => DataType::UInt64,
        ScalarType::F32 => DataType::Float32,
        ScalarType::F64 => DataType::Float64,
        ScalarType::Date => DataType::Date32,
        ScalarType::DateTime => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        ScalarType::Blob => DataType::LargeBinary,
    }
}

/// The field of a list's or vector's members.
pub fn item_field(ty: DataType) -> FieldRef {
    Arc::new(Field::new(ITEM, ty, true))
}

fn schema_of(ty: &EntityType, field: &dyn Fn(&Property) -> Field) -> SchemaRef {
    let properties = ty.properties.iter().map(field);
    Arc::new(Schema::new(system_fields(ty.kind).chain(properties).collect::<Vec<_>>()))
}

fn system_fields(kind: EntityKind) -> impl Iterator<Item = Field> {
    let names: &[&str] = match kind {
        EntityKind::Node => &[ID],
        EntityKind::Edge => &[ID, SRC, DST],
    };
    names.iter().map(|name| Field::new(*name, DataType::Utf8, false))
}

fn property_field(property: &Property, ty: DataType, nullable: bool) -> Field {
    let metadata = HashMap::from([(PROPERTY_ID.to_string(), property.id.to_string())]);
    Field::new(&property.name, ty, nullable).with_metadata(metadata)
}

#[cfg(test)]
mod tests;
