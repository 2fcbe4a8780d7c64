//! Indexes: that maintenance builds what is declared, that nothing but speed depends on them, and that they keep
//! up with writers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use omnigraph_engine::Graph;
use omnigraph_engine::maintenance::optimize::OptimizeReport;
use omnigraph_engine::model::{
    Actor, Change, CompareOp, EdgePolicy, IndexStatus, LoadMode, Predicate, Target, TypeRef, Value, WriteOptions,
};
use omnigraph_tests::{content, graph, head, load};

const LIBRARY: &str = r#"
node Doc {
    slug: String @key
    title: String? @index
    body: String? @index(kind="text")
    code: String? @index(kind="ngram")
    size: I64? @index
    live: Bool? @index
    state: enum(draft, final, gone)? @index
    tags: [String]? @index
    face: Vector(4)? @index(metric="l2")
}
edge Cites: Doc -> Doc { weight: F64? @index }
"#;

fn doc(i: usize, round: usize) -> String {
    let n = i * 7 + round;
    let state = ["draft", "final", "gone"][n % 3];
    format!(
        "{{\"type\":\"Doc\",\"data\":{{\"slug\":\"d{i}\",\"title\":\"title {}\",\"body\":\"words {} and {}\",\
         \"code\":\"xx{}yy\",\"size\":{},\"live\":{},\"state\":\"{state}\",\"tags\":[\"t{}\",\"u\"],\
         \"face\":[{n}.0,1.0,2.0,{i}.5]}}}}\n",
        n % 11,
        n % 5,
        n % 3,
        n % 13,
        n % 17,
        n.is_multiple_of(2),
        n % 4,
    )
}

fn docs(range: std::ops::Range<usize>, round: usize) -> String {
    let mut text = String::new();
    for i in range.clone() {
        text += &doc(i, round);
        if i > range.start {
            let _ = writeln!(
                text,
                "{{\"edge\":\"Cites\",\"from\":\"d{i}\",\"to\":\"d{}\",\"data\":{{\"id\":\"c{i}-{round}\",\"weight\":{i}.5}}}}",
                i - 1
            );
        }
    }
    text
}

fn compare(property: &str, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { property: property.to_string(), op, value }
}

fn text(value: &str) -> Value {
    Value::String(value.to_string())
}

fn questions() -> Vec<(TypeRef, Predicate)> {
    let doc = || TypeRef::node("Doc");
    let cites = || TypeRef::edge("Cites");
    let starts = |p: &str, v: &str| Predicate::StartsWith { property: p.to_string(), prefix: v.to_string() };
    let contains = |p: &str, v: &str| Predicate::Contains { property: p.to_string(), substring: v.to_string() };
    vec![
        (doc(), compare("id", CompareOp::Eq, text("d7"))),
        (doc(), starts("id", "d1")),
        (doc(), compare("title", CompareOp::Eq, text("title 3"))),
        (doc(), compare("title", CompareOp::Ge, text("title 5"))),
        (doc(), starts("title", "title 1")),
        (doc(), contains("code", "x12y")),
        (doc(), contains("code", "1")),
        (doc(), compare("size", CompareOp::Lt, Value::I64(5))),
        (doc(), Predicate::In { property: "size".into(), values: vec![Value::I64(3), Value::I64(16)] }),
        (doc(), compare("live", CompareOp::Eq, Value::Bool(true))),
        (doc(), compare("state", CompareOp::Ne, text("gone"))),
        (doc(), Predicate::IsNull { property: "size".into() }),
        (
            doc(),
            Predicate::And(vec![
                compare("live", CompareOp::Eq, Value::Bool(false)),
                Predicate::Or(vec![
                    compare("size", CompareOp::Gt, Value::I64(9)),
                    compare("state", CompareOp::Eq, text("draft")),
                ]),
            ]),
        ),
        (cites(), compare("src", CompareOp::Eq, text("d9"))),
        (cites(), compare("dst", CompareOp::Eq, text("d9"))),
        (cites(), compare("weight", CompareOp::Ge, Value::F64(20.0))),
    ]
}

