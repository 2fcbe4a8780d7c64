//! What conditions mean, and how wrong ones are refused.

use super::*;
use crate::failure::Exit;
use omnigraph_engine::model::ScalarType;

fn types(name: &str) -> Option<PropertyType> {
    let scalar = |scalar| Some(PropertyType::Scalar(scalar));
    match name {
        "id" | "slug" | "order" => scalar(ScalarType::String),
        "age" => scalar(ScalarType::I32),
        "born" => scalar(ScalarType::Date),
        "role" => Some(PropertyType::Enum(vec!["staff".into()])),
        "tags" => Some(PropertyType::List(ScalarType::String)),
        _ => None,
    }
}

fn read(text: &str) -> Result<Predicate> {
    parse(text, &TypeRef::node("Person"), &types)
}

fn compare(property: &str, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { property: property.into(), op, value }
}

#[test]
fn comparisons_are_typed_by_their_property() {
    for (text, expected) in [
        ("age>=30", compare("age", CompareOp::Ge, Value::I64(30))),
        ("age <> -1", compare("age", CompareOp::Ne, Value::I64(-1))),
        ("slug = 30", compare("slug", CompareOp::Eq, Value::String("30".into()))),
        ("`order` == 'a b'", compare("order", CompareOp::Eq, Value::String("a b".into()))),
        ("born < 1970-01-31", compare("born", CompareOp::Lt, Value::Date(30))),
        ("role=staff", compare("role", CompareOp::Eq, Value::String("staff".into()))),
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    let (a, b, c) = (
        compare("age", CompareOp::Eq, Value::I64(1)),
        compare("age", CompareOp::Eq, Value::I64(2)),
        compare("age", CompareOp::Eq, Value::I64(3)),
    );
    assert_eq!(
        read("age=1 or age=2 and not age=3").unwrap(),
        Predicate::Or(vec![a.clone(), Predicate::And(vec![b.clone(), Predicate::Not(Box::new(c.clone()))])])
    );
    assert_eq!(read("(age=1 OR age=2) AND age=3").unwrap(), Predicate::And(vec![Predicate::Or(vec![a, b]), c]));
}

#[test]
fn the_other_tests() {
    let property = || "age".to_string();
    assert_eq!(
        read("age in (1, 2)").unwrap(),
        Predicate::In { property: property(), values: vec![Value::I64(1), Value::I64(2)] }
    );
    assert_eq!(read("age is null").unwrap(), Predicate::IsNull { property: property() });
    assert_eq!(read("age is not null").unwrap(), Predicate::Not(Box::new(Predicate::IsNull { property: property() })));
    assert_eq!(
        read("slug starts_with a").unwrap(),
        Predicate::StartsWith { property: "slug".into(), prefix: "a".into() }
    );
    assert_eq!(
        read("slug contains '%'").unwrap(),
        Predicate::Contains { property: "slug".into(), substring: "%".into() }
    );
}

#[test]
fn wrong_conditions_are_refused() {
    for text in ["", "age", "age >", "age = x", "age = 1 extra", "(age = 1", "tags = a", "age not = 1", "born = 1"] {
        assert_eq!(read(text).unwrap_err().exit(), Exit::Usage, "{text}");
    }
    assert_eq!(read("agee = 1").unwrap_err().exit(), Exit::NotFound);
    assert!(read(&"(".repeat(1000)).is_err());
}
