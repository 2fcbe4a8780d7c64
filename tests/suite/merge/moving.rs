//! Merges while either side moves, and merges that are asked for more than once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::LoadMode;
use omnigraph_engine::{Access, EngineOptions};
use omnigraph_tests::{engine, load};
use tokio::sync::Notify;

use super::*;

/// Holds its engine's first call to such a path until it is opened.
#[derive(Debug, Default)]
struct Door {
    path: &'static str,
    used: AtomicBool,
    reached: Notify,
    opened: Notify,
}

/// A door as a plan holds it.
#[derive(Debug)]
struct Held(Arc<Door>);

impl Gate for Held {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        let door = self.0.clone();
        if verb != "PUT" || !path.contains(door.path) || door.used.swap(true, Ordering::SeqCst) {
            return futures::future::ready(()).boxed();
        }
        async move {
            door.reached.notify_one();
            door.opened.notified().await;
        }
        .boxed()
    }
}

/// Merges `b` into `t` and does something else when the merge is about to write to such a path.
async fn merged_while(g: &Graph, path: &'static str, other: impl AsyncFnOnce()) -> Result<MergeResult> {
    asked_while(g, path, of("b", &MergeHow::default()), other).await
}

async fn asked_while(
    g: &Graph,
    path: &'static str,
    request: MergeRequest,
    other: impl AsyncFnOnce(),
) -> Result<MergeResult> {
    let (plan, door) = (FaultPlan::counting(), Arc::new(Door { path, ..Door::default() }));
    let slow = omnigraph_engine::Engine::new(EngineOptions { faults: Some(plan.clone()), ..EngineOptions::default() });
    let slow = slow.open(g.root(), Access::ReadWrite).await.unwrap();
    plan.set_gate(Some(Arc::new(Held(door.clone()))));
    let merging = tokio::spawn(async move { slow.merge(&request, &WriteOptions::on("t")).await });
    tokio::time::timeout(Duration::from_secs(30), door.reached.notified()).await.expect("the merge writes nothing");
    other().await;
    door.opened.notify_one();
    merging.await.unwrap()
}

/// The places where a merge is held: with nothing staged, and when everything is prepared and its turn begins.
const PLACES: [&str; 2] = ["/data/", "__recovery/"];

/// Branches t and b, both ahead of what they come from.
async fn apart() -> Graph {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P c", "P d"]).await;
    fork(&g, "t", "main").await;
    fork(&g, "b", "main").await;
    write(&g, "t", &["P a a=1"]).await;
    write(&g, "b", &["P a b=1", "C a c", "P own"]).await;
    g
}

