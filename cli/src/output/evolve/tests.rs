//! What steps look like, for people and for programs.

use super::*;
use omnigraph_engine::model::{Refusal, RefusalCode, TypeRef};

fn step(action: StepAction, subject: Subject, work: StepWork, description: &str) -> SchemaStep {
    let description = description.to_string();
    SchemaStep { action, subject, description, work, loses_data: false, refusal: None }
}

fn property(name: &str) -> Subject {
    Subject::Property(TypeRef::node("Person"), name.into())
}

fn plan() -> Plan {
    let rewrite = StepWork::Rewrite { rows: 1200, bytes: 9600 };
    let steps = vec![
        step(StepAction::Add, Subject::Type(TypeRef::node("Company")), StepWork::Metadata, "a new node type"),
        step(StepAction::Add, property("joined"), rewrite, "a new property"),
        SchemaStep { loses_data: true, ..step(StepAction::Drop, property("email"), StepWork::Metadata, "it goes") },
        step(StepAction::Alter, property("age"), StepWork::Check { rows: 1 }, "a range of 0..99"),
    ];
    Plan { head: "01J9".into(), steps, source: "node Company {}\n".into() }
}

fn refused() -> Plan {
    let mut plan = plan();
    let remedy = "ada has 120; change it or widen the range".to_string();
    plan.steps[3].refusal = Some(Refusal { code: RefusalCode::RangeViolated, remedy });
    plan
}

#[test]
fn a_plan_is_a_table_with_the_command_that_applies_it() {
    let text = plan_text(&plan(), "main", "omnigraph schema apply g s.pg --expected-head 01J9", Paint::Plain);
    let expected = "\
branch main at 01J9

+ node:Company        metadata only                a new node type
+ node:Person.joined  rewrites 1,200 rows, 9.6 KB  a new property
- node:Person.email   metadata only, loses data    it goes
~ node:Person.age     checks 1 row                 a range of 0..99

4 steps: 1 loses data
to apply exactly this:
  omnigraph schema apply g s.pg --expected-head 01J9
";
    assert_eq!(text, expected);
    let coloured = plan_text(&plan(), "main", "c", Paint::Coloured);
    assert!(coloured.contains("\u{1b}[32m+ node:Company") && coloured.contains("\u{1b}[31m- node:Person.email"));
}

#[test]
fn what_is_refused_says_why_and_offers_no_command() {
    let text = plan_text(&refused(), "main", "omnigraph schema apply", Paint::Plain);
    let below = "a range of 0..99\n    refused, RANGE_VIOLATED: ada has 120; change it or widen the range\n";
    assert!(text.contains(below) && text.contains("4 steps: 1 refused, 1 loses data"), "{text}");
    assert!(!text.contains("omnigraph schema apply"));
    let json = plan_json(&refused(), "main");
    assert_eq!((&json["refused"], &json["loses_data"], &json["head"]), (&json!(1), &json!(true), &json!("01J9")));
    assert_eq!(json["steps"][3]["refusal"]["code"], "RANGE_VIOLATED");
}

#[test]
fn nothing_to_do_is_said() {
    let plan = Plan { steps: Vec::new(), ..plan() };
    assert_eq!(
        plan_text(&plan, "review", "c", Paint::Plain),
        "nothing to do: branch review has this schema already, at 01J9\n"
    );
    assert_eq!(plan_json(&plan, "review")["steps"], json!([]));
}

#[test]
fn programs_are_told_every_member() {
    let interface = step(StepAction::Rename, Subject::Interface("Named".into()), StepWork::Metadata, "d");
    assert_eq!(
        step_json(&interface, true),
        json!({
            "action": "rename", "subject": "interface:Named", "kind": null, "type": null, "property": null,
            "interface": "Named", "description": "d", "cost": {"work": "metadata", "rows": 0, "bytes": 0},
            "loses_data": false, "refusal": null,
        })
    );
    let json = step_json(&plan().steps[1], true);
    assert_eq!((&json["kind"], &json["type"], &json["property"]), (&json!("node"), &json!("Person"), &json!("joined")));
    assert_eq!(json["cost"], json!({"work": "rewrite", "rows": 1200, "bytes": 9600}));
}

#[test]
fn a_difference_tells_no_costs() {
    let diff = SchemaDiff { before: "A".into(), after: "B".into(), steps: plan().steps };
    assert_eq!(diff_json(&diff)["steps"][1]["cost"], Json::Null);
    let text = diff_text(&diff, Paint::Plain);
    assert!(text.starts_with("+ node:Company        a new node type\n"), "{text}");
    assert!(!text.contains("rows"));
    assert_eq!(diff_text(&SchemaDiff { steps: Vec::new(), ..diff }, Paint::Plain), "");
}

#[test]
fn a_question_names_what_is_lost() {
    assert_eq!(losses(&plan()), "node:Person.email");
    let mut many = plan();
    many.steps = vec![many.steps[2].clone(); 7];
    assert!(losses(&many).ends_with("node:Person.email and 2 more"));
}

#[test]
fn numbers_are_easy_to_read() {
    for (count, text) in [(0, "0 rows"), (1, "1 row"), (999, "999 rows"), (1000, "1,000 rows")] {
        assert_eq!(counted(count, "row"), text);
    }
    assert_eq!(counted(12_345_678, "row"), "12,345,678 rows");
    for (bytes, text) in [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (9600, "9.6 KB"),
        (999_949, "999.9 KB"),
        (999_960, "1.0 MB"),
        (u64::MAX, "18.4 EB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn nothing_that_a_server_says_moves_the_cursor() {
    let mut plan = plan();
    plan.steps[0].description = "a\u{1b}[2Jb\nc".into();
    let text = plan_text(&plan, "main", "c", Paint::Plain);
    assert!(!text.contains('\u{1b}') && text.lines().count() == 10, "{text}");
}
