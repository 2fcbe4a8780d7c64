//! Beside others: writers at work, processes that slept, and what interrupted ones left on record.

use std::sync::atomic::AtomicBool;

use omnigraph_engine::model::{Actor, WriteOptions};
use omnigraph_tests::{head, jsonl};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_loop_is_in_no_writers_way() {
    let place = Place::memory("beside");
    let g = place.create().await;
    let cleaner = place.open().await;
    let done = Arc::new(AtomicBool::new(false));
    let cleaning = {
        let done = done.clone();
        tokio::spawn(async move {
            let mut removed = 0;
            // Each moves the clock, and after an hour of it a writer's new fork would look abandoned.
            for _ in 0..300 {
                if done.load(Ordering::SeqCst) {
                    break;
                }
                let report = cleaner.cleanup(&keep(2)).await.unwrap();
                assert_eq!(report.errors(), 0, "{report:?}");
                removed += report.commits_removed;
            }
            removed
        })
    };
    for i in 0..16 {
        people(&g, "main", i..i + 1).await;
        place.later(61);
        if i % 4 == 3 {
            let name = format!("b{i}");
            g.create_branch(&name, &head("main"), &Actor::default()).await.unwrap();
            people(&g, &name, 0..2).await;
            place.later(61);
            people(&g, &name, 2..3).await;
        }
        if i % 8 == 7 {
            g.optimize("main", 1).await.unwrap();
            g.delete_branch(&format!("b{}", i - 4), false, &Actor::default()).await.unwrap();
        }
        // So that the cleanup gets between.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    done.store(true, Ordering::SeqCst);
    let removed = cleaning.await.unwrap();
    assert!(removed > 0);
    assert_eq!(content(&g, &head("main")).await.unwrap().len(), 16);
    for (branch, people) in [("b7", 8 + 3), ("b15", 16 + 3)] {
        assert_eq!(content(&g, &head(branch)).await.unwrap().len(), people, "{branch}");
    }
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
    println!("removed {removed} commits beside the writer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_slept_through_a_cleanup_sees_it_and_does_not_write_into_the_past() {
    let place = Place::memory("asleep");
    let g = place.create().await;
    people(&g, "main", 0..3).await;
    for branch in ["b", "gone"] {
        g.create_branch(branch, &head("main"), &Actor::default()).await.unwrap();
        people(&g, branch, 0..2).await;
    }
    // It knows the heads, and is then not asked for long.
    let sleeper = place.open().await;
    for branch in ["main", "b", "gone"] {
        content(&sleeper, &head(branch)).await.unwrap();
    }
    people(&g, "main", 3..8).await;
    people(&g, "b", 2..6).await;
    g.delete_branch("gone", false, &Actor::default()).await.unwrap();
    place.later(2 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), reclaimed(&report, "branch")), (0, 1), "{report:?}");
    for branch in ["main", "b"] {
        let shown = content(&g, &head(branch)).await.unwrap();
        assert_eq!(content(&sleeper, &head(branch)).await.unwrap(), shown, "{branch}");
        let options = WriteOptions { request_id: "after".into(), ..WriteOptions::on(branch) };
        let made = sleeper.load(jsonl(person("late", 1)), LoadMode::Append, &options).await.unwrap();
        assert_eq!(g.branch(branch).await.unwrap().head, made.commit.id, "{branch}");
        assert_eq!(content(&g, &head(branch)).await.unwrap().len(), shown.len() + 1, "{branch}");
    }
    let error = sleeper.snapshot(&head("gone")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::BranchNotFound, "{error}");
    let error = load(&sleeper, "gone", LoadMode::Append, &person("x", 1)).await.unwrap_err();
    assert_eq!(error.reason(), Reason::BranchNotFound, "{error}");
    expect_settled(&place, &CleanupOptions { keep: Some(100), ..keep(1) }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_records_of_recoveries_go_with_what_they_are_about() {
    let place = Place::memory("records");
    let g = place.create().await;
    let plan = FaultPlan::counting();
    let victim = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
    load(&victim, "main", LoadMode::Append, &person("v1", 1)).await.unwrap();
    let before = plan.requests();
    load(&victim, "main", LoadMode::Append, &person("v2", 1)).await.unwrap();
    plan.die_at(plan.requests().since(&before).puts - 1, false);
    load(&victim, "main", LoadMode::Append, &person("v3", 1)).await.unwrap_err();
    // The cleanup recovers it before anything else.
    place.later(HOUR);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().errors(), 0);
    assert_eq!(g.recoveries().await.unwrap().len(), 1);
    people(&g, "main", 0..1).await;
    place.later(6 * 24 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), reclaimed(&report, "records")), (0, 0), "{report:?}");
    people(&g, "main", 1..2).await;
    place.later(2 * 24 * HOUR);
    let preview = g.cleanup(&CleanupOptions { confirm: false, ..keep(1) }).await.unwrap();
    assert_eq!(reclaimed(&preview, "records"), 1);
    assert_eq!(g.recoveries().await.unwrap().len(), 1);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), reclaimed(&report, "records")), (0, 1), "{report:?}");
    assert!(g.recoveries().await.unwrap().is_empty());
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_that_was_written_late_misleads_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..3).await;
    // This state stays, what follows it goes.
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let kept = g.snapshot(&head("main")).await.unwrap().version;
    people(&g, "main", 3..8).await;
    place.later(2 * HOUR);
    assert!(g.cleanup(&keep(1)).await.unwrap().commits_removed > 0);
    assert!(!place.versions("__manifest", None).await.contains(&(kept + 1)));
    let shown = content(&g, &head("main")).await.unwrap();
    let hint = std::path::Path::new(&place.root).join("__manifest/_versions/latest_version_hint.json");
    // A store behind a plan of faults is no direct path: there, Lance would follow the hint.
    for engine in [place.engine(), place.engine_with(&FaultPlan::counting())] {
        std::fs::write(&hint, format!("{{\"version\":{kept}}}")).unwrap();
        let late = engine.open(&place.root, Access::ReadWrite).await.unwrap();
        assert_eq!(content(&late, &head("main")).await.unwrap(), shown);
        let made = load(&late, "main", LoadMode::Append, &person("late", 1)).await;
        std::fs::write(&hint, format!("{{\"version\":{kept}}}")).unwrap();
        let head_now = place.open().await.branch("main").await.unwrap().head;
        assert_eq!(made.unwrap().commit.id, head_now);
        load(&late, "main", LoadMode::Overwrite, &shown.join("\n")).await.unwrap();
    }
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}
