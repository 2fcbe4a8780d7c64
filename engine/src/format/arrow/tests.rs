//! The persisted shape of schemas and blobs.

use arrow_array::{LargeBinaryArray, StringArray};

use super::*;

fn property(id: u32, name: &str, ty: PropertyType, nullable: bool) -> Property {
    Property { id, name: name.into(), ty, nullable, description: String::new(), annotations: vec![] }
}

fn photo_album() -> EntityType {
    EntityType {
        id: "t".into(),
        kind: EntityKind::Edge,
        name: "Shows".into(),
        implements: vec![],
        properties: vec![
            property(7, "order", PropertyType::Scalar(ScalarType::U32), false),
            property(3, "photo", PropertyType::Scalar(ScalarType::Blob), true),
            property(4, "face", PropertyType::Vector(4), true),
            property(5, "at", PropertyType::List(ScalarType::DateTime), true),
            property(6, "mood", PropertyType::Enum(vec!["a".into()]), true),
        ],
        key: vec![],
        unique: vec![],
        indexes: vec![],
        ranges: vec![],
        checks: vec![],
        cardinality: None,
        endpoints: None,
        description: String::new(),
        annotations: vec![],
    }
}

#[test]
fn logical_rows_let_every_property_be_absent_and_carry_its_stable_id() {
    let schema = logical_schema(&photo_album());
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["id", "src", "dst", "order", "photo", "face", "at", "mood"]);
    assert!(!schema.field(0).is_nullable() && !schema.field(2).is_nullable());
    assert!(schema.fields()[3..].iter().all(|f| f.is_nullable()));
    assert_eq!(schema.field(3).metadata()[PROPERTY_ID], "7");
    assert_eq!(schema.field(4).data_type(), &DataType::LargeBinary);
    assert_eq!(schema.field(5).data_type().to_string(), "FixedSizeList(4 x Float32)");
    assert!(!declared_schema(&photo_album()).field(3).is_nullable());
}

#[test]
fn stored_rows_mark_the_key_and_blobs() {
    let schema = storage_schema(&photo_album());
    assert_eq!(schema.field(0).metadata()["lance-schema:unenforced-primary-key"], "true");
    assert!(!schema.field(0).is_nullable());
    let photo = schema.field(4);
    assert_eq!(photo.metadata()["ARROW:extension:name"], "lance.blob.v2");
    assert_eq!(photo.metadata()[PROPERTY_ID], "3");
    assert!(photo.is_nullable());
    let DataType::Struct(fields) = photo.data_type() else { panic!("{photo}") };
    assert_eq!(fields[0].data_type(), &DataType::LargeBinary);
    assert_eq!(fields[1].data_type(), &DataType::Utf8);
    assert!(schema.field(3).is_nullable());
}

#[test]
fn a_null_blob_and_an_empty_one_stay_apart_in_storage() {
    let mut ty = photo_album();
    ty.kind = EntityKind::Node;
    ty.properties = vec![property(3, "photo", PropertyType::Scalar(ScalarType::Blob), true)];
    let id = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let photo = Arc::new(LargeBinaryArray::from(vec![Some(b"x".as_slice()), None, Some(b"")]));
    let batch = RecordBatch::try_new(logical_schema(&ty), vec![id, photo]).unwrap();
    let stored = to_storage(&ty, &batch).unwrap();
    let photo = stored.column(1).as_struct();
    assert_eq!((photo.is_null(0), photo.is_null(1), photo.is_null(2)), (false, true, false));
    assert_eq!(photo.column(0).as_binary::<i64>().value(2), b"");
    assert_eq!(photo.column(1).null_count(), 3);
}
