//! That cleanups leave what later merges begin from.

use omnigraph_engine::model::{MergeOutcome, MergeRequest, WriteOptions};

use super::*;

async fn merge(graph: &Graph, source: &str, target: &str) {
    let request = MergeRequest { source: source.into(), ..MergeRequest::default() };
    let done = graph.merge(&request, &WriteOptions::on(target)).await.unwrap();
    assert_ne!(done.outcome, MergeOutcome::AlreadyUpToDate, "{source} into {target}");
}

async fn cleaned(place: &Place, graph: &Graph) -> omnigraph_engine::maintenance::cleanup::CleanupReport {
    place.later(2 * HOUR);
    let report = graph.cleanup(&keep(1)).await.unwrap();
    assert_eq!(report.errors(), 0, "{report:?}");
    assert_eq!(graph.verify().await.unwrap().problems, Vec::new());
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_merged_stays_for_the_next_merge() {
    let place = Place::memory("bases");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "b", 0..3).await;
    people(&g, "main", 2..3).await;
    merge(&g, "b", "main").await;
    let base = g.branch("b").await.unwrap().head;
    people(&g, "b", 3..5).await;
    people(&g, "main", 3..5).await;
    let report = cleaned(&place, &g).await;
    for table in ["__manifest", "node:Person"] {
        assert_eq!(row(&report, table).versions_kept["base of main and b"], 1, "{report:?}");
    }
    let shown = content(&g, &ReadSelector::Commit(base)).await.unwrap();
    assert_eq!(shown.len(), 2 + 3);
    merge(&g, "b", "main").await;
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 5 + 5);
    // The next one would begin at what was merged now.
    let report = cleaned(&place, &g).await;
    assert!(!row(&report, "__manifest").versions_kept.contains_key("base of main and b"), "{report:?}");
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_branch_that_two_others_took_in_stays_between_them() {
    let place = Place::memory("third");
    let g = place.create().await;
    people(&g, "main", 0..1).await;
    for name in ["b", "c"] {
        g.create_branch(name, &head("main"), &Actor::default()).await.unwrap();
    }
    people(&g, "c", 0..2).await;
    people(&g, "b", 0..1).await;
    people(&g, "main", 1..2).await;
    merge(&g, "c", "b").await;
    merge(&g, "c", "main").await;
    let base = g.branch("c").await.unwrap().head;
    g.delete_branch("c", false, &Actor::default()).await.unwrap();
    people(&g, "b", 1..3).await;
    people(&g, "main", 2..4).await;
    let report = cleaned(&place, &g).await;
    assert_eq!(reclaimed(&report, "branch"), 0, "{report:?}");
    assert_eq!(row(&report, "__manifest").versions_kept["base of main and b"], 1, "{report:?}");
    assert_eq!(content(&g, &ReadSelector::Commit(base)).await.unwrap().len(), 3);
    merge(&g, "b", "main").await;
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 4 + 3 + 2);
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    let report = cleaned(&place, &g).await;
    assert_eq!(reclaimed(&report, "branch"), 2, "{report:?}");
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_criss_cross_keeps_both_sides_and_what_they_come_from() {
    let place = Place::memory("cross");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "main", 2..3).await;
    people(&g, "b", 0..1).await;
    for (name, from) in [("old main", "main"), ("old b", "b")] {
        g.create_branch(name, &head(from), &Actor::default()).await.unwrap();
    }
    merge(&g, "old b", "main").await;
    merge(&g, "old main", "b").await;
    for name in ["old main", "old b"] {
        g.delete_branch(name, false, &Actor::default()).await.unwrap();
    }
    people(&g, "main", 3..5).await;
    people(&g, "b", 1..3).await;
    let report = cleaned(&place, &g).await;
    let kept = &row(&report, "__manifest").versions_kept;
    assert_eq!((kept["base of main and b"], kept.contains_key("fork")), (2, true), "{report:?}");
    merge(&g, "b", "main").await;
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 5 + 3);
    cleaned(&place, &g).await;
}
