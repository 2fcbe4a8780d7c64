//! The exact stored text, and that everything stored reads back.

use proptest::prelude::*;

use super::{decode_interface, decode_type, encode_interface, encode_type};
use crate::error::Reason;
use crate::model::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityKind, EntityType, IndexDecl, IndexKind, InterfaceType,
    Metric, Property, PropertyType, RangeConstraint, ScalarType, Value,
};

/// What format 1 is. This text may never change; a change of shape needs another number.
const GOLDEN_TYPE: &str = concat!(
    r#"{"format":1,"id":"01J","kind":"edge","name":"Knows","implements":["Named"],"properties":["#,
    r#"{"id":1,"name":"since","type":{"scalar":"datetime"},"nullable":true,"description":"when","#,
    r#""annotations":[{"name":"embed","arguments":"\"bio\""}]},"#,
    r#"{"id":4,"name":"role","type":{"enum":["staff","on leave"]},"nullable":false,"description":"","annotations":[]},"#,
    r#"{"id":5,"name":"face","type":{"vector":384},"nullable":true,"description":"","annotations":[]},"#,
    r#"{"id":6,"name":"tags","type":{"list":"string"},"nullable":true,"description":"","annotations":[]}],"#,
    r#""key":["src","dst"],"unique":[["src","role"]],"indexes":[["role"],["dst","since"]],"#,
    r#""ranges":[{"property":"a","min":{"i64":"-9223372036854775808"},"max":null},"#,
    r#"{"property":"b","min":null,"max":{"u64":"18446744073709551615"}},"#,
    r#"{"property":"c","min":{"f64":"0.1"},"max":{"f64":"1e300"}},"#,
    r#"{"property":"d","min":{"date":-1},"max":{"date":1}},"#,
    r#"{"property":"e","min":{"timestamp":"-1"},"max":null}],"#,
    r#""checks":[{"property":"role","pattern":"^\\w+$"}],"cardinality":{"min":"0","max":"18446744073709551615"},"#,
    r#""endpoints":{"from":"Person","to":"Person"},"description":"who","annotations":[]}"#,
);

const GOLDEN_INTERFACE: &str = concat!(
    r#"{"format":1,"name":"Named","properties":[{"id":0,"name":"name","type":{"scalar":"string"},"#,
    r#""nullable":false,"description":"","annotations":[]}],"indexes":[["name"]],"#,
    r#""description":"named","annotations":[{"name":"x","arguments":""}]}"#,
);

fn property(id: u32, name: &str, ty: PropertyType, nullable: bool) -> Property {
    Property { id, name: name.into(), ty, nullable, description: String::new(), annotations: vec![] }
}

fn range(property: &str, min: Option<Value>, max: Option<Value>) -> RangeConstraint {
    RangeConstraint { property: property.into(), min, max }
}

fn edge() -> EntityType {
    let mut since = property(1, "since", PropertyType::Scalar(ScalarType::DateTime), true);
    since.description = "when".into();
    since.annotations = vec![Annotation { name: "embed".into(), arguments: "\"bio\"".into() }];
    EntityType {
        id: "01J".into(),
        kind: EntityKind::Edge,
        name: "Knows".into(),
        implements: vec!["Named".into()],
        properties: vec![
            since,
            property(4, "role", PropertyType::Enum(vec!["staff".into(), "on leave".into()]), false),
            property(5, "face", PropertyType::Vector(384), true),
            property(6, "tags", PropertyType::List(ScalarType::String), true),
        ],
        key: vec!["src".into(), "dst".into()],
        unique: vec![vec!["src".into(), "role".into()]],
        indexes: vec![IndexDecl::auto(vec!["role".into()]), IndexDecl::auto(vec!["dst".into(), "since".into()])],
        ranges: vec![
            range("a", Some(Value::I64(i64::MIN)), None),
            range("b", None, Some(Value::U64(u64::MAX))),
            range("c", Some(Value::F64(0.1)), Some(Value::F64(1e300))),
            range("d", Some(Value::Date(-1)), Some(Value::Date(1))),
            range("e", Some(Value::Timestamp(-1)), None),
        ],
        checks: vec![CheckConstraint { property: "role".into(), pattern: "^\\w+$".into() }],
        cardinality: Some(Cardinality { min: 0, max: Some(u64::MAX) }),
        endpoints: Some(Endpoints { from: "Person".into(), to: "Person".into() }),
        description: "who".into(),
        annotations: vec![],
    }
}

fn interface() -> InterfaceType {
    InterfaceType {
        name: "Named".into(),
        properties: vec![property(0, "name", PropertyType::Scalar(ScalarType::String), false)],
        indexes: vec![IndexDecl::auto(vec!["name".into()])],
        description: "named".into(),
        annotations: vec![Annotation { name: "x".into(), arguments: String::new() }],
    }
}

#[test]
fn format_1_stays_what_it_is() {
    assert_eq!(encode_type(&edge()), GOLDEN_TYPE);
    assert_eq!(decode_type(GOLDEN_TYPE).unwrap(), edge());
    assert_eq!(encode_interface(&interface()), GOLDEN_INTERFACE);
    assert_eq!(decode_interface(GOLDEN_INTERFACE).unwrap(), interface());
}

