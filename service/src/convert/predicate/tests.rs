//! Filters survive the way there and back, and what is no filter is refused before it is walked.

use super::*;

fn compare(op: CompareOp) -> Predicate {
    Predicate::Compare { property: "age".into(), op, value: Value::U64(u64::MAX) }
}

#[test]
fn filters_come_back() {
    let property = || "repoName".to_string();
    let leaves = vec![
        compare(CompareOp::Eq),
        compare(CompareOp::Ne),
        compare(CompareOp::Lt),
        compare(CompareOp::Le),
        compare(CompareOp::Gt),
        compare(CompareOp::Ge),
        Predicate::In { property: property(), values: vec![Value::I64(i64::MIN), Value::Bool(true)] },
        Predicate::In { property: property(), values: Vec::new() },
        Predicate::IsNull { property: property() },
        Predicate::StartsWith { property: property(), prefix: "a%_\\'".into() },
        Predicate::Contains { property: property(), substring: String::new() },
        Predicate::Or(Vec::new()),
        Predicate::And(Vec::new()),
    ];
    let tree = Predicate::Not(Box::new(Predicate::And(vec![Predicate::Or(leaves)])));
    assert_eq!(to_engine(to_proto(tree.clone())).unwrap(), tree);
}

fn nested(depth: usize) -> Predicate {
    (1..depth).fold(compare(CompareOp::Eq), |inner, _| Predicate::Not(Box::new(inner)))
}

#[test]
fn depth_and_size_are_bounded() {
    assert!(to_engine(to_proto(nested(MAX_PREDICATE_DEPTH))).is_ok());
    let deep = to_engine(to_proto(nested(MAX_PREDICATE_DEPTH + 1))).unwrap_err();
    assert_eq!(deep.reason(), Reason::LimitExceeded);
    assert_eq!(deep.metadata()["limit"], "predicate_depth");

    let values = vec![Value::I64(0); MAX_PREDICATE_NODES];
    let large = to_engine(to_proto(Predicate::In { property: "p".into(), values })).unwrap_err();
    assert_eq!(large.reason(), Reason::LimitExceeded);
    assert_eq!(large.metadata()["max"], MAX_PREDICATE_NODES.to_string());
}

#[test]
fn half_a_condition_is_refused() {
    let some = |kind| v1::Predicate { kind: Some(kind) };
    let null = value::to_proto(Value::Null);
    let with =
        |operator: i32, value| some(Kind::Compare(v1::predicate::Compare { property: "p".into(), operator, value }));
    let one = Some(value::to_proto(Value::I64(1)));
    for wrong in [
        v1::Predicate { kind: None },
        some(Kind::Conjunction(v1::predicate::And { predicates: vec![v1::Predicate { kind: None }] })),
        some(Kind::Negation(Box::new(v1::predicate::Not { predicate: None }))),
        some(Kind::IsNull(v1::predicate::IsNull { property: String::new() })),
        some(Kind::Contains(v1::predicate::Contains { property: "p".into(), value: one.clone() })),
        with(0, one.clone()),
        with(99, one),
        with(Operator::Eq.into(), None),
        with(Operator::Eq.into(), Some(null)),
        with(Operator::Eq.into(), Some(v1::Value { kind: None })),
    ] {
        assert_eq!(to_engine(wrong).unwrap_err().reason(), Reason::InvalidPredicate);
    }
}
