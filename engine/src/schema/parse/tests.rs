//! What text means, and what is refused where. Each refusal is listed whole, so that nothing is reported twice.

mod hostile;

use super::parse;
use crate::error::Reason;
use crate::model::{
    Annotation, Cardinality, EntityKind, IndexDecl, IndexKind, Metric, PropertyType, RangeConstraint, ScalarType,
    Schema, TypeRef, Value,
};

const EXAMPLE: &str = r#"
interface Named { name: String @index }
node Person implements Named { slug: String @key   age: I32?   born: Date?   tags: [String]?
                               role: enum(staff, guest) @index   bio: String? @index(kind="text")
                               face: Vector(384)? @index(metric="l2") @embed("bio")   photo: Blob?
                               @unique(name, born)   @range(age, 0..150)   @check(slug, "^[a-z0-9-]+$") }
edge Knows: Person -> Person @card(0..*) { since: DateTime?  weight: F64?  @unique(src, dst) }
// line comments and /* block comments */
"#;

fn person(schema: &Schema) -> &crate::model::EntityType {
    schema.get(&TypeRef::node("Person")).unwrap()
}

/// Every problem of `source` as `line:column description`.
fn problems(source: &str) -> Vec<String> {
    let error = match parse(source) {
        Ok(schema) => panic!("accepted: {schema:#?}"),
        Err(error) => error,
    };
    assert_eq!(error.reason(), Reason::InvalidSchema, "{error}");
    let short = |field: &str| field.replace("line ", "").replace(", column ", ":");
    error.violations().iter().map(|v| format!("{} {}", short(&v.field), v.description)).collect()
}

/// Asserts that `source` has exactly the `expected` problems, each given as a position and a part.
#[track_caller]
fn refused(source: &str, expected: &[(&str, &str)]) {
    let found = problems(source);
    let matches = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(f, (position, part))| f.split_once(' ').is_some_and(|(p, d)| p == *position && d.contains(part)));
    assert!(matches, "{source}\nexpected {expected:#?}\nfound {found:#?}");
}

/// As [`refused`], for one problem in the body of `node N`, which starts at column 10.
#[track_caller]
fn refused_body(body: &str, position: &str, part: &str) {
    refused(&format!("node N {{ {body} }}"), &[(position, part)]);
}

#[test]
fn reads_the_example() {
    let schema = parse(EXAMPLE).unwrap();
    let person = person(&schema);
    let names: Vec<&str> = person.properties.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["slug", "age", "born", "tags", "role", "bio", "face", "photo", "name"]);
    assert_eq!(person.key, ["slug"]);
    let index = |column: &str, kind, metric| IndexDecl { columns: vec![column.into()], kind, metric };
    assert_eq!(
        person.indexes,
        [
            index("role", IndexKind::Auto, None),
            index("bio", IndexKind::Text, None),
            index("face", IndexKind::Auto, Some(Metric::L2)),
            index("name", IndexKind::Auto, None),
        ]
    );
    assert_eq!(person.unique, [["name", "born"]]);
    let age = RangeConstraint { property: "age".into(), min: Some(Value::I64(0)), max: Some(Value::I64(150)) };
    assert_eq!(person.ranges, [age]);
    assert_eq!(person.property("tags").unwrap().ty, PropertyType::List(ScalarType::String));
    assert!(person.property("tags").unwrap().nullable);
    let face = person.property("face").unwrap();
    assert_eq!(face.ty, PropertyType::Vector(384));
    assert_eq!(face.annotations, [Annotation { name: "embed".into(), arguments: "\"bio\"".into() }]);
    let knows = &schema.types[1];
    assert_eq!(knows.kind, EntityKind::Edge);
    assert_eq!(knows.cardinality, Some(Cardinality { min: 0, max: None }));
    assert_eq!(knows.unique, [["src", "dst"]]);
}

