//! Merges in a feed: one commit with everything they bring.

use omnigraph_engine::model::MergeRequest;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_is_one_commit_with_all_that_it_brings() {
    let g = graph("feed", SOCIAL).await.unwrap();
    add(&g, "main", "a").await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    let brought = add(&g, "b", "b").await;
    load(&g, "b", LoadMode::Merge, &(person("a", 2) + &person("c", 1) + &knows("a", "c"))).await.unwrap();
    add(&g, "main", "d").await;
    let mut feed = watch(&g, "main", WatchStart::Now).await;
    let before = idle(&mut feed).await;
    let merge = MergeRequest { source: "b".into(), ..MergeRequest::default() };
    let merged = g.merge(&merge, &WriteOptions::default()).await.unwrap().receipt.commit;
    let told = block(&mut feed).await;
    assert_eq!((&told.commit, merged.parents.len()), (&merged, 2));
    assert_eq!(told.short()[..3], ["update Person a", "insert Person b", "insert Person c"]);
    assert_eq!((told.short().len(), told.changes()[3].kind()), (4, ChangeKind::Insert));
    let last = add(&g, "main", "z").await;
    assert_eq!(block(&mut feed).await.commit, last);
    let rest = blocks(&mut watch(&g, "main", WatchStart::Cursor(before)).await, 2).await;
    assert_eq!((&rest[0], &rest[1].commit), (&told, &last));

    // The chain of first parents, without what the merge brought in.
    let all = blocks(&mut watch(&g, "main", WatchStart::Beginning).await, 5).await;
    assert!(all.windows(2).all(|pair| pair[1].commit.parents[0] == pair[0].commit.id));
    let mut content = Content::new();
    all.iter().for_each(|block| apply(&mut content, &block.changes()));
    assert_eq!(content, shown(&g, &head("main")).await);
    let error = g.watch(&request("main", WatchStart::After(brought.id.clone()))).await.err().unwrap();
    assert_eq!(error.reason(), Reason::InvalidArgument, "{error}");
    assert!(error.message().contains("by a merge"), "{error}");
    assert_eq!(blocks(&mut watch(&g, "b", WatchStart::After(brought.id)).await, 1).await.len(), 1);
}
