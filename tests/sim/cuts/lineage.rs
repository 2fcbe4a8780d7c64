//! Every mutating store call of a merge, of a revert, a cherry-pick and a restore, and of what happens to branches and
//! tags as a whole, is a place to die. After each death another process finds nothing of it or all of it, with the
//! right parents, and the same once more makes what was not made and nothing twice.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::model::{
    Actor, CommitInfo, LoadMode, MergeHow, MergeOutcome, MergeRequest, ReadSelector, SchemaApply, WriteOptions,
};
use omnigraph_engine::{Graph, Reason, Result};
use omnigraph_tests::{SOCIAL, load, person};

use super::upkeep::second_deaths;
use crate::parted::{Seen, Setup, ahead, apart, lineage, made, merge, requested, seen, without_edges};
use crate::stock::Stock;

/// What a deed comes to, if it tells.
type Told = Option<MergeOutcome>;

type Deed = for<'a> fn(&'a Graph) -> BoxFuture<'a, Result<Told>>;

/// A deed to interrupt.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    before: Setup,
    /// The branch on which it makes a commit, and of which kind; none if it makes no commit that stays.
    makes: Option<(&'static str, &'static str)>,
    /// The branch whose head is the second parent.
    source: Option<&'static str>,
    deed: Deed,
    tells: Told,
    /// The part of it that may have happened without the rest.
    halfway: Option<Deed>,
    /// What the same says once it has happened.
    again: fn(&Result<Told>) -> bool,
}

/// How much of a deed happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Half,
    All,
}

macro_rules! deed {
    ($graph:ident => $body:expr) => {{
        fn deed($graph: &Graph) -> BoxFuture<'_, Result<Told>> {
            async move { $body }.boxed()
        }
        deed as Deed
    }};
}

fn up_to_date(told: &Result<Told>) -> bool {
    matches!(told, Ok(Some(MergeOutcome::AlreadyUpToDate)))
}

fn content_with_that(told: &Result<Told>) -> bool {
    matches!(told, Ok(None))
}

fn refuses(told: &Result<Told>, reason: Reason) -> bool {
    matches!(told, Err(e) if e.reason() == reason)
}

/// A branch may be gone although its document does not say so yet; then deleting it is saying so.
fn gone(told: &Result<Told>) -> bool {
    content_with_that(told) || refuses(told, Reason::BranchNotFound)
}

/// Names the state before the branches parted.
async fn tag(g: &Graph) -> Result<()> {
    let first = ReadSelector::Commit(requested(g, "main", "first").await);
    g.create_tag("old", &first, "", &Actor::default()).await.map(|_| ())
}

fn tagged(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        ahead(g).await?;
        tag(g).await
    }
    .boxed()
}

fn merges() -> Vec<Case> {
    let fast = Case {
        name: "fast-forward",
        before: ahead,
        makes: Some(("main", "merge")),
        source: Some("b"),
        deed: deed!(g => Ok(Some(merge(g, "b", "main", "").await?.outcome))),
        tells: Some(MergeOutcome::FastForward),
        halfway: None,
        again: up_to_date,
    };
    let both = Case { tells: Some(MergeOutcome::Merged), ..fast };
    vec![
        Case {
            name: "merge of two tables",
            before: apart,
            makes: Some(("t", "merge")),
            deed: deed!(g => Ok(Some(merge(g, "b", "t", "").await?.outcome))),
            ..both
        },
        Case { name: "merge of a table that the target lacks", before: without_edges, ..both },
        Case {
            name: "merge and the end of its source",
            deed: deed!(g => {
                let of = MergeRequest { source: "b".into(), delete_source: true, ..MergeRequest::default() };
                let done = g.merge(&of, &WriteOptions::on("main")).await?;
                done.source_deleted.unwrap()?;
                Ok(Some(done.outcome))
            }),
            halfway: Some(fast.deed),
            again: |told| refuses(told, Reason::BranchNotFound),
            ..fast
        },
        fast,
    ]
}

fn picks() -> Vec<Case> {
    let revert = Case {
        name: "revert",
        before: apart,
        makes: Some(("b", "revert")),
        source: None,
        deed: deed!(g => {
            let commit = requested(g, "b", "theirs").await;
            Ok(Some(g.revert(&commit, &MergeHow::default(), &WriteOptions::on("b")).await?.outcome))
        }),
        tells: Some(MergeOutcome::Merged),
        halfway: None,
        again: up_to_date,
    };
    vec![
        revert,
        Case {
            name: "cherry-pick",
            makes: Some(("t", "cherry_pick")),
            deed: deed!(g => {
                let commit = requested(g, "b", "theirs").await;
                Ok(Some(g.cherry_pick(&commit, &MergeHow::default(), &WriteOptions::on("t")).await?.outcome))
            }),
            ..revert
        },
        Case {
            name: "restore",
            makes: Some(("b", "restore")),
            deed: deed!(g => {
                let first = ReadSelector::Commit(requested(g, "b", "first").await);
                Ok(Some(g.restore(&first, &WriteOptions::on("b")).await?.outcome))
            }),
            ..revert
        },
    ]
}

