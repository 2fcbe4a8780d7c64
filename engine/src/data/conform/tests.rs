//! Every Arrow encoding that a property accepts, and those it does not.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::*;
use crate::data::tests::*;
use crate::data::value_at;
use crate::model::{PropertyType, ScalarType, Value};

fn one(name: &str, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap()
}

fn fresh() -> impl FnMut() -> String {
    let mut made = 0;
    move || {
        made += 1;
        format!("fresh-{made}")
    }
}

fn values(ty: &PropertyType, column: ArrayRef) -> Vec<Value> {
    let holder = holder(ty.clone());
    let decoded = conform(&holder, &one("x", column), 1, &mut fresh()).unwrap();
    let column = decoded.batch.column(1);
    (0..column.len()).map(|row| value_at(column, ty, row).unwrap()).collect()
}

fn wrong(ty: &PropertyType, column: ArrayRef) -> Vec<String> {
    problems(conform(&holder(ty.clone()), &one("x", column), 11, &mut fresh()))
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

#[test]
fn every_encoding_of_text_is_text() {
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    dictionary.append_value("a");
    dictionary.append_null();
    dictionary.append_value("a");
    let columns: [ArrayRef; 4] = [
        Arc::new(StringArray::from(vec![Some("a"), None, Some("a")])),
        Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("a")])),
        Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a")])),
        Arc::new(dictionary.finish()),
    ];
    for column in columns {
        let expected = [text("a"), Value::Null, text("a")];
        assert_eq!(values(&scalar(ScalarType::String), column.clone()), expected);
        assert_eq!(values(&PropertyType::Enum(vec!["a".into()]), column.clone()), expected);
        let found = wrong(&PropertyType::Enum(vec!["b".into()]), column);
        assert_eq!(found[1], "record 13: T.x: found \"a\", expected one of b [ENUM_VIOLATION]");
    }
}

#[test]
fn integers_fit_by_value_and_never_wrap() {
    use ScalarType as S;
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(1 << 31), Some(-1)]));
    let found = wrong(&scalar(S::I32), wide.clone());
    assert_eq!(
        found,
        [
            "record 13: T.x: found \"2147483648\", expected an I32, an integer from -2147483648 to 2147483647 [TYPE_MISMATCH]"
        ]
    );
    assert_eq!(wrong(&scalar(S::U32), wide.clone()).len(), 1);
    assert_eq!(wrong(&scalar(S::U64), wide.clone()).len(), 1);
    assert_eq!(values(&scalar(S::I64), wide)[2], Value::I64(1 << 31));
    let tiny: ArrayRef = Arc::new(Int8Array::from(vec![-1]));
    assert_eq!(values(&scalar(S::I64), tiny.clone()), [Value::I64(-1)]);
    assert!(wrong(&scalar(S::U32), tiny)[0].contains("found \"-1\""));
    let huge: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(values(&scalar(S::U64), huge.clone()), [Value::U64(u64::MAX)]);
    assert_eq!(wrong(&scalar(S::I64), huge.clone()).len(), 1);
    assert_eq!(wrong(&scalar(S::F64), huge).len(), 1);
    let exact: ArrayRef = Arc::new(Int64Array::from(vec![1 << 53]));
    assert_eq!(values(&scalar(S::F64), exact), [Value::F64(9_007_199_254_740_992.0)]);
    let mut dictionary = Int32DictionaryBuilder::new();
    dictionary.append_value(5);
    assert_eq!(values(&scalar(S::I64), Arc::new(dictionary.finish())), [Value::I64(5)]);
}

type Int32DictionaryBuilder = arrow_array::builder::PrimitiveDictionaryBuilder<Int8Type, Int32Type>;

