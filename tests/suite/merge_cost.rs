//! What comparing and merging cost follows what changed, not what the tables hold.

use std::fmt::Write as _;

use futures::TryStreamExt;
use omnigraph_engine::failpoint::{FaultPlan, Requests};
use omnigraph_engine::model::{Actor, DiffFilter, LoadMode, MergeHow, MergeOutcome, MergeRequest, WriteOptions};
use omnigraph_engine::{Access, Graph};
use omnigraph_tests::{create, engine, engine_with, head, load, memory_root};

const WIDE: usize = 32;

fn schema() -> String {
    format!("node Doc {{ slug: String @key  n: I64?  v: Vector({WIDE})? }} edge Cites: Doc -> Doc {{ n: I64? }}")
}

fn docs(range: std::ops::Range<usize>, n: usize) -> String {
    let mut text = String::new();
    for at in range {
        let vector: Vec<String> = (0..WIDE).map(|d| format!("{}", (at * 7 + d + n) % 97)).collect();
        let _ =
            writeln!(text, r#"{{"type":"Doc","data":{{"slug":"doc-{at:07}","n":{n},"v":[{}]}}}}"#, vector.join(","));
    }
    text
}

/// Costs of a preview, a diff and a merge, each in a process that has nothing warm.
#[derive(Debug)]
struct Costs {
    preview: Requests,
    diff: Requests,
    merge: Requests,
}

async fn cold(root: &str) -> (std::sync::Arc<FaultPlan>, Graph, Requests) {
    let plan = FaultPlan::counting();
    let graph = engine_with(&plan).open(root, Access::ReadWrite).await.unwrap();
    let before = plan.requests();
    (plan, graph, before)
}

async fn measure(rows: usize, diverged: bool) -> Costs {
    let root = memory_root("merge-cost");
    let g = create(&engine(), &root, &schema()).await.unwrap();
    load(&g, "main", LoadMode::Append, &docs(0..rows, 0)).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    load(&g, "b", LoadMode::Merge, &docs(100..150, 1)).await.unwrap();
    if diverged {
        load(&g, "main", LoadMode::Merge, &docs(200..250, 2)).await.unwrap();
    }
    let (plan, graph, before) = cold(&root).await;
    let preview = graph.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
    assert_eq!((preview.conflicts.len(), preview.summary.counts[0].updated), (0, 50));
    let preview = plan.requests().since(&before);
    let (plan, graph, before) = cold(&root).await;
    let diff = graph.diff(&head("main"), &head("b"), &DiffFilter::default()).await.unwrap();
    let changes: Vec<_> = diff.changes.try_collect().await.unwrap();
    assert_eq!(changes.len(), if diverged { 100 } else { 50 });
    let diff = plan.requests().since(&before);
    let (plan, graph, before) = cold(&root).await;
    let request = MergeRequest { source: "b".into(), ..MergeRequest::default() };
    let merged = graph.merge(&request, &WriteOptions::default()).await.unwrap();
    let expected = if diverged { MergeOutcome::Merged } else { MergeOutcome::FastForward };
    assert_eq!(merged.outcome, expected);
    let merge = plan.requests().since(&before);
    assert!(g.verify().await.unwrap().problems.is_empty());
    Costs { preview, diff, merge }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merging_fifty_rows_costs_the_same_in_a_large_table() {
    for diverged in [false, true] {
        let (small, large) = (measure(1_000, diverged).await, measure(20_000, diverged).await);
        let pairs = [
            ("preview", small.preview, large.preview),
            ("diff", small.diff, large.diff),
            ("merge", small.merge, large.merge),
        ];
        for (what, small, large) in pairs {
            let figures = format!("{what}, diverged {diverged}: {small:?} against {large:?}");
            assert!(large.total() <= small.total() + 2, "{figures}");
            // Less than the rows alone, were they read.
            assert!(large.bytes_got <= 2 * small.bytes_got + 64 * 1024, "{figures}");
            println!("{figures}");
        }
    }
}
