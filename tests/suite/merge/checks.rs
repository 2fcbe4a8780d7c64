//! What only the merged state would break: each side alone obeys.

use super::*;

/// Both sides start from these people.
async fn parted(base: &[&str], target: &[&str], source: &[&str]) -> Graph {
    let g = team().await;
    write(&g, "main", base).await;
    fork(&g, "b", "main").await;
    for (branch, lines) in [("main", target), ("b", source)] {
        if !lines.is_empty() {
            write(&g, branch, lines).await;
        }
    }
    g
}

/// Checks that the merge is refused for exactly these reasons, in either direction.
async fn expect_refused(base: &[&str], target: &[&str], source: &[&str], conflicts: &[&str], back: &[&str]) {
    let g = parted(base, target, source).await;
    assert_eq!(refused(&g, "b", "main").await, conflicts, "{target:?} {source:?}");
    assert_eq!(refused(&g, "main", "b").await, back, "back: {target:?} {source:?}");
    // The graph goes on, and the merge as soon as nothing stands against it.
    write(&g, "main", &["P other"]).await;
    assert_eq!(refused(&g, "b", "main").await, conflicts);
}

async fn expect_merged(base: &[&str], target: &[&str], source: &[&str], expected: &[&str]) {
    let g = parted(base, target, source).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, expected, "{target:?} {source:?}");
    let g = parted(base, target, source).await;
    merge(&g, "main", "b").await;
    assert_eq!(shown(&g, "b").await, expected, "back: {target:?} {source:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unique_value_taken_on_both_sides_is_a_conflict() {
    let base = ["P a mail=a", "P b mail=b", "P c"];
    let one = ["unique_violation P/d mail"];
    expect_refused(&base, &["P c mail=x"], &["P d mail=x"], &one, &["unique_violation P/c mail"]).await;
    // Several at once, every pair of them.
    expect_refused(
        &base,
        &["P c mail=x x=1 y=1", "P e mail=y", "P f mail=z"],
        &["P d mail=x x=1 y=1", "P g mail=y"],
        &["unique_violation P/d mail", "unique_violation P/d x,y", "unique_violation P/g mail"],
        &["unique_violation P/c mail", "unique_violation P/c x,y", "unique_violation P/e mail"],
    )
    .await;
    // A value that was freed on one side and taken on it again, and on the other.
    expect_refused(
        &base,
        &["P a mail=null", "P c mail=a"],
        &["P b mail=null", "P a mail=b"],
        &["divergent_update P/a mail"],
        &["divergent_update P/a mail"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unique_tuple_made_of_parts_of_both_sides_meets_one_that_nobody_touched() {
    let base = ["P a x=0 y=0", "P still x=1 y=1", "P quiet x=5 y=5"];
    let told = ["unique_violation P/a x,y"];
    expect_refused(&base, &["P a x=1"], &["P a y=1"], &told, &told).await;
    expect_merged(&base, &["P a x=1"], &["P a y=2"], &["P a x=1 y=2", "P quiet x=5 y=5", "P still x=1 y=1"]).await;
    // Or one that a side changed, or took away.
    expect_refused(
        &base,
        &["P a x=7", "P quiet y=8"],
        &["P a y=8", "P quiet x=7"],
        &["unique_violation P/a x,y", "unique_violation P/quiet x,y"],
        &["unique_violation P/a x,y", "unique_violation P/quiet x,y"],
    )
    .await;
    expect_merged(&base, &["P a x=1"], &["P a y=1", "-P still"], &["P a x=1 y=1", "P quiet x=5 y=5"]).await;
    let left = ["P a x=1 y=1", "P quiet x=5 y=5", "P still x=2 y=1"];
    expect_merged(&base, &["P a x=1", "P still x=2"], &["P a y=1"], &left).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_unique_after_all_is_no_conflict() {
    // Nulls never equal anything.
    expect_merged(&["P a", "P b"], &["P a x=1"], &["P b x=1"], &["P a x=1", "P b x=1"]).await;
    // Different properties of one row whose tuple stays.
    expect_merged(&["P a x=1 y=1"], &["P a a=5"], &["P a b=s"], &["P a a=5 b=s x=1 y=1"]).await;
    // A value that moved from one row to another on one side, beside a new row on the other.
    let moved = ["P a mail=b", "P b mail=a", "P c mail=c"];
    expect_merged(
        &["P a mail=a", "P b mail=b"],
        &["P a mail=null", "P b mail=a", "P a mail=b"],
        &["P c mail=c"],
        &moved,
    )
    .await;
    // A value freed on one side is the other's to take: nobody has it twice.
    let g = parted(&["P a mail=a", "P b"], &["P a mail=null"], &["P b a=1"]).await;
    merge(&g, "b", "main").await;
    merge(&g, "main", "b").await;
    write(&g, "b", &["P b mail=a"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a", "P b a=1 mail=a"]);
    // The same row moved alike on both sides.
    expect_merged(&["P a mail=a"], &["P a mail=z"], &["P a mail=z"], &["P a mail=z"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edges_of_both_sides_together_must_not_be_too_many() {
    let base = ["P a", "P b", "P c", "P d", "P e", "C a b"];
    let told = ["cardinality_violation C/a"];
    expect_refused(&base, &["C a c"], &["C a d"], &told, &told).await;
    expect_merged(&base, &["C a c"], &["-C a b", "C a d"], &["C a c", "C a d", "P a", "P b", "P c", "P d", "P e"])
        .await;
    // The same edge on both sides is one.
    expect_merged(&base, &["C a c w=1"], &["C a c w=1"], &["C a b", "C a c w=1", "P a", "P b", "P c", "P d", "P e"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edges_that_both_sides_removed_must_leave_enough() {
    let base = ["P a", "P b", "N n t=1", "M m1 n a", "M m2 n b"];
    let told = ["cardinality_violation M/n"];
    expect_refused(&base, &["-M m1"], &["-M m2"], &told, &told).await;
    // By way of the nodes at their other end.
    expect_refused(&base, &["-P a"], &["-M m2"], &told, &told).await;
    expect_merged(&base, &["-M m1"], &["-M m2", "M m3 n b"], &["M m3 n b", "N n t=1", "P a", "P b"]).await;
    // Who has none is nobody's business once he is gone.
    let g = parted(&base, &["-M m1"], &["-N n"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a", "P b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_needs_both_its_ends() {
    let base = ["P a", "P b", "P c", "K old a b"];
    for (edge, told) in [
        ("K e a b", "orphan_edge K/e dst"),
        ("K e b a", "orphan_edge K/e src"),
        ("K old a b w=1", "delete_vs_update K/old"),
    ] {
        expect_refused(&base, &["-P b"], &[edge], &[told], &[told]).await;
    }
    // An edge that was moved to another end.
    expect_refused(&base, &["-P c"], &["K old a c"], &["orphan_edge K/old dst"], &["orphan_edge K/old dst"]).await;
    // Both ends gone on the other side, and only one edge's.
    let told = ["orphan_edge K/e src", "orphan_edge K/e dst", "orphan_edge K/f src"];
    expect_refused(&base, &["-P a", "-P b"], &["K e a b", "K f b c"], &told, &told).await;
    // Deleted with its end on both sides.
    expect_merged(&base, &["-P b"], &["-K old", "P b a=null"], &["P a", "P c"]).await;
    // Made and unmade.
    expect_merged(&base, &["-P b"], &["K e a c"], &["K e a c", "P a", "P c"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_conflicts_is_told_once_and_not_for_each_of_its_edges() {
    let base = ["P a", "P b", "P c"];
    let told = ["delete_vs_update P/b"];
    expect_refused(&base, &["-P b"], &["P b a=1", "K e a b", "K f b c"], &told, &told).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_cleared_on_one_side_is_cleared() {
    let base = ["P a a=1 b=x mail=m", "P c b=c"];
    expect_merged(&base, &["P a a=2", "P c a=1"], &["P a b=null mail=null", "P c b=null"], &["P a a=2", "P c a=1"])
        .await;
    let g = parted(&base, &[], &["P a b=null"]).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=1 mail=m", "P c b=c"]);
    expect_refused(&base, &["P a b=y"], &["P a b=null"], &["divergent_update P/a b"], &["divergent_update P/a b"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_conflicts_is_complete_and_in_order() {
    let base = ["P a a=1", "P b", "P c", "P d", "P e", "N n t=1", "M m n a", "K k a b", "C a b"];
    let target = ["P a a=2", "P c mail=m", "P new a=1", "C a c", "-P e", "K k a b w=1", "N n t=2"];
    let source = ["P a a=3", "P d mail=m", "P new a=2", "C a d", "K o d e", "-K k", "N n t=3"];
    let told = [
        "divergent_update N/n t",
        "divergent_update P/a a",
        "unique_violation P/d mail",
        "divergent_insert P/new a",
        "cardinality_violation C/a",
        "delete_vs_update K/k",
        "orphan_edge K/o dst",
    ];
    let g = parted(&base, &target, &source).await;
    assert_eq!(refused(&g, "b", "main").await, told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_conflicts_than_an_error_lists_are_all_in_the_preview() {
    let g = team().await;
    let lines = |a: usize| (0..250).map(|i| format!("P p{i:03} a={a}")).collect::<Vec<_>>();
    for (branch, a) in [("main", 0), ("b", 1), ("main", 2)] {
        if branch == "b" {
            fork(&g, "b", "main").await;
        }
        let lines = lines(a);
        write(&g, branch, &lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    let told = refused(&g, "b", "main").await;
    assert_eq!(told, (0..250).map(|i| format!("divergent_update P/p{i:03} a")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_made_alike_is_one_and_what_they_made_differently_a_conflict() {
    expect_merged(&[], &["P a a=1", "P t"], &["P a a=1", "P s"], &["P a a=1", "P s", "P t"]).await;
    expect_merged(&["P a", "P b"], &["C a b w=1"], &["C a b w=1"], &["C a b w=1", "P a", "P b"]).await;
    let told = ["divergent_insert P/a a,b"];
    expect_refused(&[], &["P a a=1 b=x", "P t"], &["P a a=2", "P s"], &told, &told).await;
    let told = ["divergent_insert C/[\"a\",\"b\"] w"];
    expect_refused(&["P a", "P b"], &["C a b w=1"], &["C a b w=2"], &told, &told).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_whose_ends_both_sides_moved_gets_one_from_each() {
    let base = ["P a", "P b", "P c", "P d", "K e a b"];
    expect_merged(&base, &["K e c b"], &["K e a d"], &["K e c d", "P a", "P b", "P c", "P d"]).await;
    expect_refused(&base, &["K e c b"], &["K e d a"], &["divergent_update K/e src"], &["divergent_update K/e src"])
        .await;
    // What it got from one side may be gone on the other.
    let told = ["orphan_edge K/e src"];
    expect_refused(&base, &["K e c b"], &["K e a d", "-P c"], &told, &told).await;
}