#[test]
fn floats_keep_their_value_and_are_finite() {
    use ScalarType as S;
    let wide: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.1, 1e40, f64::NAN, f64::INFINITY]));
    let found = wrong(&scalar(S::F32), wide.clone());
    assert_eq!(found.iter().map(|f| &f[..9]).collect::<Vec<_>>(), ["record 12", "record 13", "record 14", "record 15"]);
    assert_eq!(wrong(&scalar(S::F64), wide).len(), 2);
    let narrow: ArrayRef = Arc::new(Float32Array::from(vec![0.1, -0.0]));
    assert_eq!(values(&scalar(S::F64), narrow.clone())[0], Value::F64(0.1f32.into()));
    assert_eq!(values(&scalar(S::F32), narrow)[0], Value::F64(0.1f32.into()));
    let bad: ArrayRef = Arc::new(Float32Array::from(vec![f32::NAN]));
    assert_eq!(wrong(&scalar(S::F32), bad.clone()).len(), 1);
    assert!(wrong(&scalar(S::I32), bad)[0].starts_with("column x: found a column of Arrow type Float32"));
}

#[test]
fn days_and_instants_are_never_moved() {
    use ScalarType as S;
    let day = 86_400_000;
    let millis: ArrayRef = Arc::new(Date64Array::from(vec![Some(-day), None, Some(day + 1), Some(i64::MAX)]));
    let found = wrong(&scalar(S::Date), millis.clone());
    assert_eq!(found.iter().map(|f| &f[..9]).collect::<Vec<_>>(), ["record 13", "record 14"]);
    assert_eq!(values(&scalar(S::Date), millis.slice(0, 2)), [Value::Date(-1), Value::Null]);
    assert_eq!(wrong(&scalar(S::Date), Arc::new(Date32Array::from(vec![i32::MAX]))).len(), 1);
    let paris = "Europe/Paris";
    let columns: [ArrayRef; 4] = [
        Arc::new(TimestampSecondArray::from(vec![2]).with_timezone(paris)),
        Arc::new(TimestampMillisecondArray::from(vec![2_000]).with_timezone(paris)),
        Arc::new(TimestampMicrosecondArray::from(vec![2_000_000]).with_timezone(paris)),
        Arc::new(TimestampNanosecondArray::from(vec![2_000_000_000]).with_timezone("+02:00")),
    ];
    for column in columns {
        assert_eq!(values(&scalar(S::DateTime), column.clone()), [Value::Timestamp(2_000_000)]);
        assert!(wrong(&scalar(S::Date), column)[0].starts_with("column x"));
    }
    let columns: [ArrayRef; 4] = [
        Arc::new(TimestampSecondArray::from(vec![i64::MAX]).with_timezone("UTC")),
        Arc::new(TimestampMillisecondArray::from(vec![i64::MAX]).with_timezone("UTC")),
        Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX]).with_timezone("UTC")),
        Arc::new(TimestampNanosecondArray::from(vec![1]).with_timezone("UTC")),
    ];
    for column in columns {
        assert!(wrong(&scalar(S::DateTime), column)[0].starts_with("record 11: T.x"));
    }
    let local: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]));
    assert!(wrong(&scalar(S::DateTime), local)[0].contains("no time zone"));
}

#[test]
fn every_encoding_of_bytes_is_a_blob() {
    let columns: [ArrayRef; 4] = [
        Arc::new(BinaryArray::from(vec![Some(b"hi".as_slice()), None])),
        Arc::new(LargeBinaryArray::from(vec![Some(b"hi".as_slice()), None])),
        Arc::new(BinaryViewArray::from(vec![Some(b"hi".as_slice()), None])),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(b"hi"), None].into_iter(), 2).unwrap()),
    ];
    for column in columns {
        assert_eq!(values(&scalar(ScalarType::Blob), column), [Value::Bytes("hi".into()), Value::Null]);
    }
}

fn float_lists(rows: &[Option<&[Option<f64>]>]) -> [ArrayRef; 2] {
    let rows = || rows.iter().map(|row| row.map(|row| row.to_vec()));
    [
        Arc::new(ListArray::from_iter_primitive::<types::Float64Type, _, _>(rows())),
        Arc::new(LargeListArray::from_iter_primitive::<types::Float64Type, _, _>(rows())),
    ]
}

