//! Answers over entities in memory: every type, bounds, nulls, refusals.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::Property;

fn property(id: u32, name: &str, ty: PropertyType) -> Property {
    Property { id, name: name.into(), ty, nullable: true, description: String::new(), annotations: Vec::new() }
}

/// A type with one nullable property of every type.
fn ty(kind: EntityKind) -> EntityType {
    use ScalarType as S;
    let scalars = [
        ("s", S::String),
        ("b", S::Bool),
        ("i32", S::I32),
        ("i64", S::I64),
        ("u32", S::U32),
        ("u64", S::U64),
        ("f32", S::F32),
        ("f64", S::F64),
        ("d", S::Date),
        ("t", S::DateTime),
        ("blob", S::Blob),
    ];
    let mut properties: Vec<Property> =
        scalars.iter().zip(1..).map(|((name, ty), id)| property(id, name, PropertyType::Scalar(*ty))).collect();
    properties.push(property(20, "e", PropertyType::Enum(vec!["red".into(), "blue".into()])));
    properties.push(property(21, "v", PropertyType::Vector(2)));
    properties.push(property(22, "l", PropertyType::List(S::I64)));
    EntityType {
        id: "T".into(),
        kind,
        name: "T".into(),
        implements: Vec::new(),
        properties,
        key: Vec::new(),
        unique: Vec::new(),
        indexes: Vec::new(),
        ranges: Vec::new(),
        checks: Vec::new(),
        cardinality: None,
        endpoints: None,
        description: String::new(),
        annotations: Vec::new(),
    }
}

fn entity(values: &[(&str, Value)]) -> Entity {
    let mut properties: BTreeMap<String, Value> =
        ty(EntityKind::Node).properties.iter().map(|p| (p.name.clone(), Value::Null)).collect();
    properties.extend(values.iter().map(|(name, value)| (name.to_string(), value.clone())));
    Entity { type_ref: ty(EntityKind::Node).type_ref(), id: "x".into(), endpoints: None, properties }
}

fn compare(property: &str, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { property: property.into(), op, value }
}

fn one_of(property: &str, values: Vec<Value>) -> Predicate {
    Predicate::In { property: property.into(), values }
}

fn text(s: &str) -> Value {
    Value::String(s.into())
}

const OPS: [CompareOp; 6] = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];

/// The answers of all six comparisons, in the order of [`OPS`].
fn answers(property: &str, held: Value, literal: Value) -> Vec<Option<bool>> {
    let (ty, entity) = (ty(EntityKind::Node), entity(&[(property, held)]));
    OPS.iter().map(|op| compare(property, *op, literal.clone()).matches(&ty, &entity).unwrap()).collect()
}

fn expected(order: Ordering) -> Vec<Option<bool>> {
    OPS.iter().map(|op| Some(holds(*op, order))).collect()
}

#[test]
fn every_type_compares_by_value_up_to_its_bounds() {
    use Ordering::{Equal, Greater, Less};
    use Value::{Bool, Date, F64, I64, Timestamp, U64};
    let cases = [
        ("s", text("b"), text("a"), Greater),
        ("s", text(""), text("a"), Less),
        ("s", text("Z"), text("a"), Less),
        ("s", text("é"), text("z"), Greater),
        ("e", text("red"), text("red"), Equal),
        ("b", Bool(false), Bool(true), Less),
        ("i32", I64(i64::from(i32::MIN)), I64(i64::from(i32::MIN)), Equal),
        ("i32", I64(i64::from(i32::MAX)), I64(i64::from(i32::MAX) + 1), Less),
        ("i32", I64(i64::from(i32::MIN)), I64(i64::from(i32::MIN) - 1), Greater),
        ("i64", I64(i64::MAX), U64(u64::MAX), Less),
        ("i64", I64(-1), U64(0), Less),
        ("i64", I64(i64::MAX - 1), I64(i64::MAX), Less),
        ("u32", U64(0), I64(-1), Greater),
        ("u32", U64(7), I64(7), Equal),
        ("u64", U64(u64::MAX), I64(i64::MAX), Greater),
        ("u64", U64(u64::MAX), U64(u64::MAX - 1), Greater),
        ("f32", F64(f64::from(0.1_f32)), F64(0.1), Equal),
        ("f32", F64(f64::from(f32::MAX)), F64(1e300), Less),
        ("f32", F64(2.0), I64(2), Equal),
        ("f64", F64(0.1), F64(0.1), Equal),
        ("f64", F64(-0.0), F64(0.0), Equal),
        ("f64", F64(0.0), I64(0), Equal),
        ("f64", F64(f64::MIN_POSITIVE), F64(-0.0), Greater),
        ("f64", F64(f64::MAX), F64(f64::INFINITY), Less),
        ("d", Date(-719_528), Date(2_932_896), Less),
        ("t", Timestamp(5), Timestamp(5), Equal),
        ("t", Timestamp(i64::MIN), Timestamp(i64::MAX), Less),
    ];
    for (name, held, literal, order) in cases {
        let got = answers(name, held.clone(), literal.clone());
        assert_eq!(got, expected(order), "{name}: {held:?} to {literal:?}");
        let listed = one_of(name, vec![literal.clone()]);
        let got = listed.matches(&ty(EntityKind::Node), &entity(&[(name, held)])).unwrap();
        assert_eq!(got, Some(order == Equal), "{name} in [{literal:?}]");
    }
}