/// Gives a branch a schema with a column to fill and a type less.
async fn evolve(g: &Graph, branch: &str) -> Result<Told> {
    let text = SOCIAL.replacen("age: I32?", "age: I32?\n level: I32 @default(3)", 1);
    assert_ne!(text, SOCIAL);
    let apply = SchemaApply { wish: omnigraph_engine::schema::parse(&text)?.into(), consent: true };
    g.apply_schema(&apply, &WriteOptions::on(branch)).await.map(|_| None)
}

/// Branch b has another schema, and main went on.
fn evolved(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        ahead(g).await?;
        evolve(g, "b").await?;
        load(g, "main", LoadMode::Merge, &person("o", 1)).await.map(|_| ())
    }
    .boxed()
}

fn schemas() -> Vec<Case> {
    let change = Case {
        name: "change of schema",
        before: ahead,
        makes: Some(("main", "schema_apply")),
        source: None,
        deed: deed!(g => evolve(g, "main").await),
        tells: None,
        halfway: None,
        again: content_with_that,
    };
    let inherited = Case {
        name: "change of the schema of inherited rows",
        before: apart,
        makes: Some(("t", "schema_apply")),
        deed: deed!(g => evolve(g, "t").await),
        ..change
    };
    let merged = Case {
        name: "merge of a change of schema",
        before: evolved,
        makes: Some(("main", "merge")),
        source: Some("b"),
        deed: deed!(g => Ok(Some(merge(g, "b", "main", "").await?.outcome))),
        tells: Some(MergeOutcome::Merged),
        again: up_to_date,
        ..change
    };
    vec![change, inherited, merged]
}

fn names() -> Vec<Case> {
    let protect = Case {
        name: "protection",
        before: ahead,
        makes: Some(("b", "protection")),
        source: None,
        deed: deed!(g => g.protect_branch("b", true, &Actor::default()).await.map(|_| None)),
        tells: None,
        halfway: None,
        again: content_with_that,
    };
    vec![
        protect,
        Case {
            name: "tag",
            makes: None,
            deed: deed!(g => tag(g).await.map(|()| None)),
            again: |told| refuses(told, Reason::TagExists),
            ..protect
        },
        Case {
            name: "deletion of a tag",
            before: tagged,
            makes: None,
            deed: deed!(g => g.delete_tag("old").await.map(|_| None)),
            again: |told| refuses(told, Reason::TagNotFound),
            ..protect
        },
        Case {
            name: "deletion of a branch",
            makes: None,
            deed: deed!(g => g.delete_branch("b", false, &Actor::default()).await.map(|()| None)),
            again: gone,
            ..protect
        },
    ]
}

/// A case and what it may leave.
struct Trial {
    case: Case,
    stock: Stock,
    before: Seen,
    halfway: Option<Seen>,
    after: Seen,
}

/// Nobody holds anything for as long as this.
const AGO: Duration = Duration::from_secs(300);

impl Trial {
    async fn of(case: Case) -> Self {
        let stock = made("cut-lineage", case.before).await;
        let graph = stock.put_back(AGO).await.open().await;
        let before = seen(&graph).await.unwrap();
        assert_eq!((case.deed)(&graph).await.unwrap(), case.tells, "{}", case.name);
        let after = seen(&graph).await.unwrap();
        assert_ne!(before, after, "{}", case.name);
        let mut halfway = None;
        if let Some(part) = case.halfway {
            let graph = stock.put_back(AGO).await.open().await;
            part(&graph).await.unwrap();
            halfway = Some(seen(&graph).await.unwrap());
        }
        Self { case, stock, before, halfway, after }
    }

    /// Dies at a place, perhaps once more in the recovery, and checks what is left. Tells how often it died and how
    /// many calls the last recovery made; nothing if there is no such place.
    async fn interrupt(&self, at: u64, second: Option<u64>) -> Option<(u64, u64)> {
        let place = self.stock.put_back(AGO).await;
        let witness = place.open().await;
        witness.branches().await.unwrap();
        let mut told = false;
        let died = place.dying(at, async |graph| told = (self.case.deed)(&graph).await.is_ok());
        if !died.await {
            return None;
        }
        let mut deaths = 1;
        if let Some(second) = second {
            deaths += u64::from(place.recover_dying(second).await);
        }
        let label = format!("{}: died at call {at}, its recovery at {second:?}", self.case.name);
        let (later, calls) = place.recover().await;
        let found = self.expect_either(&later, told, &label).await;
        self.expect_again([&witness, &later], found, &label).await;
        Some((deaths, calls))
    }

    /// The commits that the deed made, after a check of everybody's parents.
    async fn commits(&self, graph: &Graph, label: &str) -> Vec<CommitInfo> {
        let Some((branch, operation)) = self.case.makes else { return Vec::new() };
        let mut all = lineage(graph, branch).await.unwrap_or_else(|e| panic!("{label}: {e}"));
        all.retain(|commit| commit.operation == operation);
        all
    }

