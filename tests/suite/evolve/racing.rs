//! Changes of schema beside writers, readers and other changes.

use futures::TryStreamExt;
use omnigraph_engine::Access;
use omnigraph_engine::Reason;
use omnigraph_engine::model::StepWork;

use super::*;

#[tokio::test]
async fn writers_readers_and_changes_of_schema_each_see_one_coherent_state() {
    let g = Stage::Populated.graph("racing").await;
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let texts = [
        BEFORE.replace("bio: String? @index", "bio: String? @index\n n1: I32? @default(1)"),
        BEFORE.replace("bio: String? @index", "bio: String? @index\n n1: I32? @default(1)\n n2: I32? @default(2)"),
        BEFORE.replace("bio: String? @index", "bio: String? @index\n n1: I64? @default(1)\n n2: I32? @default(2)"),
    ];
    let changing = async {
        for text in &texts {
            apply(&other, "main", text).await.unwrap();
        }
    };
    let writing = async {
        for n in 0..12 {
            let row = format!(r#"{{"type":"Person","data":{{"slug":"w{n}","age":{n}}}}}"#);
            load(&g, "main", LoadMode::Append, &row).await.unwrap();
        }
    };
    let reading = async {
        for _ in 0..12 {
            let state = g.snapshot(&head("main")).await.unwrap();
            let text: Vec<bytes::Bytes> = g.export(&state).try_collect().await.unwrap();
            let text = String::from_utf8(text.concat()).unwrap();
            let has = |name: &str| state.schema.types[0].property(name).is_some();
            for line in text.lines().filter(|line| line.contains(r#""type":"Person""#)) {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                for name in ["n1", "n2"] {
                    assert_eq!(value["data"].get(name).is_some_and(|v| !v.is_null()), has(name), "{line}");
                }
            }
        }
    };
    tokio::join!(changing, writing, reading);
    assert_eq!(content(&g, &head("main")).await.unwrap().iter().filter(|l| l.contains(r#""slug":"w"#)).count(), 12);
    verify(&g).await;
}

#[tokio::test]
async fn two_changes_of_schema_at_once_are_one_after_the_other() {
    let g = Stage::Populated.graph("twice").await;
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let one = BEFORE.replace("age: I32?", "age: I64?");
    let (a, b) = tokio::join!(apply(&g, "main", &one), apply(&other, "main", &one));
    let (a, b) = (a.unwrap().0, b.unwrap().0);
    assert!(a.changed != b.changed, "{a:?} {b:?}");
    verify(&g).await;
}

#[tokio::test]
async fn a_writer_of_a_type_that_is_gone_is_told() {
    let g = Stage::Populated.graph("gone").await;
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    other.branches().await.unwrap();
    apply(&g, "main", &BEFORE.replace("edge LivesIn: Person -> City\n", "")).await.unwrap();
    let row = r#"{"edge":"LivesIn","from":"bob","to":"Rome"}"#;
    let error = load(&other, "main", LoadMode::Append, row).await.unwrap_err();
    let reasons: Vec<Reason> =
        std::iter::once(error.reason()).chain(error.violations().iter().map(|v| v.reason)).collect();
    assert!(reasons.contains(&Reason::TypeNotFound), "{error:?}");
    other.delete_branch("nope", false, &Default::default()).await.unwrap_err();
    verify(&g).await;
}

#[tokio::test]
async fn what_is_metadata_costs_the_same_at_any_number_of_rows() {
    use omnigraph_engine::failpoint::FaultPlan;
    let mut costs = Vec::new();
    for rows in [10, 5_000] {
        let g = Stage::Empty.graph(&format!("cost{rows}")).await;
        let text: String = (0..rows)
            .map(|n| format!("{{\"type\":\"Person\",\"data\":{{\"slug\":\"p{n}\",\"bio\":\"b\"}}}}\n"))
            .collect();
        load(&g, "main", LoadMode::Append, &text).await.unwrap();
        let mut of = Vec::new();
        for (from, to) in [
            ("bio: String? @index", "bio: String? @index\n nick: String?"),
            ("bio: String? @index", "story: String? @index @was(bio)"),
            ("enum(staff, guest)", "enum(staff, guest, bot)"),
            ("age: I32?", "age: I32? @index"),
        ] {
            let plan = FaultPlan::counting();
            let counted = omnigraph_tests::engine_with(&plan).open(g.root(), Access::ReadWrite).await.unwrap();
            g.create_branch("c", &head("main"), &Default::default()).await.unwrap();
            counted.snapshot(&head("c")).await.unwrap();
            let before = plan.requests().total();
            let (_, steps) = apply(&counted, "c", &BEFORE.replacen(from, to, 1)).await.unwrap();
            assert!(steps.iter().all(|step| step.work == StepWork::Metadata), "{steps:?}");
            of.push(plan.requests().total() - before);
            g.delete_branch("c", false, &Default::default()).await.unwrap();
        }
        costs.push(of);
    }
    println!("requests of changes of schema that are metadata: {costs:?}");
    assert_eq!(costs[0], costs[1]);
}
