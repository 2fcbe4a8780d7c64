//! Where a feed starts and resumes, and from where it does not.

use std::collections::BTreeSet;

use omnigraph_engine::model::DiffFilter;

use super::*;

async fn refusal(graph: &Graph, request: WatchRequest) -> Error {
    graph.watch(&request).await.err().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cursor_resumes_with_exactly_the_rest_also_in_another_process() {
    let root = memory_root("feed");
    let g = create(&engine(), &root, SOCIAL).await.unwrap();
    add(&g, "main", "a").await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    busy(&g, "b").await;
    let count = history(&g, "b").await.len();
    let told = blocks(&mut watch(&g, "b", WatchStart::Beginning).await, count).await;
    let cursors: BTreeSet<&String> = told.iter().map(|t| &t.cursor).collect();
    assert_eq!(cursors.len(), count);
    let restarted = engine().open(&root, Access::ReadOnly).await.unwrap();
    for (position, block) in told.iter().enumerate() {
        for graph in [&g, &restarted] {
            let rest = &told[position + 1..];
            let mut feed = watch(graph, "b", WatchStart::Cursor(block.cursor.clone())).await;
            assert_eq!(blocks(&mut feed, rest.len()).await, rest, "after {position}");
            let mut feed = watch(graph, "b", WatchStart::After(block.commit.id.clone())).await;
            assert_eq!(blocks(&mut feed, rest.len()).await, rest, "after {position}");
        }
    }
    // A feed that broke off in the middle of a block tells the whole block again.
    let mut broken = watch(&g, "b", WatchStart::Cursor(told[1].cursor.clone())).await;
    assert!(matches!(next(&mut broken).await.unwrap(), FeedMessage::Begin(_)));
    assert!(matches!(next(&mut broken).await.unwrap(), FeedMessage::Changes(_)));
    drop(broken);
    assert_eq!(block(&mut watch(&g, "b", WatchStart::Cursor(told[1].cursor.clone())).await).await, told[2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_after_a_commit_that_the_branch_lacks_is_refused() {
    let g = graph("feed", SOCIAL).await.unwrap();
    let a = add(&g, "main", "a").await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let b = add(&g, "b", "b").await;
    let m = add(&g, "main", "m").await;
    for (branch, commit) in [("main", &b), ("b", &m)] {
        let error = refusal(&g, request(branch, WatchStart::After(commit.id.clone()))).await;
        assert_eq!(error.reason(), Reason::CommitNotFound, "{error}");
        assert!(error.message().contains(&commit.id) && error.message().contains(branch), "{error}");
    }
    for wrong in ["", "no commit", "01J0000000000000000000000"] {
        let error = refusal(&g, request("main", WatchStart::After(wrong.to_string()))).await;
        assert_eq!(error.reason(), Reason::InvalidArgument, "{error}");
    }
    assert_eq!(refusal(&g, request("c", WatchStart::Now)).await.reason(), Reason::BranchNotFound);
    let after = |commit: &CommitInfo| WatchStart::After(commit.id.clone());
    assert_eq!(block(&mut watch(&g, "b", after(&a)).await).await.commit, b);
    assert_eq!(block(&mut watch(&g, "main", after(&a)).await).await.commit, m);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_something_else_is_refused_and_says_of_what() {
    let g = graph("feed", SOCIAL).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let cursor = idle(&mut watch(&g, "b", WatchStart::Now).await).await;
    let other = graph("feed", SOCIAL).await.unwrap();
    other.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let start = WatchStart::Cursor(cursor.clone());
    let one = DiffFilter { ids: BTreeSet::from(["a".to_string()]), ..DiffFilter::default() };
    let damaged = WatchStart::Cursor(format!("{}A", &cursor[..cursor.len() - 1]));
    let cut = WatchStart::Cursor(cursor[..20].to_string());
    let cases = [
        (&other, request("b", start.clone()), "another graph"),
        (&g, request("main", start.clone()), "belongs to branch \"b\", not to \"main\""),
        (&g, WatchRequest { filter: one, ..request("b", start.clone()) }, "another filter"),
        (&g, WatchRequest { changes: false, ..request("b", start.clone()) }, "another filter"),
        (&g, request("b", damaged), "damaged"),
        (&g, request("b", cut), "damaged"),
        (&g, request("b", WatchStart::Cursor(String::new())), "damaged"),
        (&g, request("b", WatchStart::Cursor("x".repeat(1 << 20))), "bytes"),
    ];
    for (graph, request, what) in cases {
        let error = refusal(graph, request).await;
        assert_eq!(error.reason(), Reason::InvalidPageToken, "{error}");
        assert!(error.message().contains(what), "{error}");
    }
    add(&g, "b", "x").await;
    assert_eq!(block(&mut watch(&g, "b", start).await).await.short(), ["insert Person x"]);
}
