//! What is written is what is loaded.

use std::sync::Arc;

use arrow_array::Float64Array;
use proptest::prelude::*;

use super::*;
use crate::data::tests::*;
use crate::data::{InputFormat, array_from_values};
use crate::format::arrow::logical_schema;
use crate::model::{TypeRef, Value};

fn written(ty: &EntityType, batch: &RecordBatch) -> String {
    let mut out = Vec::new();
    write_rows(ty, batch, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_look_like_what_is_loaded() {
    let cases = [
        "{\"type\":\"Person\",\"data\":{\"slug\":\"a\\\"b\",\"age\":36,\"role\":\"staff\",\"tags\":[\"x\",null],\"face\":[1,-0.5]}}\n",
        "{\"type\":\"Note\",\"data\":{\"id\":\"n1\"}}\n",
        "{\"edge\":\"Knows\",\"from\":\"a\",\"to\":\"b\",\"data\":{\"id\":\"k1\",\"since\":\"2024-02-29\"}}\n",
        "{\"edge\":\"Likes\",\"from\":\"a\",\"to\":\"b\",\"data\":{\"id\":\"[\\\"a\\\",\\\"b\\\"]\"}}\n",
    ];
    let schema = people();
    for line in cases {
        let batches = decode_json(&schema, line).unwrap();
        assert_eq!(written(type_of(&schema, &batches[0].type_ref), &batches[0].batch), line);
    }
}

#[test]
fn a_projection_writes_what_it_has() {
    let schema = people();
    let batches =
        decode_json(&schema, "{\"edge\":\"Knows\",\"from\":\"a\",\"to\":\"b\",\"data\":{\"since\":\"2024-02-29\"}}")
            .unwrap();
    let ty = type_of(&schema, &TypeRef::edge("Knows"));
    let projected = batches[0].batch.project(&[3]).unwrap();
    assert_eq!(written(ty, &projected), "{\"edge\":\"Knows\",\"data\":{\"since\":\"2024-02-29\"}}\n");
}

#[test]
fn what_has_no_text_is_corrupt() {
    let ty = holder(scalar(ScalarType::F64));
    let id = array_from_values(&scalar(ScalarType::String), &[Value::String("a".into())]).unwrap();
    let batch =
        RecordBatch::try_new(logical_schema(&ty), vec![id.clone(), Arc::new(Float64Array::from(vec![f64::NAN]))]);
    let error = write_rows(&ty, &batch.unwrap(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.reason(), Reason::DataCorrupt);
    let other = RecordBatch::try_from_iter([("x", id)]).unwrap();
    assert_eq!(write_rows(&ty, &other, &mut Vec::new()).unwrap_err().reason(), Reason::Internal);
}

fn round_trip(kind: EntityKind, batch: &RecordBatch) -> Result<(), TestCaseError> {
    let ty = everything(kind);
    let text = written(&ty, batch);
    for line in text.lines() {
        prop_assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{}", line);
    }
    let batches = decode_json(&schema(vec![ty.clone()]), text.clone()).unwrap();
    prop_assert_eq!(&together(&batches), batch);
    prop_assert_eq!(written(&ty, &together(&batches)), text);
    Ok(())
}

proptest! {
    #[test]
    fn nodes_of_every_type_come_back(batch in rows_of(&everything(EntityKind::Node), 6)) {
        round_trip(EntityKind::Node, &batch)?;
    }

    #[test]
    fn edges_of_every_type_come_back(batch in rows_of(&everything(EntityKind::Edge), 3)) {
        round_trip(EntityKind::Edge, &batch)?;
    }

    #[test]
    fn slices_come_back(batch in rows_of(&everything(EntityKind::Node), 6), from in any::<prop::sample::Index>()) {
        let from = from.index(batch.num_rows());
        round_trip(EntityKind::Node, &batch.slice(from, batch.num_rows() - from))?;
    }

    #[test]
    fn arrow_batches_come_back_sliced_or_not(
        batch in rows_of(&everything(EntityKind::Edge), 6),
        from in any::<prop::sample::Index>(),
    ) {
        let ty = everything(EntityKind::Edge);
        let from = from.index(batch.num_rows());
        let slice = batch.slice(from, batch.num_rows() - from);
        let conformed = crate::data::conform(&ty, &slice, 5, &mut String::new).unwrap();
        prop_assert_eq!(&conformed.batch, &slice);
        prop_assert_eq!(conformed.records[0], 5);
        let input = input(InputFormat::Parquet, parquet_file(&slice), Some(ty.type_ref()));
        let (batches, _) = decode_input(&schema(vec![ty]), input).unwrap();
        prop_assert_eq!(&together(&batches), &slice);
    }
}
