//! Every step has its message, and what a request may get wrong is refused by path.

use super::*;
use omnigraph_engine::error::Reason;
use omnigraph_engine::model::TypeRef;
use omnigraph_proto::v1::schema_definition::Form;

fn step(subject: Subject, work: StepWork) -> SchemaStep {
    let description = "what happens".to_string();
    SchemaStep { action: StepAction::Alter, subject, description, work, loses_data: false, refusal: None }
}

fn person() -> Subject {
    Subject::Type(TypeRef::node("Person"))
}

#[test]
fn a_step_says_what_it_is_about() {
    let type_of = |change: &v1::SchemaChange| change.r#type.as_ref().map(|t| (t.kind(), t.type_name.clone()));
    let told = step_to_proto(step(Subject::Interface("Named".into()), StepWork::Metadata));
    assert_eq!((type_of(&told), told.property.as_str(), told.interface.as_str()), (None, "", "Named"));
    let told = step_to_proto(step(person(), StepWork::Metadata));
    let node = Some((v1::EntityKind::Node, "Person".to_string()));
    assert_eq!((type_of(&told), told.property.as_str(), told.interface.as_str()), (node, "", ""));
    let told = step_to_proto(step(Subject::Property(TypeRef::edge("Knows"), "since".into()), StepWork::Metadata));
    let edge = Some((v1::EntityKind::Edge, "Knows".to_string()));
    assert_eq!((type_of(&told), told.property.as_str(), told.interface.as_str()), (edge, "since", ""));
    assert_eq!((told.description.as_str(), told.refused, told.destructive), ("what happens", false, false));
}

#[test]
fn costs_are_told_with_their_numbers_and_differences_have_none() {
    for (work, cost, rows, bytes) in [
        (StepWork::Metadata, Cost::Metadata, 0, 0),
        (StepWork::Check { rows: 7 }, Cost::Check, 7, 0),
        (StepWork::Rewrite { rows: 7, bytes: 56 }, Cost::Rewrite, 7, 56),
    ] {
        let told = step_to_proto(step(person(), work));
        assert_eq!((told.cost(), told.entities_touched, told.bytes_written), (cost, rows, bytes), "{work:?}");
        let refusal = Some(Refusal { code: RefusalCode::BadDefault, remedy: "x".into() });
        let told = difference_to_proto(SchemaStep { refusal, loses_data: true, ..step(person(), work) });
        assert_eq!((told.cost(), told.entities_touched, told.bytes_written), (Cost::Unspecified, 0, 0));
        assert_eq!((told.refused, told.destructive, told.code()), (false, false, v1::RefusalCode::Unspecified));
        assert_eq!(
            (told.action(), told.description.as_str(), told.remedy.as_str()),
            (Action::Alter, "what happens", "")
        );
    }
}

#[test]
fn codes_of_the_engine_have_the_same_names_on_the_wire() {
    use RefusalCode as C;
    let all = [
        C::KeyChanged,
        C::EndpointsChanged,
        C::TypeChanged,
        C::RequiredWithoutDefault,
        C::NullFound,
        C::EnumValueInUse,
        C::RangeViolated,
        C::CheckViolated,
        C::UniqueViolated,
        C::CardinalityViolated,
        C::BadDefault,
    ];
    for code in all {
        let refusal = Some(Refusal { code, remedy: "what to do".into() });
        let told = step_to_proto(SchemaStep { refusal, loses_data: true, ..step(person(), StepWork::Metadata) });
        assert_eq!(told.code().as_str_name(), format!("REFUSAL_CODE_{}", code.as_str()));
        assert_eq!((told.refused, told.destructive, told.remedy.as_str()), (true, true, "what to do"));
    }
    for (action, told) in [
        (StepAction::Add, Action::Add),
        (StepAction::Drop, Action::Drop),
        (StepAction::Rename, Action::Rename),
        (StepAction::Alter, Action::Alter),
    ] {
        let step = SchemaStep { action, ..step(person(), StepWork::Metadata) };
        assert_eq!(step_to_proto(step).action(), told);
        assert_eq!(told.as_str_name(), format!("ACTION_{}", action.as_str().to_uppercase()));
    }
}

#[test]
fn renames_come_back_and_half_of_one_is_refused() {
    for rename in [
        Rename { type_ref: TypeRef::node("Person"), property: None, to: "Human".into() },
        Rename { type_ref: TypeRef::edge("Knows"), property: Some("since".into()), to: "from_day".into() },
    ] {
        assert_eq!(rename_to_engine("renames[0]", rename_to_proto(rename.clone())).unwrap(), rename);
    }
    let node = |name: &str| Some(v1::TypeRef { kind: v1::EntityKind::Node.into(), type_name: name.into() });
    let rename = |ty, to: &str| v1::SchemaRename { r#type: ty, property: String::new(), new_name: to.into() };
    let unkind = Some(v1::TypeRef { kind: 0, type_name: "Person".into() });
    for (wrong, field) in [
        (rename(None, "B"), "renames[0].type"),
        (rename(unkind, "B"), "renames[0].type.kind"),
        (rename(node(""), "B"), "renames[0].type.type_name"),
        (rename(node("A"), ""), "renames[0].new_name"),
    ] {
        let definition = v1::SchemaDefinition { form: Some(Form::Source("node A {}".into())) };
        let error = wish_to_engine(Some(definition), vec![wrong]).unwrap_err();
        assert_eq!((error.reason(), error.metadata()["field"].as_str()), (Reason::InvalidArgument, field));
    }
}

#[test]
fn nothing_is_dropped_by_omission() {
    let error = wish_to_engine(None, Vec::new()).unwrap_err();
    assert_eq!((error.reason(), error.metadata()["field"].as_str()), (Reason::InvalidArgument, "schema"));
    let empty = v1::SchemaDefinition { form: Some(Form::Source(String::new())) };
    assert_eq!(wish_to_engine(Some(empty), Vec::new()).unwrap_err().reason(), Reason::InvalidSchema);
}

#[test]
fn a_plan_tells_the_resulting_schema_in_both_forms() {
    let mut schema =
        omnigraph_engine::schema::parse("node Person { slug: String @key  age: I32? @default(3) }").unwrap();
    schema.types[0].id = "T1".into();
    schema.types[0].properties[1].id = 7;
    let plan = SchemaPlan { head: "C".into(), schema: schema.clone(), steps: vec![step(person(), StepWork::Metadata)] };
    let answer = plan_to_proto(plan, v1::CommitRef { id: "C".into(), ..v1::CommitRef::default() });
    assert_eq!((answer.changes.len(), answer.read.unwrap().id.as_str()), (1, "C"));
    let message = answer.schema.unwrap();
    let stable = |at: usize| message.node_types[0].properties[at].stable_id.as_str();
    assert_eq!((message.node_types[0].stable_id.as_str(), stable(0), stable(1)), ("T1", "", "7"));
    assert_eq!(schema::to_engine(message).unwrap(), schema);
    let text = omnigraph_engine::schema::parse(&answer.source).unwrap();
    assert_eq!(text.types[0].properties[1].annotations, schema.types[0].properties[1].annotations);
}