#[test]
fn separators_and_line_ends_do_not_matter() {
    let spaced = parse("node N { a: String @key b: I32? @range(1..2) @index(b) }").unwrap();
    for source in [
        "node N {a:String@key,b:I32?@range(1..2),@index(b)}",
        "node N {\r\n\ta: String @key;\r\n\tb: I32?\r\n\t@range(1 .. 2);;\r\n\t@index(b,)\r\n}",
        "\u{feff}node/**/N{a:String/*x*/@key//y\nb:I32?@range(b,1..2)@index(b)}//end",
    ] {
        assert_eq!(parse(source).unwrap(), spaced, "{source}");
    }
}

#[test]
fn keywords_and_foreign_words_are_names_where_names_stand() {
    let schema = parse(
        "node node { node: String edge: Bool enum: enum(enum, \"a b\") implements: I32 Vector: Vector(1)
                     repoName: String order: I64 interval: Date SELECT: F64 @key(order) }
         edge edge: node -> node
         edge interface: node -> node {}",
    )
    .unwrap();
    assert_eq!(schema.types[0].properties.len(), 9);
    assert_eq!(schema.types.len(), 3);
}

#[test]
fn annotations_belong_to_what_they_follow() {
    let schema = parse(
        r#"node N @description("type") @a(1) {
             @b  x: String @c @description("property"), @d  @description_like
             y: String @embed("x", model="m (1)") @e()
           }"#,
    )
    .unwrap();
    let ty = &schema.types[0];
    let names = |list: &[Annotation]| list.iter().map(|a| format!("{}({})", a.name, a.arguments)).collect::<Vec<_>>();
    assert_eq!(ty.description, "type");
    assert_eq!(ty.properties[0].description, "property");
    assert_eq!(names(&ty.annotations), ["a(1)", "b()", "d()", "description_like()"]);
    assert_eq!(names(&ty.properties[0].annotations), ["c()"]);
    assert_eq!(names(&ty.properties[1].annotations), ["embed(\"x\", model=\"m (1)\")", "e()"]);
}

#[test]
fn ranges_take_the_type_of_their_property() {
    let schema = parse(
        r#"node N { a: F64 @range(-1.5e3..) b: U64 @range(..18446744073709551615) c: I64 @range(-9223372036854775808..+7)
           @range(d, "1970-01-02".."1970-01-03") d: Date e: DateTime
           @range(e, "1970-01-01T01:00:00.000001+01:00"..*) }"#,
    )
    .unwrap();
    let bounds: Vec<_> = schema.types[0].ranges.iter().map(|r| (r.min.clone(), r.max.clone())).collect();
    assert_eq!(
        bounds,
        [
            (Some(Value::F64(-1500.0)), None),
            (None, Some(Value::U64(u64::MAX))),
            (Some(Value::I64(i64::MIN)), Some(Value::I64(7))),
            (Some(Value::Date(1)), Some(Value::Date(2))),
            (Some(Value::Timestamp(1)), None),
        ]
    );
}