async fn answers(graph: &Graph, branch: &str) -> Vec<Vec<String>> {
    let snapshot = graph.snapshot(&head(branch)).await.unwrap();
    let mut out = Vec::new();
    for (type_ref, predicate) in questions() {
        let found = graph.find(&snapshot, &type_ref, Some(&predicate), None, 10_000).await.unwrap();
        out.push(found.iter().map(|e| format!("{} {:?}", e.id, e.properties)).collect());
    }
    out
}

async fn status(graph: &Graph, branch: &str) -> BTreeMap<String, IndexStatus> {
    let snapshot = graph.snapshot(&head(branch)).await.unwrap();
    let found = graph.index_status(&snapshot).await.unwrap();
    found.into_iter().map(|s| (format!("{}.{}", s.type_ref.name, s.index.column), s)).collect()
}

fn assert_settled(report: &OptimizeReport) {
    assert_eq!(report.commit, None, "{report:?}");
    assert!(report.tables.iter().all(|t| !t.committed), "{report:?}");
}

/// Ten updates and deletes in commits of their own, and rows that no index covers yet.
async fn churn(graph: &Graph, branch: &str, round: usize) {
    for i in 0..10 {
        load(graph, branch, LoadMode::Merge, &doc(i * 3, round + i)).await.unwrap();
    }
    load(graph, branch, LoadMode::Merge, &docs(100 + round * 5..104 + round * 5, round)).await.unwrap();
    let gone = Change::Delete {
        type_ref: TypeRef::node("Doc"),
        target: Target::Ids(vec![format!("d{}", 40 + round)]),
        edges: EdgePolicy::Cascade,
    };
    let options = WriteOptions { branch: branch.to_string(), ..WriteOptions::default() };
    graph.mutate(vec![gone], &options).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_declared_is_built_and_no_answer_depends_on_it() {
    // The twin is never optimised, so it never has an index.
    let (g, twin) = (graph("indexes", LIBRARY).await.unwrap(), graph("indexes-twin", LIBRARY).await.unwrap());
    for each in [&g, &twin] {
        load(each, "main", LoadMode::Append, &docs(0..60, 0)).await.unwrap();
        load(each, "main", LoadMode::Append, &docs(60..70, 0)).await.unwrap();
    }
    assert!(status(&g, "main").await.values().all(|s| !s.present && !s.pending.is_empty() && s.rows_uncovered > 0));
    let report = g.optimize("main", 2).await.unwrap();
    let commits = g.commits("main", None, 2).await.unwrap();
    assert_eq!(report.commit.as_deref(), Some(commits[0].id.as_str()), "one commit holds all of it");
    assert_ne!(commits[1].operation, "optimize");
    let docs_row = report.tables.iter().find(|t| t.table_key == "node:Doc").unwrap();
    let pending: Vec<_> = docs_row.pending_indexes.iter().map(|p| p.columns.join(",")).collect();
    assert_eq!(pending, ["face"], "{docs_row:?}");
    assert!(docs_row.pending_indexes[0].reason.contains("70 vectors"), "{docs_row:?}");
    let built = status(&g, "main").await;
    for (name, s) in &built {
        if name != "Doc.face" {
            assert!(s.present && s.pending.is_empty() && s.rows_uncovered == 0 && s.bytes > 0, "{name}: {s:?}");
        }
    }
    assert_eq!(built["Doc.slug"].rows_covered, 70);
    assert_eq!(built["Cites.src"].rows_covered, 68);
    assert_settled(&g.optimize("main", 2).await.unwrap());
    for round in 1..7 {
        assert_eq!(answers(&g, "main").await, answers(&twin, "main").await, "round {round}, optimised");
        churn(&g, "main", round).await;
        churn(&twin, "main", round).await;
        assert!(status(&g, "main").await["Doc.title"].rows_uncovered > 0);
        assert_eq!(answers(&g, "main").await, answers(&twin, "main").await, "round {round}, written to");
        assert!(g.optimize("main", 2).await.unwrap().commit.is_some());
        assert_settled(&g.optimize("main", 2).await.unwrap());
        let now = status(&g, "main").await;
        assert!(now.iter().all(|(name, s)| name == "Doc.face" || s.rows_uncovered == 0), "{now:?}");
    }
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), content(&twin, &head("main")).await.unwrap().len());
    let verified = g.verify().await.unwrap();
    assert!(verified.is_clean(), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_are_indexed_once_there_are_enough_of_them() {
    let g = graph("vectors", LIBRARY).await.unwrap();
    load(&g, "main", LoadMode::Append, &docs(0..1_200, 0)).await.unwrap();
    let report = g.optimize("main", 2).await.unwrap();
    assert!(report.tables.iter().all(|t| t.pending_indexes.is_empty()), "{report:?}");
    let face = &status(&g, "main").await["Doc.face"];
    assert!(face.present && face.rows_covered == 1_200, "{face:?}");
    assert_settled(&g.optimize("main", 2).await.unwrap());
    churn(&g, "main", 1).await;
    g.optimize("main", 2).await.unwrap();
    assert_eq!(status(&g, "main").await["Doc.face"].rows_uncovered, 0);
    assert_settled(&g.optimize("main", 2).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_uses_the_indexes_it_inherits_and_extends_them_for_itself() {
    let (g, twin) = (graph("forked", LIBRARY).await.unwrap(), graph("forked-twin", LIBRARY).await.unwrap());
    for each in [&g, &twin] {
        for i in 0..6 {
            load(each, "main", LoadMode::Append, &docs(i * 10..i * 10 + 10, 0)).await.unwrap();
        }
    }
    g.optimize("main", 2).await.unwrap();
    for each in [&g, &twin] {
        each.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
        churn(each, "b", 1).await;
    }
    assert_eq!(answers(&g, "b").await, answers(&twin, "b").await);
    let before = answers(&g, "main").await;
    for round in 2..5 {
        g.optimize("b", 2).await.unwrap();
        assert_settled(&g.optimize("b", 2).await.unwrap());
        let now = status(&g, "b").await;
        assert!(now.iter().all(|(name, s)| name == "Doc.face" || s.rows_uncovered == 0), "{now:?}");
        assert_eq!(answers(&g, "b").await, answers(&twin, "b").await, "round {round}");
        for each in [&g, &twin] {
            churn(each, "b", round).await;
        }
        assert_eq!(answers(&g, "b").await, answers(&twin, "b").await, "round {round}");
    }
    assert_eq!(answers(&g, "main").await, before);
    let verified = g.verify().await.unwrap();
    assert!(verified.is_clean(), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_neither_fail_nor_keep_a_table_from_being_optimised() {
    let g = graph("busy", LIBRARY).await.unwrap();
    load(&g, "main", LoadMode::Append, &docs(0..50, 0)).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for w in 0..2_usize {
        let (g, stop) = (g.clone(), stop.clone());
        writers.push(tokio::spawn(async move {
            let mut n = 0;
            while !stop.load(Ordering::SeqCst) {
                load(&g, "main", LoadMode::Merge, &(doc(w * 20 + n % 20, n) + &doc(1_000 + w * 10_000 + n, n))).await?;
                n += 1;
            }
            Ok::<_, omnigraph_engine::Error>(n)
        }));
    }
    // One that meets a table nobody wrote to since the last has nothing to do.
    let (mut commits, begun) = (0, std::time::Instant::now());
    while commits < 4 {
        let report = g.optimize("main", 2).await.unwrap();
        commits += usize::from(report.commit.is_some());
        assert!(report.tables.iter().all(|t| t.skipped.is_none()), "{report:?}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{commits} had an effect");
    }
    stop.store(true, Ordering::SeqCst);
    let mut written = 50;
    for writer in writers {
        written += writer.await.unwrap().unwrap();
    }
    g.optimize("main", 2).await.unwrap();
    assert_settled(&g.optimize("main", 2).await.unwrap());
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let all = g.find(&snapshot, &TypeRef::node("Doc"), None, None, 10_000).await.unwrap();
    assert_eq!(all.len(), written);
    for entity in all.iter().step_by(7) {
        for column in ["title", "size", "state", "live"] {
            let Some(value) = entity.properties.get(column) else { continue };
            let asked = compare(column, CompareOp::Eq, value.clone());
            let found = g.find(&snapshot, &TypeRef::node("Doc"), Some(&asked), None, 10_000).await.unwrap();
            let expected = all.iter().filter(|e| e.properties.get(column) == Some(value)).count();
            assert_eq!(found.len(), expected, "{asked:?}");
        }
    }
    assert!(g.verify().await.unwrap().is_clean());
}
