//! What a change looks like, for people and for programs.

use super::*;
use omnigraph_engine::model::Value;

fn schema() -> Schema {
    let source = "node Person { slug: String @key age: I32? bio: String? weight: F32? } \
                  edge Knows: Person -> Person { since: Date? }";
    omnigraph_engine::schema::parse(source).unwrap()
}

fn person(age: Option<i64>, bio: &str) -> Entity {
    let properties = [
        ("slug", Value::String("ada".into())),
        ("age", age.map_or(Value::Null, Value::I64)),
        ("bio", Value::String(bio.into())),
        ("weight", Value::Null),
    ];
    Entity {
        type_ref: TypeRef::node("Person"),
        id: "ada".into(),
        endpoints: None,
        properties: properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
    }
}

fn knows(to: &str) -> Entity {
    Entity {
        type_ref: TypeRef::edge("Knows"),
        id: "k".into(),
        endpoints: Some(("ada".into(), to.into())),
        properties: BTreeMap::from([("since".to_string(), Value::Date(30))]),
    }
}

fn differing(before: Option<Entity>, after: Option<Entity>, changed: &[&str]) -> EntityChange {
    let one = after.clone().or_else(|| before.clone()).unwrap();
    let changed = changed.iter().map(ToString::to_string).collect();
    EntityChange { type_ref: one.type_ref, id: one.id, before, after, changed }
}

fn plain(change: &EntityChange) -> String {
    text(change, &schema(), Paint::Plain)
}

#[test]
fn what_is_new_shows_its_values_in_declared_order() {
    let change = differing(None, Some(person(Some(36), "a\nb")), &[]);
    assert_eq!(plain(&change), "+ node:Person/ada\n    + slug: ada\n    + age: 36\n    + bio: a\\nb\n");
}

#[test]
fn what_differs_shows_both_values_of_what_changed() {
    let change = differing(Some(person(Some(36), "x")), Some(person(None, "x")), &["age"]);
    assert_eq!(plain(&change), "~ node:Person/ada\n    - age: 36\n    + age: ∅\n");
}

#[test]
fn edges_show_their_ends() {
    let moved = differing(Some(knows("bob")), Some(knows("grace")), &["dst"]);
    assert_eq!(plain(&moved), "~ edge:Knows/k (ada -> grace)\n    - dst: bob\n    + dst: grace\n");
    let gone = differing(Some(knows("bob")), None, &[]);
    assert_eq!(plain(&gone), "- edge:Knows/k (ada -> bob)\n    - since: 1970-01-31\n");
}

#[test]
fn colours_stand_for_what_happened() {
    let change = differing(Some(person(Some(1), "")), Some(person(Some(2), "")), &["age"]);
    let paint = Paint::Coloured;
    let lines = [
        paint.with(Ink::Yellow, "~ node:Person/ada"),
        paint.with(Ink::Red, "    - age: 1"),
        paint.with(Ink::Green, "    + age: 2"),
    ];
    assert_eq!(text(&change, &schema(), paint), lines.map(|line| line + "\n").concat());
}

#[test]
fn long_values_and_control_characters_are_not_shown_as_they_are() {
    let change = differing(None, Some(person(None, &("\u{1b}".to_string() + &"x".repeat(1000)))), &[]);
    let text = plain(&change);
    assert!(text.contains("bio: \\u{1b}xxx") && text.ends_with("…\n") && text.len() < 300, "{text}");
}

#[test]
fn a_change_as_json_has_both_records() {
    let change = differing(Some(knows("bob")), Some(knows("grace")), &["dst"]);
    let record =
        |to: &str| json!({"edge": "Knows", "from": "ada", "to": to, "data": {"id": "k", "since": "1970-01-31"}});
    assert_eq!(
        json(&change, &schema()),
        json!({
            "change": "update",
            "kind": "edge",
            "type": "Knows",
            "id": "k",
            "changed": ["dst"],
            "before": record("bob"),
            "after": record("grace"),
        })
    );
    let inserted = json(&differing(None, Some(knows("x")), &[]), &schema());
    assert_eq!((&inserted["change"], &inserted["before"]), (&json!("insert"), &Json::Null));
}

#[test]
fn changes_are_counted_by_type_with_their_sums() {
    let mut stat = Stat::default();
    stat.add(&differing(None, Some(knows("x")), &[]));
    stat.add(&differing(Some(knows("x")), Some(knows("y")), &["dst"]));
    stat.add(&differing(Some(person(None, "")), None, &[]));
    let counts = stat.counts();
    let all: Vec<_> = counts.iter().map(|c| (c.type_ref.clone(), [c.inserted, c.updated, c.deleted])).collect();
    assert_eq!(all, [(TypeRef::node("Person"), [0, 0, 1]), (TypeRef::edge("Knows"), [1, 1, 0])]);
    let table = counts_table(&counts);
    let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last, ["all", "1", "1", "1"]);
    assert_eq!(counts_table(&[]), "");
}
