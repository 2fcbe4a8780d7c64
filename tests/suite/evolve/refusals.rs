//! What the graph cannot take has no effect, and says which entity, which rule, which code and what to do.

use omnigraph_engine::Reason;
use omnigraph_engine::model::{Rename, TypeRef};

use super::*;

async fn refused(g: &Graph, name: &str, text: &str) -> (String, String) {
    let before = g.snapshot(&head("main")).await.unwrap();
    let plan = g.plan_schema("main", &wish(text)).await.unwrap();
    let refusals: Vec<_> = plan.steps.iter().filter_map(|step| step.refusal.clone()).collect();
    assert_eq!(refusals.len(), 1, "{name}: {:#?}", plan.steps);
    let error = apply(g, "main", text).await.unwrap_err();
    assert_eq!(error.reason(), Reason::SchemaRefused, "{name}");
    assert_eq!(error.violations().len(), 1, "{name}");
    assert_eq!(error.metadata()["code"], refusals[0].code.as_str(), "{name}");
    assert!(error.message().contains(&refusals[0].remedy), "{name}: {error}");
    let after = g.snapshot(&head("main")).await.unwrap();
    assert_eq!((before.version, before.head()), (after.version, after.head()), "{name}");
    (refusals[0].code.as_str().to_string(), refusals[0].remedy.clone())
}

