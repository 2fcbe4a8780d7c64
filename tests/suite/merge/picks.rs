//! Taking a commit back, making it again elsewhere, going back to a state.

use omnigraph_engine::model::commit::{CHERRY_PICK, RESTORE, REVERT};
use omnigraph_engine::model::{MergeNote, Side};

use super::*;

fn plain() -> MergeHow {
    MergeHow::default()
}

/// Checks what a commit of this kind remembers.
async fn expect_made(g: &Graph, done: &MergeResult, branch: &str, operation: &str, before: &str, source: &str) {
    let commit = g.commit(&done.receipt.commit.id).await.unwrap();
    assert_eq!((commit.operation.as_str(), commit.branch.as_str()), (operation, branch));
    assert_eq!(commit.parents, [before.to_string()]);
    assert_eq!((&commit, done.source.as_str()), (&done.receipt.commit, source));
    let note: &MergeNote = commit.merge.as_deref().unwrap();
    assert_eq!((note.outcome, note.source.as_str(), &note.base), (MergeOutcome::Merged, source, &done.base));
    assert_eq!(g.branch(branch).await.unwrap().head, commit.id);
    sound(g).await;
}

async fn revert(g: &Graph, branch: &str, commit: &CommitInfo) -> MergeResult {
    let before = g.branch(branch).await.unwrap().head;
    let done = g.revert(&commit.id, &plain(), &WriteOptions::on(branch)).await.unwrap();
    expect_made(g, &done, branch, REVERT, &before, &commit.id).await;
    done
}

async fn pick(g: &Graph, branch: &str, commit: &CommitInfo) -> MergeResult {
    let before = g.branch(branch).await.unwrap().head;
    let done = g.cherry_pick(&commit.id, &plain(), &WriteOptions::on(branch)).await.unwrap();
    expect_made(g, &done, branch, CHERRY_PICK, &before, &commit.id).await;
    done
}

async fn restore(g: &Graph, branch: &str, to: &ReadSelector) -> MergeResult {
    let before = g.branch(branch).await.unwrap().head;
    let source = g.snapshot(to).await.unwrap().head().to_string();
    let done = g.restore(to, &WriteOptions::on(branch)).await.unwrap();
    expect_made(g, &done, branch, RESTORE, &before, &source).await;
    assert_eq!(shown(g, branch).await, at(g, to).await);
    done
}

fn to(commit: &CommitInfo) -> ReadSelector {
    ReadSelector::Commit(commit.id.clone())
}

