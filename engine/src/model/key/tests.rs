//! Ids of every key type, and that different keys have different ids.

use std::collections::BTreeMap;

use super::*;
use crate::model::schema::Property;

fn keyed(kind: EntityKind, properties: &[(u32, &str, PropertyType)], key: &[&str]) -> EntityType {
    let properties = properties.iter().map(|(id, name, ty)| Property {
        id: *id,
        name: (*name).into(),
        ty: ty.clone(),
        nullable: false,
        description: String::new(),
        annotations: vec![],
    });
    EntityType {
        id: String::new(),
        kind,
        name: "T".into(),
        implements: vec![],
        properties: properties.collect(),
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

fn id(ty: &EntityType, values: &[(&str, Value)]) -> Result<String> {
    let values: BTreeMap<_, _> = values.iter().cloned().collect();
    id_of(ty, |name| values.get(name))
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

#[test]
fn one_part_is_its_canonical_text() {
    use ScalarType as S;
    let cases = [
        (S::String, text("O'Brien \"é\" \n"), "O'Brien \"é\" \n"),
        (S::Bool, Value::Bool(false), "false"),
        (S::I32, Value::I64(-7), "-7"),
        (S::I64, Value::I64(i64::MIN), "-9223372036854775808"),
        (S::I64, Value::U64(7), "7"),
        (S::U64, Value::U64(u64::MAX), "18446744073709551615"),
        (S::U32, Value::I64(7), "7"),
        (S::F64, Value::F64(-0.0), "0"),
        (S::F64, Value::F64(0.1), "0.1"),
        (S::F64, Value::F64(1e21), "1e+21"),
        (S::F32, Value::F64(0.1), "0.1"),
        (S::F32, Value::F64(-0.0), "0"),
        (S::Date, Value::Date(19_782), "2024-02-29"),
        (S::DateTime, Value::Timestamp(1_500_000), "1970-01-01T00:00:01.5Z"),
    ];
    for (scalar, value, expected) in cases {
        let ty = keyed(EntityKind::Node, &[(1, "k", PropertyType::Scalar(scalar))], &["k"]);
        assert_eq!(id(&ty, &[("k", value)]).unwrap(), expected);
    }
    let ty = keyed(EntityKind::Node, &[(1, "k", PropertyType::Enum(vec!["a".into()]))], &["k"]);
    assert_eq!(id(&ty, &[("k", text("a"))]).unwrap(), "a");
}

#[test]
fn what_has_no_canonical_text_is_refused() {
    use ScalarType as S;
    let cases = [
        (S::F64, Value::F64(f64::NAN), Reason::TypeMismatch),
        (S::F64, Value::F64(f64::INFINITY), Reason::TypeMismatch),
        (S::F32, Value::F64(1e40), Reason::TypeMismatch),
        (S::Date, Value::Date(i32::MAX), Reason::TypeMismatch),
        (S::DateTime, Value::Timestamp(i64::MIN), Reason::TypeMismatch),
        (S::I64, Value::U64(u64::MAX), Reason::TypeMismatch),
        (S::U64, Value::I64(-1), Reason::TypeMismatch),
        (S::String, Value::I64(1), Reason::TypeMismatch),
        (S::I64, text("1"), Reason::TypeMismatch),
        (S::String, Value::Null, Reason::RequiredViolation),
        (S::String, text(""), Reason::InvalidArgument),
        (S::String, text(&"x".repeat(limits::MAX_ID_BYTES + 1)), Reason::LimitExceeded),
    ];
    for (scalar, value, reason) in cases {
        let ty = keyed(EntityKind::Node, &[(1, "k", PropertyType::Scalar(scalar))], &["k"]);
        assert_eq!(id(&ty, &[("k", value.clone())]).unwrap_err().reason(), reason, "{value:?}");
    }
    let ty = keyed(EntityKind::Node, &[(1, "k", PropertyType::Scalar(S::String))], &["k"]);
    assert_eq!(id(&ty, &[]).unwrap_err().reason(), Reason::RequiredViolation);
    let refused = [PropertyType::Scalar(S::Blob), PropertyType::Vector(2), PropertyType::List(S::String)];
    for ty in refused {
        let ty = keyed(EntityKind::Node, &[(1, "k", ty)], &["k"]);
        assert_eq!(id(&ty, &[("k", text("x"))]).unwrap_err().reason(), Reason::InvalidSchema);
    }
    let ty = keyed(EntityKind::Node, &[], &["src"]);
    assert_eq!(key_sources(&ty).unwrap_err().reason(), Reason::InvalidSchema);
}

#[test]
fn several_parts_never_collide_however_the_text_is_split() {
    let string = PropertyType::Scalar(ScalarType::String);
    let ty = keyed(EntityKind::Node, &[(1, "a", string.clone()), (2, "b", string)], &["a", "b"]);
    let id = |a: &str, b: &str| id(&ty, &[("a", text(a)), ("b", text(b))]).unwrap();
    assert_eq!(id("x", "y"), r#"["x","y"]"#);
    let pairs = [
        ("x|y", "z"),
        ("x", "y|z"),
        ("x\",\"y", "z"),
        ("x", "\",\"y"),
        ("", "x"),
        ("x", ""),
        ("\u{1}", "\n"),
        ("", ""),
    ];
    let ids: std::collections::BTreeSet<_> = pairs.iter().map(|(a, b)| id(a, b)).collect();
    assert_eq!(ids.len(), pairs.len());
    for ((a, b), id) in pairs.iter().map(|(a, b)| ((a, b), id(a, b))) {
        let parts: Vec<String> = serde_json::from_str(&id).unwrap();
        assert_eq!(parts, [*a, *b]);
    }
}

#[test]
fn parts_stand_in_stable_order_whatever_the_declaration_says() {
    let (string, number) = (PropertyType::Scalar(ScalarType::String), PropertyType::Scalar(ScalarType::I32));
    let values = [("n", Value::I64(1)), ("s", text("x")), ("src", text("a")), ("dst", text("b"))];
    let one = keyed(EntityKind::Edge, &[(2, "s", string.clone()), (1, "n", number.clone())], &["s", "dst", "n", "src"]);
    let two = keyed(EntityKind::Edge, &[(1, "n", number), (2, "s", string)], &["n", "src", "s", "dst"]);
    assert_eq!(id(&one, &values).unwrap(), r#"["a","b","1","x"]"#);
    assert_eq!(id(&one, &values).unwrap(), id(&two, &values).unwrap());
}

#[test]
fn ids_have_a_least_and_a_greatest_length() {
    assert!(check_id("x").is_ok());
    assert!(check_id(&"x".repeat(limits::MAX_ID_BYTES)).is_ok());
    assert_eq!(check_id("").unwrap_err().reason(), Reason::InvalidArgument);
    let error = check_id(&"x".repeat(limits::MAX_ID_BYTES + 1)).unwrap_err();
    assert_eq!(error.metadata()["found"], (limits::MAX_ID_BYTES + 1).to_string());
}
