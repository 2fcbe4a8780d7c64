//! Message and text say the same; what a message can get wrong is refused by path.

use super::*;
use omnigraph_engine::schema::assign_ids;
use omnigraph_proto::v1::constraint::{self, Kind};

const SOURCE: &str = r#"
interface Named { name: String @index @index(kind="ngram") }
node Airport implements Named { code: String @key  active: Bool  opened: Date?  kind: enum(civil, military) @index
  face: Vector(3)? @index(metric="l2") @embed("name", model="small")  photo: Blob?  tags: [String]?  big: U64?  height: F64?  seen: DateTime?
  small: I32?  wide: I64?  short: U32?  thin: F32?
  @unique(name, opened) @range(height, 0..9000.5) @range(big, 0..18446744073709551615) @check(code, "^[A-Z]{3}$")
  @index(code, name, kind="text")
  @description("where flights begin") @owner("ops") }
node order { interval: String }
edge Flight: Airport -> Airport @card(0..4) { at: DateTime?  @unique(src, dst, at) }
"#;

fn sample() -> Schema {
    let mut schema = omnigraph_engine::schema::parse(SOURCE).unwrap();
    let mut next = 0;
    assign_ids(&mut schema, &mut || {
        next += 1;
        format!("T{next}")
    });
    schema
}

#[test]
fn schemas_come_back() {
    let schema = sample();
    let message = to_proto(&schema);
    assert_eq!(to_engine(message.clone()).unwrap(), schema);
    assert_eq!(to_proto(&to_engine(message.clone()).unwrap()), message);
    let defined = definition_to_engine(Some(v1::SchemaDefinition { form: Some(Form::Schema(message)) }));
    assert_eq!(defined.unwrap(), schema);
}

#[test]
fn indexes_say_their_kind_and_metric() {
    use v1::{IndexKind, VectorMetric};
    let mut message = to_proto(&sample());
    let told: Vec<_> = message.node_types[0]
        .indexes
        .iter()
        .map(|i| (i.properties.join(","), i.kind(), i.metric(), i.inherited_from.as_str()))
        .collect();
    let (auto, none) = (IndexKind::Unspecified, VectorMetric::Unspecified);
    assert_eq!(
        told,
        [
            ("kind".to_string(), auto, none, ""),
            ("face".to_string(), auto, VectorMetric::L2, ""),
            ("code,name".to_string(), IndexKind::Text, none, ""),
            ("name".to_string(), auto, none, "Named"),
            ("name".to_string(), IndexKind::Ngram, none, "Named"),
        ]
    );
    message.node_types[0].indexes[0].kind = 99;
    message.interfaces[0].indexes[1].metric = -1;
    let error = to_engine(message).unwrap_err();
    let fields: Vec<&str> = error.violations().iter().map(|v| v.field.as_str()).collect();
    assert_eq!(fields, ["schema.interfaces[0].indexes[1].metric", "schema.node_types[0].indexes[0].kind"]);
}

#[test]
fn what_is_inherited_says_so_and_may_be_left_out() {
    let schema = sample();
    let mut message = to_proto(&schema);
    let airport = &mut message.node_types[0];
    let name = airport.properties.iter().find(|p| p.name == "name").unwrap();
    assert_eq!(name.inherited_from, "Named");
    let face = airport.properties.iter().find(|p| p.name == "face").unwrap();
    assert_eq!(face.embedding.as_ref().unwrap().model, "small");
    assert!(face.annotations.is_empty());
    airport.properties.retain(|p| p.inherited_from.is_empty());
    airport.indexes.retain(|i| i.inherited_from.is_empty());
    let back = to_engine(message).unwrap();
    let names = |s: &Schema| s.types[0].properties.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&back), names(&schema));
    assert_eq!(back.types[0].indexes.len(), schema.types[0].indexes.len());
}

#[test]
fn whole_number_bounds_take_the_form_of_their_property() {
    let mut message = to_proto(&sample());
    let int = |v| Some(v1::Value { kind: Some(v1::value::Kind::Int64Value(v)) });
    for constraint in &mut message.node_types[0].constraints {
        if let Some(Kind::Range(range)) = &mut constraint.kind {
            range.min = int(1);
        }
    }
    let back = to_engine(message).unwrap();
    let mins: Vec<_> = back.types[0].ranges.iter().map(|r| r.min.clone().unwrap()).collect();
    assert_eq!(mins, [omnigraph_engine::model::Value::F64(1.0), omnigraph_engine::model::Value::U64(1)]);
}

#[test]
fn every_offender_is_named_by_path() {
    let mut message = to_proto(&sample());
    message.interfaces[0].constraints.push(v1::Constraint::default());
    let airport = &mut message.node_types[0];
    airport.stable_id = "../x".into();
    airport.properties[0].r#type = None;
    airport.properties[1].stable_id = "one".into();
    airport.properties[2].stable_id = airport.properties[3].stable_id.clone();
    airport.constraints.push(v1::Constraint { inherited_from: "Named".into(), kind: None });
    let second = Kind::Key(constraint::Key { properties: vec!["code".into()] });
    airport.constraints.push(v1::Constraint { inherited_from: String::new(), kind: Some(second) });
    let error = to_engine(message).unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidSchema);
    let fields: Vec<&str> = error.violations().iter().map(|v| v.field.as_str()).collect();
    let at = "schema.node_types[0]";
    for expected in [
        "schema.interfaces[0].constraints".to_string(),
        format!("{at}.stable_id"),
        format!("{at}.properties[0].type"),
        format!("{at}.properties[1].stable_id"),
        format!("{at}.properties[3].stable_id"),
    ] {
        assert!(fields.contains(&expected.as_str()), "{expected} in {fields:?}");
    }
    assert!(fields.iter().any(|f| f.starts_with(&format!("{at}.constraints["))));
}

#[test]
fn rules_of_the_engine_are_told_as_paths_into_the_message() {
    let mut message = to_proto(&sample());
    message.edge_types[0].to_type = "Nowhere".into();
    let form = Some(Form::Schema(message));
    let error = definition_to_engine(Some(v1::SchemaDefinition { form })).unwrap_err();
    let field = &error.violations()[0].field;
    assert!(field.starts_with("schema.edge_types[0]"), "{field}");
}

#[test]
fn a_definition_has_a_form() {
    assert_eq!(definition_to_engine(None).unwrap(), Schema::default());
    let error = definition_to_engine(Some(v1::SchemaDefinition { form: None })).unwrap_err();
    assert_eq!(error.metadata()["field"], "schema");
    let text = Some(Form::Source("node {".into()));
    let error = definition_to_engine(Some(v1::SchemaDefinition { form: text })).unwrap_err();
    assert!(error.violations()[0].field.starts_with("line 1"));
}