const MERGED: [&str; 5] = ["C a c", "P a a=1 b=1", "P c", "P d", "P own"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_source_is_merged_as_it_was_when_the_merge_began() {
    for path in PLACES {
        let g = apart().await;
        let seen = g.branch("b").await.unwrap().head;
        let done = merged_while(&g, path, async || drop(write(&g, "b", &["P late", "P a b=2"]).await)).await.unwrap();
        assert_eq!((&done.source, &done.receipt.commit.parents[1]), (&seen, &seen));
        assert_eq!(shown(&g, "t").await, MERGED);
        sound(&g).await;
        merge(&g, "b", "t").await;
        assert!(shown(&g, "t").await.contains(&"P late".to_string()));

        let g = apart().await;
        let seen = g.branch("b").await.unwrap().head;
        let other = async || {
            g.delete_branch("b", false, &Actor::default()).await.unwrap();
            fork(&g, "b", "main").await;
            write(&g, "b", &["P other"]).await;
        };
        let done = merged_while(&g, path, other).await.unwrap();
        assert_eq!(done.source, seen);
        assert_eq!(shown(&g, "t").await, MERGED);
        // What comes later is a branch of its own with nothing of it in the target.
        merge(&g, "b", "t").await;
        assert!(shown(&g, "t").await.contains(&"P other".to_string()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_moves_keeps_what_it_got() {
    for path in PLACES {
        for (line, expected) in [
            ("K e a c", vec!["C a c", "K e a c", "P a a=1 b=1", "P c", "P d", "P own"]),
            ("P c a=5", vec!["C a c", "P a a=1 b=1", "P c a=5", "P d", "P own"]),
            ("P a a=6", vec!["C a c", "P a a=6 b=1", "P c", "P d", "P own"]),
            ("-P d", vec!["C a c", "P a a=1 b=1", "P c", "P own"]),
        ] {
            let g = apart().await;
            let mut moved = String::new();
            let done = merged_while(&g, path, async || moved = write(&g, "t", &[line]).await.id).await.unwrap();
            assert_eq!(done.receipt.commit.parents[0], moved, "{line}");
            assert_eq!(shown(&g, "t").await, expected, "{line}");
            up_to_date(&g, "b", "t").await;
            sound(&g).await;
        }
        for (line, told) in [
            ("P a b=2", "divergent_update P/a b"),
            ("-P c", "orphan_edge C/[\"a\",\"c\"] dst"),
            ("P own a=1", "divergent_insert P/own a"),
            ("-P a", "delete_vs_update P/a"),
        ] {
            let g = apart().await;
            let error = merged_while(&g, path, async || drop(write(&g, "t", &[line]).await)).await.unwrap_err();
            let conflicts = refused_how(&g, "b", "t", &MergeHow::default()).await;
            expect_told(&error, &conflicts);
            assert_eq!(short(&conflicts), [told]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_condition_on_the_target_holds_to_the_end() {
    for path in PLACES {
        let g = apart().await;
        let done = merged_while(&g, path, async || drop(g.optimize("t", 1).await.unwrap())).await.unwrap();
        assert_eq!(shown(&g, "t").await, MERGED);
        assert_eq!(done.outcome, MergeOutcome::Merged);
        // Its protection is no obstacle to a merge.
        let g = apart().await;
        let protect = async || drop(g.protect_branch("t", true, &Actor::default()).await.unwrap());
        merged_while(&g, path, protect).await.unwrap();
        assert_eq!(shown(&g, "t").await, MERGED);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_gone_gets_nothing_and_one_made_anew_all_or_nothing() {
    for path in PLACES {
        let g = apart().await;
        let gone = async || g.delete_branch("t", false, &Actor::default()).await.unwrap();
        let error = merged_while(&g, path, gone).await.unwrap_err();
        assert_eq!(error.reason(), Reason::BranchNotFound, "{error}");
        let g = apart().await;
        let anew = async || {
            g.delete_branch("t", false, &Actor::default()).await.unwrap();
            fork(&g, "t", "main").await;
        };
        match merged_while(&g, path, anew).await {
            Ok(_) => assert_eq!(shown(&g, "t").await, ["C a c", "P a a=0 b=1", "P c", "P d", "P own"]),
            Err(e) => {
                assert_eq!(e.reason(), Reason::BranchNotFound, "{e}");
                assert_eq!(shown(&g, "t").await, ["P a a=0 b=0", "P c", "P d"]);
            }
        }
        sound(&g).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_merge_the_same_make_one_commit() {
    for path in PLACES {
        for cancelled in [false, true] {
            let g = apart().await;
            if cancelled {
                write(&g, "b", &["P a b=0", "-C a c", "-P own"]).await;
            }
            // A merge that stages nothing writes no data.
            let path = if cancelled { "__recovery/" } else { path };
            let mut first = String::new();
            let merge_too = async || {
                let done = g.merge(&of("b", &MergeHow::default()), &WriteOptions::on("t")).await.unwrap();
                first = done.receipt.commit.id;
            };
            let second = merged_while(&g, path, merge_too).await.unwrap();
            assert_eq!(second.outcome, MergeOutcome::AlreadyUpToDate);
            assert_eq!((&second.receipt.commit.id, second.receipt.changed), (&first, false));
            sound(&g).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merges_at_the_same_time_each_land_on_their_own_target() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    for (target, source, n) in [("ta", "a", 1), ("tb", "b", 2)] {
        fork(&g, target, "main").await;
        fork(&g, source, "main").await;
        write(&g, source, &[&format!("P a a={n}"), &format!("P of-{source}")]).await;
    }
    let how = MergeHow::default();
    for round in 0..4 {
        let (ta, tb) = (WriteOptions::on("ta"), WriteOptions::on("tb"));
        let (of_a, of_b) = (of("a", &how), of("b", &how));
        let (one, two) = tokio::join!(g.merge(&of_a, &ta), g.merge(&of_b, &tb));
        assert_eq!((one.unwrap().receipt.changed, two.unwrap().receipt.changed), (true, true));
        for (target, source, n) in [("ta", "a", 1), ("tb", "b", 2)] {
            assert_eq!(shown(&g, target).await, [format!("P a a={}", n + 10 * round), format!("P of-{source}")]);
            write(&g, source, &[&format!("P a a={}", n + 10 * (round + 1))]).await;
        }
    }
    // Many into one, from two processes.
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    let names: Vec<String> = (0..6).map(|i| format!("s{i}")).collect();
    for (i, name) in names.iter().enumerate() {
        fork(&g, name, "main").await;
        load(&g, name, LoadMode::Merge, &format!("{{\"type\":\"P\",\"data\":{{\"slug\":\"{name}\",\"a\":{i}}}}}"))
            .await
            .unwrap();
    }
    let merges = names.iter().enumerate().map(|(i, name)| {
        let g = if i % 2 == 0 { &g } else { &other };
        let how = &how;
        async move { g.merge(&of(name, how), &WriteOptions::on("main")).await }
    });
    for done in futures::future::join_all(merges).await {
        assert!(done.unwrap().receipt.changed);
    }
    assert_eq!(shown(&g, "main").await.len(), 7);
    assert_eq!(g.commits("main", None, 100).await.unwrap().len(), 2 + 6);
    for name in &names {
        up_to_date(&g, name, "main").await;
    }
    sound(&g).await;
}

/// The same in all that a caller is told, but for being told again.
fn expect_same(first: &MergeResult, again: &MergeResult) {
    let told = |r: &MergeResult| (r.outcome, r.base.clone(), r.source.clone(), r.settled, r.receipt.commit.clone());
    assert_eq!(told(again), told(first));
    assert!(again.receipt.replayed && again.receipt.changed, "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_asked_for_again_is_answered_with_what_it_did() {
    let g = apart().await;
    let options = WriteOptions { request_id: "merge-1".into(), message: "m".into(), ..WriteOptions::on("t") };
    let request = MergeRequest { delete_source: true, ..of("b", &MergeHow::default()) };
    let expecting = MergeRequest { expected_source_head: g.branch("b").await.unwrap().head, ..request.clone() };
    let first = g.merge(&expecting, &options).await.unwrap();
    assert!(matches!(first.source_deleted, Some(Ok(()))), "{first:?}");
    assert_eq!(first.receipt.commit.message, "m");
    // By anybody, also when the source is gone, or another by its name.
    let other = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    for graph in [&g, &other] {
        expect_same(&first, &graph.merge(&expecting, &options).await.unwrap());
    }
    fork(&g, "b", "main").await;
    write(&g, "b", &["P other"]).await;
    write(&g, "t", &["P later"]).await;
    for graph in [&g, &other] {
        let again = graph.merge(&MergeRequest { delete_source: false, ..expecting.clone() }, &options).await.unwrap();
        expect_same(&first, &again);
    }
    assert_eq!(g.commits("t", None, 100).await.unwrap().iter().filter(|c| c.operation == "merge").count(), 1);
    // Somebody else's id is nobody's.
    let used = WriteOptions { request_id: "load-1".into(), ..WriteOptions::on("t") };
    g.mutate(vec![change("P x")], &used).await.unwrap();
    let error = g.merge(&of("b", &MergeHow::default()), &used).await.unwrap_err();
    assert_eq!(error.reason(), Reason::RequestIdReused, "{error}");
    let error = g.revert(&first.receipt.commit.id, &MergeHow::default(), &options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::RequestIdReused, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_asked_by_two_at_once_is_one_merge() {
    for path in PLACES {
        let g = apart().await;
        let options = WriteOptions { request_id: "r".into(), ..WriteOptions::on("t") };
        let mut made = Vec::new();
        let (one, two) = (g.clone(), engine().open(g.root(), Access::ReadWrite).await.unwrap());
        // A third, without the id, is held meanwhile.
        let held = merged_while(&g, path, async || {
            let request = of("b", &MergeHow::default());
            let (a, b) = tokio::join!(one.merge(&request, &options), two.merge(&request, &options));
            made = vec![a.unwrap(), b.unwrap()];
        });
        assert_eq!(held.await.unwrap().outcome, MergeOutcome::AlreadyUpToDate);
        assert_eq!(made[0].receipt.commit, made[1].receipt.commit);
        assert!(made.iter().all(|m| m.outcome == MergeOutcome::Merged && m.receipt.changed));
        assert_eq!(g.commits("t", None, 1).await.unwrap()[0].id, made[0].receipt.commit.id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_that_are_expected_are_required() {
    let g = apart().await;
    let [t, b] = [g.branch("t").await.unwrap().head, g.branch("b").await.unwrap().head];
    let request = |source: &str| MergeRequest { expected_source_head: source.into(), ..of("b", &MergeHow::default()) };
    let options = |target: &str| WriteOptions { expected_head: target.into(), ..WriteOptions::on("t") };
    for (source, target) in [(&t, &t), (&b, &b), (&t, &b)] {
        let error = g.merge(&request(source), &options(target)).await.unwrap_err();
        assert_eq!(error.reason(), Reason::HeadMoved, "{error}");
        assert_eq!(g.branch("t").await.unwrap().head, t);
    }
    for path in PLACES {
        let g = apart().await;
        // Physical commits are none to a condition.
        let [t, b] = [g.branch("t").await.unwrap().head, g.branch("b").await.unwrap().head];
        g.optimize("t", 1).await.unwrap();
        let request = MergeRequest { expected_source_head: b, ..of("b", &MergeHow::default()) };
        let done = g.merge(&request, &options(&t)).await.unwrap();
        assert_eq!(shown(&g, "t").await, MERGED, "{path}");
        let error = g.revert(&done.receipt.commit.id, &MergeHow::default(), &options(&t)).await.unwrap_err();
        assert_eq!(error.reason(), Reason::HeadMoved, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_becomes_of_the_source_is_told_apart_from_the_merge() {
    let g = apart().await;
    fork(&g, "child", "b").await;
    g.protect_branch("b", true, &Actor::default()).await.unwrap();
    let deleting = MergeRequest { delete_source: true, ..of("b", &MergeHow::default()) };
    let done = g.merge(&deleting, &WriteOptions::on("t")).await.unwrap();
    assert_eq!(done.outcome, MergeOutcome::Merged);
    let error = done.source_deleted.unwrap().unwrap_err();
    assert_eq!(error.reason(), Reason::BranchProtected, "{error}");
    assert_eq!(shown(&g, "t").await, MERGED);
    // With nothing to merge it is deleted all the same, and its children stay.
    g.protect_branch("b", false, &Actor::default()).await.unwrap();
    let done = g.merge(&deleting, &WriteOptions::on("t")).await.unwrap();
    assert_eq!(done.outcome, MergeOutcome::AlreadyUpToDate);
    assert!(matches!(done.source_deleted, Some(Ok(()))));
    assert_eq!(g.branch("b").await.unwrap_err().reason(), Reason::BranchNotFound);
    assert_eq!(shown(&g, "child").await, ["C a c", "P a a=0 b=1", "P c", "P d", "P own"]);
    up_to_date(&g, "child", "t").await;
    // Main is never deleted.
    write(&g, "main", &["P m"]).await;
    let deleting = MergeRequest { source: "main".into(), ..deleting };
    let done = g.merge(&deleting, &WriteOptions::on("t")).await.unwrap();
    assert_eq!(done.source_deleted.unwrap().unwrap_err().reason(), Reason::BranchProtected);
    assert!(shown(&g, "t").await.contains(&"P m".to_string()));
    // What is refused deletes nothing.
    write(&g, "child", &["P a a=7"]).await;
    write(&g, "t", &["P a a=8"]).await;
    let deleting = MergeRequest { source: "child".into(), ..deleting };
    let error = g.merge(&deleting, &WriteOptions::on("t")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::MergeConflict, "{error}");
    g.branch("child").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_got_more_meanwhile_is_not_deleted() {
    for path in PLACES {
        for anew in [false, true] {
            let g = apart().await;
            let other = async || {
                if anew {
                    g.delete_branch("b", false, &Actor::default()).await.unwrap();
                    fork(&g, "b", "main").await;
                } else {
                    write(&g, "b", &["P late"]).await;
                }
            };
            let request = MergeRequest { delete_source: true, ..of("b", &MergeHow::default()) };
            let done = asked_while(&g, path, request, other).await.unwrap();
            assert_eq!((done.outcome, shown(&g, "t").await), (MergeOutcome::Merged, MERGED.map(String::from).to_vec()));
            let error = done.source_deleted.unwrap().unwrap_err();
            assert_eq!(error.reason(), Reason::HeadMoved, "{error}");
            assert_eq!(shown(&g, "b").await.contains(&"P late".to_string()), !anew);
            sound(&g).await;
        }
    }
    // Rewritten rows are nothing more.
    let g = apart().await;
    let request = MergeRequest { delete_source: true, ..of("b", &MergeHow::default()) };
    let other = async || drop(g.optimize("b", 1).await.unwrap());
    let done = asked_while(&g, PLACES[1], request, other).await.unwrap();
    assert!(matches!(done.source_deleted, Some(Ok(()))), "{done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_merged_is_refused_before_anything() {
    let g = apart().await;
    let how = MergeHow::default();
    for (source, target, reason) in [
        ("t", "t", Reason::InvalidArgument),
        ("", "", Reason::InvalidArgument),
        ("main", "", Reason::InvalidArgument),
        ("nobody", "t", Reason::BranchNotFound),
        ("b", "nobody", Reason::BranchNotFound),
    ] {
        let error = g.merge(&of(source, &how), &WriteOptions::on(target)).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{source} into {target}: {error}");
        let error = g.preview_merge(source, target, &how).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{source} into {target}: {error}");
    }
    let reader = engine().open(g.root(), Access::ReadOnly).await.unwrap();
    let preview = reader.preview_merge("b", "t", &how).await.unwrap();
    assert_eq!(preview.summary.outcome, MergeOutcome::Merged);
    let error = reader.merge(&of("b", &how), &WriteOptions::on("t")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::ReadOnly, "{error}");
    // A failed merge is in nobody's way.
    write(&g, "t", &["P a b=9"]).await;
    refused(&g, "b", "t").await;
    write(&g, "t", &["P a b=0"]).await;
    merge(&g, "b", "t").await;
}
