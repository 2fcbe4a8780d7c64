//! What stays: by the policy, by where branches began, by who reads.

use futures::StreamExt;
use omnigraph_engine::model::{Actor, TypeRef};
use omnigraph_tests::head;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_commits_of_every_branch_stay_and_nothing_else() {
    let place = Place::memory("exact");
    let g = place.create().await;
    people(&g, "main", 0..4).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "main", 4..6).await;
    people(&g, "b", 0..3).await;
    let (main, b) = (history(&g, "main").await, history(&g, "b").await);
    assert_eq!((main.len(), b.len()), (7, 8));
    let (seen, seen_b) = (contents(&g, &main).await, contents(&g, &b).await);
    place.later(2 * HOUR);
    let report = g.cleanup(&keep(2)).await.unwrap();
    assert!(!report.preview && report.errors() == 0, "{report:?}");
    assert_eq!((report.commits_kept, report.commits_removed), (5, 5));
    let told: Vec<_> = report.branches.iter().map(|b| (b.branch.as_str(), b.commits_kept, b.commits_removed)).collect();
    assert_eq!(told, [("main", 3, 4), ("b", 3, 5)]);
    assert!(report.branches.iter().all(|b| b.oldest_kept.as_ref() == Some(&main[4].id)));
    for graph in [&g, &place.open().await] {
        expect_readable(graph, &main, &seen, &[4, 5, 6]).await;
        expect_readable(graph, &b, &seen_b, &[4, 6, 7]).await;
    }
    // The history is complete; only what old commits showed is gone.
    assert_eq!(history(&g, "main").await, main);
    assert_eq!(history(&g, "b").await, b);

    let person_at =
        |snapshot: omnigraph_engine::Snapshot| snapshot.pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let snapshot = g.snapshot(&head("b")).await.unwrap();
    let line = snapshot.branch.lance_branch.clone().unwrap();
    let fork = person_at(snapshot);
    assert_eq!(place.versions(&fork.location, None).await, [5, 6, 7]);
    assert_eq!(place.versions(&fork.location, fork.branch.as_deref()).await, [7, 8]);
    assert_eq!(place.versions("__manifest", None).await, [5, 6, 7]);
    assert_eq!(place.versions("__manifest", Some(&line)).await, [7, 8]);
    let people_row = row(&report, "node:Person");
    assert_eq!(people_row.old_versions_removed, 6);
    assert!(people_row.bytes_removed > 0);
    assert_eq!(people_row.versions_kept["head"], 2);
    assert_eq!(people_row.versions_kept["fork"], 1);
    assert_eq!(row(&report, "__manifest").old_versions_removed, 6);

    expect_settled(&place, &keep(2)).await;
    people(&g, "main", 6..8).await;
    people(&g, "b", 3..5).await;
    g.optimize("main", 2).await.unwrap();
    g.optimize("b", 2).await.unwrap();
    let lines = [content(&g, &head("main")).await.unwrap(), content(&g, &head("b")).await.unwrap()];
    place.later(2 * HOUR);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().errors(), 0);
    assert_eq!([content(&g, &head("main")).await.unwrap(), content(&g, &head("b")).await.unwrap()], lines);
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn age_and_number_both_have_to_let_a_commit_go() {
    let place = Place::memory("age");
    let g = place.create().await;
    for i in 0..5 {
        place.later(24 * HOUR);
        people(&g, "main", i..i + 1).await;
    }
    place.later(HOUR);
    let commits = history(&g, "main").await;
    let seen = contents(&g, &commits).await;
    place.forget_reads();
    let days = |n: u64| Some(Duration::from_secs(n * 24 * HOUR));
    // Of commits that are 0 to 5 days and an hour old.
    let both = CleanupOptions { older_than: days(3), ..keep(2) };
    assert_eq!(g.cleanup(&both).await.unwrap().commits_removed, 3);
    expect_readable(&g, &commits, &seen, &[3, 4, 5]).await;
    place.forget_reads();
    let age = CleanupOptions { keep: None, older_than: days(1), ..keep(1) };
    assert_eq!(g.cleanup(&age).await.unwrap().commits_removed, 2);
    expect_readable(&g, &commits, &seen, &[5]).await;
    // A commit stays for a moment after it was superseded, whatever the policy.
    people(&g, "main", 5..7).await;
    let newer = history(&g, "main").await;
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().commits_removed, 0);
    place.later(61);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().commits_removed, 2);
    assert_eq!(content(&g, &at(&newer[7])).await.unwrap().len(), 7);
    for wrong in [CleanupOptions { keep: None, ..keep(1) }, keep(0)] {
        assert_eq!(g.cleanup(&wrong).await.unwrap_err().reason(), Reason::InvalidArgument);
    }
    let reader = place.engine().open(&place.root, Access::ReadOnly).await.unwrap();
    assert_eq!(reader.cleanup(&keep(1)).await.unwrap_err().reason(), Reason::ReadOnly);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_keeps_what_it_was_made_from_also_when_that_branch_is_gone() {
    let place = Place::memory("forks");
    let g = place.create().await;
    people(&g, "main", 0..4).await;
    let commits = history(&g, "main").await;
    let old = content(&g, &at(&commits[2])).await.unwrap();
    g.create_branch("old", &at(&commits[2]), &Actor::default()).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "b", 0..3).await;
    g.create_branch("c", &head("b"), &Actor::default()).await.unwrap();
    let shown = content(&g, &head("c")).await.unwrap();
    people(&g, "b", 3..5).await;
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    people(&g, "main", 4..6).await;
    place.later(3 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!(report.errors(), 0, "{report:?}");
    assert_eq!(reclaimed(&report, "branch"), 0, "c was made from it");
    for graph in [&g, &place.open().await] {
        assert_eq!(content(graph, &head("old")).await.unwrap(), old);
        assert_eq!(content(graph, &at(&commits[2])).await.unwrap(), old);
        assert_eq!(content(graph, &head("c")).await.unwrap(), shown);
    }
    expect_settled(&place, &keep(1)).await;
    people(&g, "c", 0..2).await;
    people(&g, "old", 0..2).await;
    assert_eq!(content(&g, &head("c")).await.unwrap().len(), shown.len() + 2);
    assert_eq!(content(&g, &head("old")).await.unwrap().len(), old.len() + 2);

    // Once c is gone, nothing needs either of them.
    g.delete_branch("c", false, &Actor::default()).await.unwrap();
    place.later(2 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), reclaimed(&report, "branch"), reclaimed(&report, "fork")), (0, 2, 2), "{report:?}");
    let manifest = lance::Dataset::open(&format!("{}/__manifest", place.root)).await.unwrap();
    assert_eq!(manifest.list_branches().await.unwrap().len(), 1);
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 6);
    assert_eq!(content(&g, &head("old")).await.unwrap().len(), old.len() + 2);
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_left_behind_a_moment_ago_may_be_somebodys_yet() {
    let place = Place::memory("moment");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "b", 0..2).await;
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    for (seconds, gone) in [(61, 0), (HOUR / 2, 0), (HOUR / 2, 1)] {
        place.later(seconds);
        let report = g.cleanup(&keep(5)).await.unwrap();
        assert_eq!(report.errors(), 0, "{report:?}");
        assert_eq!((reclaimed(&report, "branch"), reclaimed(&report, "fork")), (gone, gone), "{report:?}");
    }
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 2);
    expect_settled(&place, &keep(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_read_keeps_what_it_reads() {
    let place = Place::memory("reads");
    let g = place.create().await;
    people(&g, "main", 0..5).await;
    let commits = history(&g, "main").await;
    let seen = contents(&g, &commits).await;
    place.later(2 * HOUR);
    let reader = place.open().await;
    let snapshot = reader.snapshot(&at(&commits[2])).await.unwrap();
    let mut export = reader.export(&snapshot);
    assert!(export.next().await.unwrap().is_ok());
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_removed), (0, 4), "{report:?}");
    assert_eq!(row(&report, "__manifest").versions_kept["reader"], 1);
    expect_readable(&g, &commits, &seen, &[2, 5]).await;
    drop(export);
    place.later(2 * HOUR);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().commits_removed, 1);
    expect_readable(&g, &commits, &seen, &[5]).await;
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scratch_versions_of_an_optimize_that_died_go_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..3).await;
    let pin = g.snapshot(&head("main")).await.unwrap().pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let versions = std::path::Path::new(&place.root).join(&pin.location).join("_versions");
    let some = std::fs::read_dir(&versions).unwrap().map(|e| e.unwrap().path());
    let some = some.filter(|path| path.extension().is_some_and(|e| e == "manifest")).min().unwrap();
    let scratch = versions.join(format!("d{}.manifest", (1_u64 << 63) + 5));
    std::fs::copy(some, &scratch).unwrap();
    let size = scratch.metadata().unwrap().len();
    assert_eq!(g.cleanup(&keep(100)).await.unwrap().errors(), 0);
    assert!(scratch.exists(), "somebody may be at work on it");
    place.later(2 * HOUR);
    let preview = g.cleanup(&CleanupOptions { confirm: false, ..keep(100) }).await.unwrap();
    assert!(scratch.exists());
    let done = g.cleanup(&keep(100)).await.unwrap();
    assert!(!scratch.exists());
    for report in [&preview, &done] {
        assert!(row(report, "node:Person").bytes_removed >= size, "{report:?}");
    }
    expect_settled(&place, &keep(100)).await;
}
