//! Histories of every shape: what both sides come from, and that what was merged once stays merged.

use omnigraph_engine::Access;
use omnigraph_engine::model::LoadMode;
use omnigraph_tests::{engine, load};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fast_forward_shows_what_the_source_shows_whichever_versions_its_tables_have() {
    let g = team().await;
    write(&g, "main", &["P a a=1", "P b", "P c"]).await;
    fork(&g, "b", "main").await;
    for i in 0..12 {
        write(&g, "b", &[&format!("K e{} a b w={i}", i % 2), &format!("P b a={i}")]).await;
    }
    for edge in ["K f0 a b", "K f1 b c", "K f2 c a"] {
        write(&g, "main", &[edge]).await;
    }
    write(&g, "main", &["-K f2", "P a a=7"]).await;
    merge(&g, "main", "b").await;
    let both = ["K e0 a b w=10", "K e1 a b w=11", "K f0 a b", "K f1 b c", "P a a=7", "P b a=11", "P c"];
    assert_eq!(shown(&g, "b").await, both);
    write(&g, "b", &["P c a=3", "-K e1"]).await;
    let done = merge(&g, "b", "main").await;
    assert_eq!(done.outcome, MergeOutcome::FastForward);
    let expected = ["K e0 a b w=10", "K f0 a b", "K f1 b c", "P a a=7", "P b a=11", "P c a=3"];
    assert_eq!(shown(&g, "main").await, expected);
    assert_eq!(shown(&g, "b").await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newer_value_wins_over_a_table_that_was_written_more_often() {
    let g = team().await;
    write(&g, "main", &["P p a=0"]).await;
    fork(&g, "b", "main").await;
    for a in 1..=47 {
        load(&g, "main", LoadMode::Merge, &format!("{{\"type\":\"P\",\"data\":{{\"slug\":\"p\",\"a\":{a}}}}}"))
            .await
            .unwrap();
    }
    merge(&g, "main", "b").await;
    write(&g, "b", &["P p a=50"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P p a=50"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_sibling_deleted_does_not_come_back_unasked() {
    // The same again by an id of its own: nothing changed, so the deletion stands.
    let g = team().await;
    write(&g, "main", &["P a", "P b", "K e a b w=1", "C a b"]).await;
    for branch in ["same", "other", "gone"] {
        fork(&g, branch, "main").await;
    }
    write(&g, "same", &["-K e", "-C a b", "P c"]).await;
    write(&g, "same", &["K e a b w=1", "C a b"]).await;
    write(&g, "other", &["K e a b w=2", "C a b w=3"]).await;
    write(&g, "gone", &["-K e", "-C a b"]).await;
    merge(&g, "gone", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a", "P b"]);
    merge(&g, "same", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a", "P b", "P c"]);
    let told = refused(&g, "other", "main").await;
    assert_eq!(told, ["delete_vs_update C/[\"a\",\"b\"]", "delete_vs_update K/e"]);
    // Nor when the deletion comes second.
    let told = refused(&g, "gone", "other").await;
    assert_eq!(told, ["delete_vs_update C/[\"a\",\"b\"]", "delete_vs_update K/e"]);
    merge(&g, "gone", "same").await;
    assert_eq!(shown(&g, "same").await, ["P a", "P b", "P c"]);
}

/// The version of every table.
async fn versions(g: &Graph, branch: &str) -> BTreeMap<&'static str, String> {
    let snapshot = g.snapshot(&head(branch)).await.unwrap();
    let version = |name| (name, format!("{:?}", snapshot.pin(&type_ref(name)).unwrap().at));
    ["P", "N", "K", "C", "M"].into_iter().map(version).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_that_cancel_out_merge_as_a_commit_that_moves_no_table() {
    for target_moved in [false, true] {
        let g = team().await;
        write(&g, "main", &["P a a=1", "P b"]).await;
        fork(&g, "b", "main").await;
        write(&g, "b", &["K e a b", "P a a=2", "P c"]).await;
        write(&g, "b", &["-K e", "P a a=1", "-P c"]).await;
        if target_moved {
            write(&g, "main", &["P b a=5", "K f b a"]).await;
        }
        let (before, commits) = (versions(&g, "main").await, g.commits("main", None, 100).await.unwrap().len());
        let content = shown(&g, "main").await;
        let done = merge(&g, "b", "main").await;
        assert!(done.receipt.commit.counts.is_empty(), "{:?}", done.receipt);
        assert_eq!(versions(&g, "main").await, before);
        assert_eq!(g.commits("main", None, 100).await.unwrap().len(), commits + 1);
        assert_eq!(shown(&g, "main").await, content);
        // Mixed with a real change in another table, only that one moves.
        write(&g, "b", &["K e a b", "P a a=9"]).await;
        write(&g, "b", &["P a a=1"]).await;
        merge(&g, "b", "main").await;
        let after = versions(&g, "main").await;
        let moved: Vec<&str> = before.keys().filter(|name| before[*name] != after[*name]).copied().collect();
        assert_eq!(moved, ["K"], "{before:?} {after:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_reaches_every_branch_it_is_merged_into() {
    let g = team().await;
    write(&g, "main", &["P f", "P k", "K e f k"]).await;
    for branch in ["stable", "run"] {
        fork(&g, branch, "main").await;
    }
    write(&g, "main", &["P m"]).await;
    write(&g, "stable", &["P s"]).await;
    write(&g, "run", &["-P f", "P g"]).await;
    for (branch, own) in [("main", "P m"), ("stable", "P s")] {
        merge(&g, "run", branch).await;
        assert_eq!(shown(&g, branch).await, ["P g", "P k", own]);
    }
    // And stays gone when they meet.
    merge(&g, "main", "stable").await;
    assert_eq!(shown(&g, "stable").await, ["P g", "P k", "P m", "P s"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_by_way_of_a_third_branch_is_known() {
    let g = team().await;
    write(&g, "main", &["P a a=1 b=x"]).await;
    for branch in ["one", "two"] {
        fork(&g, branch, "main").await;
    }
    let imported = write(&g, "two", &["P a a=2"]).await;
    merge(&g, "two", "one").await;
    write(&g, "one", &["P one"]).await;
    merge(&g, "one", "main").await;
    up_to_date(&g, "two", "main").await;
    // What the target changed since must not be taken for something the source has not seen.
    write(&g, "main", &["P a a=3"]).await;
    write(&g, "two", &["P a b=y", "P two"]).await;
    let done = merge(&g, "two", "main").await;
    assert_eq!((done.base, done.outcome), (imported.id, MergeOutcome::Merged));
    assert_eq!(shown(&g, "main").await, ["P a a=3 b=y", "P one", "P two"]);
    // The way back, from the third, sees the same.
    merge(&g, "main", "one").await;
    up_to_date(&g, "two", "one").await;
    assert_eq!(shown(&g, "one").await, shown(&g, "main").await);
    let done = merge(&g, "one", "two").await;
    assert_eq!(done.outcome, MergeOutcome::FastForward);
    assert_eq!(shown(&g, "two").await, shown(&g, "main").await);
    // A merge that brings nothing but merges is a commit that changes nothing.
    assert!(merge(&g, "two", "main").await.receipt.commit.counts.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn branches_of_branches_merge_in_any_direction() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P z"]).await;
    for (name, from) in [("b1", "main"), ("b2", "b1"), ("b3", "b2")] {
        fork(&g, name, from).await;
        write(&g, name, &[&format!("P {name}")]).await;
    }
    write(&g, "main", &["P a a=1"]).await;
    write(&g, "b2", &["-P z"]).await;
    write(&g, "b3", &["P a b=3", "K e a b1"]).await;
    // Past the branches in between: their commits come, those they made since do not.
    merge(&g, "b3", "main").await;
    assert_eq!(shown(&g, "main").await, ["K e a b1", "P a a=1 b=3", "P b1", "P b2", "P b3", "P z"]);
    up_to_date(&g, "b1", "main").await;
    merge(&g, "b2", "main").await;
    merge(&g, "main", "b1").await;
    assert_eq!(shown(&g, "b1").await, ["K e a b1", "P a a=1 b=3", "P b1", "P b2", "P b3"]);
    write(&g, "b1", &["-P b3"]).await;
    merge(&g, "b1", "b3").await;
    assert_eq!(shown(&g, "b3").await, ["K e a b1", "P a a=1 b=3", "P b1", "P b2"]);
    up_to_date(&g, "b2", "b3").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_can_be_merged_again_and_again() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0"]).await;
    fork(&g, "b", "main").await;
    for round in 1..=6 {
        let last = write(&g, "b", &[&format!("P a a={round}"), &format!("P s{round}")]).await;
        // What a merge brought may be changed again without a conflict at the next.
        let done = merge(&g, "b", "main").await;
        assert_eq!(done.source, last.id);
        write(&g, "main", &[&format!("P a b={round}"), &format!("-P s{round}")]).await;
        if round % 3 == 0 {
            let done = merge(&g, "main", "b").await;
            assert_eq!(done.base, last.id);
            assert_eq!(shown(&g, "b").await, [format!("P a a={round} b={round}")]);
        }
    }
    assert_eq!(shown(&g, "main").await, ["P a a=6 b=6"]);
    let merges = g.commits("main", None, 100).await.unwrap().iter().filter(|c| c.parents.len() == 2).count();
    assert_eq!(merges, 6);
}

/// Two branches that merged each other's state of the same moment: neither merge knows of the other.
async fn crossed(left: &[&str], right: &[&str]) -> Graph {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P d a=0", "P k"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", left).await;
    write(&g, "b", right).await;
    fork(&g, "was-main", "main").await;
    merge(&g, "b", "main").await;
    merge(&g, "was-main", "b").await;
    g
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_criss_cross_both_sides_start_from_what_they_have_in_common() {
    let g = crossed(&["P a a=1", "P l"], &["P a b=1", "P r", "-P d"]).await;
    let both = ["P a a=1 b=1", "P k", "P l", "P r"];
    assert_eq!([shown(&g, "main").await, shown(&g, "b").await], [both, both]);
    // Neither side changed anything since, so nothing can stand against it.
    fork(&g, "untouched", "main").await;
    merge(&g, "b", "untouched").await;
    assert_eq!(shown(&g, "untouched").await, both);
    // A property that both got from one base is the other's to change.
    write(&g, "main", &["P a a=5", "-P r"]).await;
    write(&g, "b", &["P a b=6", "P l a=2", "P n"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=5 b=6", "P k", "P l a=2", "P n"]);
    merge(&g, "main", "b").await;
    assert_eq!(shown(&g, "b").await, shown(&g, "main").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_criss_cross_what_both_changed_is_a_conflict() {
    let g = crossed(&["P a a=1", "P l"], &["P a b=1", "P r"]).await;
    write(&g, "main", &["P a a=5", "-P l", "P r a=1", "P new a=1"]).await;
    write(&g, "b", &["P a a=6", "P l a=2", "-P r", "P new a=2"]).await;
    let told = refused(&g, "b", "main").await;
    assert_eq!(
        told,
        ["divergent_update P/a a", "delete_vs_update P/l", "divergent_insert P/new a", "delete_vs_update P/r"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_criss_cross_that_settled_differently_no_side_wins_by_itself() {
    let g = team().await;
    write(&g, "main", &["P a a=0", "P k b=k"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["P a a=1"]).await;
    write(&g, "b", &["P a a=2"]).await;
    fork(&g, "was-main", "main").await;
    // Each keeps its own, whatever the other says.
    let ours = MergeHow { strategy: Some(omnigraph_engine::model::Side::Target), ..MergeHow::default() };
    merge_how(&g, "b", "main", &ours).await;
    merge_how(&g, "was-main", "b", &ours).await;
    assert_eq!(refused(&g, "b", "main").await, ["divergent_update P/a a"]);
    // Unless they agree by now.
    write(&g, "b", &["P a a=1", "P k b=l"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=1", "P k b=l"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_branches_that_all_merged_each_other_meet() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0 mail=0"]).await;
    for (branch, line) in [("x", "P a a=1"), ("y", "P a b=1"), ("z", "P a mail=1")] {
        fork(&g, branch, "main").await;
        write(&g, branch, &[line, &format!("P {branch}")]).await;
        fork(&g, &format!("was-{branch}"), branch).await;
    }
    for (source, target) in [("y", "x"), ("z", "y"), ("x", "z"), ("z", "x"), ("x", "y"), ("y", "z")] {
        merge(&g, &format!("was-{source}"), target).await;
    }
    let all = ["P a a=1 b=1 mail=1", "P x", "P y", "P z"];
    for branch in ["x", "y", "z"] {
        assert_eq!(shown(&g, branch).await, all, "{branch}");
    }
    for (branch, line) in [("x", "P a a=2"), ("y", "P a b=2"), ("z", "P a mail=2")] {
        write(&g, branch, &[line]).await;
    }
    merge(&g, "y", "x").await;
    merge(&g, "z", "x").await;
    assert_eq!(shown(&g, "x").await, ["P a a=2 b=2 mail=2", "P x", "P y", "P z"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_used_again_is_another_branch() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=1", "P old"]).await;
    let reader = engine().open(g.root(), Access::ReadWrite).await.unwrap();
    assert_eq!(shown(&reader, "b").await, ["P a a=1", "P old"]);
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=2"]).await;
    // Also for a process that knew the old one.
    merge(&reader, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_merged_and_deleted_remains_part_of_history() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    fork(&g, "b", "main").await;
    fork(&g, "c", "main").await;
    let theirs = write(&g, "b", &["P a a=1"]).await;
    write(&g, "main", &["P m"]).await;
    merge(&g, "b", "c").await;
    merge(&g, "b", "main").await;
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    let ancestors = g.ancestors("main", None, 100).await.unwrap();
    assert!(ancestors.iter().any(|c| c.id == theirs.id && c.branch == "b"), "{ancestors:?}");
    assert_eq!(at(&g, &ReadSelector::Commit(theirs.id.clone())).await, ["P a a=1"]);
    // It is what the two have in common.
    write(&g, "c", &["P a a=2"]).await;
    assert_eq!(merge(&g, "c", "main").await.base, theirs.id);
    assert_eq!(shown(&g, "main").await, ["P a a=2", "P m"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_named_as_one_it_descends_from_is_whole() {
    let g = team().await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P b"]).await;
    fork(&g, "child", "b").await;
    // So many that what it inherited is put aside.
    for i in 0..120 {
        write(&g, "child", &[&format!("P c{} a={i}", i % 3)]).await;
    }
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    fork(&g, "b", "child").await;
    write(&g, "b", &["P b a=1"]).await;
    sound(&g).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, shown(&g, "b").await);
}
