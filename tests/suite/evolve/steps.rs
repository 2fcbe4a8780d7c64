//! Every kind of step on types without rows, with rows, and with rows that a branch inherits.

use omnigraph_engine::Access;

use super::*;

/// One change: what is replaced in the schema by what, the steps, and what becomes of the lines of content.
struct Case {
    name: &'static str,
    replace: &'static [(&'static str, &'static str)],
    steps: &'static [&'static str],
    lines: fn(&str) -> Option<String>,
}

fn same(line: &str) -> Option<String> {
    Some(line.to_string())
}

const CASES: &[Case] = &[
    Case {
        name: "add a nullable property",
        replace: &[("bio: String? @index", "bio: String? @index\n nick: String?")],
        steps: &["add Person.nick: String?"],
        lines: same,
    },
    Case {
        name: "rename a property",
        replace: &[("bio: String? @index", "story: String? @index @was(\"bio\")")],
        steps: &["rename Person.bio to story"],
        lines: |line| Some(line.replace(r#""bio":"#, r#""story":"#)),
    },
    Case {
        name: "rename a key property",
        replace: &[("slug: String @key", "handle: String @key @was(slug)")],
        steps: &["rename Person.slug to handle"],
        lines: |line| Some(line.replace(r#""slug":"#, r#""handle":"#)),
    },
    Case {
        name: "rename a node type",
        replace: &[
            ("node Person {", "node Human @was(\"Person\") {"),
            ("Person -> Person", "Human -> Human"),
            ("Person -> City", "Human -> City"),
        ],
        steps: &["rename node type Person to Human"],
        lines: |line| Some(line.replace(r#""type":"Person""#, r#""type":"Human""#)),
    },
    Case {
        name: "rename an edge type",
        replace: &[("edge Knows: Person -> Person", "edge Likes: Person -> Person @was(Knows)")],
        steps: &["rename edge type Knows to Likes"],
        lines: |line| Some(line.replace(r#""edge":"Knows""#, r#""edge":"Likes""#)),
    },
    Case {
        name: "drop a property",
        replace: &[("    face: Vector(2)?\n", "")],
        steps: &["drop Person.face"],
        lines: |line| Some(line.replace(r#""face":[1,2],"#, "").replace(r#""face":null,"#, "")),
    },
    Case {
        name: "drop an edge type",
        replace: &[("edge LivesIn: Person -> City\n", "")],
        steps: &["drop edge type LivesIn with its 1 entities"],
        lines: |line| (!line.contains("LivesIn")).then(|| line.to_string()),
    },
    Case {
        name: "drop a node type with its edges",
        replace: &[("edge LivesIn: Person -> City\n", ""), ("node City { name: String @key }\n", "")],
        steps: &["drop node type City with its 1 entities", "drop edge type LivesIn with its 1 entities"],
        lines: |line| (!line.contains("LivesIn") && !line.contains("City")).then(|| line.to_string()),
    },
    Case {
        name: "add a type",
        replace: &[("node City", "node Team { name: String @key }\nnode City")],
        steps: &["add node type Team"],
        lines: same,
    },
    Case {
        name: "widen integers",
        replace: &[("age: I32?", "age: I64?")],
        steps: &["change Person.age from I32? to I64?"],
        lines: same,
    },
    Case {
        name: "widen floats",
        replace: &[("score: F32?", "score: F64?")],
        steps: &["change Person.score from F32? to F64?"],
        lines: same,
    },
    Case {
        name: "widen an enum",
        replace: &[("enum(staff, guest)?", "enum(staff, guest, bot)?")],
        steps: &["change Person.role from enum(staff, guest)? to enum(staff, guest, bot)?"],
        lines: same,
    },
    Case {
        name: "make an enum a text",
        replace: &[("enum(staff, guest)?", "String?")],
        steps: &["change Person.role from enum(staff, guest)? to String?"],
        lines: same,
    },
    Case {
        name: "narrow an enum by what nobody has",
        replace: &[("since: I32?", "since: I32? @range(0..9)")],
        steps: &["limit Knows.since to a range"],
        lines: same,
    },
    Case {
        name: "declare uniqueness, a pattern and a number of edges that hold",
        replace: &[
            ("bio: String? @index", "bio: String? @index @unique @check(\"^[a-z]+$\")"),
            ("edge Knows: Person -> Person", "edge Knows: Person -> Person @card(0..2)"),
        ],
        steps: &[
            "require (bio) to be unique among Person",
            "require Person.bio to match ^[a-z]+$",
            "let each source have 0..2 edges Knows",
        ],
        lines: same,
    },
    Case {
        name: "declare and drop indexes",
        replace: &[("bio: String? @index", "bio: String?"), ("age: I32?", "age: I32? @index")],
        steps: &["declare an index of Person on (age), for `optimize` to build", "declare no index of Person on (bio)"],
        lines: same,
    },
    Case {
        name: "describe",
        replace: &[("age: I32?", "age: I32? @description(\"in years\") @unit(years)")],
        steps: &["change the description or annotations of Person.age"],
        lines: same,
    },
    Case {
        name: "reorder",
        replace: &[
            ("    age: I32?\n", ""),
            ("photo: Blob?", "photo: Blob?\n age: I32?"),
            ("enum(staff, guest)", "enum(guest, staff)"),
        ],
        steps: &[],
        lines: same,
    },
];

impl Case {
    fn after(&self) -> String {
        self.replace.iter().fold(BEFORE.to_string(), |text, (from, to)| {
            assert!(text.contains(from), "{}: {from}", self.name);
            text.replacen(from, to, 1)
        })
    }
}

/// Lines by what they say, whatever the order of members.
fn sorted(mut lines: Vec<String>) -> Vec<serde_json::Value> {
    lines.sort();
    let mut values: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    values.iter_mut().for_each(drop_nulls);
    values.sort_by_key(ToString::to_string);
    values
}

fn drop_nulls(value: &mut serde_json::Value) {
    if let Some(data) = value.get_mut("data").and_then(|d| d.as_object_mut()) {
        data.retain(|_, value| !value.is_null());
    }
}

async fn takes(case: &Case, stage: Stage) {
    let label = format!("{} ({stage:?})", case.name);
    let g = stage.graph(case.name).await;
    let branch = stage.branch();
    let before = content(&g, &head(branch)).await.unwrap();
    let old_head = g.snapshot(&head(branch)).await.unwrap().head().to_string();
    let old_schema = shown(&g, &head(branch)).await;
    let planned = g.plan_schema(branch, &wish(&case.after())).await.unwrap();
    let (receipt, steps) = apply(&g, branch, &case.after()).await.unwrap_or_else(|e| panic!("{label}: {e}"));
    assert_eq!(planned.steps, steps, "{label}");
    let expected: Vec<String> =
        case.steps
            .iter()
            .map(|step| {
                if stage == Stage::Empty { step.replace("its 1 entities", "its 0 entities") } else { step.to_string() }
            })
            .collect();
    assert_eq!(words(&steps), expected, "{label}");
    assert_eq!(receipt.changed, !case.steps.is_empty(), "{label}");
    let after: Vec<String> = before.iter().filter_map(|line| (case.lines)(line)).collect();
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    for graph in [&g, &other] {
        let now = content(graph, &head(branch)).await.unwrap_or_else(|e| panic!("{label}: {e}"));
        assert_eq!(sorted(now), sorted(after.clone()), "{label}");
        let old = ReadSelector::Commit(old_head.clone());
        assert_eq!(content(graph, &old).await.unwrap(), before, "{label}: the old commit");
        assert_eq!(shown(graph, &old).await, old_schema, "{label}: the old schema");
    }
    // The same again is nothing, also with the words about the change still in it.
    let (again, steps) = apply(&other, branch, &case.after()).await.unwrap_or_else(|e| panic!("{label}: again: {e}"));
    assert!(!again.changed && steps.is_empty(), "{label}: {steps:#?}");
    // What is there can be written and maintained.
    let text: String = after.iter().map(|line| format!("{line}\n")).collect();
    load(&other, branch, LoadMode::Merge, &text).await.unwrap_or_else(|e| panic!("{label}: load: {e}"));
    other.optimize(branch, 1).await.unwrap_or_else(|e| panic!("{label}: optimize: {e}"));
    assert_eq!(sorted(content(&other, &head(branch)).await.unwrap()), sorted(after), "{label}: after optimize");
    if stage == Stage::Branch {
        assert_eq!(content(&g, &head("main")).await.unwrap(), before, "{label}: main");
    }
    verify(&g).await;
}

#[tokio::test]
async fn every_step_does_what_it_says_to_types_without_rows() {
    for case in CASES {
        takes(case, Stage::Empty).await;
    }
}

#[tokio::test]
async fn every_step_does_what_it_says_to_types_with_rows() {
    for case in CASES {
        takes(case, Stage::Populated).await;
    }
}

#[tokio::test]
async fn every_step_does_what_it_says_to_rows_that_a_branch_inherits() {
    for case in CASES {
        takes(case, Stage::Branch).await;
    }
}

#[tokio::test]
async fn a_name_that_is_dropped_and_declared_again_begins_a_new_life() {
    for stage in STAGES {
        let g = stage.graph("again").await;
        let branch = stage.branch();
        let without = BEFORE.replace("    bio: String? @index\n", "").replace("edge LivesIn: Person -> City\n", "");
        apply(&g, branch, &without).await.unwrap();
        let (_, steps) = apply(&g, branch, BEFORE).await.unwrap();
        assert_eq!(
            words(&steps),
            [
                "add Person.bio: String?",
                "declare an index of Person on (bio), for `optimize` to build",
                "add edge type LivesIn from Person to City"
            ]
        );
        let now = content(&g, &head(branch)).await.unwrap();
        assert!(now.iter().all(|line| !line.contains("first") && !line.contains("LivesIn")), "{now:#?}");
        verify(&g).await;
    }
}

#[tokio::test]
async fn names_can_be_swapped_with_renames_that_are_asked_for() {
    use omnigraph_engine::model::{Rename, TypeRef};
    let g = Stage::Populated.graph("swap").await;
    let rename = |from: &str, to: &str| Rename { type_ref: TypeRef::edge(from), property: None, to: to.to_string() };
    let text = BEFORE
        .replace("edge Knows: Person -> Person { since: I32? }", "edge LivesIn: Person -> Person { since: I32? }")
        .replace("edge LivesIn: Person -> City", "edge Knows: Person -> City");
    let swapped = SchemaWish { renames: vec![rename("Knows", "LivesIn"), rename("LivesIn", "Knows")], ..wish(&text) };
    let (_, steps) = apply_wish(&g, "main", swapped).await.unwrap();
    assert_eq!(words(&steps), ["rename edge type Knows to LivesIn", "rename edge type LivesIn to Knows"]);
    let now = content(&g, &head("main")).await.unwrap();
    assert_eq!(now.iter().filter(|line| line.contains(r#""edge":"LivesIn""#)).count(), 2, "{now:#?}");
    verify(&g).await;
}
