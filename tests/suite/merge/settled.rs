//! Conflicts that the caller settles: by a strategy for all of them, or one by one.

use omnigraph_engine::model::{Granularity, MergeNote, Resolution, Side};

use super::*;

fn strategy(side: Side) -> MergeHow {
    MergeHow { strategy: Some(side), ..MergeHow::default() }
}

/// `P/a ours`, `P/a.b theirs`, `K/e base`.
fn resolution(text: &str) -> Resolution {
    let (what, side) = text.rsplit_once(' ').unwrap();
    let (name, rest) = what.split_once('/').unwrap();
    let (id, property) = match rest.split_once('.') {
        Some((id, property)) => (id, Some(property.to_string())),
        None => (rest, None),
    };
    Resolution { type_ref: type_ref(name), id: id.to_string(), property, take: Side::parse(side).unwrap() }
}

fn resolved(texts: &[&str]) -> MergeHow {
    MergeHow { resolutions: texts.iter().map(|text| resolution(text)).collect(), ..MergeHow::default() }
}

const BASE: [&str; 7] = ["P a a=0 b=0", "P d a=0", "P e a=0", "P n", "P m", "K k n m", "K l m n w=0"];
const TARGET: [&str; 6] = ["P a a=1 b=1", "-P d", "P e a=1", "P new a=1 b=x", "K mine a n", "K l m n w=1"];
const SOURCE: [&str; 6] = ["P a a=2 mail=s", "P d a=2", "-P e", "P new a=2 b=x", "-P n", "P own"];

