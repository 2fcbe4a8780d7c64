//! When a feed cannot go on: the branch is deleted, or a cleanup took what comes next.

use omnigraph_engine::maintenance::cleanup::CleanupOptions;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn keep(n: u64) -> CleanupOptions {
    CleanupOptions { keep: Some(n), confirm: true, ..CleanupOptions::default() }
}

fn after(told: &Told) -> WatchStart {
    WatchStart::Cursor(told.cursor.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_of_a_deleted_branch_ends_after_its_last_commit() {
    let root = memory_root("feed");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    add(&g, "b", "a").await;
    let mut behind = watch(&g, "b", WatchStart::Beginning).await;
    let first = block(&mut behind).await;
    let mut feeds = Vec::new();
    for graph in [&g, &engine().open(&root, Access::ReadOnly).await.unwrap()] {
        let mut feed = watch(graph, "b", WatchStart::Now).await;
        idle(&mut feed).await;
        feeds.push(tokio::spawn(async move { (block(&mut feed).await, end(feed).await) }));
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    add(&g, "b", "z").await;
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    for feed in feeds {
        let (told, error) = feed.await.unwrap();
        assert_eq!(told.short(), ["insert Person z"]);
        assert_eq!(error.reason(), Reason::BranchClosed, "{error}");
        assert_eq!(error.metadata()["branch"], "b");
    }
    assert_eq!(g.watch(&request("b", after(&first))).await.err().unwrap().reason(), Reason::BranchNotFound);

    // The name is another branch now; who followed the old one is not led on.
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    add(&g, "b", "new").await;
    let told = blocks(&mut behind, 2).await;
    assert_eq!([told[0].short(), told[1].short()].concat(), ["insert Person a", "insert Person z"]);
    assert_eq!(end(behind).await.reason(), Reason::BranchClosed);
    for old in [&first, &told[1]] {
        let error = g.watch(&request("b", after(old))).await.err().unwrap();
        assert_eq!(error.reason(), Reason::InvalidPageToken, "{error}");
        assert!(error.message().contains("an earlier branch \"b\""), "{error}");
    }
    let told = blocks(&mut watch(&g, "b", WatchStart::Beginning).await, 2).await;
    assert_eq!(told[1].short(), ["insert Person new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_whose_document_is_gone_is_not_waited_for() {
    let (clock, folder) = (Brisk::new(), tempfile::tempdir().unwrap());
    let root = folder.path().canonicalize().unwrap().join("g");
    let g = create(&clock.engine(), root.to_str().unwrap(), SOCIAL).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let mut feed = watch(&g, "b", WatchStart::Now).await;
    idle(&mut feed).await;
    idle(&mut feed).await;
    for entry in std::fs::read_dir(root.join("_refs/branches")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(end(feed).await.reason(), Reason::BranchClosed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_after_a_cleanup_says_how_to_begin_anew() {
    let (clock, root) = (Brisk::new(), memory_root("feed"));
    let g = create(&clock.engine(), &root, SOCIAL).await.unwrap();
    for i in 0..6 {
        add(&g, "main", &format!("p{i}")).await;
    }
    let history = history(&g, "main").await;
    // A state that stays for another reason, with nothing after it, is nowhere to begin.
    g.create_branch("island", &at(&history[2]), &Actor::default()).await.unwrap();
    let mut behind = watch(&g, "main", WatchStart::Beginning).await;
    let told = blocks(&mut behind, 2).await;
    clock.later(2 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_removed), (0, 5), "{report:?}");

    let other = clock.engine().open(&root, Access::ReadOnly).await.unwrap();
    let mut from_the_beginning = watch(&other, "main", WatchStart::Beginning).await;
    assert_eq!(block(&mut from_the_beginning).await, told[0]);
    let cut_off = [
        (behind, &history[1], &history[1]),
        (from_the_beginning, &history[0], &history[0]),
        (watch(&other, "main", after(&told[1])).await, &history[1], &history[1]),
        // The state after is gone, but not the one before.
        (watch(&other, "main", WatchStart::After(history[2].id.clone())).await, &history[2], &history[3]),
        (watch(&g, "main", WatchStart::After(history[4].id.clone())).await, &history[4], &history[4]),
    ];
    for (feed, told, missing) in cut_off {
        let error = end(feed).await;
        assert_eq!(error.reason(), Reason::HistoryGap, "{error}");
        assert_eq!(error.metadata()["after"], told.id, "{error}");
        assert_eq!(error.metadata()["commit_id"], missing.id, "{error}");
        assert_eq!(error.metadata()["oldest_retained"], history[6].id, "{error}");
        assert!(error.message().contains(&format!("export the graph pinned at commit {}", history[6].id)), "{error}");
    }
    let island = end(watch(&other, "island", WatchStart::After(history[0].id.clone())).await).await;
    assert_eq!(island.metadata()["oldest_retained"], history[2].id, "{island}");

    // As the error says: a baseline, and what came after it.
    let mut content = shown(&other, &at(&history[6])).await;
    let mut feed = watch(&other, "main", WatchStart::After(history[6].id.clone())).await;
    add(&g, "main", "p6").await;
    apply(&mut content, &block(&mut feed).await.changes());
    assert_eq!(content, shown(&g, &head("main")).await);
    // The commits alone are all there.
    let commits_only = WatchRequest { changes: false, ..request("main", WatchStart::Beginning) };
    assert_eq!(commits(&blocks(&mut g.watch(&commits_only).await.unwrap(), 7).await), history);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_leaves_what_a_follower_is_being_told() {
    let (clock, root) = (Brisk::new(), memory_root("feed"));
    let g = create(&clock.engine(), &root, SOCIAL).await.unwrap();
    let many = |age: i32| (0..1_500).map(|i| person(&format!("p{i:04}"), age)).collect::<String>();
    for age in 1..6 {
        load(&g, "main", LoadMode::Overwrite, &many(age)).await.unwrap();
    }
    let history = history(&g, "main").await;
    clock.later(2 * HOUR);
    let reader = clock.engine().open(&root, Access::ReadOnly).await.unwrap();
    let start = WatchStart::After(history[2].id.clone());
    let (mut held, mut unheld) = (watch(&g, "main", start.clone()).await, watch(&reader, "main", start).await);
    for feed in [&mut held, &mut unheld] {
        assert!(matches!(next(feed).await.unwrap(), FeedMessage::Begin(_)));
    }
    let FeedMessage::Changes(first) = next(&mut held).await.unwrap() else { panic!("no change") };
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_removed), (0, 3), "{report:?}");
    let FeedMessage::Changes(rest) = next(&mut held).await.unwrap() else { panic!("no more changes") };
    assert_eq!(first.len() + rest.len(), 1_500);
    assert!(rest.iter().all(|c| c.changed == ["age"]));
    assert!(matches!(next(&mut held).await.unwrap(), FeedMessage::End { .. }));
    // What comes next was not asked for yet.
    assert_eq!(end(held).await.reason(), Reason::HistoryGap);

    // A reader that may not write cannot say what it reads; it learns of it when both states are gone.
    clock.later(2 * HOUR);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().commits_removed, 2);
    let error = end(unheld).await;
    assert_eq!(error.reason(), Reason::HistoryGap, "{error}");
    assert_eq!(error.metadata()["after"], history[2].id);
}
