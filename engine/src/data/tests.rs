//! Helpers for the tests of this folder, and the tests of what all formats share.

use std::io::{Cursor, Write};

use arrow_array::Array;
use arrow_select::concat::concat_batches;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;
use crate::format::arrow::logical_schema;
use crate::model::key::text::{MAX_DATE, MIN_DATE};
use crate::model::{EntityKind, Property, PropertyType, ScalarType, Value};

pub(super) const SCALARS: [ScalarType; 11] = [
    ScalarType::String,
    ScalarType::Bool,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::F32,
    ScalarType::F64,
    ScalarType::Date,
    ScalarType::DateTime,
    ScalarType::Blob,
];

pub(super) fn property(id: u32, name: &str, ty: PropertyType) -> Property {
    Property { id, name: name.into(), ty, nullable: true, description: String::new(), annotations: vec![] }
}

pub(super) fn entity_type(kind: EntityKind, name: &str, properties: Vec<Property>, key: &[&str]) -> EntityType {
    EntityType {
        id: name.into(),
        kind,
        name: name.into(),
        implements: vec![],
        properties,
        key: key.iter().map(|name| (*name).to_string()).collect(),
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

pub(super) fn scalar(ty: ScalarType) -> PropertyType {
    PropertyType::Scalar(ty)
}

/// A node type with one property `x`.
pub(super) fn holder(ty: PropertyType) -> EntityType {
    entity_type(EntityKind::Node, "T", vec![property(1, "x", ty)], &[])
}

pub(super) fn schema(types: Vec<EntityType>) -> Arc<Schema> {
    Arc::new(Schema { interfaces: vec![], types })
}

/// Node `Person` with key `slug`, unkeyed node `Note`, unkeyed edge `Knows`, and edge `Likes` whose key is
/// its ends.
pub(super) fn people() -> Arc<Schema> {
    let role = PropertyType::Enum(vec!["staff".into(), "guest".into()]);
    let person = vec![
        property(1, "slug", scalar(ScalarType::String)),
        property(2, "age", scalar(ScalarType::I32)),
        property(3, "role", role),
        property(4, "tags", PropertyType::List(ScalarType::String)),
        property(5, "face", PropertyType::Vector(2)),
    ];
    let since = || vec![property(1, "since", scalar(ScalarType::Date))];
    schema(vec![
        entity_type(EntityKind::Node, "Person", person, &["slug"]),
        entity_type(EntityKind::Node, "Note", vec![property(1, "text", scalar(ScalarType::String))], &[]),
        entity_type(EntityKind::Edge, "Knows", since(), &[]),
        entity_type(EntityKind::Edge, "Likes", since(), &["src", "dst"]),
    ])
}

pub(super) fn type_of<'a>(schema: &'a Schema, type_ref: &TypeRef) -> &'a EntityType {
    schema.get(type_ref).unwrap()
}

