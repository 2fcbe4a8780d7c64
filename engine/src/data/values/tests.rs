//! What fits which type, and that it comes back.

use proptest::prelude::*;

use super::*;
use crate::data::tests::*;
use crate::error::Reason;

#[test]
fn integers_of_either_sign_fit_wherever_their_value_does() {
    use ScalarType as S;
    let fits = [
        (S::I32, Value::U64(7), Value::I64(7)),
        (S::I64, Value::U64(i64::MAX as u64), Value::I64(i64::MAX)),
        (S::U32, Value::I64(7), Value::U64(7)),
        (S::U64, Value::I64(0), Value::U64(0)),
        (S::F64, Value::I64(1 << 53), Value::F64(9_007_199_254_740_992.0)),
        (S::F32, Value::U64(1 << 24), Value::F64(16_777_216.0)),
        (S::F32, Value::F64(0.1), Value::F64(0.1f32.into())),
    ];
    for (scalar_type, given, stored) in fits {
        let column = array_from_values(&scalar(scalar_type), std::slice::from_ref(&given)).unwrap();
        assert_eq!(value_at(&column, &scalar(scalar_type), 0).unwrap(), stored, "{given:?}");
    }
    let refused = [
        (S::I32, Value::I64(1 << 31)),
        (S::I32, Value::F64(1.0)),
        (S::I64, Value::U64(1 << 63)),
        (S::U32, Value::I64(-1)),
        (S::U64, Value::I64(-1)),
        (S::F64, Value::I64((1 << 53) + 1)),
        (S::F64, Value::F64(f64::NAN)),
        (S::F32, Value::F64(1e40)),
        (S::F32, Value::I64((1 << 24) + 1)),
        (S::I64, Value::String("1".into())),
        (S::Date, Value::String("2024-01-01".into())),
        (S::Date, Value::Date(i32::MAX)),
        (S::Date, Value::Timestamp(0)),
        (S::DateTime, Value::Timestamp(i64::MAX)),
        (S::DateTime, Value::Date(0)),
        (S::Blob, Value::String("base64:aGk=".into())),
        (S::String, Value::Bytes("x".into())),
        (S::Bool, Value::I64(1)),
        (S::String, Value::List(vec![])),
    ];
    for (scalar_type, given) in refused {
        let error = array_from_values(&scalar(scalar_type), &[Value::Null, given.clone()]).unwrap_err();
        assert_eq!(error.reason(), Reason::TypeMismatch, "{given:?}");
        assert_eq!(error.metadata()["position"], "1");
    }
}

#[test]
fn enums_lists_and_vectors_are_checked() {
    let role = PropertyType::Enum(vec!["staff".into()]);
    assert!(check_value(&role, &Value::String("staff".into())).is_ok());
    assert_eq!(check_value(&role, &Value::String("x".into())).unwrap_err().reason, Reason::EnumViolation);
    assert_eq!(check_value(&role, &Value::I64(1)).unwrap_err().reason, Reason::TypeMismatch);
    let list = PropertyType::List(ScalarType::I32);
    assert!(check_value(&list, &Value::List(vec![Value::Null, Value::I64(1)])).is_ok());
    let misfit = check_value(&list, &Value::List(vec![Value::I64(1), Value::I64(1 << 31)])).unwrap_err();
    assert_eq!(misfit.found, "2147483648 as member 2");
    assert!(check_value(&list, &Value::I64(1)).is_err());
    assert!(check_value(&list, &Value::Vector(vec![1.0])).is_err());
    let vector = PropertyType::Vector(2);
    assert!(check_value(&vector, &Value::Vector(vec![1.0, 2.0])).is_ok());
    assert!(check_value(&vector, &Value::List(vec![Value::F64(1.0), Value::I64(2)])).is_ok());
    let wrong = [vec![1.0], vec![1.0, 2.0, 3.0], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0]];
    for wrong in wrong {
        assert!(check_value(&vector, &Value::Vector(wrong)).is_err());
    }
    let null_member = Value::List(vec![Value::Null, Value::F64(1.0)]);
    assert!(check_value(&vector, &null_member).is_err());
}

#[test]
fn a_column_of_another_type_is_a_defect_and_no_panic() {
    let column = array_from_values(&scalar(ScalarType::String), &[Value::String("x".into())]).unwrap();
    for ty in [scalar(ScalarType::I32), PropertyType::Vector(1), PropertyType::List(ScalarType::String)] {
        assert_eq!(value_at(&column, &ty, 0).unwrap_err().reason(), Reason::Internal);
    }
    assert!(value_at(&column, &scalar(ScalarType::String), 1).is_err());
    let ty = holder(scalar(ScalarType::I32));
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    assert_eq!(entity_at(&ty, &batch, 0).unwrap_err().reason(), Reason::Internal);
}

proptest! {
    #[test]
    fn values_come_back_from_a_column(
        (ty, values) in prop::sample::select(everything(EntityKind::Node).properties).prop_flat_map(|p| {
            let values = prop::collection::vec(fitting(&p.ty), 0..8);
            (Just(p.ty), values)
        })
    ) {
        let column = array_from_values(&ty, &values).unwrap();
        prop_assert_eq!(column.data_type(), &crate::format::arrow::logical_type(&ty));
        let back: Vec<_> = (0..values.len()).map(|row| value_at(&column, &ty, row).unwrap()).collect();
        prop_assert_eq!(back, values);
    }
}
