//! Waiting for what comes: seen soon, whoever made it; costing little; outliving a store that fails for a while.

use std::time::Instant;

use super::*;

/// A clock on which no wait ends.
#[derive(Debug)]
struct Sleeper;

impl Clock for Sleeper {
    fn now_micros(&self) -> i64 {
        SystemClock.now_micros()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_from_now_on_gets_a_cursor_at_once_and_then_what_comes() {
    let g = graph("feed", SOCIAL).await.unwrap();
    add(&g, "main", "a").await;
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    let cursor = idle(&mut feed).await;
    let b = add(&g, "main", "b").await;
    let told = block(&mut feed).await;
    assert_eq!((&told.commit, told.short()), (&b, vec!["insert Person b".to_string()]));
    add(&g, "main", "c").await;
    let later = blocks(&mut feed, 1).await;
    assert_eq!(later[0].short(), ["insert Person c"]);
    let mut resumed = watch(&g, "main", WatchStart::Cursor(cursor)).await;
    assert_eq!(blocks(&mut resumed, 2).await, [vec![told], later].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_follower_hears_of_a_commit_of_this_process_at_once() {
    let engine = Engine::new(EngineOptions { clock: Arc::new(Sleeper), ..EngineOptions::default() });
    let g = create(&engine, &memory_root("feed"), SOCIAL).await.unwrap();
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    idle(&mut feed).await;
    for slug in ["a", "b"] {
        // It waits, and nothing but the commit can wake it.
        assert!(tokio::time::timeout(Duration::from_millis(20), feed.next()).await.is_err());
        add(&g, "main", slug).await;
        assert_eq!(block(&mut feed).await.short(), [format!("insert Person {slug}")]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_another_process_is_seen_within_two_seconds() {
    let root = memory_root("feed");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let other = engine().open(&root, Access::ReadWrite).await.unwrap();
    for (branch, access) in [("main", Access::ReadWrite), ("b", Access::ReadOnly)] {
        let watcher = engine().open(&root, access).await.unwrap();
        let mut feed = watch(&watcher, branch, WatchStart::Now).await;
        idle(&mut feed).await;
        let waits = tokio::spawn(async move { (blocks(&mut feed, 2).await, Instant::now()) });
        tokio::time::sleep(Duration::from_millis(100)).await;
        add(&other, branch, "x").await;
        add(&other, branch, "y").await;
        let made = Instant::now();
        let (told, heard) = waits.await.unwrap();
        assert_eq!([told[0].short(), told[1].short()].concat(), ["insert Person x", "insert Person y"]);
        assert!(heard - made < Duration::from_secs(2), "{:?}", heard - made);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_is_told_from_time_to_time_and_waiting_costs_a_request_each_time_it_looks() {
    let (clock, plan, root) = (Brisk::new(), FaultPlan::counting(), memory_root("feed"));
    let writer = create(&engine(), &root, SOCIAL).await.unwrap();
    add(&writer, "main", "a").await;
    let g = clock.engine_with(&plan).open(&root, Access::ReadWrite).await.unwrap();
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    let first = idle(&mut feed).await;
    let (start, before) = (clock.now_micros(), plan.requests());
    assert_eq!(idle(&mut feed).await, first);
    let (waited, cost) = (clock.now_micros() - start, plan.requests().since(&before));
    assert!((15_000_000..16_000_000).contains(&waited), "{waited}");
    // Between a quarter and half a second from one look to the next.
    assert!((30..=62).contains(&cost.gets), "{cost:?}");
    assert_eq!((cost.puts, cost.lists, cost.deletes), (0, 0, 0));
    // Several followers of a branch look no more often than one.
    let mut others = Vec::new();
    for _ in 0..5 {
        others.push(watch(&g, "main", WatchStart::Cursor(first.clone())).await);
    }
    let before = plan.requests();
    futures::future::join_all(others.iter_mut().map(idle)).await;
    let cost = plan.requests().since(&before);
    assert!((30..100).contains(&cost.gets), "{cost:?}");
    add(&writer, "main", "b").await;
    let told = block(&mut feed).await;
    assert_eq!(told.short(), ["insert Person b"]);
    assert_eq!(idle(&mut feed).await, told.cursor);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_happens_unless_somebody_asks() {
    let (clock, plan, root) = (Brisk::new(), FaultPlan::counting(), memory_root("feed"));
    let writer = create(&engine(), &root, SOCIAL).await.unwrap();
    busy(&writer, "main").await;
    let g = clock.engine_with(&plan).open(&root, Access::ReadOnly).await.unwrap();
    let mut feed = watch(&g, "main", WatchStart::Beginning).await;
    for _ in 0..4 {
        let before = plan.requests();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(plan.requests(), before);
        next(&mut feed).await.unwrap();
    }
    // Somebody who asked and did not wait for the answer gets it the next time.
    let mut waiting = watch(&g, "main", WatchStart::Now).await;
    idle(&mut waiting).await;
    assert!(waiting.next().now_or_never().is_none());
    add(&writer, "main", "x").await;
    assert_eq!(block(&mut waiting).await.short(), ["insert Person x"]);
    drop((feed, waiting));
    let before = plan.requests();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(plan.requests(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_fails_for_a_moment_is_asked_again() {
    let (plan, root) = (FaultPlan::counting(), memory_root("feed"));
    let writer = create(&engine(), &root, SOCIAL).await.unwrap();
    let g = omnigraph_tests::engine_with(&plan).open(&root, Access::ReadOnly).await.unwrap();
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    idle(&mut feed).await;
    let waits = tokio::spawn(async move { block(&mut feed).await });
    plan.die();
    let before = plan.requests();
    while plan.requests().since(&before).gets < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    add(&writer, "main", "x").await;
    assert!(!waits.is_finished());
    // What has failed by now was all that fails.
    plan.fail_once_at(u64::MAX, false);
    assert_eq!(waits.await.unwrap().short(), ["insert Person x"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_keeps_failing_ends_the_feed_and_the_cursor_goes_on() {
    let (clock, plan, root) = (Brisk::new(), FaultPlan::counting(), memory_root("feed"));
    let writer = create(&engine(), &root, SOCIAL).await.unwrap();
    let g = clock.engine_with(&plan).open(&root, Access::ReadOnly).await.unwrap();
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    let cursor = idle(&mut feed).await;
    plan.die();
    let start = clock.now_micros();
    assert_eq!(end(feed).await.reason(), Reason::StoreUnavailable);
    assert!((20_000_000..60_000_000).contains(&(clock.now_micros() - start)));
    add(&writer, "main", "x").await;
    plan.fail_once_at(u64::MAX, false);
    let mut feed = watch(&g, "main", WatchStart::Cursor(cursor)).await;
    assert_eq!(block(&mut feed).await.short(), ["insert Person x"]);
}