/// Decodes an input, with ids `fresh-1`, `fresh-2`, ….
pub(super) fn decode_input(schema: &Arc<Schema>, input: Input) -> Result<(Vec<InputBatch>, InputStats)> {
    let mut made = 0;
    let mut fresh = || {
        made += 1;
        format!("fresh-{made}")
    };
    let mut batches = Vec::new();
    let stats = decode(input, schema.clone(), &mut fresh, &mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok((batches, stats))
}

pub(super) fn input(format: InputFormat, bytes: impl Into<Vec<u8>>, type_ref: Option<TypeRef>) -> Input {
    let source = Source::stream(Cursor::new(bytes.into()));
    Input { source, format, compression: Compression::Auto, type_ref }
}

pub(super) fn decode_json(schema: &Arc<Schema>, text: impl Into<Vec<u8>>) -> Result<Vec<InputBatch>> {
    decode_input(schema, input(InputFormat::Jsonl, text, None)).map(|(batches, _)| batches)
}

/// `place: description [REASON]` of every listed problem.
pub(super) fn problems<T: fmt::Debug>(result: Result<T>) -> Vec<String> {
    let error = result.expect_err("the input is wrong");
    assert_eq!(error.reason(), Reason::InvalidRecord, "{error}");
    error.violations().iter().map(|v| format!("{}: {} [{}]", v.field, v.description, v.reason)).collect()
}

pub(super) fn ids(batch: &InputBatch) -> Vec<String> {
    use arrow_array::cast::AsArray;
    batch.batch.column(0).as_string::<i32>().iter().map(|id| id.unwrap().to_string()).collect()
}

/// Values that fit a property type, extremes included.
pub(super) fn fitting(ty: &PropertyType) -> BoxedStrategy<Value> {
    let value = match ty {
        PropertyType::Scalar(scalar) => return fitting_scalar(*scalar),
        PropertyType::Enum(members) => prop::sample::select(members.clone()).prop_map(Value::String).boxed(),
        PropertyType::Vector(length) => {
            let number = any::<f32>().prop_filter("finite", |f| f.is_finite());
            prop::collection::vec(number, *length as usize).prop_map(Value::Vector).boxed()
        }
        PropertyType::List(scalar) => {
            prop::collection::vec(fitting_scalar(*scalar), 0..4).prop_map(Value::List).boxed()
        }
    };
    prop_oneof![1 => Just(Value::Null), 4 => value].boxed()
}

fn fitting_scalar(ty: ScalarType) -> BoxedStrategy<Value> {
    use ScalarType as S;
    let instants = i64::from(MIN_DATE) * 86_400_000_000..(i64::from(MAX_DATE) + 1) * 86_400_000_000;
    let value = match ty {
        S::String => {
            prop_oneof![Just(String::new()), any::<String>(), "[\"\\\\\\n,é|%_']{0,6}"].prop_map(Value::String).boxed()
        }
        S::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        S::I32 => any::<i32>().prop_map(|i| Value::I64(i.into())).boxed(),
        S::I64 => {
            prop_oneof![Just(i64::MIN), Just(i64::MAX), Just((1 << 53) + 1), any::<i64>()].prop_map(Value::I64).boxed()
        }
        S::U32 => any::<u32>().prop_map(|u| Value::U64(u.into())).boxed(),
        S::U64 => prop_oneof![Just(u64::MAX), any::<u64>()].prop_map(Value::U64).boxed(),
        S::F32 => any::<f32>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| Value::F64(f.into())).boxed(),
        S::F64 => {
            let any = prop_oneof![Just(-0.0), Just(f64::MIN_POSITIVE / 2.0), Just(f64::MAX), any::<f64>()];
            any.prop_filter("finite", |f| f.is_finite()).prop_map(Value::F64).boxed()
        }
        S::Date => prop_oneof![Just(MIN_DATE), Just(MAX_DATE), MIN_DATE..=MAX_DATE].prop_map(Value::Date).boxed(),
        S::DateTime => {
            prop_oneof![Just(instants.start), Just(instants.end - 1), instants].prop_map(Value::Timestamp).boxed()
        }
        S::Blob => prop::collection::vec(any::<u8>(), 0..6).prop_map(|b| Value::Bytes(b.into())).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 4 => value].boxed()
}

/// A type with a property of every type, called `p0`, `p1`, ….
pub(super) fn everything(kind: EntityKind) -> EntityType {
    let scalars = SCALARS.map(PropertyType::Scalar).into_iter();
    let lists = SCALARS.map(PropertyType::List).into_iter();
    let others = [PropertyType::Enum(vec!["".into(), "a\"b".into(), "É".into()]), PropertyType::Vector(3)];
    let all = scalars.chain(lists).chain(others).enumerate();
    entity_type(kind, "All", all.map(|(at, ty)| property(at as u32 + 1, &format!("p{at}"), ty)).collect(), &[])
}

/// Rows of a type, as a batch of its logical schema, with ids `row-0`, `row-1`, ….
pub(super) fn rows_of(ty: &EntityType, most: usize) -> impl Strategy<Value = RecordBatch> + use<> {
    let ty = ty.clone();
    (1..=most).prop_flat_map(move |rows| {
        let ty = ty.clone();
        let columns: Vec<_> = ty.properties.iter().map(|p| prop::collection::vec(fitting(&p.ty), rows)).collect();
        columns.prop_map(move |columns| {
            let system = if ty.kind == EntityKind::Edge { 3 } else { 1 };
            let texts = (0..system).map(|column| {
                let values: Vec<_> =
                    (0..rows).map(|row| Value::String(format!("row-{}", row * (column + 1)))).collect();
                array_from_values(&scalar(ScalarType::String), &values).unwrap()
            });
            let columns =
                ty.properties.iter().zip(&columns).map(|(p, values)| array_from_values(&p.ty, values).unwrap());
            RecordBatch::try_new(logical_schema(&ty), texts.chain(columns).collect()).unwrap()
        })
    })
}

/// All decoded rows together.
pub(super) fn together(batches: &[InputBatch]) -> RecordBatch {
    concat_batches(&batches[0].batch.schema(), batches.iter().map(|b| &b.batch)).unwrap()
}

