//! Each constraint on rows inside and outside of it.

use arrow_array::ArrayRef;

use super::*;
use crate::data::array_from_values;
use crate::data::tests::*;
use crate::format::arrow::logical_schema;
use crate::model::EntityKind;

fn batch(ty: &EntityType, values: &[Value]) -> RecordBatch {
    let ids: Vec<_> = (0..values.len()).map(|row| Value::String(format!("i{row}"))).collect();
    let id = array_from_values(&scalar(ScalarType::String), &ids).unwrap();
    let column: ArrayRef = array_from_values(&ty.properties[0].ty, values).unwrap();
    RecordBatch::try_new(logical_schema(ty), vec![id, column]).unwrap()
}

fn found(ty: &EntityType, values: &[Value]) -> Vec<(String, Reason)> {
    let batch = batch(ty, values);
    let records: Vec<u64> = (1..=values.len() as u64).collect();
    let violations = check_rows(ty, &batch, None, &records).unwrap();
    violations.into_iter().map(|v| (v.field, v.reason)).collect()
}

fn ranged(scalar_type: ScalarType, min: Option<Value>, max: Option<Value>) -> EntityType {
    let mut ty = holder(scalar(scalar_type));
    ty.ranges = vec![RangeConstraint { property: "x".into(), min, max }];
    ty
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

#[test]
fn a_required_property_must_have_a_value_where_it_is_looked_at() {
    let mut ty = holder(scalar(ScalarType::String));
    ty.properties[0].nullable = false;
    let values = [text(""), Value::Null, Value::Null];
    let expected = [2, 3].map(|n| (format!("record {n}"), Reason::RequiredViolation));
    assert_eq!(found(&ty, &values), expected);
    let mentioned = [BooleanBuffer::from(vec![true, true, false])];
    let violations = check_rows(&ty, &batch(&ty, &values), Some(&mentioned), &[7, 8, 9]).unwrap();
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].field, "record 8");
    assert_eq!(violations[0].description, "T.x: found nothing, expected a String");
}

#[test]
fn ranges_are_inclusive_exact_and_open_where_no_bound_is() {
    use ScalarType as S;
    let int = |i| Some(Value::I64(i));
    let cases = [
        (
            ranged(S::I32, int(0), int(150)),
            vec![Value::I64(0), Value::I64(150), Value::Null],
            vec![Value::I64(-1), Value::I64(151)],
        ),
        (
            ranged(S::I64, None, int(1 << 53)),
            vec![Value::I64(i64::MIN), Value::I64(1 << 53)],
            vec![Value::I64((1 << 53) + 1)],
        ),
        (ranged(S::U64, Some(Value::U64(u64::MAX)), None), vec![Value::U64(u64::MAX)], vec![Value::U64(u64::MAX - 1)]),
        (
            ranged(S::F64, int(0), Some(Value::F64(1.5))),
            vec![Value::F64(-0.0), Value::F64(1.5)],
            vec![Value::F64(1.6), Value::F64(-1e-9)],
        ),
        (ranged(S::F32, None, Some(Value::F64(0.1))), vec![Value::F64(0.1)], vec![Value::F64(0.11)]),
        (ranged(S::Date, Some(Value::Date(0)), None), vec![Value::Date(0)], vec![Value::Date(-1)]),
        (ranged(S::DateTime, None, Some(Value::Timestamp(5))), vec![Value::Timestamp(5)], vec![Value::Timestamp(6)]),
    ];
    for (ty, inside, outside) in cases {
        assert_eq!(found(&ty, &inside), []);
        let reasons: Vec<_> = found(&ty, &outside).into_iter().map(|(_, reason)| reason).collect();
        assert_eq!(reasons, vec![Reason::RangeViolation; outside.len()]);
    }
    let ty = ranged(S::Date, Some(Value::Date(0)), None);
    let violations = check_rows(&ty, &batch(&ty, &[Value::Date(-1)]), None, &[1]).unwrap();
    assert_eq!(violations[0].description, "T.x: found 1969-12-31, expected a value of at least 1970-01-01");
}

#[test]
fn a_check_applies_to_texts_that_are_there() {
    let mut ty = holder(scalar(ScalarType::String));
    ty.checks = vec![CheckConstraint { property: "x".into(), pattern: "^[a-z-]+$".into() }];
    let values = [text("a-b"), text("A"), Value::Null, text("")];
    let expected = [2, 4].map(|n| (format!("record {n}"), Reason::CheckViolation));
    assert_eq!(found(&ty, &values), expected);
}

#[test]
fn enum_members_and_ids_are_looked_at_again() {
    let ty = holder(PropertyType::Enum(vec!["a".into()]));
    let other = holder(PropertyType::Enum(vec!["a".into(), "b".into()]));
    let batch = batch(&other, &[text("a"), text("b")]);
    let violations = check_rows(&ty, &batch, None, &[1, 2]).unwrap();
    assert_eq!((violations.len(), violations[0].reason), (1, Reason::EnumViolation));
    let empty = array_from_values(&scalar(ScalarType::String), &[text("")]).unwrap();
    let column = array_from_values(&other.properties[0].ty, &[text("a")]).unwrap();
    let batch = RecordBatch::try_new(logical_schema(&ty), vec![empty, column]).unwrap();
    assert!(check_rows(&ty, &batch, None, &[1]).unwrap()[0].description.contains("T.id: an id must not be empty"));
}

#[test]
fn constraints_that_cannot_apply_are_refused_when_prepared() {
    use ScalarType as S;
    let mut wrong = vec![
        ranged(S::I32, Some(Value::F64(0.5)), None),
        ranged(S::String, Some(text("a")), None),
        ranged(S::Date, Some(Value::Timestamp(0)), None),
        ranged(S::F64, Some(Value::F64(f64::NAN)), None),
    ];
    for (ty, pattern) in [(scalar(S::String), "("), (scalar(S::I32), "a"), (PropertyType::List(S::String), "a")] {
        let mut ty = holder(ty);
        ty.checks = vec![CheckConstraint { property: "x".into(), pattern: pattern.into() }];
        wrong.push(ty);
    }
    for ty in wrong {
        assert_eq!(RowChecker::new(&ty).unwrap_err().reason(), Reason::InvalidSchema);
    }
}

#[test]
fn more_problems_than_are_listed_are_counted() {
    let mut ty = entity_type(EntityKind::Node, "T", vec![property(1, "x", scalar(ScalarType::Bool))], &[]);
    ty.properties[0].nullable = false;
    let values = vec![Value::Null; 500];
    let records: Vec<u64> = (1..=500).collect();
    let mut violations = Violations::default();
    RowChecker::new(&ty).unwrap().check(&batch(&ty, &values), None, &records, &mut violations).unwrap();
    assert_eq!((violations.listed().len(), violations.total()), (100, 500));
}
