//! Merges of tables that were rewritten, cleaned up, loaded anew, inherited or never made, and of large values.

use std::time::Duration;

use omnigraph_engine::Access;
use omnigraph_engine::maintenance::cleanup::CleanupOptions;
use omnigraph_engine::model::{LoadMode, Side};
use omnigraph_tests::{create, load, memory_root};

use super::*;
use crate::sand::Sand;

async fn optimize(g: &Graph, branches: &[&str]) {
    for branch in branches {
        g.optimize(branch, 2).await.unwrap();
    }
}

/// Several fragments on both sides, with deletions in each.
async fn scattered() -> Graph {
    let g = team().await;
    for i in 0..6 {
        write(&g, "main", &[&format!("P p{i} a={i} mail=m{i}"), &format!("K k{i} p{i} p0 w={i}")]).await;
    }
    write(&g, "main", &["-P p5"]).await;
    fork(&g, "b", "main").await;
    for i in 0..3 {
        write(&g, "main", &[&format!("P p{i} a={}", 10 + i), &format!("P main{i}")]).await;
        write(&g, "b", &[&format!("P p{i} b=b{i}"), &format!("P b{i}"), &format!("K k{i} p{i} p1")]).await;
    }
    write(&g, "main", &["-K k4", "K k3 p3 p0 w=30"]).await;
    write(&g, "b", &["-P p4"]).await;
    g
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewritten_tables_merge_as_if_they_were_not() {
    let plain = scattered().await;
    merge(&plain, "b", "main").await;
    let expected = shown(&plain, "main").await;
    assert_eq!(expected.len(), 4 + 6 + 4, "{expected:#?}");
    for rewritten in [&["b"][..], &["main"], &["main", "b"]] {
        let g = scattered().await;
        optimize(&g, rewritten).await;
        let preview = g.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
        let done = merge(&g, "b", "main").await;
        assert_eq!(shown(&g, "main").await, expected, "{rewritten:?}");
        let counted = plain.commits("main", None, 1).await.unwrap().remove(0).counts;
        assert_eq!((&done.receipt.commit.counts, &preview.summary.counts), (&counted, &counted));
        // And again after the result was rewritten.
        optimize(&g, rewritten).await;
        up_to_date(&g, "b", "main").await;
        write(&g, "main", &["P p0 a=99"]).await;
        write(&g, "b", &["P p1 b=z", "-K k0"]).await;
        merge(&g, "b", "main").await;
        let after = shown(&g, "main").await;
        assert!(after.contains(&"P p0 a=99 b=b0 mail=m0".into()) && after.contains(&"P p1 a=11 b=z mail=m1".into()));
    }
    // Rewriting alone is nothing to merge.
    let g = team().await;
    for i in 0..4 {
        write(&g, "main", &[&format!("P p{i}")]).await;
    }
    fork(&g, "b", "main").await;
    write(&g, "b", &["P own"]).await;
    merge(&g, "b", "main").await;
    optimize(&g, &["b"]).await;
    up_to_date(&g, "b", "main").await;
    optimize(&g, &["main"]).await;
    let done = merge(&g, "main", "b").await;
    assert_eq!((done.outcome, done.receipt.commit.counts.len()), (MergeOutcome::FastForward, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflicts_are_found_in_rewritten_tables() {
    let g = scattered().await;
    write(&g, "b", &["P p0 a=5", "P p3 mail=x"]).await;
    write(&g, "main", &["P main0 mail=x", "-P p1"]).await;
    let told = refused(&g, "b", "main").await;
    assert_eq!(
        told,
        ["divergent_update P/p0 a", "delete_vs_update P/p1", "unique_violation P/p3 mail", "delete_vs_update K/k1"]
    );
    optimize(&g, &["b", "main"]).await;
    assert_eq!(refused(&g, "b", "main").await, told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_whose_types_were_all_loaded_anew_merges() {
    let g = team().await;
    let node = |i: usize, a: usize| format!("{{\"type\":\"P\",\"data\":{{\"slug\":\"p{i:04}\",\"a\":{a}}}}}\n");
    let edge = |i: usize| {
        let to = (i * 7 + 1) % 1_500;
        format!(
            "{{\"edge\":\"K\",\"from\":\"p{:04}\",\"to\":\"p{to:04}\",\"data\":{{\"id\":\"k{i:04}\"}}}}\n",
            i % 1_500
        )
    };
    let all = |changed: usize| {
        let nodes: String = (0..1_500).map(|i| node(i, usize::from(i == changed))).collect();
        nodes + &(0..4_000).map(edge).collect::<String>()
    };
    load(&g, "main", LoadMode::Append, &all(9_999)).await.unwrap();
    fork(&g, "b", "main").await;
    load(&g, "b", LoadMode::Overwrite, &all(3)).await.unwrap();
    let expected = shown(&g, "b").await;
    let preview = g.preview_merge("b", "main", &MergeHow::default()).await.unwrap();
    let counts: Vec<[u64; 3]> = preview.summary.counts.iter().map(|c| [c.inserted, c.updated, c.deleted]).collect();
    assert_eq!(counts, [[0, 1, 0]]);
    write(&g, "main", &["P p0001 b=x"]).await;
    let done = merge(&g, "b", "main").await;
    assert_eq!(done.outcome, MergeOutcome::Merged);
    let differing = shown(&g, "main").await.iter().filter(|line| !expected.contains(line)).count();
    assert_eq!(differing, 1);
    // The same the other way: what was loaded anew is the target.
    let g = team().await;
    load(&g, "main", LoadMode::Append, &all(9_999)).await.unwrap();
    fork(&g, "b", "main").await;
    write(&g, "b", &["P p0001 b=x", "-P p0002"]).await;
    load(&g, "main", LoadMode::Overwrite, &all(3)).await.unwrap();
    merge(&g, "b", "main").await;
    let lines = shown(&g, "main").await;
    for line in ["P p0001 a=0 b=x", "P p0003 a=1"] {
        assert!(lines.contains(&line.to_string()), "{line}");
    }
    assert!(!lines.iter().any(|line| line.contains("p0002")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_never_wrote_a_table_reads_its_own_past_of_it() {
    let g = team().await;
    write(&g, "main", &["P a a=0", "P b"]).await;
    for branch in ["target", "source"] {
        fork(&g, branch, "main").await;
    }
    write(&g, "main", &["P a a=9", "P main", "K m a b"]).await;
    write(&g, "source", &["P b b=s", "P s"]).await;
    // What main wrote since is none of either side's business.
    assert_eq!(merge(&g, "source", "target").await.outcome, MergeOutcome::FastForward);
    assert_eq!(shown(&g, "target").await, ["P a a=0", "P b b=s", "P s"]);
    merge(&g, "main", "target").await;
    assert_eq!(shown(&g, "target").await, ["K m a b", "P a a=9", "P b b=s", "P main", "P s"]);
    // Lazy on both sides, of a table that main owns.
    for branch in ["lazy", "from-main"] {
        fork(&g, branch, "main").await;
    }
    write(&g, "main", &["K m b a"]).await;
    write(&g, "from-main", &["P a a=10"]).await;
    merge(&g, "from-main", "lazy").await;
    assert_eq!(shown(&g, "lazy").await, ["K m a b", "P a a=10", "P b", "P main"]);
    merge(&g, "lazy", "main").await;
    assert_eq!(shown(&g, "main").await, ["K m b a", "P a a=10", "P b", "P main"]);
    merge(&g, "main", "lazy").await;
    assert_eq!(shown(&g, "lazy").await, shown(&g, "main").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_both_sides_began_is_merged_row_by_row() {
    let g = team().await;
    write(&g, "main", &["P a", "P b"]).await;
    for branch in ["one", "two"] {
        fork(&g, branch, "main").await;
    }
    write(&g, "one", &["K x a b w=1", "K both a b w=5"]).await;
    write(&g, "two", &["K y b a w=2", "K both a b w=5"]).await;
    merge(&g, "one", "main").await;
    merge(&g, "two", "main").await;
    assert_eq!(shown(&g, "main").await, ["K both a b w=5", "K x a b w=1", "K y b a w=2", "P a", "P b"]);
    write(&g, "one", &["K x a b w=3"]).await;
    write(&g, "main", &["K y b a w=4", "-K both"]).await;
    merge(&g, "one", "main").await;
    assert_eq!(shown(&g, "main").await, ["K x a b w=3", "K y b a w=4", "P a", "P b"]);
    merge(&g, "main", "two").await;
    assert_eq!(shown(&g, "two").await, shown(&g, "main").await);
}

fn keep(n: u64) -> CleanupOptions {
    CleanupOptions { keep: Some(n), confirm: true, concurrency: 2, ..CleanupOptions::default() }
}

const HOURS: Duration = Duration::from_secs(3 * 3_600);

/// Cleans up so that only what is needed stays, and opens the graph as a process that knew nothing before.
async fn cleaned(clock: &std::sync::Arc<Sand>, g: &Graph) -> Graph {
    clock.later(HOURS);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!(report.errors(), 0, "{report:#?}");
    clock.later(HOURS);
    clock.engine().open(g.root(), Access::ReadWrite).await.unwrap()
}

async fn in_sand(clock: &std::sync::Arc<Sand>) -> Graph {
    create(&clock.engine(), &memory_root("merge-sand"), TEAM).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_leaves_what_merges_start_from() {
    let clock = Sand::now();
    let g = in_sand(&clock).await;
    write(&g, "main", &["P a a=0 b=0", "P b"]).await;
    for branch in ["one", "two"] {
        fork(&g, branch, "main").await;
    }
    for i in 1..5 {
        write(&g, "main", &[&format!("P a a={i}"), &format!("K m{i} a b")]).await;
        write(&g, "one", &[&format!("P a b=b{i}"), &format!("P one{i}")]).await;
        write(&g, "two", &[&format!("P b a={i}")]).await;
    }
    merge(&g, "one", "two").await;
    write(&g, "one", &["-P one1", "P one9"]).await;
    write(&g, "two", &["P one2 a=2"]).await;
    let g = cleaned(&clock, &g).await;
    merge(&g, "one", "main").await;
    let expected =
        ["K m1 a b", "K m2 a b", "K m3 a b", "K m4 a b", "P a a=4 b=b4", "P b", "P one2", "P one3", "P one4", "P one9"];
    assert_eq!(shown(&g, "main").await, expected);
    let g = cleaned(&clock, &g).await;
    merge(&g, "two", "main").await;
    let g = cleaned(&clock, &g).await;
    merge(&g, "main", "one").await;
    let all = shown(&g, "main").await;
    assert!(all.contains(&"P b a=4".into()) && all.contains(&"P one2 a=2".into()), "{all:?}");
    assert_eq!(shown(&g, "one").await, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cleanup_leaves_all_that_crossed_branches_start_from() {
    let clock = Sand::now();
    let g = in_sand(&clock).await;
    write(&g, "main", &["P a a=0 b=0 mail=a", "P d"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["P a a=1"]).await;
    write(&g, "b", &["P a b=1", "-P d"]).await;
    fork(&g, "was-main", "main").await;
    merge(&g, "b", "main").await;
    merge(&g, "was-main", "b").await;
    g.delete_branch("was-main", false, &Actor::default()).await.unwrap();
    for i in 2..5 {
        write(&g, "main", &[&format!("P a a={i}")]).await;
        write(&g, "b", &[&format!("P a b={i}"), &format!("P n{i}")]).await;
    }
    let g = cleaned(&clock, &g).await;
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=4 b=4 mail=a", "P n2", "P n3", "P n4"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_merged_outlives_the_branch_it_came_from() {
    let clock = Sand::now();
    let g = in_sand(&clock).await;
    write(&g, "main", &["P a", "P b"]).await;
    fork(&g, "b", "main").await;
    // Main has never had such an edge: it takes the source's table as it is.
    for i in 0..3 {
        write(&g, "b", &[&format!("K k{i} a b w={i}")]).await;
    }
    let request = MergeRequest { delete_source: true, ..of("b", &MergeHow::default()) };
    let done = g.merge(&request, &WriteOptions::on("main")).await.unwrap();
    assert_eq!(done.outcome, MergeOutcome::FastForward);
    assert!(matches!(done.source_deleted, Some(Ok(()))));
    let expected = ["K k0 a b w=0", "K k1 a b w=1", "K k2 a b w=2", "P a", "P b"];
    let g = cleaned(&clock, &g).await;
    assert_eq!(shown(&g, "main").await, expected);
    fork(&g, "c", "main").await;
    write(&g, "main", &["K k0 a b w=9", "-K k1"]).await;
    let g = cleaned(&clock, &g).await;
    assert_eq!(shown(&g, "main").await, ["K k0 a b w=9", "K k2 a b w=2", "P a", "P b"]);
    assert_eq!(shown(&g, "c").await, expected);
    write(&g, "c", &["K k3 b a", "K k2 a b w=7"]).await;
    merge(&g, "c", "main").await;
    assert_eq!(shown(&g, "main").await, ["K k0 a b w=9", "K k2 a b w=7", "K k3 b a", "P a", "P b"]);
    optimize(&g, &["main", "c"]).await;
    g.delete_branch("c", false, &Actor::default()).await.unwrap();
    let g = cleaned(&clock, &g).await;
    assert_eq!(shown(&g, "main").await, ["K k0 a b w=9", "K k2 a b w=7", "K k3 b a", "P a", "P b"]);
    sound(&g).await;
}

const MEDIA: &str = "
node D { slug: String @key  title: String?  body: Blob?  tags: [String]?  face: Vector(4)?  day: Date?  at: DateTime? }
";

fn doc(slug: &str, rest: &str) -> String {
    format!("{{\"type\":\"D\",\"data\":{{\"slug\":\"{slug}\",{rest}}}}}\n")
}

async fn lines(g: &Graph, branch: &str) -> Vec<String> {
    content(g, &head(branch)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_every_kind_are_merged_byte_by_byte() {
    let g = graph("media", MEDIA).await.unwrap();
    let put = async |branch: &str, slug: &str, rest: &str| {
        load(&g, branch, LoadMode::Merge, &doc(slug, rest)).await.unwrap();
    };
    let whole = "\"title\":\"t\",\"body\":\"base64:AAEC\",\"tags\":[\"x\",\"y\"],\"face\":[1,2,3,4],\
                 \"day\":\"2020-02-29\",\"at\":\"2020-02-29T12:00:00.000001Z\"";
    for slug in ["a", "b", "c", "still"] {
        put("main", slug, whole).await;
    }
    fork(&g, "s", "main").await;
    // One value a side, one property; then the same length and not the same bytes on both.
    put("main", "a", "\"title\":\"main\",\"tags\":[\"x\"]").await;
    put("s", "a", "\"body\":\"base64:AAED\",\"face\":[1,2,3,5]").await;
    put("main", "b", "\"body\":null,\"day\":\"2020-03-01\"").await;
    put("s", "b", "\"tags\":[],\"at\":null").await;
    put("s", "new", whole).await;
    let done = merge(&g, "s", "main").await;
    assert_eq!(done.outcome, MergeOutcome::Merged);
    let copy = graph("media", MEDIA).await.unwrap();
    let expected = [
        doc(
            "a",
            &whole
                .replace("\"t\"", "\"main\"")
                .replace("AAEC", "AAED")
                .replace("[\"x\",\"y\"]", "[\"x\"]")
                .replace(",4]", ",5]"),
        ),
        doc("b", "\"title\":\"t\",\"tags\":[],\"face\":[1,2,3,4],\"day\":\"2020-03-01\""),
        doc("c", whole),
        doc("new", whole),
        doc("still", whole),
    ];
    load(&copy, "main", LoadMode::Append, &expected.concat()).await.unwrap();
    assert_eq!(lines(&g, "main").await, lines(&copy, "main").await);
    put("main", "c", "\"body\":\"base64:AAEE\",\"face\":[0,2,3,4]").await;
    put("s", "c", "\"body\":\"base64:AAEF\",\"face\":[1,2,3,4.5]").await;
    assert_eq!(refused(&g, "s", "main").await, ["divergent_update D/c body,face"]);
    let how = MergeHow { strategy: Some(Side::Source), ..MergeHow::default() };
    merge_how(&g, "s", "main", &how).await;
    assert!(lines(&g, "main").await.iter().any(|line| line.contains("AAEF") && line.contains("4.5")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_value_nobody_touched_is_in_nobodys_way() {
    let g = graph("media", MEDIA).await.unwrap();
    // More than an update may carry, in a type that a load may fill with anything.
    let large = "A".repeat(48 * 1024 * 1024);
    load(&g, "main", LoadMode::Overwrite, &doc("wide", &format!("\"title\":\"{large}\""))).await.unwrap();
    load(&g, "main", LoadMode::Append, &doc("a", "\"title\":\"t\"")).await.unwrap();
    fork(&g, "s", "main").await;
    load(&g, "s", LoadMode::Merge, &doc("a", "\"day\":\"2020-02-29\"")).await.unwrap();
    merge(&g, "s", "main").await;
    load(&g, "main", LoadMode::Merge, &doc("a", "\"title\":\"u\"")).await.unwrap();
    load(&g, "s", LoadMode::Merge, &doc("a", "\"day\":\"2020-03-01\"")).await.unwrap();
    merge(&g, "s", "main").await;
    let lines = lines(&g, "main").await;
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().any(|line| line.contains("\"u\"") && line.contains("2020-03-01")));
    assert!(lines.iter().any(|line| line.len() > large.len()));
}