async fn quarrel() -> Graph {
    let g = team().await;
    write(&g, "main", &BASE).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &TARGET).await;
    write(&g, "b", &SOURCE).await;
    g
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strategy_settles_everything_both_sides_did_to_one_entity_and_loose_edges() {
    let g = quarrel().await;
    let told = refused(&g, "b", "main").await;
    assert_eq!(
        told,
        [
            "divergent_update P/a a",
            "delete_vs_update P/d",
            "delete_vs_update P/e",
            "divergent_insert P/new a",
            "delete_vs_update K/l",
            "orphan_edge K/mine dst",
        ]
    );
    let done = merge_how(&g, "b", "main", &strategy(Side::Target)).await;
    // What does not conflict comes from either side. The edge of the source's that went with its node stays away.
    let expected =
        ["K l m n w=1", "K mine a n", "P a a=1 b=1 mail=s", "P e a=1", "P m", "P n", "P new a=1 b=x", "P own"];
    assert_eq!((shown(&g, "main").await, done.settled), (expected.map(String::from).to_vec(), 6));
    let g = quarrel().await;
    let done = merge_how(&g, "b", "main", &strategy(Side::Source)).await;
    let expected = ["P a a=2 b=1 mail=s", "P d a=2", "P m", "P new a=2 b=x", "P own"];
    assert_eq!((shown(&g, "main").await, done.settled), (expected.map(String::from).to_vec(), 6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loose_edges_are_settled_whoever_deleted_the_node() {
    // The target's edge and the node the source deleted, then the source's edge and the node the target deleted.
    for (target, source) in [(["P o", "K e o n"], ["P p", "-P n"]), (["P p", "-P n"], ["P o", "K e o n"])] {
        let by_source = source[1] == "-P n";
        for side in [Side::Target, Side::Source] {
            let g = team().await;
            write(&g, "main", &["P n a=7 mail=n", "P q", "K other n q"]).await;
            fork(&g, "b", "main").await;
            write(&g, "main", &target).await;
            write(&g, "b", &source).await;
            let end = ["orphan_edge K/e dst"];
            assert_eq!(refused(&g, "b", "main").await, end);
            let done = merge_how(&g, "b", "main", &strategy(side)).await;
            assert_eq!(done.settled, 1);
            let keeps_edge = by_source == (side == Side::Target);
            let mut expected = vec!["P o", "P p", "P q"];
            if keeps_edge {
                expected = vec!["K e o n", "P n a=7 mail=n", "P o", "P p", "P q"];
            }
            assert_eq!(shown(&g, "main").await, expected, "{side:?} {target:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_back_for_an_edge_obeys_the_constraints() {
    let g = team().await;
    write(&g, "main", &["P n mail=n", "P o"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["-P n", "P thief mail=n"]).await;
    write(&g, "b", &["K e o n"]).await;
    let told = refused_how(&g, "b", "main", &strategy(Side::Source)).await;
    assert_eq!(short(&told), ["unique_violation P/n mail"]);
    let mut how = strategy(Side::Source);
    how.resolutions.push(resolution("K/e ours"));
    merge_how(&g, "b", "main", &how).await;
    assert_eq!(shown(&g, "main").await, ["P o", "P thief mail=n"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strategy_settles_no_constraint() {
    let g = team().await;
    write(&g, "main", &["P a x=0 y=0", "P b", "P c", "P d", "P still x=1 y=1", "C a b"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["P a x=1", "P b mail=m", "C a c"]).await;
    write(&g, "b", &["P a y=1", "P c mail=m", "C a d"]).await;
    let told = ["unique_violation P/a x,y", "unique_violation P/c mail", "cardinality_violation C/a"];
    for side in [Side::Target, Side::Source] {
        assert_eq!(short(&refused_how(&g, "b", "main", &strategy(side)).await), told);
    }
    assert_eq!(short(&refused_how(&g, "b", "main", &resolved(&["P/c ours", "P/a theirs"])).await), told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolutions_come_before_the_strategy_and_the_finer_before_the_coarser() {
    let g = quarrel().await;
    let texts = [
        "P/a theirs",
        "P/d theirs",
        "P/e base",
        "P/new.a ours",
        "K/l ours",
        "K/mine theirs",
        "P/own ours",
        "P/own.a ours",
    ];
    // The edge that is kept needs the node that went.
    let told = refused_how(&g, "b", "main", &resolved(&["P/a theirs", "P/d theirs", "P/e base", "P/new.a ours"])).await;
    assert_eq!(short(&told), ["delete_vs_update K/l", "orphan_edge K/mine dst"]);
    let done = merge_how(&g, "b", "main", &resolved(&texts)).await;
    let expected = [
        "K l m n w=1",
        "K mine a n",
        "P a a=2 b=1 mail=s",
        "P d a=2",
        "P e a=0",
        "P m",
        "P n",
        "P new a=1 b=x",
        "P own",
    ];
    assert_eq!(shown(&g, "main").await, expected);
    let note: MergeNote = *done.receipt.commit.merge.clone().unwrap();
    // What settled nothing is not remembered.
    assert!(note.resolutions.iter().all(|r| r.id != "own"), "{note:?}");
    assert_eq!(g.commit(&done.receipt.commit.id).await.unwrap().merge.unwrap().as_ref(), &note);

    let g = quarrel().await;
    write(&g, "main", &["P a b=z"]).await;
    write(&g, "b", &["P a b=y"]).await;
    let mut how = resolved(&["P/a.b base", "P/a ours", "P/d ours"]);
    how.strategy = Some(Side::Source);
    merge_how(&g, "b", "main", &how).await;
    assert_eq!(shown(&g, "main").await, ["P a a=1 b=0 mail=s", "P m", "P new a=2 b=x", "P own"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_neither_side_had_before_goes_if_the_base_is_taken() {
    let g = quarrel().await;
    let mut how = resolved(&["P/new base", "P/e base", "P/d base"]);
    how.strategy = Some(Side::Source);
    merge_how(&g, "b", "main", &how).await;
    assert_eq!(shown(&g, "main").await, ["P a a=2 b=1 mail=s", "P d a=0", "P e a=0", "P m", "P own"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_taken_from_nowhere_breaks_what_requires_one() {
    let g = team().await;
    write(&g, "main", &["P a"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["N n t=one", "M m n a"]).await;
    write(&g, "b", &["N n t=two", "M m n a"]).await;
    let told = refused_how(&g, "b", "main", &resolved(&["N/n.t base"])).await;
    assert_eq!(short(&told), ["value_constraint_violation N/n t"]);
    merge_how(&g, "b", "main", &resolved(&["N/n.t theirs"])).await;
    assert_eq!(shown(&g, "main").await, ["M m n a", "N n t=two", "P a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolutions_that_mean_nothing_are_refused() {
    let g = quarrel().await;
    let cases: [(&[&str], Reason); 6] = [
        (&["P/a ours", "P/a theirs"], Reason::InvalidArgument),
        (&["P/a.a ours", "P/d ours", "P/a.a base"], Reason::InvalidArgument),
        (&["Q/a ours"], Reason::TypeNotFound),
        (&["P/a.zz ours"], Reason::PropertyNotFound),
        (&["P/a.src ours"], Reason::PropertyNotFound),
        (&["K/k.dst ours", "K/k.zz ours"], Reason::PropertyNotFound),
    ];
    let before = g.branch("main").await.unwrap().head;
    for (texts, reason) in cases {
        let how = resolved(texts);
        let merged = g.merge(&of("b", &how), &WriteOptions::on("main")).await.unwrap_err();
        let previewed = g.preview_merge("b", "main", &how).await.unwrap_err();
        assert_eq!((merged.reason(), previewed.reason()), (reason, reason), "{texts:?}: {merged}");
    }
    let error = g.preview_merge("b", "main", &strategy(Side::Base)).await.unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidArgument, "{error}");
    assert_eq!(g.branch("main").await.unwrap().head, before);
    // Said twice is said once; and about what does not conflict nothing has to be said.
    let how = MergeHow { strategy: Some(Side::Target), ..resolved(&["P/own theirs", "P/own theirs", "P/nobody base"]) };
    merge_how(&g, "b", "main", &how).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_compares_entities_as_wholes_finds_more_conflicts() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P c"]).await;
    fork(&g, "b", "main").await;
    write(&g, "main", &["P a a=1", "P c mail=c"]).await;
    write(&g, "b", &["P a b=1", "P c mail=c"]).await;
    let whole = MergeHow { granularity: Granularity::Entity, ..MergeHow::default() };
    assert_eq!(short(&refused_how(&g, "b", "main", &whole).await), ["divergent_update P/a a,b"]);
    let conflict = refused_how(&g, "b", "main", &whole).await.remove(0);
    let sides = [&conflict.base, &conflict.target, &conflict.source].map(|side| brief(side.as_ref()));
    assert_eq!(sides, ["a=0 b=0", "a=1 b=0", "a=0 b=1"]);
    merge(&g, "b", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a a=1 b=1", "P c mail=c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_that_is_given_up_leaves_enough_others_or_is_no_way_out() {
    let g = team().await;
    write(&g, "main", &["P p", "P q", "N o t=o", "M o o q"]).await;
    fork(&g, "b", "main").await;
    // A new node that needs its edge, and an old one that has another.
    write(&g, "main", &["N n t=n", "M m n p", "M p o p"]).await;
    write(&g, "b", &["-P p", "P r"]).await;
    for (source, target, theirs) in [("b", "main", Side::Source), ("main", "b", Side::Target)] {
        assert_eq!(refused(&g, source, target).await, ["orphan_edge M/m dst", "orphan_edge M/p dst"]);
        let told = refused_how(&g, source, target, &strategy(theirs)).await;
        assert_eq!(short(&told), ["cardinality_violation M/n"]);
    }
    write(&g, "main", &["M m2 n q"]).await;
    merge_how(&g, "b", "main", &strategy(Side::Source)).await;
    assert_eq!(shown(&g, "main").await, ["M m2 n q", "M o o q", "N n t=n", "N o t=o", "P q", "P r"]);
}
