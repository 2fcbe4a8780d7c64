//! Joining schemas: what goes together, what does not.

use super::*;
use crate::model::SchemaWish;
use crate::schema::assign_ids;

const BASE: &str = "node P { k: String @key  a: I32?  b: String? @index  e: enum(x, y)? }
node Q { k: String @key }
edge E: P -> Q { w: F64? }";

/// A side: the base changed as a `.pg` text says, with ids of its own for what is new.
fn side(base: &Schema, text: &str, number: u32) -> Schema {
    let wish = SchemaWish::from(crate::schema::parse(text).unwrap());
    let mut next = number;
    let mut schema = crate::schema::evolve::joined(base, &wish).unwrap();
    for ty in &mut schema.types {
        for property in ty.properties.iter_mut().filter(|p| p.id == 0) {
            property.id = next * 1000;
            next += 1;
        }
    }
    assign_ids(&mut schema, &mut || {
        next += 1;
        format!("T{number}-{next}")
    });
    schema
}

fn base() -> Schema {
    side(&Schema::default(), BASE, 1)
}

fn both(target: &str, source: &str) -> (String, Vec<String>) {
    let base = base();
    let Merged { schema, conflicts } = merged(&base, &side(&base, target, 20), &side(&base, source, 40));
    assert!(conflicts.iter().all(|c| c.kind == ConflictKind::Schema));
    (crate::schema::print(&schema), conflicts.into_iter().map(|c| c.message).collect())
}

/// What a text says, in whatever order.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

fn expect(text: &str) -> String {
    crate::schema::print(&crate::schema::parse(text).unwrap())
}

#[test]
fn what_one_side_changed_is_taken_and_what_both_changed_differently_is_told() {
    let renamed = BASE.replace("node P {", "node Person @was(P) {").replace("P -> Q", "Person -> Q");
    let added = BASE.replace("a: I32?", "a: I32? @range(0..9)  c: Date?");
    let (text, conflicts) = both(&renamed, &added);
    assert_eq!(conflicts, Vec::<String>::new());
    let expected =
        "node Person { k: String @key  a: I32?  b: String? @index  e: enum(x, y)?  c: Date?  @range(a, 0..9) }
        node Q { k: String @key }
        edge E: Person -> Q { w: F64? }";
    assert_eq!(text, expect(expected));
    for (target, source, message) in [
        (renamed.clone(), renamed.replace("Person", "Human"), "both sides changed the name of Person"),
        (
            BASE.replace("a: I32?", "a: I64?"),
            BASE.replace("a: I32?", "a: String?"),
            "both sides changed the type of P.a",
        ),
        (
            BASE.replace("a: I32?", "a: I32? n: I32?"),
            BASE.replace("a: I32?", "a: I32? n: Date?"),
            "both sides added P.n, as I32? and as Date?",
        ),
        (
            BASE.replace("  a: I32?", ""),
            BASE.replace("a: I32?", "a: I64?"),
            "the target dropped and the source changed",
        ),
        (
            BASE.replace("a: I32?", "z: I32? @was(a)"),
            BASE.replace("a: I32?", "a: I32? z: Date?"),
            "two different properties of P would be called z",
        ),
        (format!("{BASE} node N {{ a: I32? }}"), format!("{BASE} node N {{ b: I32? }}"), "both sides added node N"),
        (
            BASE.replace("edge E: P -> Q { w: F64? }", ""),
            BASE.replace("w: F64?", "w: F64? v: I32?"),
            "the target dropped E",
        ),
        (
            BASE.replace("a: I32?", "a: I32? @range(0..9)"),
            BASE.replace("a: I32?", "a: I32? @range(0..8)"),
            "a range of P",
        ),
    ] {
        let (_, conflicts) = both(&target, &source);
        assert!(conflicts.iter().any(|c| c.contains(message)), "{message}: {conflicts:?}");
        let (_, conflicts) = both(&source, &target);
        assert!(!conflicts.is_empty(), "{message}, the other way round");
    }
}

#[test]
fn sets_take_what_either_side_did() {
    let target = BASE.replace("enum(x, y)?", "enum(x, y, z)? @unique").replace("b: String? @index", "b: String?");
    let source = BASE.replace("enum(x, y)?", "enum(x, w)?").replace("a: I32?", "a: I32? @index @unique");
    let (text, conflicts) = both(&target, &source);
    assert_eq!(conflicts, Vec::<String>::new());
    let expected = BASE
        .replace("a: I32?", "a: I32? @index @unique")
        .replace("b: String? @index", "b: String?")
        .replace("enum(x, y)?", "enum(x, z, w)? @unique");
    assert_eq!(words(&text), words(&expect(&expected)));
}

#[test]
fn what_both_sides_did_alike_is_no_conflict() {
    let same = format!("{} node N {{ k: String @key }}", BASE.replace("a: I32?", "a: I64? n: I32?"));
    let (text, conflicts) = both(&same, &same);
    assert_eq!(conflicts, Vec::<String>::new());
    assert_eq!(words(&text), words(&expect(&same)));
    let dropped = BASE.replace("edge E: P -> Q { w: F64? }", "");
    let (text, conflicts) = both(&dropped, &BASE.replace("a: I32?", "a: I64?"));
    assert_eq!((text, conflicts.len()), (expect(&dropped.replace("a: I32?", "a: I64?")), 0));
}

#[test]
fn two_schemas_that_do_not_go_together_are_told() {
    let target = BASE.replace("edge E: P -> Q { w: F64? }", "").replace("node Q { k: String @key }", "");
    let source = format!("{BASE} edge F: P -> Q {{}}");
    let (_, conflicts) = both(&target, &source);
    assert!(conflicts.iter().any(|c| c.contains("do not go together")), "{conflicts:?}");
}
