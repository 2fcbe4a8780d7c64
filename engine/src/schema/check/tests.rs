//! Rules as a message meets them: with paths, and with what text cannot say.

use super::{check, ensure_valid};
use crate::error::Reason;
use crate::limits;
use crate::model::{
    Annotation, Cardinality, IndexDecl, IndexKind, PropertyType, RangeConstraint, ScalarType, Schema, Value,
};
use crate::schema::parse;

fn example() -> Schema {
    parse(
        "interface Named { name: String @index }
         node Person implements Named { slug: String @key age: I32? score: F32? born: Date? }
         edge Knows: Person -> Person { since: DateTime? }",
    )
    .unwrap()
}

/// What is found after `change`, as `path: description`.
fn found(change: impl FnOnce(&mut Schema)) -> Vec<String> {
    let mut schema = example();
    change(&mut schema);
    check(&schema).into_iter().map(|v| format!("{}: {}", v.field, v.description)).collect()
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Schema), field: &str, part: &str) {
    let found = found(change);
    assert!(
        found.iter().any(|f| f.starts_with(&format!("{field}: ")) && f.contains(part)),
        "expected {field}: …{part}…, found {found:#?}"
    );
}

#[test]
fn a_valid_schema_has_nothing_wrong() {
    assert_eq!(found(|_| {}), Vec::<String>::new());
    ensure_valid(&example()).unwrap();
}

#[test]
fn the_error_lists_every_problem_with_its_path() {
    let mut schema = example();
    schema.types[0].key.push("slgu".into());
    schema.types[1].properties[0].name = "from".into();
    let error = ensure_valid(&schema).unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidSchema);
    assert_eq!(error.message(), "the schema has 2 problems");
    let fields: Vec<&str> = error.violations().iter().map(|v| v.field.as_str()).collect();
    assert_eq!(fields, ["types[0].key[1]", "types[1].properties[0].name"]);
    assert!(error.violations()[0].description.contains("did you mean `slug`?"));
}

#[test]
fn what_only_a_message_can_say_is_refused() {
    refused(|s| s.types[0].name = "a b".into(), "types[0].name", "is not a name");
    refused(|s| s.types[0].name = "é".into(), "types[0].name", "is not a name");
    refused(|s| s.types[0].properties[1].name = String::new(), "types[0].properties[1].name", "is not a name");
    refused(|s| s.types[1].endpoints = None, "types[1].endpoints.from", "no endpoints");
    refused(|s| s.types[0].endpoints = s.types[1].endpoints.clone(), "types[0].endpoints.from", "on edge types only");
    refused(
        |s| s.types[0].cardinality = Some(Cardinality { min: 0, max: None }),
        "types[0].cardinality",
        "on edge types only",
    );
    refused(|s| s.types[1].implements.push("Named".into()), "types[1].implements[0]", "only node");
    refused(
        |s| {
            s.types[0].properties.pop();
        },
        "types[0].implements[0]",
        "expected its property `name`",
    );
    refused(|s| s.types[0].indexes.clear(), "types[0].implements[0]", "expected its index on `name`");
    refused(
        |s| s.types[0].indexes[0].kind = IndexKind::Text,
        "types[0].implements[0]",
        "expected its index on `name` too",
    );
    refused(
        |s| s.interfaces[0].indexes[0].kind = IndexKind::Ngram,
        "types[0].implements[0]",
        "expected its index on `name` with kind=\"ngram\" too",
    );
    refused(|s| s.types[0].indexes.push(IndexDecl::default()), "types[0].indexes[1][0]", "at least one");
    refused(
        |s| {
            let columns = vec!["slug".into(), "age".into()];
            s.types[0].indexes.push(IndexDecl { columns, kind: IndexKind::Text, metric: None });
        },
        "types[0].indexes[1][1]",
        "names `age` of type I32?, but kind \"text\" needs a String",
    );
    refused(|s| s.types[0].unique.push(vec![]), "types[0].unique[0][0]", "at least one");
    refused(
        |s| s.types[0].properties[4].nullable = true,
        "types[0].implements[0]",
        "found `name` as String? in node `Person`, expected String",
    );
}