#[test]
fn text_escapes() {
    let source = r#"node N { x: enum("\"\\\/\n\r\t", "\u0041\u{1F600}", "") }"#;
    let expected = ["\"\\/\n\r\t", "A😀", ""].map(String::from).to_vec();
    assert_eq!(parse(source).unwrap().types[0].properties[0].ty, PropertyType::Enum(expected));
    for bad in [r"\d", r"\u12", r"\u{}", r"\u{110000}", r"\ud800", r"\u{1234567}", r"\u+123"] {
        let found = problems(&format!("node N {{ x: enum(\"a{bad}\") }}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("1:20 found an unknown escape"), "{found:?}");
    }
}

#[test]
fn interfaces_give_what_the_type_does_not_declare() {
    let schema = parse(
        "node N implements A, B { b: I32 @index }
         interface A { a: String @index b: I32 @description(\"A's\") }
         interface B { b: I32 @index c: Bool }",
    )
    .unwrap();
    let ty = &schema.types[0];
    let names: Vec<&str> = ty.properties.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(ty.properties[0].description, "");
    assert_eq!(ty.indexes, ["b", "a"].map(|c| IndexDecl::auto(vec![c.into()])));
}

#[test]
fn interfaces_must_agree() {
    refused(
        "interface A { x: String }\ninterface B { x: String? y: I32 }\nnode N implements A, B, A, C { y: I64 }",
        &[
            ("3:22", "found `x` as String in node `N`, expected String? as in the interface `B`"),
            ("3:22", "found `y` as I64 in node `N`, expected I32"),
            ("3:25", "implements `A` twice"),
            ("3:28", "unknown interface `C`"),
        ],
    );
    refused(
        "interface A { x: I32 @unique @key @range(0..1) @check(\"a\") }\nnode A implements N {} node N {}",
        &[
            ("1:22", "`@unique` in an interface"),
            ("1:30", "`@key`"),
            ("1:35", "`@range`"),
            ("1:48", "`@check`"),
            ("2:6", "`A` is declared as an interface already"),
            ("2:19", "`N` is a node type, expected an interface"),
        ],
    );
}

#[test]
fn all_reserved_names_are_listed_with_their_places() {
    let names = [
        "id",
        "src",
        "dst",
        "from",
        "to",
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_distance",
        "_score",
        "__id",
        "__x",
    ];
    let lines: Vec<String> = names.iter().map(|n| format!("  {n}: String")).collect();
    let found = problems(&format!("node N {{\n{}\n}}", lines.join("\n")));
    assert_eq!(found.len(), 14, "{found:#?}");
    for (i, (problem, name)) in found.iter().zip(names).enumerate() {
        assert!(problem.starts_with(&format!("{}:3 ", i + 2)), "{problem}");
        assert!(problem.contains("reserved") && problem.contains(name), "{problem}");
    }
    refused_body("Id: String", "1:10", "reserved");
    refused("node __N {} interface __I {}", &[("1:6", "reserved"), ("1:23", "reserved")]);
    refused("edge E: N -> N { From: Bool } node N {}", &[("1:18", "reserved")]);
}

#[test]
fn unknown_types_have_near_misses() {
    refused_body("a: Strng", "1:13", "did you mean `String`?");
    refused_body("a: string", "1:13", "did you mean `String`?");
    refused_body("a: int?", "1:13", "did you mean `I64`?");
    refused_body("a: Varchar(20)? @key", "1:13", "did you mean `String`?");
    refused_body("a: [Text]", "1:14", "did you mean `String`?");
    refused_body("a: [N]", "1:14", "a scalar type");
    refused_body("a: [[String]]? @index b: I32", "1:14", "a scalar type");
    refused_body("a: [String?]", "1:20", "members of a list may always be null");
    refused_body("a: [Blob]", "1:13", "list of Blob");
    refused_body("a: Vector b: I32", "1:20", "like `Vector(384)`");
    refused_body("a: Vector(x)", "1:20", "the number of dimensions");
    refused_body("a: Vector(1.5)", "1:20", "a whole number");
    refused_body("a: Vector(0)", "1:13", "0 dimensions, expected 1 to 65536");
    refused_body("a: Vector(99999999999)", "1:13", "dimensions, expected 1 to 65536");
    refused_body("a: enum", "1:18", "the members in parentheses");
    refused_body("a: enum()", "1:13", "without members");
    refused_body("a: enum(b, \"b\")", "1:13", "the member `b` twice");
    refused_body("a: enum(1)", "1:18", "found `1`, expected a member");
    refused(
        "node Person {} edge E: Persn -> E { } interface Person2 {} edge F: Person2 -> Person",
        &[
            ("1:24", "unknown type `Persn`, expected a declared node type; did you mean `Person`?"),
            ("1:33", "the edge type `E`"),
            ("1:68", "the interface `Person2`"),
        ],
    );
    refused("nod Person {}", &[("1:1", "did you mean `node`?")]);
    refused("Node Person {} type T {}", &[("1:1", "did you mean `node`?"), ("1:16", "found `type`")]);
}

#[test]
fn keys_unique_and_indexes_need_fitting_properties() {
    refused_body("a: String? @key", "1:21", "may be null, expected `String` without `?`");
    refused_body("a: Blob @key", "1:18", "no Blob, Vector or list");
    refused_body("a: Vector(3) @unique", "1:23", "no Blob, Vector or list");
    refused_body("a: [I32] b: I32 @unique(b, a)", "1:37", "of type [I32]");
    refused_body("slug: I32 @key(slgu)", "1:25", "did you mean `slug`?");
    refused_body("a: I32 @key(a, a)", "1:25", "names `a` twice");
    refused_body("a: I32 @key b: I32 @key", "1:29", "all properties of the key in one");
    refused_body("a: I32 @index @index(a)", "1:31", "`index` on `a` twice");
    refused_body("a: I32 @unique(a, src)", "1:28", "names `src`");
    refused_body("a: I32 @unique(id)", "1:25", "unique and indexed already");
    refused_body("@key a: I32", "1:10", "must name its property");
    refused_body("a: I32, @index", "1:18", "must name its property, like `@index(name)`");
    refused_body("a: I32 @key()", "1:22", "the name of a property");
    refused_body("a: I32 A: I32", "1:17", "in two spellings");
    refused_body("a: I32 a: String", "1:17", "twice");
    let edge = "node N {} edge E: N -> N { w: I32 @key(src, dst, w) @unique(src, w) @index(dst) }";
    assert_eq!(parse(edge).unwrap().types[1].key, ["src", "dst", "w"]);
}

#[test]
fn an_index_says_what_it_is_for() {
    let schema = parse(
        r#"interface Named { name: String @index(kind = "ngram") }
           node N implements Named { kind: String @index @index(kind="text") @index(kind, kind="ngram",)
             face: Vector(3) @index(metric="l2") near: Vector(3) metric: I64 @index(metric)
             @index(face, near, metric="l2") @index(near) @index(name, kind="text") }"#,
    )
    .unwrap();
    let index = |columns: &[&str], kind, metric| IndexDecl {
        columns: columns.iter().map(|c| c.to_string()).collect(),
        kind,
        metric,
    };
    assert_eq!(
        schema.types[0].indexes,
        [
            index(&["kind"], IndexKind::Auto, None),
            index(&["kind"], IndexKind::Text, None),
            index(&["kind"], IndexKind::Ngram, None),
            index(&["face"], IndexKind::Auto, Some(Metric::L2)),
            index(&["metric"], IndexKind::Auto, None),
            index(&["face", "near"], IndexKind::Auto, Some(Metric::L2)),
            index(&["near"], IndexKind::Auto, None),
            index(&["name"], IndexKind::Text, None),
            index(&["name"], IndexKind::Ngram, None),
        ]
    );
    parse("node N {} edge E: N -> N { @index(src) }").unwrap();
}

#[test]
fn what_an_index_is_for_must_be_known() {
    let kinds = "found unknown kind `txt`, expected one of \"text\", \"ngram\"; did you mean `text`?";
    refused_body("a: String @index(kind=\"txt\")", "1:32", kinds);
    refused_body("a: String @index(kind=\"\")", "1:32", "expected one of \"text\", \"ngram\"");
    let metrics = "found unknown metric `L2`, expected one of \"cosine\", \"l2\", \"dot\"; did you mean `l2`?";
    refused_body("a: Vector(3) @index(a, metric=\"L2\")", "1:40", metrics);
    let arguments = "found unknown argument `kin`, expected `kind` or `metric`; did you mean `kind`?";
    refused_body("a: String @index(kin=\"text\")", "1:27", arguments);
    refused_body("a: String @index(kind=text)", "1:32", "found `text`, expected one of \"text\", \"ngram\" as quoted");
    refused_body("a: String @index(kind=\"text\", kind=\"text\")", "1:40", "a second `kind`");
    refused_body("a: String @index(kind=\"text\", a)", "1:40", "found `a`, expected `)`");
    refused_body("a: String @index(kind \"text\")", "1:32", "found `\"text\"`, expected `)`");
    refused_body("a: String @index()", "1:27", "found `)`, expected the name of a property, or an argument");
    refused_body("@index(kind=\"text\") a: String", "1:10", "must name its property, like `@index(name)`");
    refused_body("a: String @key(a, kind=\"text\")", "1:32", "found `=`, expected `)`");
}

#[test]
fn indexes_need_fitting_properties() {
    refused_body("a: Blob @index", "1:18", "names `a` of type Blob, which cannot be indexed; expected any scalar");
    refused_body("a: [F32]? @index", "1:20", "names `a` of type [F32]?, which cannot be indexed");
    refused_body("b: I32 a: [F64] @index(b, a)", "1:36", "names `a` of type [F64], which cannot be indexed");
    for ty in ["I32", "Bool", "enum(x)", "[String]", "Vector(3)", "Blob", "[F64]"] {
        let place = format!("1:{}", 14 + ty.len());
        refused_body(&format!("a: {ty} @index(kind=\"text\")"), &place, "kind \"text\" needs a String");
        refused_body(&format!("a: {ty} @index(kind=\"ngram\")"), &place, "kind \"ngram\" needs a String");
    }
    for ty in ["I32", "String", "enum(x)", "[F32]", "Blob"] {
        let place = format!("1:{}", 14 + ty.len());
        refused_body(&format!("a: {ty} @index(metric=\"dot\")"), &place, "a metric needs a Vector");
    }
    for ty in ["String", "Vector(3)", "Blob"] {
        let place = format!("1:{}", 14 + ty.len());
        refused_body(&format!("a: {ty} @index(kind=\"text\", metric=\"l2\")"), &place, "has a kind and a metric");
    }
    refused_body("a: String @index(kind=\"text\") @index(a, kind=\"text\")", "1:47", "`index` on `a` twice");
    let metrics = "compares `a` by \"l2\" and by \"dot\", expected one metric";
    refused_body("a: Vector(3) @index(metric=\"l2\") @index @index(metric=\"dot\")", "1:50", metrics);
    refused(
        "node N {} edge E: N -> N { @index(src, dst, kind=\"text\") @index(src, metric=\"l2\") }",
        &[
            ("1:35", "names `src`, an end of its edges"),
            ("1:40", "names `dst`, an end of its edges"),
            ("1:65", "names `src`, an end of its edges"),
        ],
    );
    refused(
        "interface A { x: Vector(2) @index(metric=\"l2\") }\nnode N implements A { @index(x, metric=\"dot\") }",
        &[("2:6", "compares `x` by \"dot\" and by \"l2\"")],
    );
}

#[test]
fn ranges_need_fitting_properties() {
    refused_body("a: String @range(0..1)", "1:20", "of type String, expected I32");
    refused_body("a: [I32] @range(a, 0..1)", "1:26", "of type [I32], expected I32");
    refused_body("a: I32 @range(b, 0..1)", "1:24", "names `b`");
    refused_body("a: I32 @range(..)", "1:17", "without bounds");
    refused_body("a: I32 @range(5..1)", "1:17", "is empty: 5 is more than 1");
    refused_body("a: I32 @range(0..2147483648)", "1:27", "found `2147483648` as a bound of `a`");
    refused_body("a: U32 @range(-1..1)", "1:24", "an integer from 0");
    refused_body("a: I64 @range(0.5..)", "1:24", "expected an integer");
    refused_body("a: I64 @range(\"0\"..)", "1:24", "found the text `0`");
    refused_body("a: F64 @range(1e400..)", "1:24", "a finite number");
    refused_body("a: Date @range(\"2001-02-29\"..)", "1:25", "a quoted day");
    refused_body("a: Date @range(2001..)", "1:25", "a quoted day");
    refused_body("a: DateTime @range(\"2001-02-28\"..)", "1:29", "a quoted time");
    refused_body("a: DateTime @range(\"2001-02-28T00:00:00.0000001Z\"..)", "1:29", "microseconds");
    refused_body("a: I32 @range(a)", "1:25", "found `)`, expected `,`");
    refused_body("a: I32 @range(0-1)", "1:25", "found `-1`, expected `..`");
    refused_body("a: I32 @range", "1:24", "the bounds in parentheses");
}

#[test]
fn checks_and_cardinalities_need_fitting_declarations() {
    refused_body("a: I32 @check(\"x\")", "1:17", "of type I32, expected String or enum");
    refused_body("a: String @check(\"[a\")", "1:27", "is not a usable regular expression: unclosed");
    refused_body("a: String @check(b, \"a\")", "1:27", "names `b`");
    refused_body("a: String @check(a)", "1:28", "found `)`, expected `,`");
    refused_body("a: String @check", "1:27", "a regular expression in parentheses");
    refused("node N { @card(0..1) }", &[("1:10", "expected it on edge types only")]);
    let edge = |card: &str| format!("node N {{}} edge E: N -> N @card({card})");
    refused(&edge("2..1"), &[("1:26", "at least 2 and at most 1")]);
    refused(&edge("1"), &[("1:33", "`..` between")]);
    refused(&edge("-1..1"), &[("1:32", "a whole number of edges")]);
    refused(&edge("0..1) @card(0..1"), &[("1:38", "a second `@card`")]);
    let open = parse(&edge("..3")).unwrap();
    assert_eq!(open.types[1].cardinality, Some(Cardinality { min: 0, max: Some(3) }));
}

#[test]
fn type_names_are_unique() {
    refused("node A {} node A {}", &[("1:16", "a node type already")]);
    refused("interface A {} interface A {} node N {}", &[("1:26", "an interface already")]);
    refused(
        "node A {} edge Knows: A -> A edge KNOWS: A -> A edge Knows: A -> A",
        &[("1:35", "more than case; `KNOWS` is declared as `Knows`"), ("1:54", "an edge type already")],
    );
    parse("node A {} node a {} edge A: A -> a").unwrap();
    for empty in ["", " // nothing\n", "interface A { x: I32 }"] {
        refused(empty, &[("1:1", "declares no types")]);
    }
}

#[test]
fn one_pass_reports_everything() {
    refused(
        "node A { a String, b: , c: I32 @range(0..) ) d: Strin @key\n\
         node B implements { x: I32 @check }\n\
         edge E A -> { }\n\
         edge F: A -> Q @card(x) {\n  w: F64 £££ @unique(w v)\n  y: Bool\n}\n\
         whatever { a: b { } }\n\
         node C x: I32 }\n\
         node { y: Int }",
        &[
            ("1:12", "found `String`, expected `:`"),
            ("1:23", "found `,`, expected a type"),
            ("1:44", "found `)`, expected a property"),
            ("1:49", "did you mean `String`?"),
            ("2:1", "found `node`, expected `}`"),
            ("2:19", "the name of an interface"),
            ("2:35", "a regular expression in parentheses"),
            ("3:8", "found `A`, expected `:`"),
            ("3:13", "found `{`, expected the name of the destination"),
            ("4:14", "unknown type `Q`"),
            ("4:22", "a whole number of edges"),
            ("5:10", "found `£££`, expected a property"),
            ("5:24", "found `v`, expected `)`"),
            ("8:1", "found `whatever`, expected `interface`, `node` or `edge`"),
            ("9:8", "found `x`, expected `{`"),
            ("10:6", "found `{`, expected the name of the node"),
            ("10:11", "did you mean `I64`?"),
        ],
    );
}

#[test]
fn what_does_not_end_is_reported_where_it_begins() {
    refused("node N { a: String", &[("1:19", "found the end of the text, expected `}`")]);
    refused("node N {} /* ☃", &[("1:11", "comment is not closed")]);
    refused(
        "node N { ☃: I32 b: enum(\"a) }",
        &[
            ("1:10", "found `☃`, expected a property"),
            ("1:25", "text is not closed"),
            ("1:30", "found the end of the text, expected `)`"),
        ],
    );
    refused("node N { a: I32 @x(( } node M {}", &[("1:19", "parenthesis is not closed")]);
}