// long: one line a case
#[tokio::test]
async fn what_rows_stand_against_is_refused_and_names_them() {
    let g = Stage::Populated.graph("refused").await;
    for (name, from, to, code, named) in [
        (
            "a required property",
            "bio: String? @index",
            "bio: String? @index\n nick: String",
            "REQUIRED_WITHOUT_DEFAULT",
            "@default",
        ),
        ("nulls", "age: I32?", "age: I32", "NULL_FOUND", r#""bob""#),
        ("missing blobs", "photo: Blob?", "photo: Blob", "NULL_FOUND", r#""cy""#),
        ("a member in use", "enum(staff, guest)", "enum(staff)", "ENUM_VALUE_IN_USE", r#""cy""#),
        ("a text that is no member", "bio: String? @index", "bio: enum(first)? @index", "ENUM_VALUE_IN_USE", r#""cy""#),
        ("a range", "age: I32?", "age: I32? @range(10..)", "RANGE_VIOLATED", r#""cy": found 7"#),
        ("a pattern", "bio: String? @index", "bio: String? @index @check(\"^f\")", "CHECK_VIOLATED", r#""cy""#),
        (
            "uniqueness",
            "edge Knows: Person -> Person { since: I32? }",
            "edge Knows: Person -> Person { since: I32? @unique(src) }",
            "UNIQUE_VIOLATED",
            r#""k1" and "k2""#,
        ),
        (
            "too many edges",
            "edge Knows: Person -> Person",
            "edge Knows: Person -> Person @card(0..1)",
            "CARDINALITY_VIOLATED",
            r#""ada" has 2 edges"#,
        ),
        (
            "too few edges",
            "edge Knows: Person -> Person",
            "edge Knows: Person -> Person @card(1..*)",
            "CARDINALITY_VIOLATED",
            r#""bob" has 0 edges"#,
        ),
        ("a narrower type", "age: I32?", "age: U32?", "TYPE_CHANGED", "another name"),
        ("another dimension", "face: Vector(2)?", "face: Vector(3)?", "TYPE_CHANGED", "another name"),
        ("another key", "slug: String @key", "slug: String", "KEY_CHANGED", "export"),
        (
            "other ends",
            "edge Knows: Person -> Person",
            "edge Knows: Person -> City",
            "ENDPOINTS_CHANGED",
            "another name",
        ),
        (
            "a default that repeats",
            "bio: String? @index",
            "bio: String? @index\n n: I32 @default(1) @unique",
            "UNIQUE_VIOLATED",
            "share (n)",
        ),
        (
            "a default outside of its range",
            "bio: String? @index",
            "bio: String? @index\n n: I32 @default(1) @range(2..)",
            "RANGE_VIOLATED",
            "found 1",
        ),
        (
            "a backfill from nowhere",
            "bio: String? @index",
            "bio: String? @index\n n: I32? @backfill(nope)",
            "BAD_DEFAULT",
            "nope",
        ),
        (
            "a backfill of another type",
            "bio: String? @index",
            "bio: String? @index\n n: I32? @backfill(bio)",
            "BAD_DEFAULT",
            "String?",
        ),
        (
            "a backfill with gaps",
            "bio: String? @index",
            "bio: String? @index\n n: I32 @backfill(age)",
            "REQUIRED_WITHOUT_DEFAULT",
            "@default",
        ),
    ] {
        let text = BEFORE.replacen(from, to, 1);
        assert_ne!(text, BEFORE, "{name}");
        let (found, remedy) = refused(&g, name, &text).await;
        assert_eq!(found, code, "{name}: {remedy}");
        assert!(remedy.contains(named), "{name}: {remedy}");
    }
    verify(&g).await;
}

#[tokio::test]
async fn without_rows_nothing_stands_against_it() {
    let g = Stage::Empty.graph("unrefused").await;
    let text = BEFORE
        .replace("age: I32?", "age: String")
        .replace("face: Vector(2)?", "face: Vector(3)")
        .replace("node City { name: String @key }", "node City { name: String  zip: I32 @key }");
    apply(&g, "main", &text).await.unwrap();
    let row = r#"{"type":"Person","data":{"slug":"ada","age":"old","face":[1,2,3]}}
{"type":"City","data":{"name":"Rome","zip":1}}"#;
    load(&g, "main", LoadMode::Append, row).await.unwrap();
    verify(&g).await;
}

#[tokio::test]
async fn what_takes_data_away_needs_consent() {
    let g = Stage::Populated.graph("consent").await;
    let text = BEFORE.replace("    bio: String? @index\n", "").replace("edge LivesIn: Person -> City\n", "");
    let before = g.snapshot(&head("main")).await.unwrap();
    let without = SchemaApply { wish: wish(&text), consent: false };
    let error = g.apply_schema(&without, &WriteOptions::default()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::ConfirmationRequired);
    let fields: Vec<&str> = error.violations().iter().map(|v| v.field.as_str()).collect();
    assert_eq!(fields, ["node:Person.bio", "edge:LivesIn"]);
    assert_eq!(g.snapshot(&head("main")).await.unwrap().head(), before.head());
    // Where there is no data, none is lost.
    let empty = Stage::Empty.graph("consent").await;
    empty.apply_schema(&without, &WriteOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_wish_that_makes_no_sense_is_refused() {
    let g = Stage::Populated.graph("nonsense").await;
    let rename = |of: &str, property: Option<&str>, to: &str| Rename {
        type_ref: TypeRef::node(of),
        property: property.map(ToString::to_string),
        to: to.to_string(),
    };
    for (rename, reason) in [
        (rename("Persn", None, "City"), Reason::TypeNotFound),
        (rename("Person", Some("agee"), "age"), Reason::PropertyNotFound),
        (rename("Person", None, "Human"), Reason::InvalidSchema),
        (rename("Person", Some("age"), "years"), Reason::InvalidSchema),
    ] {
        let wish = SchemaWish { renames: vec![rename], ..wish(BEFORE) };
        assert_eq!(g.plan_schema("main", &wish).await.unwrap_err().reason(), reason);
        assert_eq!(apply_wish(&g, "main", wish).await.unwrap_err().reason(), reason);
    }
    let twice = BEFORE.replace("age: I32?", "age: I32?\n years: I32? @was(slug)\n old: I32? @was(slug)");
    let twice = twice.replace("slug: String @key", "handle: String @key");
    assert_eq!(apply(&g, "main", &twice).await.unwrap_err().reason(), Reason::InvalidSchema);
    let bad = BEFORE.replace("age: I32?", "age: I32? @default(\"x\")");
    let error = omnigraph_engine::schema::parse(&bad).unwrap_err();
    assert!(
        error.reason() == Reason::InvalidSchema && error.violations()[0].description.contains("@default"),
        "{error:?}"
    );
    let invalid = SchemaWish::default();
    assert_eq!(g.plan_schema("main", &invalid).await.unwrap_err().reason(), Reason::InvalidSchema);
}

#[tokio::test]
async fn a_plan_is_carried_out_as_it_was_seen_or_not_at_all() {
    let g = Stage::Populated.graph("bound").await;
    let text = BEFORE.replace("age: I32?", "age: I64?");
    let plan = g.plan_schema("main", &wish(&text)).await.unwrap();
    let bound = WriteOptions { expected_head: plan.head.clone(), ..WriteOptions::default() };
    load(&g, "main", LoadMode::Merge, r#"{"type":"City","data":{"name":"Oslo"}}"#).await.unwrap();
    let change = SchemaApply { wish: wish(&text), consent: false };
    assert_eq!(g.apply_schema(&change, &bound).await.unwrap_err().reason(), Reason::HeadMoved);
    let plan = g.plan_schema("main", &wish(&text)).await.unwrap();
    let bound = WriteOptions { expected_head: plan.head, request_id: "once".into(), ..WriteOptions::default() };
    let (first, steps) = g.apply_schema(&change, &bound).await.unwrap();
    assert_eq!((first.replayed, steps.len()), (false, 1));
    let (again, steps) = g.apply_schema(&change, &bound).await.unwrap();
    assert_eq!((again.replayed, steps.len(), again.commit.id), (true, 0, first.commit.id));
}

#[tokio::test]
async fn a_protected_branch_takes_no_change_of_schema() {
    let g = Stage::Branch.graph("protected").await;
    g.protect_branch("b", true, &Default::default()).await.unwrap();
    let text = BEFORE.replace("age: I32?", "age: I64?");
    assert_eq!(apply(&g, "b", &text).await.unwrap_err().reason(), Reason::BranchProtected);
}
