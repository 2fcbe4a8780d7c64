//! Canonical text, and that it reads back as what was written.

use proptest::prelude::*;

use super::print;
use crate::schema::sample::{Tape, schema};
use crate::schema::{check, parse};

#[test]
fn the_canonical_text_of_an_example() {
    let source = r#"
        // comments and layout go
        interface Named @description("Has a name") { name: String? @index }
        node Person implements Named @entity {
            slug: String @key @check("^[a-z0-9-]+$"), age: I32? @range(0..150); born: Date?
            role: enum(staff, "on leave") @index  face: Vector(384)? @embed("bio", model = "m")
            tags: [String]? @description("said \"so\"")
            @unique(name, born) @range(born, "1900-01-01"..) @range(age, ..99)
        }
        edge Knows: Person -> Person @card(0..*)
        { since: DateTime? @range("2001-01-01T02:00:00.5+02:00".."2100-01-01T00:00:00Z")
          @unique(src, dst) }
    "#;
    let text = r#"interface Named @description("Has a name") {
  name: String? @index
}

node Person implements Named @entity {
  slug: String @key @check("^[a-z0-9-]+$")
  age: I32? @range(0..150)
  born: Date? @range("1900-01-01"..)
  role: enum(staff, "on leave") @index
  face: Vector(384)? @embed("bio", model = "m")
  tags: [String]? @description("said \"so\"")
  @unique(name, born)
  @range(age, ..99)
}

edge Knows: Person -> Person @card(0..*) {
  since: DateTime? @range("2001-01-01T00:00:00.500Z".."2100-01-01T00:00:00Z")
  @unique(src, dst)
}
"#;
    assert_eq!(print(&parse(source).unwrap()), text);
    assert_eq!(print(&parse(text).unwrap()), text);
}

#[test]
fn indexes_keep_their_kinds_and_metrics() {
    let source = r#"
        interface Named { name: String @index(name, kind = "ngram") }
        node N implements Named { bio: String note: String @index(bio, note, kind="text") @index(bio)
            face: Vector(3) @index(metric="cosine") back: Vector(3) @index(face, back, metric="cosine")
            title: String @index(kind="text") }
    "#;
    let text = r#"interface Named {
  name: String @index(kind="ngram")
}

node N implements Named {
  bio: String
  note: String
  face: Vector(3)
  back: Vector(3)
  title: String
  @index(bio, note, kind="text")
  @index(bio)
  @index(face, metric="cosine")
  @index(face, back, metric="cosine")
  @index(title, kind="text")
}
"#;
    let schema = parse(source).unwrap();
    assert_eq!(print(&schema), text);
    assert_eq!(parse(text).unwrap(), schema);
    let beside = "node N {\n  a: String @index(kind=\"text\") @index\n  b: Vector(2) @index(metric=\"dot\")\n}\n";
    assert_eq!(print(&parse(beside).unwrap()), beside);
}

#[test]
fn properties_out_of_the_inherited_order_are_written() {
    let source = "interface A { x: I32 y: I32 z: I32 } node N implements A { y: I32 own: Bool }";
    let schema = parse(source).unwrap();
    let text = print(&schema);
    assert!(text.contains("node N implements A {\n  y: I32\n  own: Bool\n}"), "{text}");
    assert_eq!(parse(&text).unwrap(), schema);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn reads_back_what_it_writes(tape in prop::collection::vec(any::<u8>(), 0..600)) {
        let schema = schema(&mut Tape(&tape));
        prop_assert_eq!(check(&schema), vec![]);
        let text = print(&schema);
        let read = parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&read, &schema, "{}", text);
        prop_assert_eq!(print(&read), text);
    }
}