/// Checks that taking a commit back is refused for these reasons and changes nothing.
async fn irrevocable(g: &Graph, commit: &CommitInfo, told: &[&str]) {
    let before = (g.branch("main").await.unwrap().head, shown(g, "main").await);
    let error = g.revert(&commit.id, &plain(), &WriteOptions::on("main")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::MergeConflict, "{error}");
    let found: Vec<String> = error
        .violations()
        .iter()
        .map(|v| format!("{} {}", v.description.split(':').next().unwrap(), v.field.split_once(':').unwrap().1))
        .collect();
    assert_eq!(found, told);
    assert_eq!((g.branch("main").await.unwrap().head, shown(g, "main").await), before);
    sound(g).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_taken_back_and_what_came_after_it_stays() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P b", "K e a b w=1", "C a b"]).await;
    let bad = write(&g, "main", &["P a a=1", "-P b", "P c", "K f a c"]).await;
    write(&g, "main", &["P a b=2", "P d"]).await;
    let done = revert(&g, "main", &bad).await;
    assert_eq!(done.base, bad.id);
    assert_eq!(shown(&g, "main").await, ["C a b", "K e a b w=1", "P a a=0 b=2", "P b", "P d"]);
    // Once more there is nothing to take back.
    let again = g.revert(&bad.id, &plain(), &WriteOptions::on("main")).await.unwrap();
    assert_eq!((again.outcome, again.receipt.changed), (MergeOutcome::AlreadyUpToDate, false));
    assert_eq!(g.branch("main").await.unwrap().head, done.receipt.commit.id);
    // And what was taken back can be made again by taking that back.
    revert(&g, "main", &done.receipt.commit).await;
    assert_eq!(shown(&g, "main").await, ["K f a c", "P a a=1 b=2", "P c", "P d"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_built_upon_is_not_taken_away() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    let made = write(&g, "main", &["P n a=1", "P o", "P a a=1"]).await;
    write(&g, "main", &["K e a n", "C o a", "P a a=2"]).await;
    irrevocable(&g, &made, &["divergent_update P/a.a", "orphan_edge C/[\"o\",\"a\"].src", "orphan_edge K/e.dst"]).await;
    write(&g, "main", &["-K e", "P n a=7", "P a a=1", "-C o a"]).await;
    irrevocable(&g, &made, &["delete_vs_update P/n"]).await;
    write(&g, "main", &["P n a=1"]).await;
    revert(&g, "main", &made).await;
    assert_eq!(shown(&g, "main").await, ["P a a=0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_back_obeys_the_constraints_of_today() {
    let g = team().await;
    write(&g, "main", &["P a mail=m", "P b", "P c", "C a b"]).await;
    let gone = write(&g, "main", &["-P a"]).await;
    write(&g, "main", &["P b mail=m"]).await;
    irrevocable(&g, &gone, &["unique_violation P/a.mail"]).await;
    write(&g, "main", &["P b mail=null"]).await;
    write(&g, "main", &["-P b"]).await;
    irrevocable(&g, &gone, &["orphan_edge C/[\"a\",\"b\"].dst"]).await;
    let how = MergeHow { strategy: Some(Side::Target), ..plain() };
    let done = g.revert(&gone.id, &how, &WriteOptions::on("main")).await.unwrap();
    assert_eq!((done.settled, shown(&g, "main").await), (1, vec!["P a mail=m".to_string(), "P c".to_string()]));
    sound(&g).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_is_taken_back_as_one_commit() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P z"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=1", "P n", "-P z"]).await;
    write(&g, "b", &["K e a n", "P a a=2"]).await;
    write(&g, "main", &["P a b=1"]).await;
    let merged = merge(&g, "b", "main").await;
    write(&g, "main", &["P m"]).await;
    revert(&g, "main", &merged.receipt.commit).await;
    assert_eq!(shown(&g, "main").await, ["P a a=0 b=1", "P m", "P z"]);
    // The branch is part of history nevertheless; it comes back by taking that back.
    up_to_date(&g, "b", "main").await;
    let taken_back = g.commits("main", None, 1).await.unwrap().remove(0);
    revert(&g, "main", &taken_back).await;
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=2 b=1", "P m", "P n"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_another_branch_is_made_again() {
    let g = team().await;
    write(&g, "main", &["P a a=0 b=0", "P z"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P before"]).await;
    let fix = write(&g, "b", &["P a a=1", "P n", "K e a n", "-P z"]).await;
    write(&g, "b", &["P a a=5", "P after"]).await;
    write(&g, "main", &["P a b=1"]).await;
    let done = pick(&g, "main", &fix).await;
    assert_eq!((done.base.as_str(), done.settled), (fix.parents[0].as_str(), 0));
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=1 b=1", "P n"]);
    let again = g.cherry_pick(&fix.id, &plain(), &WriteOptions::on("main")).await.unwrap();
    assert_eq!((again.outcome, again.receipt.changed), (MergeOutcome::AlreadyUpToDate, false));
    // The branch is not merged by that: what it changed since does not fit by itself.
    assert_eq!(refused(&g, "b", "main").await, ["divergent_update P/a a"]);
    let how = MergeHow { strategy: Some(Side::Source), ..plain() };
    merge_how(&g, "b", "main", &how).await;
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=5 b=1", "P after", "P before", "P n"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_does_not_fit_is_not_made_again() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P n"]).await;
    let edge = write(&g, "b", &["K e a n", "P a a=1"]).await;
    write(&g, "main", &["P a a=2"]).await;
    let before = g.branch("main").await.unwrap().head;
    let error = g.cherry_pick(&edge.id, &plain(), &WriteOptions::on("main")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::MergeConflict, "{error}");
    let fields: Vec<&str> = error.violations().iter().map(|v| v.field.as_str()).collect();
    assert_eq!(fields, ["node:P/a.a", "edge:K/e.dst"]);
    assert_eq!(g.branch("main").await.unwrap().head, before);
    let how = MergeHow { strategy: Some(Side::Target), ..plain() };
    let done = g.cherry_pick(&edge.id, &how, &WriteOptions::on("main")).await.unwrap();
    assert_eq!((done.outcome, done.receipt.changed), (MergeOutcome::AlreadyUpToDate, false));
    pick(&g, "main", &g.commits("b", None, 10).await.unwrap()[1]).await;
    let how = MergeHow { strategy: Some(Side::Source), ..plain() };
    g.cherry_pick(&edge.id, &how, &WriteOptions::on("main")).await.unwrap();
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=1", "P n"]);
    sound(&g).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_goes_back_to_any_state() {
    let g = team().await;
    let empty = g.commits("main", None, 1).await.unwrap().remove(0);
    let one = write(&g, "main", &["P a a=0 b=0 mail=m", "P b", "K e a b", "N n t=t", "M m n a"]).await;
    let two = write(&g, "main", &["P a a=1 mail=null", "P b mail=m", "-K e", "C a b"]).await;
    g.create_tag("two", &to(&two), "", &Actor::default()).await.unwrap();
    let three = write(&g, "main", &["-P b", "P c", "-N n"]).await;
    let before = [at(&g, &to(&one)).await, at(&g, &to(&two)).await, at(&g, &to(&three)).await];
    restore(&g, "main", &to(&one)).await;
    restore(&g, "main", &ReadSelector::Tag("two".into())).await;
    restore(&g, "main", &to(&empty)).await;
    assert!(shown(&g, "main").await.is_empty());
    restore(&g, "main", &to(&three)).await;
    // Everything that was left behind can be read, the restores' own states too.
    let history = g.commits("main", None, 100).await.unwrap();
    assert_eq!(history.len(), 4 + 4);
    let [first, second, third] = &before;
    for (commit, expected) in history.iter().zip([third, &Vec::new(), second, first, third, second, first]) {
        assert_eq!(&at(&g, &to(commit)).await, expected);
    }
    // There is nothing to go back to where it is already.
    let again = g.restore(&to(&three), &WriteOptions::on("main")).await.unwrap();
    assert_eq!((again.outcome, again.receipt.changed), (MergeOutcome::AlreadyUpToDate, false));
    // Work goes on.
    write(&g, "main", &["P b", "C a b", "P c mail=m"]).await;
    sound(&g).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_goes_to_what_another_shows_and_stays_mergeable() {
    let g = team().await;
    write(&g, "main", &["P a a=0", "P z"]).await;
    fork(&g, "b", "main").await;
    write(&g, "b", &["P a a=1", "P n", "K e a n"]).await;
    write(&g, "b", &["P a a=2"]).await;
    write(&g, "main", &["P m", "-P z"]).await;
    fork(&g, "c", "main").await;
    let theirs = g.commits("b", None, 10).await.unwrap().remove(1);
    restore(&g, "c", &to(&theirs)).await;
    assert_eq!(shown(&g, "c").await, ["K e a n", "P a a=1", "P n", "P z"]);
    // It went there by a change of its own, so a merge brings that change.
    let done = merge(&g, "c", "main").await;
    assert_eq!(done.outcome, MergeOutcome::FastForward);
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=1", "P n", "P z"]);
    restore(&g, "main", &head("b")).await;
    assert_eq!(shown(&g, "main").await, ["K e a n", "P a a=2", "P n", "P z"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_commit_and_those_that_change_nothing() {
    let g = team().await;
    let first = g.commits("main", None, 1).await.unwrap().remove(0);
    write(&g, "main", &["P a"]).await;
    write(&g, "main", &["P b"]).await;
    for done in [
        g.revert(&first.id, &plain(), &WriteOptions::on("main")).await,
        g.cherry_pick(&first.id, &plain(), &WriteOptions::on("main")).await,
    ] {
        assert_eq!(done.unwrap_err().reason(), Reason::InvalidArgument);
    }
    for id in ["nonsense", "01JZZZZZZZZZZZZZZZZZZZZZZZ"] {
        let error = g.revert(id, &plain(), &WriteOptions::on("main")).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::CommitNotFound | Reason::InvalidArgument), "{error}");
    }
    g.optimize("main", 1).await.unwrap();
    let physical = g.commits("main", None, 1).await.unwrap().remove(0);
    assert_eq!(physical.operation, "optimize");
    let done = g.revert(&physical.id, &plain(), &WriteOptions::on("main")).await.unwrap();
    assert_eq!((done.outcome, done.receipt.changed), (MergeOutcome::AlreadyUpToDate, false));
    assert_eq!(g.branch("main").await.unwrap().head, physical.id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_branch_is_changed_by_merges_only() {
    let g = team().await;
    write(&g, "main", &["P a"]).await;
    let made = write(&g, "main", &["P b"]).await;
    g.protect_branch("main", true, &Actor::default()).await.unwrap();
    let options = WriteOptions::on("main");
    for done in [
        g.revert(&made.id, &plain(), &options).await,
        g.cherry_pick(&made.id, &plain(), &options).await,
        g.restore(&to(&made), &options).await,
    ] {
        assert_eq!(done.unwrap_err().reason(), Reason::BranchProtected);
    }
    // The reviewed way: on a branch, and merged.
    fork(&g, "fix", "main").await;
    revert(&g, "fix", &made).await;
    merge(&g, "fix", "main").await;
    assert_eq!(shown(&g, "main").await, ["P a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_made_once_a_request() {
    let g = team().await;
    write(&g, "main", &["P a a=0"]).await;
    let bad = write(&g, "main", &["P a a=1"]).await;
    fork(&g, "b", "main").await;
    let fix = write(&g, "b", &["P a a=2"]).await;
    let options = |id: &str| WriteOptions { request_id: id.into(), ..WriteOptions::on("main") };
    let other = omnigraph_tests::engine().open(g.root(), omnigraph_engine::Access::ReadWrite).await.unwrap();
    let first = [
        g.cherry_pick(&fix.id, &plain(), &options("pick")).await.unwrap(),
        g.restore(&to(&bad), &options("restore")).await.unwrap(),
        g.revert(&bad.id, &plain(), &options("revert")).await.unwrap(),
    ];
    write(&g, "main", &["P a a=9"]).await;
    for g in [&g, &other] {
        let again = [
            g.cherry_pick(&fix.id, &plain(), &options("pick")).await.unwrap(),
            g.restore(&to(&bad), &options("restore")).await.unwrap(),
            g.revert(&bad.id, &plain(), &options("revert")).await.unwrap(),
        ];
        for (first, again) in first.iter().zip(&again) {
            assert!(again.receipt.replayed, "{again:?}");
            assert_eq!((again.outcome, &again.source, &again.base), (first.outcome, &first.source, &first.base));
            assert_eq!(again.receipt.commit, first.receipt.commit);
        }
    }
    assert_eq!(shown(&g, "main").await, ["P a a=9"]);
}
