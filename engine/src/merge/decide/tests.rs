//! Every pair of what two sides can do to one entity.

use super::*;
use crate::model::{Property, PropertyType, Resolution, ScalarType, TypeRef};

fn ty(kind: EntityKind) -> EntityType {
    let source = match kind {
        EntityKind::Node => "node T { a: I64? b: I64? c: String? }",
        EntityKind::Edge => "node N { x: I64? } edge T: N -> N { a: I64? b: I64? c: String? }",
    };
    let schema = crate::schema::parse(source).unwrap();
    schema.types.into_iter().find(|t| t.name == "T").unwrap()
}

/// `1,2` has a and b; `-` is null.
fn entity(ty: &EntityType, text: &str) -> Option<Entity> {
    let value = |t: &str| if t == "-" { Value::Null } else { Value::I64(t.parse().unwrap()) };
    let (a, b) = text.split_once(',')?;
    let properties = [("a", value(a)), ("b", value(b)), ("c", Value::Null)];
    Some(Entity {
        type_ref: ty.type_ref(),
        id: "e".into(),
        endpoints: (ty.kind == EntityKind::Edge).then(|| ("x".into(), "y".into())),
        properties: properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
    })
}

fn show(decision: &Decision, target: Option<&Entity>, source: Option<&Entity>) -> String {
    let text = |entity: &Entity| {
        let part = |name: &str| match &entity.properties[name] {
            Value::I64(n) => n.to_string(),
            _ => "-".to_string(),
        };
        format!("{},{}", part("a"), part("b"))
    };
    if let Some((kind, properties)) = &decision.conflict {
        return format!("{} {}", kind.as_str(), properties.join("+")).trim_end().to_string();
    }
    let shown = match &decision.act {
        Act::Keep => target.map(text),
        Act::Delete => None,
        Act::TakeSource => source.map(text),
        Act::Put(entity) => Some(text(entity)),
    };
    let how = if decision.settled { "settled " } else { "" };
    format!("{how}{}", shown.unwrap_or_else(|| "gone".to_string()))
}

fn run(kind: EntityKind, case: &str, how: &MergeHow, word: Word<'_>) -> String {
    let ty = ty(kind);
    let sides: Vec<Option<Entity>> = case.split_whitespace().map(|text| entity(&ty, text)).collect();
    let [base, target, source] = sides.as_slice() else { panic!("{case}") };
    let decision = decide(&ty, &Base::of(base.clone()), target.as_ref(), source.as_ref(), how, word);
    show(&decision, target.as_ref(), source.as_ref())
}

#[test]
fn every_pair_of_what_two_sides_do() {
    // Base, target, source; property by property; entity by entity; ours; theirs.
    let table = [
        ("x x x", "gone", "gone", "gone", "gone"),
        ("x 1,2 x", "1,2", "1,2", "1,2", "1,2"),
        ("x x 1,2", "1,2", "1,2", "1,2", "1,2"),
        ("x 1,2 1,2", "1,2", "1,2", "1,2", "1,2"),
        ("x 1,2 1,3", "divergent_insert b", "divergent_insert b", "settled 1,2", "settled 1,3"),
        ("x 1,- -,2", "divergent_insert a+b", "divergent_insert a+b", "settled 1,-", "settled -,2"),
        ("1,2 1,2 1,2", "1,2", "1,2", "1,2", "1,2"),
        ("1,2 1,3 1,2", "1,3", "1,3", "1,3", "1,3"),
        ("1,2 1,2 1,3", "1,3", "1,3", "1,3", "1,3"),
        ("1,2 1,3 1,3", "1,3", "1,3", "1,3", "1,3"),
        ("1,2 1,3 4,2", "4,3", "divergent_update a+b", "4,3", "4,3"),
        ("1,2 1,3 1,4", "divergent_update b", "divergent_update b", "settled 1,3", "settled 1,4"),
        ("1,2 5,3 6,2", "divergent_update a", "divergent_update a+b", "settled 5,3", "settled 6,3"),
        ("1,2 1,- 1,2", "1,-", "1,-", "1,-", "1,-"),
        ("1,2 3,2 1,-", "3,-", "divergent_update a+b", "3,-", "3,-"),
        ("1,2 x 1,2", "gone", "gone", "gone", "gone"),
        ("1,2 1,2 x", "gone", "gone", "gone", "gone"),
        ("1,2 x x", "gone", "gone", "gone", "gone"),
        ("1,2 x 1,3", "delete_vs_update", "delete_vs_update", "settled gone", "settled 1,3"),
        ("1,2 1,3 x", "delete_vs_update", "delete_vs_update", "settled 1,3", "settled gone"),
    ];
    let how = |granularity, strategy| MergeHow { granularity, strategy, resolutions: Vec::<Resolution>::new() };
    for kind in [EntityKind::Node, EntityKind::Edge] {
        for (case, by_property, by_entity, ours, theirs) in table {
            let ask = |granularity, strategy| run(kind, case, &how(granularity, strategy), Word::default());
            assert_eq!(ask(Granularity::Property, None), by_property, "{case}");
            assert_eq!(ask(Granularity::Entity, None), by_entity, "{case}");
            assert_eq!(ask(Granularity::Property, Some(Side::Target)), ours, "{case}");
            assert_eq!(ask(Granularity::Property, Some(Side::Source)), theirs, "{case}");
        }
    }
}