#[test]
fn vectors_have_their_length_and_finite_members() {
    let ty = PropertyType::Vector(2);
    for column in float_lists(&[Some(&[Some(0.5), Some(0.1)]), None, Some(&[Some(1.0), Some(2.0)])]) {
        let expected = [Value::Vector(vec![0.5, 0.1]), Value::Null, Value::Vector(vec![1.0, 2.0])];
        assert_eq!(values(&ty, column.clone()), expected);
        assert_eq!(values(&ty, column.slice(1, 2)), expected[1..]);
    }
    for column in
        float_lists(&[Some(&[Some(1.0)]), Some(&[]), Some(&[Some(1.0), None]), Some(&[Some(1.0), Some(1e39)]), None])
    {
        let found = wrong(&ty, column);
        let what = [
            "11: T.x: found 1 numbers",
            "12: T.x: found 0 numbers",
            "13: T.x: found null as member 2",
            "14: T.x: found inf as member 2",
        ];
        assert!(found.len() == 4 && found.iter().zip(what).all(|(f, w)| f.contains(w)), "{found:?}");
    }
    let item = Arc::new(Field::new("element", DataType::Float32, false));
    let numbers = Arc::new(Float32Array::from(vec![f32::NAN, 0.0, 1.0, 2.0]));
    let nulls = NullBuffer::from(vec![false, true]);
    let fixed = FixedSizeListArray::try_new(item.clone(), 2, numbers.clone(), Some(nulls)).unwrap();
    assert_eq!(values(&ty, Arc::new(fixed.clone())), [Value::Null, Value::Vector(vec![1.0, 2.0])]);
    assert_eq!(values(&ty, Arc::new(fixed.slice(1, 1))), [Value::Vector(vec![1.0, 2.0])]);
    let other = FixedSizeListArray::try_new(item, 4, numbers, None).unwrap();
    assert!(wrong(&ty, Arc::new(other))[0].contains("found 4 numbers"));
    assert!(wrong(&ty, Arc::new(StringArray::from(vec!["[1,2]"])))[0].starts_with("column x"));
}

#[test]
fn lists_are_converted_member_by_member() {
    let ty = PropertyType::List(ScalarType::I32);
    let rows = vec![Some(vec![Some(1i64), None]), None, Some(vec![]), Some(vec![Some(1 << 40), Some(-1)])];
    let list = ListArray::from_iter_primitive::<types::Int64Type, _, _>(rows);
    let found = wrong(&ty, Arc::new(list.clone()));
    assert!(
        found.len() == 1 && found[0].starts_with("record 14: T.x: found \"1099511627776\" as member 1"),
        "{found:?}"
    );
    let expected = [Value::Null, Value::List(vec![])];
    assert_eq!(values(&ty, Arc::new(list.slice(1, 2))), expected);
    let texts = PropertyType::List(ScalarType::String);
    let members = Arc::new(StringViewArray::from(vec![Some("a"), None, Some("hidden")]));
    let item = Arc::new(Field::new("element", DataType::Utf8View, true));
    let nulls = NullBuffer::from(vec![true, false]);
    let list = ListArray::new(item, OffsetBuffer::from_lengths([2, 1]), members, Some(nulls));
    assert_eq!(values(&texts, Arc::new(list)), [Value::List(vec![text("a"), Value::Null]), Value::Null]);
    let empty = ListArray::new_null(Arc::new(Field::new("item", DataType::Null, true)), 2);
    assert_eq!(values(&texts, Arc::new(empty)), [Value::Null, Value::Null]);
    assert!(wrong(&texts, Arc::new(StringArray::from(vec!["a"])))[0].starts_with("column x"));
}

#[test]
fn what_is_hidden_under_a_null_is_not_looked_at() {
    let members = Arc::new(Float64Array::from(vec![f64::NAN, 1.0]));
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let nulls = NullBuffer::from(vec![false, true]);
    let list = ListArray::new(item, OffsetBuffer::from_lengths([1, 1]), members, Some(nulls));
    let list: ArrayRef = Arc::new(list);
    let ty = PropertyType::List(ScalarType::F64);
    assert_eq!(values(&ty, list), [Value::Null, Value::List(vec![Value::F64(1.0)])]);
    let ids = Arc::new(StringArray::new(
        OffsetBuffer::from_lengths([5, 1]),
        arrow_buffer::Buffer::from(b"trashb".to_vec()),
        Some(NullBuffer::from(vec![false, true])),
    ));
    let note = holder(scalar(ScalarType::String));
    let decoded = conform(&note, &one("id", ids), 1, &mut fresh()).unwrap();
    assert_eq!(crate::data::tests::ids(&decoded), ["fresh-1", "b"]);
}