#[test]
fn null_is_unknown_and_only_is_null_tells() {
    let (ty, empty) = (ty(EntityKind::Node), entity(&[]));
    let literals = [
        ("s", text("a")),
        ("e", text("red")),
        ("b", Value::Bool(true)),
        ("i32", Value::I64(i64::MAX)),
        ("u64", Value::I64(-1)),
        ("f32", Value::F64(0.0)),
        ("d", Value::Date(0)),
        ("t", Value::Timestamp(0)),
    ];
    for (name, literal) in literals {
        for op in OPS {
            assert_eq!(compare(name, op, literal.clone()).matches(&ty, &empty).unwrap(), None, "{name}");
        }
        assert_eq!(one_of(name, vec![literal]).matches(&ty, &empty).unwrap(), None, "{name}");
        assert_eq!(one_of(name, Vec::new()).matches(&ty, &empty).unwrap(), Some(false), "{name}");
    }
    for p in &ty.properties {
        let is_null = Predicate::IsNull { property: p.name.clone() };
        assert_eq!(is_null.matches(&ty, &empty).unwrap(), Some(true), "{}", p.name);
    }
    let blob = entity(&[("blob", Value::Bytes(bytes::Bytes::new()))]);
    assert_eq!(Predicate::IsNull { property: "blob".into() }.matches(&ty, &blob).unwrap(), Some(false));
    let prefix = Predicate::StartsWith { property: "s".into(), prefix: String::new() };
    assert_eq!(prefix.matches(&ty, &empty).unwrap(), None);
}

#[test]
fn connectives_are_three_valued() {
    let (ty, one) = (ty(EntityKind::Node), entity(&[("i64", Value::I64(1))]));
    let yes = || compare("i64", CompareOp::Eq, Value::I64(1));
    let no = || compare("i64", CompareOp::Eq, Value::I64(2));
    let unknown = || compare("s", CompareOp::Eq, text("a"));
    let cases = [
        (Predicate::And(vec![]), Some(true)),
        (Predicate::Or(vec![]), Some(false)),
        (Predicate::And(vec![yes(), unknown()]), None),
        (Predicate::And(vec![unknown(), no()]), Some(false)),
        (Predicate::And(vec![no(), unknown()]), Some(false)),
        (Predicate::Or(vec![unknown(), yes()]), Some(true)),
        (Predicate::Or(vec![yes(), unknown()]), Some(true)),
        (Predicate::Or(vec![no(), unknown()]), None),
        (Predicate::Not(Box::new(unknown())), None),
        (Predicate::Not(Box::new(no())), Some(true)),
    ];
    for (predicate, answer) in cases {
        assert_eq!(predicate.matches(&ty, &one).unwrap(), answer, "{predicate:?}");
    }
}

#[test]
fn text_tests_take_wildcards_literally() {
    let (ty, held) = (ty(EntityKind::Node), entity(&[("s", text("100%_of\\it\nO'Brien")), ("e", text("red"))]));
    let starts = |property: &str, prefix: &str| {
        let test = Predicate::StartsWith { property: property.into(), prefix: prefix.into() };
        test.matches(&ty, &held).unwrap()
    };
    let contains = |substring: &str| {
        let test = Predicate::Contains { property: "s".into(), substring: substring.into() };
        test.matches(&ty, &held).unwrap()
    };
    assert_eq!(
        [starts("s", "100%"), starts("s", "1%"), starts("s", ""), starts("e", "r")],
        [Some(true), Some(false), Some(true), Some(true)]
    );
    for (substring, answer) in
        [("%_", true), ("f\\i", true), ("t\nO", true), ("O'B", true), ("o'b", false), ("_f", false)]
    {
        assert_eq!(contains(substring), Some(answer), "{substring}");
    }
    assert_eq!(starts("id", "x"), Some(true));
}

#[test]
fn edges_show_their_ends_and_nodes_do_not() {
    let mut edge = entity(&[]);
    edge.endpoints = Some(("a".into(), "b".into()));
    let src = compare("src", CompareOp::Eq, text("a"));
    assert_eq!(src.matches(&ty(EntityKind::Edge), &edge).unwrap(), Some(true));
    let refused = src.matches(&ty(EntityKind::Node), &entity(&[])).unwrap_err();
    assert_eq!(refused.reason(), Reason::PropertyNotFound);
}