#[test]
fn bounds_must_be_values_of_their_type() {
    let range = |property: &str, min: Option<Value>, max: Option<Value>| {
        let constraint = RangeConstraint { property: property.into(), min, max };
        found(|s| s.types[0].ranges.push(constraint)).join("\n")
    };
    assert_eq!(range("age", Some(Value::I64(0)), None), "");
    assert!(range("age", None, None).contains("no bounds"));
    assert!(range("age", Some(Value::U64(0)), None).contains("expected an integer from -2147483648"));
    assert!(range("age", None, Some(Value::I64(1 << 31))).contains("found `2147483648` as a bound"));
    assert!(range("score", Some(Value::F64(f64::NAN)), None).contains("32 bits"));
    assert!(range("score", Some(Value::F64(1e39)), None).contains("32 bits"));
    assert!(range("born", Some(Value::Date(i32::MAX)), None).contains("year 0000"));
    assert!(range("born", Some(Value::Date(1)), Some(Value::Date(0))).contains("is empty"));
}

#[test]
fn annotations_must_survive_the_text() {
    let annotate = |name: &str, arguments: &str| {
        let annotation = Annotation { name: name.into(), arguments: arguments.into() };
        found(|s| s.types[0].properties[0].annotations.push(annotation)).join("\n")
    };
    assert_eq!(annotate("x", "anything ( ) \")\" /* ( */ #"), "");
    for arguments in [")", "(", ") @key(slug", "\"", "// )", "/*", "a\" b"] {
        let found = annotate("x", arguments);
        assert!(found.contains("do not end"), "{arguments}: {found}");
        assert!(found.starts_with("types[0].properties[0].annotations[0]: "), "{found}");
    }
    assert!(annotate("key", "").contains("has a meaning"));
    assert!(annotate("a b", "").contains("is not a name"));
}

#[test]
fn limits_carry_their_numbers() {
    let mut schema = example();
    let property = schema.types[1].properties[0].clone();
    schema.types[1].properties = (0..=limits::MAX_PROPERTIES)
        .map(|i| crate::model::Property { name: format!("p{i}"), ..property.clone() })
        .collect();
    schema.types[0].properties[1].ty = PropertyType::Vector(limits::MAX_VECTOR_DIMENSIONS + 1);
    let node = schema.types[0].clone();
    schema.types.extend((0..limits::MAX_TYPES).map(|i| crate::model::EntityType {
        name: format!("T{i}"),
        properties: vec![],
        key: vec![],
        implements: vec![],
        indexes: vec![],
        ..node.clone()
    }));
    let found = check(&schema);
    let text: String = found.iter().map(|v| format!("{} {}\n", v.field, v.description)).collect();
    assert!(text.contains("declares 10003 types, more than the 10000"), "{text}");
    assert!(text.contains("has 1001 properties, more than the 1000"), "{text}");
    assert!(text.contains("vector of 65537 dimensions, expected 1 to 65536"), "{text}");
    assert_eq!(found.iter().filter(|v| v.reason == Reason::LimitExceeded).count(), 2);
}

#[test]
fn inherited_declarations_are_bounded_before_they_cost_anything() {
    let mut schema = example();
    schema.interfaces[0].description = "free".into();
    schema.interfaces[0].properties[0].description = "x".repeat(1 << 20);
    let node = schema.types[0].clone();
    schema.types.extend((0..64).map(|i| crate::model::EntityType { name: format!("T{i}"), ..node.clone() }));
    let found = check(&schema);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].reason, Reason::LimitExceeded);
}

#[test]
fn more_problems_than_can_be_listed_are_counted() {
    let mut schema = example();
    schema.types[0].key = (0..250).map(|i| format!("missing{i}")).collect();
    let error = ensure_valid(&schema).unwrap_err();
    assert_eq!(error.message(), "the schema has 250 problems, of which 100 are listed");
    assert_eq!(error.violations().len(), limits::MAX_REPORTED_VIOLATIONS);
}

#[test]
fn every_comparable_type_can_be_key_and_unique() {
    let scalars = [
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
    ];
    for scalar in scalars {
        let found = found(|s| {
            s.types[0].properties[0].ty = PropertyType::Scalar(scalar);
            s.types[0].unique.push(vec!["slug".into()]);
        });
        assert_eq!(found, Vec::<String>::new(), "{scalar:?}");
    }
}