#[test]
fn a_column_of_nulls_is_an_explicit_null_for_any_type() {
    for property in everything(crate::model::EntityKind::Node).properties {
        assert_eq!(values(&property.ty, Arc::new(NullArray::new(2))), [Value::Null, Value::Null]);
    }
}

#[test]
fn columns_are_found_by_name_and_absent_ones_are_not_mentioned() {
    let schema = people();
    let likes = type_of(&schema, &crate::model::TypeRef::edge("Likes"));
    let ends: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b"]));
    let batch = RecordBatch::try_from_iter([("to", ends.clone()), ("from", ends.clone())]).unwrap();
    let decoded = conform(likes, &batch, 1, &mut fresh()).unwrap();
    assert_eq!(ids(&decoded), ["[\"a\",\"a\"]", "[\"b\",\"b\"]"]);
    assert_eq!(decoded.mentioned.unwrap()[0].count_set_bits(), 0);
    let knows = type_of(&schema, &crate::model::TypeRef::edge("Knows"));
    let decoded = conform(knows, &batch, 1, &mut fresh()).unwrap();
    assert_eq!(ids(&decoded), ["fresh-1", "fresh-2"]);
    assert_eq!(decoded.fresh_ids.unwrap().count_set_bits(), 2);
    let batch = RecordBatch::try_from_iter([("to", ends.clone()), ("dst", ends.clone()), ("sinc", ends)]).unwrap();
    let found = problems(conform(likes, &batch, 1, &mut fresh()));
    assert!(found[0].contains("dst is given by two columns"), "{found:?}");
    assert!(found[1].contains("did you mean since?") && found[1].contains("PROPERTY_NOT_FOUND"), "{found:?}");
    assert!(found[2].starts_with("column src: Likes lacks this column") && found.len() == 3, "{found:?}");
}

#[test]
fn keys_give_ids_whatever_their_encoding() {
    let schema = people();
    let person = type_of(&schema, &crate::model::TypeRef::node("Person"));
    let slugs: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("a"), Some(""), None]));
    let found = problems(conform(person, &one("slug", slugs.clone()), 1, &mut fresh()));
    assert!(found[0].starts_with("record 2: Person.id: an id must not be empty"), "{found:?}");
    assert!(found[1].starts_with("record 3: Person.slug is part of the key") && found.len() == 2, "{found:?}");
    let given: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("slug", slugs.slice(0, 2), true), ("id", given, true)]).unwrap();
    assert!(problems(conform(person, &batch.slice(0, 1), 1, &mut fresh()))[0].contains("expected \"a\""));
    let ages: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert!(
        problems(conform(person, &one("age", ages), 1, &mut fresh()))[0].contains("Person.slug is part of the key")
    );
}

#[test]
fn records_count_on_over_the_batches_of_a_stream() {
    let ty = holder(scalar(ScalarType::I32));
    let mut decoder = BatchDecoder::new(&ty).unwrap();
    let batch = one("x", Arc::new(Int32Array::from(vec![1, 2])));
    assert_eq!(decoder.decode(&batch, &mut fresh()).unwrap().records, [1, 2]);
    assert_eq!(decoder.decode(&batch, &mut fresh()).unwrap().records, [3, 4]);
    let wrong = one("x", Arc::new(Int64Array::from(vec![1 << 40])));
    assert!(problems(decoder.decode(&wrong, &mut fresh()))[0].starts_with("record 5"));
    assert!(decoder.check_schema(&wrong.schema()).is_ok());
    assert!(decoder.check_schema(&one("y", Arc::new(Int32Array::from(vec![1]))).schema()).is_err());
    assert_eq!(decoder.records(), 5);
}