pub(super) fn ipc_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ::arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(super) fn ipc_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ::arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(super) fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(&mut out, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const TWO_NOTES: &str =
    "{\"type\":\"Note\",\"data\":{\"text\":\"a\"}}\n{\"type\":\"Note\",\"data\":{\"text\":\"b\"}}\n";

#[test]
fn compression_is_told_from_the_first_bytes() {
    let zstd = zstd::encode_all(TWO_NOTES.as_bytes(), 1).unwrap();
    let half = TWO_NOTES.len() / 2;
    let two_members = [gzip(&TWO_NOTES.as_bytes()[..half]), gzip(&TWO_NOTES.as_bytes()[half..])].concat();
    for bytes in [TWO_NOTES.as_bytes().to_vec(), gzip(TWO_NOTES.as_bytes()), zstd, two_members] {
        let (batches, stats) = decode_input(&people(), input(InputFormat::Jsonl, bytes, None)).unwrap();
        assert_eq!(together(&batches).num_rows(), 2);
        assert_eq!((stats.records, stats.bytes), (2, TWO_NOTES.len() as u64));
        assert_eq!(stats.rows[&TypeRef::node("Note")], 2);
    }
}

#[test]
fn broken_compression_is_an_error_and_not_the_end() {
    let mut bytes = gzip(TWO_NOTES.as_bytes());
    bytes.truncate(bytes.len() - 9);
    let error = decode_json(&people(), bytes).unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidRecord);
    let told = Input { compression: Compression::Gzip, ..input(InputFormat::Jsonl, TWO_NOTES, None) };
    assert!(decode_input(&people(), told).is_err());
}

#[test]
fn an_empty_input_has_no_records() {
    for text in ["", "\n \n", "\u{feff}", "\u{feff}\n"] {
        let (batches, stats) = decode_input(&people(), input(InputFormat::Jsonl, text, None)).unwrap();
        assert!(batches.is_empty() && stats.records == 0);
    }
}

#[test]
fn the_type_of_an_input_is_known_to_exactly_the_formats_that_need_it() {
    let reason = |format, type_ref| decode_input(&people(), input(format, "", type_ref)).unwrap_err().reason();
    assert_eq!(reason(InputFormat::Jsonl, Some(TypeRef::node("Person"))), Reason::InvalidArgument);
    assert_eq!(reason(InputFormat::Csv, None), Reason::InvalidArgument);
    assert_eq!(reason(InputFormat::Parquet, Some(TypeRef::node("Persn"))), Reason::TypeNotFound);
}

#[test]
fn what_the_sink_says_ends_the_decoding() {
    let input = input(InputFormat::Jsonl, TWO_NOTES, None);
    let mut sink = |_| Err(Error::new(Reason::BranchClosed, "closed"));
    let error = decode(input, people(), &mut String::new, &mut sink).unwrap_err();
    assert_eq!(error.reason(), Reason::BranchClosed);
}

