//! Schemas that changed on branches, merged.

use omnigraph_engine::Reason;
use omnigraph_engine::model::{
    ConflictKind, MergeHow, MergeOutcome, MergeRequest, MergeResult, ReadSelector, WriteOptions,
};

use super::*;

async fn merge(g: &Graph, source: &str, target: &str) -> Result<MergeResult> {
    let request = MergeRequest { source: source.into(), ..MergeRequest::default() };
    g.merge(&request, &WriteOptions::on(target)).await
}

/// Two branches of one populated graph, each with its change of schema.
async fn apart(name: &str, target: &str, source: &str) -> Graph {
    let g = Stage::Populated.graph(name).await;
    for (branch, text) in [("t", target), ("s", source)] {
        g.create_branch(branch, &head("main"), &Default::default()).await.unwrap();
        apply(&g, branch, text).await.unwrap_or_else(|e| panic!("{name}: {branch}: {e}"));
    }
    g
}

async fn lines(g: &Graph, branch: &str) -> Vec<serde_json::Value> {
    let mut lines = content(g, &head(branch)).await.unwrap();
    lines.sort();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn row(g: &Graph, branch: &str, id: &str) -> serde_json::Value {
    let found = lines(g, branch).await.into_iter().find(|v| v["data"]["slug"] == id || v["data"]["handle"] == id);
    found.unwrap_or_else(|| panic!("{branch} lacks {id}"))["data"].clone()
}

#[tokio::test]
async fn a_branch_that_only_changed_its_schema_is_merged_fast_forward() {
    for (at, (from, to)) in [
        ("bio: String? @index", "story: String? @index @was(bio)"),
        ("bio: String? @index", "bio: String? @index\n level: I32 @default(3)"),
        ("age: I32?", "age: I64?"),
        ("    face: Vector(2)?\n", ""),
        ("edge Knows: Person -> Person", "edge Likes: Person -> Person @was(Knows)"),
        ("enum(staff, guest)", "enum(staff, guest, bot)"),
        ("node City", "node Team { name: String @key }\nnode City"),
        ("edge LivesIn: Person -> City\n", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let g = Stage::Branch.graph(&format!("forward{at}")).await;
        apply(&g, "b", &BEFORE.replacen(from, to, 1)).await.unwrap();
        let preview = g.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
        assert_eq!((preview.summary.outcome, preview.conflicts.len()), (MergeOutcome::FastForward, 0), "{to}");
        let merged = merge(&g, "b", "main").await.unwrap_or_else(|e| panic!("{to}: {e}"));
        assert_eq!(merged.outcome, MergeOutcome::FastForward, "{to}");
        assert_eq!(shown(&g, &head("main")).await, shown(&g, &head("b")).await, "{to}");
        assert_eq!(lines(&g, "main").await, lines(&g, "b").await, "{to}");
        assert_eq!(merge(&g, "b", "main").await.unwrap().outcome, MergeOutcome::AlreadyUpToDate, "{to}");
        verify(&g).await;
    }
}

#[tokio::test]
async fn a_rename_here_and_edits_there_go_together() {
    let renamed = BEFORE
        .replace("node Person {", "node Human @was(Person) {")
        .replace("Person -> Person", "Human -> Human")
        .replace("Person -> City", "Human -> City")
        .replace("bio: String? @index", "story: String? @index @was(bio)");
    let g = Stage::Branch.graph("renamed").await;
    apply(&g, "b", &renamed).await.unwrap();
    load(
        &g,
        "b",
        LoadMode::Merge,
        r#"{"type":"Human","data":{"slug":"ada","story":"second"}}
{"type":"Human","data":{"slug":"dee","story":"new"}}"#,
    )
    .await
    .unwrap();
    load(
        &g,
        "main",
        LoadMode::Merge,
        r#"{"type":"Person","data":{"slug":"ada","age":37}}
{"type":"Person","data":{"slug":"eve","bio":"late"}}"#,
    )
    .await
    .unwrap();
    merge(&g, "b", "main").await.unwrap();
    let ada = row(&g, "main", "ada").await;
    assert_eq!((&ada["age"], &ada["story"], &ada["bio"]), (&37.into(), &"second".into(), &serde_json::Value::Null));
    assert_eq!(row(&g, "main", "eve").await["story"], "late");
    assert_eq!(row(&g, "main", "dee").await["story"], "new");
    // And the other way round.
    merge(&g, "main", "b").await.unwrap();
    assert_eq!(lines(&g, "b").await, lines(&g, "main").await);
    verify(&g).await;
}

#[tokio::test]
async fn both_sides_add_properties_types_and_members() {
    let target = BEFORE
        .replace("age: I32?", "age: I32?\n nick: String?")
        .replace("enum(staff, guest)", "enum(staff, guest, bot)")
        .replace("node City", "node Team { name: String @key }\nnode City");
    let source = BEFORE
        .replace("age: I32?", "age: I64?\n level: I32 @default(3)")
        .replace("enum(staff, guest)", "enum(staff, guest, chief)")
        .replace("node City", "node Firm { name: String @key }\nedge Owns: Person -> Firm\nnode City");
    let g = apart("both", &target, &source).await;
    load(
        &g,
        "t",
        LoadMode::Merge,
        r#"{"type":"Person","data":{"slug":"ada","nick":"A","role":"bot"}}
{"type":"Person","data":{"slug":"dee"}}
{"type":"Team","data":{"name":"red"}}"#,
    )
    .await
    .unwrap();
    load(
        &g,
        "s",
        LoadMode::Merge,
        r#"{"type":"Person","data":{"slug":"ada","age":5000000000,"level":9}}
{"type":"Person","data":{"slug":"bob","role":"chief"}}
{"type":"Person","data":{"slug":"eve","level":1}}
{"type":"Firm","data":{"name":"Acme"}}
{"edge":"Owns","from":"eve","to":"Acme","data":{"id":"o1"}}"#,
    )
    .await
    .unwrap();
    let preview = g.preview_merge("s", "t", &MergeHow::default()).await.unwrap();
    assert_eq!(preview.conflicts, []);
    let merged = merge(&g, "s", "t").await.unwrap();
    assert_eq!(preview.summary.counts, merged.receipt.commit.counts);
    let ada = row(&g, "t", "ada").await;
    assert_eq!(
        (&ada["age"], &ada["level"], &ada["nick"], &ada["role"]),
        (&5_000_000_000_i64.into(), &9.into(), &"A".into(), &"bot".into())
    );
    let (bob, dee, eve) = (row(&g, "t", "bob").await, row(&g, "t", "dee").await, row(&g, "t", "eve").await);
    assert_eq!(
        (&bob["role"], &bob["level"], &dee["level"], &eve["level"]),
        (&"chief".into(), &3.into(), &3.into(), &1.into())
    );
    assert!(lines(&g, "t").await.iter().any(|v| v["edge"] == "Owns"));
    verify(&g).await;
    load(&g, "t", LoadMode::Merge, r#"{"type":"Person","data":{"slug":"ada","role":"chief","nick":"B"}}"#)
        .await
        .unwrap();
    assert_eq!(merge(&g, "s", "t").await.unwrap().outcome, MergeOutcome::AlreadyUpToDate);
    merge(&g, "t", "s").await.unwrap();
    assert_eq!(lines(&g, "s").await, lines(&g, "t").await);
    verify(&g).await;
}

#[tokio::test]
async fn what_both_sides_added_alike_is_one() {
    let same = BEFORE
        .replace("age: I32?", "age: I32?\n nick: String?")
        .replace("node City", "node Team { name: String @key  n: I32? }\nnode City");
    let g = apart("alike", &same, &same).await;
    load(
        &g,
        "t",
        LoadMode::Merge,
        r#"{"type":"Person","data":{"slug":"ada","nick":"A"}}
{"type":"Team","data":{"name":"red","n":1}}"#,
    )
    .await
    .unwrap();
    load(
        &g,
        "s",
        LoadMode::Merge,
        r#"{"type":"Person","data":{"slug":"bob","nick":"B"}}
{"type":"Team","data":{"name":"blue","n":2}}"#,
    )
    .await
    .unwrap();
    merge(&g, "s", "t").await.unwrap();
    assert_eq!((&row(&g, "t", "ada").await["nick"], &row(&g, "t", "bob").await["nick"]), (&"A".into(), &"B".into()));
    let teams: Vec<i64> =
        lines(&g, "t").await.iter().filter(|v| v["type"] == "Team").map(|v| v["data"]["n"].as_i64().unwrap()).collect();
    assert_eq!(teams.iter().sum::<i64>(), 3);
    verify(&g).await;
}

#[tokio::test]
async fn contradictions_are_schema_conflicts_in_the_list() {
    for (at, (target, source, named)) in [
        (BEFORE.replace("age: I32?", "age: I64?"), BEFORE.replace("    age: I32?\n", ""), "age"),
        (
            BEFORE.replace("bio: String?", "a: String? @was(bio)"),
            BEFORE.replace("bio: String?", "b: String? @was(bio)"),
            "the name",
        ),
        (
            BEFORE.replace("age: I32?", "age: I32?\n n: I32?"),
            BEFORE.replace("age: I32?", "age: I32?\n n: Date?"),
            "both sides added Person.n",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let g = apart(&format!("against{at}"), &target, &source).await;
        let before = g.snapshot(&head("t")).await.unwrap().head().to_string();
        let preview = g.preview_merge("s", "t", &MergeHow::default()).await.unwrap();
        assert!(preview.conflicts.iter().all(|c| c.kind == ConflictKind::Schema), "{:?}", preview.conflicts);
        assert!(preview.conflicts[0].message.contains(named), "{:?}", preview.conflicts);
        let error = merge(&g, "s", "t").await.unwrap_err();
        assert_eq!(error.reason(), Reason::MergeConflict);
        assert_eq!(g.snapshot(&head("t")).await.unwrap().head(), before);
        verify(&g).await;
    }
}

#[tokio::test]
async fn a_type_one_side_dropped_and_the_other_filled_is_a_conflict() {
    let g = Stage::Branch.graph("dropped").await;
    apply(&g, "b", &BEFORE.replace("edge LivesIn: Person -> City\n", "")).await.unwrap();
    load(&g, "main", LoadMode::Append, r#"{"edge":"LivesIn","from":"bob","to":"Rome"}"#).await.unwrap();
    let preview = g.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
    assert_eq!(preview.conflicts.len(), 1);
    assert!(preview.conflicts[0].message.contains("the source dropped edge:LivesIn, of which the target changed 1"));
}

#[tokio::test]
async fn a_rule_of_one_side_is_asked_of_the_rows_of_the_other() {
    for (at, (from, to, row, kind)) in [
        (
            "age: I32?",
            "age: I32? @range(0..50)",
            r#"{"type":"Person","data":{"slug":"dee","age":60}}"#,
            ConflictKind::ValueConstraintViolation,
        ),
        (
            "bio: String? @index",
            "bio: String? @index @unique",
            r#"{"type":"Person","data":{"slug":"dee","bio":"first"}}"#,
            ConflictKind::UniqueViolation,
        ),
        (
            "edge Knows: Person -> Person",
            "edge Knows: Person -> Person @card(0..2)",
            r#"{"edge":"Knows","from":"ada","to":"ada"}"#,
            ConflictKind::CardinalityViolation,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        for rule_on_target in [true, false] {
            let g = Stage::Branch.graph(&format!("rules{at}{rule_on_target}")).await;
            let (rule, rows) = if rule_on_target { ("main", "b") } else { ("b", "main") };
            apply(&g, rule, &BEFORE.replacen(from, to, 1)).await.unwrap();
            load(&g, rows, LoadMode::Append, row).await.unwrap();
            let preview = g.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
            let kinds: Vec<ConflictKind> = preview.conflicts.iter().map(|c| c.kind).collect();
            assert_eq!(kinds, [kind], "{to}, on the target: {rule_on_target}: {:?}", preview.conflicts);
            assert_eq!(merge(&g, "b", "main").await.unwrap_err().reason(), Reason::MergeConflict);
            verify(&g).await;
        }
    }
}

#[tokio::test]
async fn a_change_of_schema_is_taken_back_with_what_it_took_away() {
    let g = Stage::Populated.graph("revert").await;
    let before = (shown(&g, &head("main")).await, lines(&g, "main").await);
    let (receipt, _) = apply(
        &g,
        "main",
        &BEFORE.replace("    bio: String? @index\n", "").replace("age: I32?", "years: I32? @was(age)"),
    )
    .await
    .unwrap();
    load(&g, "main", LoadMode::Merge, r#"{"type":"City","data":{"name":"Oslo"}}"#).await.unwrap();
    g.revert(&receipt.commit.id, &MergeHow::default(), &WriteOptions::default()).await.unwrap();
    let after: Vec<_> = lines(&g, "main").await.into_iter().filter(|v| v["data"]["name"] != "Oslo").collect();
    assert_eq!(after, before.1);
    // The property came back behind the others.
    let words = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|l| l.trim().to_string()).collect();
        lines.sort();
        lines
    };
    assert_eq!(words(&shown(&g, &head("main")).await), words(&before.0));
    verify(&g).await;
    g.restore(&ReadSelector::Commit(receipt.commit.id.clone()), &WriteOptions::default()).await.unwrap();
    assert!(shown(&g, &head("main")).await.contains("years"));
    assert!(lines(&g, "main").await.iter().all(|v| v["data"]["name"] != "Oslo"));
    verify(&g).await;
}
