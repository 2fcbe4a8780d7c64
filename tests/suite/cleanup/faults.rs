//! Cleanups that fail on something or die on the way.

use omnigraph_engine::model::{Actor, TypeRef};
use omnigraph_tests::head;

use super::*;

/// A graph on which a cleanup has something to do for each of its tables.
async fn grown(place: &Place) -> Graph {
    let g = place.create().await;
    for i in 0..4 {
        let note = format!("{{\"type\":\"Note\",\"data\":{{\"text\":\"{i}\"}}}}\n");
        load(&g, "main", LoadMode::Append, &(person(&format!("p{i}"), 1) + &note)).await.unwrap();
    }
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "b", 0..3).await;
    g.create_branch("gone", &head("b"), &Actor::default()).await.unwrap();
    people(&g, "gone", 0..2).await;
    g.delete_branch("gone", false, &Actor::default()).await.unwrap();
    place.later(2 * HOUR);
    g
}

/// The writes and deletions of a cleanup, in order.
async fn steps(place: &Place) -> Vec<String> {
    grown(place).await;
    let plan = FaultPlan::counting();
    let cleaner = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
    plan.start_trace();
    let options = CleanupOptions { concurrency: 1, ..keep(1) };
    assert_eq!(cleaner.cleanup(&options).await.unwrap().errors(), 0);
    let changes = ["PUT ", "PUT-PART ", "PUT-COMPLETE ", "COPY ", "RENAME ", "DELETE "];
    plan.take_trace().into_iter().filter(|line| changes.iter().any(|verb| line.starts_with(verb))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_on_one_table_concerns_only_that_table() {
    let twin = Place::memory("fault-twin");
    let steps = steps(&twin).await;
    let place = Place::memory("fault");
    let g = grown(&place).await;
    let shown = [content(&g, &head("main")).await.unwrap(), content(&g, &head("b")).await.unwrap()];
    let pin = g.snapshot(&head("main")).await.unwrap().pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    // The same steps in the same order; the names differ, but not where a table's versions go.
    let versions = format!("/{}/_versions/", pin.location);
    let ours = steps.iter().position(|line| line.starts_with("DELETE") && line.contains(&versions)).unwrap();
    let plan = FaultPlan::counting();
    let cleaner = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
    plan.fail_once_at(ours as u64, false);
    let options = CleanupOptions { concurrency: 1, ..keep(1) };
    let report = cleaner.cleanup(&options).await.unwrap();
    assert!(plan.fired());
    let failed: Vec<&str> = report.tables.iter().filter(|t| t.error.is_some()).map(|t| t.table_key.as_str()).collect();
    assert_eq!((failed, report.errors()), (vec!["node:Person"], 1), "{report:?}");
    assert!(row(&report, "node:Note").old_versions_removed > 0);
    assert!(row(&report, "__manifest").old_versions_removed > 0);
    for graph in [&g, &place.open().await] {
        assert_eq!([content(graph, &head("main")).await.unwrap(), content(graph, &head("b")).await.unwrap()], shown);
    }
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().errors(), 0);
    expect_settled(&place, &keep(1)).await;
    assert_eq!(place.versions(&pin.location, None).await, [pin.version]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_that_dies_anywhere_leaves_what_is_kept_and_another_one_finishes() {
    let twin = Place::memory("death-twin");
    let count = steps(&twin).await.len();
    for k in (0..count).step_by(count.div_ceil(9)) {
        for lands in [false, true] {
            let place = Place::memory("death");
            let g = grown(&place).await;
            let (main, b) = (history(&g, "main").await, history(&g, "b").await);
            let (seen, seen_b) = (contents(&g, &main).await, contents(&g, &b).await);
            place.forget_reads();
            let plan = FaultPlan::counting();
            let cleaner = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
            plan.die_at(k as u64, lands);
            let _ = cleaner.cleanup(&CleanupOptions { concurrency: 1, ..keep(1) }).await;
            assert!(plan.fired(), "step {k} of {count}");
            let other = place.open().await;
            assert_eq!(content(&other, &head("main")).await.unwrap(), seen[4], "step {k}");
            assert_eq!(content(&other, &head("b")).await.unwrap(), seen_b[7], "step {k}");
            // Whatever can still be named can be read.
            for (commit, lines) in main.iter().zip(&seen).chain(b.iter().zip(&seen_b)) {
                match content(&other, &at(commit)).await {
                    Ok(found) => assert_eq!(found, *lines, "step {k}"),
                    Err(e) => assert_eq!(e.reason(), Reason::CommitNotFound, "step {k}: {e}"),
                }
            }
            assert_eq!(other.verify().await.unwrap().problems, Vec::new(), "step {k}");
            place.forget_reads();
            assert_eq!(other.cleanup(&keep(1)).await.unwrap().errors(), 0, "step {k}");
            expect_settled(&place, &keep(1)).await;
            expect_readable(&other, &main, &seen, &[4]).await;
            people(&other, "main", 9..10).await;
        }
    }
}