#[test]
fn wrong_predicates_are_refused_even_where_another_term_decides() {
    let ty = ty(EntityKind::Node);
    let wrong = [
        (compare("nope", CompareOp::Eq, text("a")), Reason::PropertyNotFound),
        (compare("s", CompareOp::Eq, Value::I64(1)), Reason::InvalidPredicate),
        (compare("s", CompareOp::Eq, Value::Null), Reason::InvalidPredicate),
        (compare("i64", CompareOp::Eq, Value::F64(1.0)), Reason::InvalidPredicate),
        (compare("i64", CompareOp::Eq, text("1")), Reason::InvalidPredicate),
        (compare("f64", CompareOp::Eq, Value::F64(f64::NAN)), Reason::InvalidPredicate),
        (compare("d", CompareOp::Eq, text("2022-01-15")), Reason::InvalidPredicate),
        (compare("t", CompareOp::Eq, Value::Date(1)), Reason::InvalidPredicate),
        (compare("blob", CompareOp::Eq, Value::Bytes(bytes::Bytes::new())), Reason::InvalidPredicate),
        (compare("v", CompareOp::Eq, Value::Vector(vec![0.0, 0.0])), Reason::InvalidPredicate),
        (compare("l", CompareOp::Eq, Value::I64(1)), Reason::InvalidPredicate),
        (one_of("i64", vec![Value::I64(1), text("a")]), Reason::InvalidPredicate),
        (Predicate::Contains { property: "i64".into(), substring: "1".into() }, Reason::InvalidPredicate),
        (Predicate::StartsWith { property: "nope".into(), prefix: "1".into() }, Reason::PropertyNotFound),
        (Predicate::IsNull { property: "nope".into() }, Reason::PropertyNotFound),
    ];
    for (predicate, reason) in wrong {
        for held in [entity(&[]), entity(&[("s", text("a")), ("i64", Value::I64(1)), ("f64", Value::F64(1.0))])] {
            let alone = predicate.matches(&ty, &held).unwrap_err();
            assert_eq!(alone.reason(), reason, "{predicate:?}");
            let decided = Predicate::Or(vec![Predicate::And(vec![]), predicate.clone()]);
            assert_eq!(decided.matches(&ty, &held).unwrap_err().reason(), reason, "{predicate:?}");
        }
    }
    let near = compare("i65", CompareOp::Eq, Value::I64(1)).matches(&ty, &entity(&[])).unwrap_err();
    assert!(near.message().contains("did you mean"), "{}", near.message());
}

#[test]
fn large_and_deep_trees_are_refused() {
    let (ty, held) = (ty(EntityKind::Node), entity(&[]));
    let mut deep = Predicate::And(vec![]);
    for _ in 0..=limits::MAX_PREDICATE_DEPTH {
        deep = Predicate::Not(Box::new(deep));
    }
    let wide = Predicate::Or(vec![Predicate::And(vec![]); limits::MAX_PREDICATE_NODES]);
    let long = one_of("i64", vec![Value::I64(1); limits::MAX_PREDICATE_NODES]);
    for predicate in [deep, wide, long] {
        assert_eq!(predicate.matches(&ty, &held).unwrap_err().reason(), Reason::LimitExceeded);
    }
}

fn any_predicate() -> impl Strategy<Value = Predicate> {
    let op = prop::sample::select(OPS.to_vec());
    let leaf = prop_oneof![
        (op.clone(), -3_i64..3).prop_map(|(op, v)| compare("i64", op, Value::I64(v))),
        (op, prop::sample::select(vec!["", "a", "b"])).prop_map(|(op, v)| compare("s", op, text(v))),
        Just(Predicate::IsNull { property: "s".into() }),
        prop::collection::vec(-3_i64..3, 0..3).prop_map(|v| one_of("i64", v.into_iter().map(Value::I64).collect())),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::Or),
            inner.prop_map(|p| Predicate::Not(Box::new(p))),
        ]
    })
}

proptest! {
    #[test]
    fn negation_reverses_known_answers_and_swaps_the_connectives(
        terms in prop::collection::vec(any_predicate(), 0..3),
        number in prop::option::of(-3_i64..3),
        held in prop::option::of(prop::sample::select(vec!["", "a", "b"])),
    ) {
        let ty = ty(EntityKind::Node);
        let entity = entity(&[
            ("i64", number.map_or(Value::Null, Value::I64)),
            ("s", held.map_or(Value::Null, text)),
        ]);
        let negated: Vec<Predicate> = terms.iter().map(|t| Predicate::Not(Box::new(t.clone()))).collect();
        let all = Predicate::And(terms).matches(&ty, &entity).unwrap();
        let none = Predicate::Or(negated).matches(&ty, &entity).unwrap();
        prop_assert_eq!(all.map(|holds| !holds), none);
    }
}