#[test]
fn a_word_on_one_thing_settles_that_and_wins_over_the_strategy() {
    let none = MergeHow::default();
    let theirs = MergeHow { strategy: Some(Side::Source), ..MergeHow::default() };
    let a_ours = [("a".to_string(), Side::Target)];
    let both = [("a".to_string(), Side::Target), ("b".to_string(), Side::Base)];
    let properties = |properties| Word { whole: None, properties };
    let whole = |side| Word { whole: Some(side), properties: &[] };
    for (case, how, word, expected) in [
        ("1,2 3,4 5,6", &none, properties(&a_ours[..]), "divergent_update b"),
        ("1,2 3,4 5,6", &theirs, properties(&a_ours[..]), "settled 3,6"),
        ("1,2 3,4 5,6", &none, properties(&both[..]), "settled 3,2"),
        ("1,2 3,4 5,6", &none, whole(Side::Base), "settled 1,2"),
        ("1,2 3,4 5,6", &theirs, whole(Side::Target), "settled 3,4"),
        ("1,2 x 5,6", &theirs, whole(Side::Target), "settled gone"),
        ("1,2 x 5,6", &none, whole(Side::Base), "settled 1,2"),
        ("x 3,4 5,6", &none, whole(Side::Base), "settled gone"),
        ("x 3,4 5,6", &none, properties(&both[..]), "settled 3,-"),
    ] {
        assert_eq!(run(EntityKind::Node, case, how, word), expected, "{case}");
    }
}

#[test]
fn bases_that_disagree_leave_only_that_open() {
    let ty = ty(EntityKind::Node);
    let base = |text: &str| Base::of(entity(&ty, text));
    let ask = |below: &str, left: &str, right: &str| agree(&ty, &base(below), &base(left), &base(right));
    assert_eq!(ask("1,2", "1,3", "1,2"), base("1,3"));
    assert_eq!(ask("1,2", "1,3", "4,2"), base("4,3"));
    assert_eq!(ask("x", "1,3", "x"), base("1,3"));
    assert_eq!(ask("1,2", "1,3", "x"), Base::Unknown);
    assert_eq!(ask("1,2", "x", "1,2"), Base::Absent);
    let Base::Present(_, unknown) = ask("1,2", "1,3", "1,4") else { panic!() };
    assert_eq!(unknown, ["b"]);
    // Both sides agree about what the bases did not: nothing is open.
    let open = ask("1,2", "1,3", "1,4");
    let (same, other) = (entity(&ty, "1,7"), entity(&ty, "1,8"));
    let how = MergeHow::default();
    let decided =
        |t: &Option<Entity>, s: &Option<Entity>| decide(&ty, &open, t.as_ref(), s.as_ref(), &how, Word::default());
    assert_eq!(decided(&same, &same).act, Act::Keep);
    assert_eq!(decided(&same, &other).conflict, Some((ConflictKind::DivergentUpdate, vec!["b".to_string()])));
}

#[test]
fn ends_of_edges_are_parts_and_bits_count() {
    let ty = ty(EntityKind::Edge);
    let base = entity(&ty, "1,2").unwrap();
    let moved = Entity { endpoints: Some(("z".into(), "y".into())), ..base.clone() };
    let mut changed = base.clone();
    changed.properties.insert("a".into(), Value::I64(9));
    let how = MergeHow::default();
    let decided = decide(&ty, &Base::of(Some(base.clone())), Some(&moved), Some(&changed), &how, Word::default());
    let Act::Put(merged) = decided.act else { panic!("{decided:?}") };
    assert_eq!((merged.endpoints, &merged.properties["a"]), (moved.endpoints.clone(), &Value::I64(9)));
    let mut other = base.clone();
    other.endpoints = Some(("w".into(), "y".into()));
    let decided = decide(&ty, &Base::of(Some(base)), Some(&moved), Some(&other), &how, Word::default());
    assert_eq!(decided.conflict, Some((ConflictKind::DivergentUpdate, vec!["src".to_string()])));
    let float = EntityType {
        properties: vec![Property { ty: PropertyType::Scalar(ScalarType::F64), ..ty.properties[0].clone() }],
        ..self::ty(EntityKind::Node)
    };
    let of = |value: f64| Entity {
        type_ref: TypeRef::node("T"),
        id: "e".into(),
        endpoints: None,
        properties: [("a".to_string(), Value::F64(value))].into(),
    };
    assert!(!is_same(&float, &of(0.1 + 0.2), &of(0.3)));
    assert!(is_same(&float, &of(0.3), &of(0.3)));
}