    /// Checks that it is one commit that follows `head`, with all it should bring.
    fn expect_one(&self, commits: &[CommitInfo], head: &str, label: &str) {
        let Some((branch, _)) = self.case.makes else { return };
        let source = self.case.source.map(|source| self.stock.heads[source].as_str());
        let parents: Vec<&str> = std::iter::once(head).chain(source).collect();
        assert_eq!(commits.len(), 1, "{label}: {commits:#?}");
        assert_eq!((commits[0].branch.as_str(), &commits[0].parents[..]), (branch, &owned(&parents)[..]), "{label}");
    }

    /// Checks that it happened or did not. Tells which.
    async fn expect_either(&self, later: &Graph, told: bool, label: &str) -> Found {
        let report = later.verify().await.unwrap();
        assert!(report.is_clean() && report.pending == 0, "{label}: {report:#?}");
        let seen = seen(later).await.unwrap_or_else(|e| panic!("{label}: {e}"));
        let found = match () {
            () if seen == self.after => Found::All,
            () if seen == self.before => Found::Nothing,
            () if Some(&seen) == self.halfway.as_ref() => Found::Half,
            () => panic!("{label}: half visible: {seen:#?}"),
        };
        assert!(found == Found::All || !told, "{label}: what was acknowledged is lost");
        let commits = self.commits(later, label).await;
        match self.case.makes {
            Some((branch, _)) if found != Found::Nothing => {
                self.expect_one(&commits, &self.stock.heads[branch], label);
            }
            _ => assert!(commits.is_empty(), "{label}: {commits:#?}"),
        }
        found
    }

    /// Checks that the same makes what was not made, and nothing twice, and that everybody goes on.
    async fn expect_again(&self, [witness, later]: [&Graph; 2], found: Found, label: &str) {
        let mut head = String::new();
        if let Some((branch, _)) = self.case.makes {
            head = match found {
                Found::Nothing => later.branch(branch).await.unwrap().head,
                Found::Half | Found::All => self.stock.heads[branch].clone(),
            };
        }
        let told = (self.case.deed)(witness).await;
        let expected = match found {
            Found::Nothing => matches!(told, Ok(told) if told == self.case.tells),
            Found::Half => up_to_date(&told),
            Found::All => (self.case.again)(&told),
        };
        assert!(expected, "{label}: again, after {found:?}: {told:?}");
        assert_eq!(seen(later).await.unwrap_or_else(|e| panic!("{label}: {e}")), self.after, "{label}");
        self.expect_one(&self.commits(later, label).await, &head, label);
        for (graph, branch) in [(witness, "main"), (later, "b")] {
            let written = load(graph, branch, LoadMode::Merge, &person("next", 1)).await;
            match (written, self.after.branches.get(branch)) {
                (Ok(_), Some((false, _))) => {}
                (Err(e), Some((true, _))) if e.reason() == Reason::BranchProtected => {}
                (Err(e), None) if e.reason() == Reason::BranchNotFound => {}
                (written, _) => panic!("{label}: the next write on {branch}: {written:?}"),
            }
        }
        if found == Found::All && !crate::deep() {
            return;
        }
        let report = witness.verify().await.unwrap();
        assert!(report.is_clean() && report.pending == 0, "{label}: {report:#?}");
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// Dies at every place of a case. How many deaths that were.
async fn sweep(case: Case, twice: bool) -> u64 {
    let trial = Trial::of(case).await;
    let mut total = 0;
    for at in 0..200 {
        let Some((deaths, calls)) = trial.interrupt(at, None).await else {
            assert!(total > 0, "{} makes no call", case.name);
            return total;
        };
        total += deaths;
        for second in second_deaths(at, calls).into_iter().filter(|_| twice || crate::deep()) {
            total += trial.interrupt(at, Some(second)).await.map_or(0, |(deaths, _)| deaths - 1);
        }
    }
    panic!("{} makes too many calls", case.name);
}

/// Cases are independent of each other: each runs on a thread of its own, as many at once as can.
fn sweep_all(cases: Vec<Case>, twice: bool, what: &str) {
    let (left, total) = (Mutex::new(cases), AtomicU64::new(0));
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                loop {
                    let Some(case) = left.lock().unwrap().pop() else { return };
                    let (at, found) = (std::time::Instant::now(), runtime.block_on(sweep(case, twice)));
                    println!("{}: {found} places, {:?}", case.name, at.elapsed());
                    total.fetch_add(found, Ordering::SeqCst);
                }
            });
        }
    });
    crate::tell(&format!("{} places to die in {what}, {:?}", total.into_inner(), begun.elapsed()));
}

#[test]
fn every_call_of_a_merge_and_of_its_recovery_can_be_the_last() {
    sweep_all(merges(), true, "merges");
}

#[test]
fn every_call_of_a_change_of_schema_and_of_its_recovery_can_be_the_last() {
    sweep_all(schemas(), true, "changes of schema");
}

#[test]
fn every_call_of_a_revert_a_pick_or_a_restore_can_be_the_last() {
    sweep_all(picks(), false, "reverts, picks and restores");
}

#[test]
fn every_call_about_a_branch_or_a_tag_as_a_whole_can_be_the_last() {
    sweep_all(names(), false, "protections, tags and deletions");
}