#[test]
fn files_and_streams_of_one_type_give_the_same_rows() {
    let ty = everything(EntityKind::Edge);
    let schema = schema(vec![ty.clone()]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let batch = rows_of(&ty, 40).new_tree(&mut runner).unwrap().current();
    let bytes = [
        (InputFormat::ArrowIpc, ipc_stream(&batch)),
        (InputFormat::ArrowIpc, ipc_file(&batch)),
        (InputFormat::ArrowIpc, gzip(&ipc_file(&batch))),
        (InputFormat::Parquet, parquet_file(&batch)),
        (InputFormat::Parquet, gzip(&parquet_file(&batch))),
    ];
    for (format, bytes) in bytes {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let from_file = Input { source: Source::File(SharedFile::new(file)), ..input(format, "", Some(ty.type_ref())) };
        for input in [input(format, bytes, Some(ty.type_ref())), from_file] {
            let (batches, stats) = decode_input(&schema, input).unwrap();
            assert_eq!(together(&batches), batch, "{format:?}");
            assert_eq!(stats.records, batch.num_rows() as u64);
            assert!(batches.iter().all(|b| b.mentioned.is_none() && b.fresh_ids.is_none()));
        }
    }
}

#[test]
fn broken_files_are_errors() {
    let ty = holder(scalar(ScalarType::I64));
    let batch = RecordBatch::new_empty(logical_schema(&ty));
    for (format, bytes) in [(InputFormat::ArrowIpc, ipc_stream(&batch)), (InputFormat::Parquet, parquet_file(&batch))] {
        let fine = decode_input(&schema(vec![ty.clone()]), input(format, bytes.clone(), Some(ty.type_ref())));
        assert_eq!(fine.unwrap().1.rows[&ty.type_ref()], 0);
        for end in [0, 4, bytes.len() / 2] {
            let broken = input(format, bytes[..end].to_vec(), Some(ty.type_ref()));
            let error = decode_input(&schema(vec![ty.clone()]), broken).unwrap_err();
            assert_eq!(error.reason(), Reason::InvalidRecord);
        }
    }
}

#[test]
fn every_path_refuses_the_same_values() {
    use arrow_array::{BooleanArray, Float64Array, StringArray, StructArray};
    for scalar_type in [ScalarType::Date, ScalarType::DateTime] {
        for ty in [scalar(scalar_type), PropertyType::List(scalar_type)] {
            let holder = holder(ty.clone());
            let schema = schema(vec![holder.clone()]);
            for text in ["19723.0", "true", "{}", "\"19723\"", "\"2024-01-01T02:00:00\"", "[1.5]", "[{}]"] {
                let line = format!("{{\"type\":\"T\",\"data\":{{\"x\":{text}}}}}");
                assert!(problems(decode_json(&schema, line))[0].contains("T.x"), "{text}");
                let cell = format!("x\n\"{}\"\n", text.replace('"', "\"\""));
                let cell = input(InputFormat::Csv, cell, Some(holder.type_ref()));
                assert!(problems(decode_input(&schema, cell))[0].contains("T.x"), "{text}");
            }
            let columns: [ArrayRefs; 4] = [
                Arc::new(Float64Array::from(vec![19723.0])),
                Arc::new(BooleanArray::from(vec![true])),
                Arc::new(StringArray::from(vec!["2024-01-01"])),
                Arc::new(StructArray::new_empty_fields(1, None)),
            ];
            for column in columns {
                let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
                assert!(problems(conform(&holder, &batch, 1, &mut String::new))[0].starts_with("column x"));
            }
            for value in [Value::F64(19723.0), Value::Bool(true), Value::I64(19723), Value::String("2024-01-01".into())]
            {
                assert!(check_value(&ty, &value).is_err());
            }
        }
    }
}

type ArrayRefs = Arc<dyn Array>;

/// A keyed type with some of the properties that can be a key, and a value for each.
fn keyed() -> impl Strategy<Value = (EntityType, Vec<Value>)> {
    let kinds = [EntityKind::Node, EntityKind::Edge].into_iter().flat_map(|kind| everything(kind).properties);
    let can = kinds.filter(|p| crate::model::key::can_be_key(&p.ty)).collect::<Vec<_>>();
    let some = prop::sample::subsequence(can, 1..=3).prop_shuffle();
    some.prop_flat_map(|mut properties| {
        for (at, property) in properties.iter_mut().enumerate() {
            property.name = format!("k{at}");
            property.id = 10 - at as u32;
        }
        let values: Vec<_> = properties.iter().map(|p| fitting(&p.ty).prop_filter("given", |v| !v.is_null())).collect();
        let key: Vec<_> = properties.iter().map(|p| p.name.as_str()).collect();
        (Just(entity_type(EntityKind::Node, "K", properties.clone(), &key)), values)
    })
}

proptest! {
    #[test]
    fn every_path_derives_the_same_id((ty, values) in keyed()) {
        let named: BTreeMap<_, _> = ty.properties.iter().map(|p| p.name.clone()).zip(&values).collect();
        let expected = crate::model::key::id_of(&ty, |name| named.get(name).copied());
        let columns = ty.properties.iter().zip(&values);
        let columns = columns.map(|(p, v)| (p.name.clone(), array_from_values(&p.ty, std::slice::from_ref(v)).unwrap(), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let from_arrow = conform(&ty, &batch, 1, &mut String::new);
        let Ok(expected) = expected else {
            prop_assert!(from_arrow.is_err());
            return Ok(());
        };
        let from_arrow = from_arrow.unwrap();
        prop_assert_eq!(&ids(&from_arrow)[0], &expected);
        let mut text = Vec::new();
        write_rows(&ty, &from_arrow.batch, &mut text).unwrap();
        let from_json = decode_json(&schema(vec![ty]), text).unwrap();
        prop_assert_eq!(&ids(&from_json[0])[0], &expected);
    }
}

#[test]
fn near_misses_are_suggested_and_far_ones_are_not() {
    let names = ["Person", "Knows", "slug"];
    let hint = |name: &str| plan::near_miss(name, names.into_iter());
    assert_eq!(hint("person"), "; did you mean Person?");
    assert_eq!(hint("Persno"), "; did you mean Person?");
    assert_eq!(hint("slgu"), "; did you mean slug?");
    assert_eq!(hint("Company"), "");
    assert_eq!(hint(&"x".repeat(1_000_000)), "");
}