#[test]
fn indexes_that_say_more_than_their_columns_are_objects() {
    let index = |kind, metric| IndexDecl { columns: vec!["a".into(), "b".into()], kind, metric };
    for (stored, index) in [
        (r#"["a","b"]"#, index(IndexKind::Auto, None)),
        (r#"{"columns":["a","b"],"kind":"text","metric":null}"#, index(IndexKind::Text, None)),
        (r#"{"columns":["a","b"],"kind":"ngram","metric":null}"#, index(IndexKind::Ngram, None)),
        (r#"{"columns":["a","b"],"kind":null,"metric":"cosine"}"#, index(IndexKind::Auto, Some(Metric::Cosine))),
        (r#"{"columns":["a","b"],"kind":null,"metric":"l2"}"#, index(IndexKind::Auto, Some(Metric::L2))),
        (r#"{"columns":["a","b"],"kind":null,"metric":"dot"}"#, index(IndexKind::Auto, Some(Metric::Dot))),
    ] {
        let ty = EntityType { indexes: vec![index.clone()], ..edge() };
        let json = GOLDEN_TYPE.replace(r#"[["role"],["dst","since"]]"#, &format!("[{stored}]"));
        assert_eq!(encode_type(&ty), json);
        assert_eq!(decode_type(&json).unwrap(), ty);
        let interface = InterfaceType { indexes: vec![index], ..interface() };
        let json = GOLDEN_INTERFACE.replace(r#"[["name"]]"#, &format!("[{stored}]"));
        assert_eq!(encode_interface(&interface), json);
        assert_eq!(decode_interface(&json).unwrap(), interface);
    }
    for stored in [r#"{"columns":["a"],"kind":"words","metric":null}"#, r#"{"columns":["a"],"kid":null}"#, "{}", "7"] {
        let json = GOLDEN_INTERFACE.replace(r#"[["name"]]"#, &format!("[{stored}]"));
        assert_eq!(decode_interface(&json).unwrap_err().reason(), Reason::DataCorrupt, "{stored}");
    }
}

#[test]
fn a_later_format_is_too_new_even_if_its_shape_is_unknown() {
    for json in [r#"{"format":2}"#, r#"{"shape":[],"format":18446744073709551615}"#] {
        let error = decode_type(json).unwrap_err();
        assert_eq!(error.reason(), Reason::StorageStampTooNew);
        assert_eq!(decode_interface(json).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}

#[test]
fn what_was_never_written_is_corrupt() {
    let broken = [
        String::new(),
        "null".into(),
        "{}".into(),
        r#"{"format":0}"#.into(),
        r#"{"format":"1"}"#.into(),
        r#"{"format":1}"#.into(),
        GOLDEN_TYPE.replace("\"key\"", "\"keys\""),
        GOLDEN_TYPE.replace("\"description\":\"who\"", "\"description\":\"who\",\"more\":1"),
        GOLDEN_TYPE.replace("\"edge\"", "\"hyperedge\""),
        GOLDEN_TYPE.replace("18446744073709551615", "18446744073709551616"),
        GOLDEN_TYPE.replace("{\"f64\":\"0.1\"}", "{\"f64\":\"\"}"),
        GOLDEN_TYPE[..GOLDEN_TYPE.len() - 1].into(),
    ];
    for json in broken {
        let error = decode_type(&json).unwrap_err();
        assert_eq!(error.reason(), Reason::DataCorrupt, "{json}");
    }
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        any::<f64>().prop_map(Value::F64),
        Just(Value::F64(f64::NEG_INFINITY)),
        text().prop_map(Value::String),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(|b| Value::Bytes(b.into())),
        any::<i32>().prop_map(Value::Date),
        any::<i64>().prop_map(Value::Timestamp),
        prop::collection::vec(any::<f32>(), 0..4).prop_map(Value::Vector),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::List))
}

fn scalar() -> impl Strategy<Value = ScalarType> {
    prop::sample::select(vec![
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
        ScalarType::Blob,
    ])
}

fn property_type() -> impl Strategy<Value = PropertyType> {
    prop_oneof![
        scalar().prop_map(PropertyType::Scalar),
        scalar().prop_map(PropertyType::List),
        any::<u32>().prop_map(PropertyType::Vector),
        prop::collection::vec(text(), 0..4).prop_map(PropertyType::Enum),
    ]
}

fn index() -> impl Strategy<Value = IndexDecl> {
    let kind = prop::sample::select(vec![IndexKind::Auto, IndexKind::Text, IndexKind::Ngram]);
    let metric = prop::option::of(prop::sample::select(vec![Metric::Cosine, Metric::L2, Metric::Dot]));
    (prop::collection::vec(text(), 0..4), kind, metric).prop_map(|(columns, kind, metric)| IndexDecl {
        columns,
        kind,
        metric,
    })
}

proptest! {
    #[test]
    fn reads_back_what_it_writes(
        (id, name, ty, nullable) in (any::<u32>(), text(), property_type(), any::<bool>()),
        (min, max) in (prop::option::of(value()), prop::option::of(value())),
        tuples in prop::collection::vec(prop::collection::vec(text(), 0..4), 0..4),
        indexes in prop::collection::vec(index(), 0..4),
        cardinality in prop::option::of((any::<u64>(), any::<Option<u64>>())),
        is_node in any::<bool>(),
    ) {
        let property = property(id, &name, ty, nullable);
        let mut ty = edge();
        ty.properties = vec![property.clone()];
        ty.ranges = vec![range(&name, min, max)];
        ty.unique = tuples;
        ty.indexes = indexes.clone();
        ty.cardinality = cardinality.map(|(min, max)| Cardinality { min, max });
        if is_node {
            (ty.kind, ty.endpoints) = (EntityKind::Node, None);
        }
        prop_assert_eq!(decode_type(&encode_type(&ty)).unwrap(), ty);
        let mut interface = interface();
        (interface.properties, interface.indexes, interface.name) = (vec![property], indexes, name);
        prop_assert_eq!(decode_interface(&encode_interface(&interface)).unwrap(), interface);
    }
}
