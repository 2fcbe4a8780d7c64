//! Upkeep beside others who use the same graph. What a process learns of others counts as a step here as well: a
//! cleanup looks at who holds what before it removes anything.

use std::time::{Duration, Instant};

use futures::TryStreamExt;
use omnigraph_engine::failpoint::is_look;
use omnigraph_engine::maintenance::cleanup::CleanupOptions;
use omnigraph_engine::maintenance::repair::RepairOptions;
use omnigraph_engine::model::ReadSelector;
use omnigraph_engine::read::scan::ScanRequest;
use omnigraph_tests::content;

use super::*;
use crate::explore::{Cast, Play, Run, explore_each, judge, play, whole};
use crate::stage::{Choice, Sight, Stage, changes, pause};
use crate::states::{Others, drifted, storied};
use crate::stock::{Place, Stock};

/// What has stood for so long is out of every grace.
const LONG: Duration = Duration::from_secs(2 * 60 * 60);

const CLEANUP: CleanupOptions = CleanupOptions { keep: Some(1), older_than: None, confirm: true, concurrency: 1 };

/// The commit of [`storied`] that somebody wants although no policy does. The rows it shows were rewritten since.
const OLD: usize = 2;

async fn clean(graph: Graph) -> Result<()> {
    let report = graph.cleanup(&CLEANUP).await?;
    assert_eq!(report.errors(), 0, "{report:#?}");
    Ok(())
}

async fn old_commit(graph: &Graph) -> Result<ReadSelector> {
    let commits = graph.commits("main", None, 100).await?;
    let old = commits.iter().rev().filter(|commit| commit.branch == "main").nth(OLD);
    Ok(ReadSelector::Commit(old.unwrap().id.clone()))
}

/// Reads the people of an old commit, slowly. It may be refused at the beginning; then it comes to its end.
async fn read_old(graph: Graph) -> Result<()> {
    let snapshot = graph.snapshot(&old_commit(&graph).await?).await?;
    pause().await;
    let type_ref = TypeRef::node("Person");
    let request = ScanRequest { type_ref, columns: Vec::new(), predicate: None, order: Vec::new(), limit: None };
    let mut batches = graph.scan(&snapshot, &request, None).await?.batches;
    let mut rows = 0;
    loop {
        pause().await;
        match batches.try_next().await {
            Ok(Some(batch)) => rows += batch.num_rows(),
            Ok(None) => break,
            Err(e) => panic!("a read that was let in fails after {rows} rows: {e}"),
        }
    }
    assert_eq!(rows, OLD, "a read misses rows");
    Ok(())
}

async fn branch_old(graph: Graph) -> Result<()> {
    let old = old_commit(&graph).await?;
    graph.create_branch("new", &old, &Actor::default()).await.map(|_| ())
}

async fn repair(graph: Graph, force: bool) -> Result<()> {
    let report = graph.repair("main", RepairOptions { confirm: true, force }).await?;
    assert_eq!(report.refused(), 0, "{report:#?}");
    Ok(())
}

const CLEAN: Role = silent(deed!(g => clean(g)), NONE);
const READ_OLD: Role = silent(deed!(g => read_old(g)), &[Reason::CommitNotFound]);
const BRANCH_OLD: Role = silent(deed!(g => branch_old(g)), &[Reason::CommitNotFound]);
const REPAIR: Role = silent(deed!(g => repair(g, false)), NONE);
const FORCE: Role = silent(deed!(g => repair(g, true)), NONE);
const PUT_X_OR_DRIFT: Role = Role { may_fail: &[Reason::Drift], ..PUT_X };

/// Changes, the registration of forks, and looks at what others do.
fn upkeep(actor: usize, verb: &str, path: &str) -> bool {
    if !is_look(verb) {
        return changes(actor, verb, path) || path.contains("/_refs/branches/");
    }
    let lists = ["g/_refs/readers", "g/_refs/branches", "g/__recovery"];
    verb == "LIST" && lists.contains(&path)
}

/// As [`upkeep`], with the second actor's looks at the marker.
fn marker(actor: usize, verb: &str, path: &str) -> bool {
    upkeep(actor, verb, path) || actor == 1 && verb == "GET" && path == "g/_refs/retention.json"
}

type Made = fn() -> BoxFuture<'static, Stock>;

/// Upkeep and somebody else.
#[derive(Clone, Copy)]
struct Beside {
    name: &'static str,
    state: Made,
    roles: &'static [Role],
    sight: Sight,
    /// Commits that are there whatever happens, by position.
    stay: &'static [usize],
    /// Commits that nobody can read once every deed is done.
    go: &'static [usize],
    /// What a repair makes go.
    deleted: &'static str,
    /// The branch that the second one makes.
    makes: Option<&'static str>,
}

fn a_story() -> BoxFuture<'static, Stock> {
    storied("upkeep").boxed()
}

fn rewritten() -> BoxFuture<'static, Stock> {
    drifted("upkeep", Others::default()).boxed()
}

fn changed() -> BoxFuture<'static, Stock> {
    drifted("upkeep", Others { delete: true, abandoned: false }).boxed()
}

fn cases() -> Vec<Beside> {
    let cleanup = Beside {
        name: "two cleanups",
        state: a_story,
        roles: &[CLEAN, CLEAN],
        sight: upkeep,
        stay: &[4],
        go: &[0, 1, 2, 3],
        deleted: "nobody",
        makes: None,
    };
    let wanted = Beside { sight: marker, go: &[0, 1, 3], ..cleanup };
    let heal = Beside {
        name: "two repairs",
        state: rewritten,
        roles: &[REPAIR, REPAIR],
        stay: &[0, 1, 2, 3, 4],
        go: &[],
        ..cleanup
    };
    let force = Beside { state: changed, deleted: "\"p1\"", ..heal };
    vec![
        cleanup,
        Beside { name: "cleanup against writer", roles: &[CLEAN, PUT_X], ..cleanup },
        Beside { name: "cleanup against optimize", roles: &[CLEAN, OPTIMIZE], ..cleanup },
        Beside {
            name: "cleanup against a branch of an old commit",
            roles: &[CLEAN, BRANCH_OLD],
            makes: Some("new"),
            ..wanted
        },
        Beside { name: "cleanup against a reader of an old commit", roles: &[CLEAN, READ_OLD], ..wanted },
        heal,
        Beside { name: "repair against writer", roles: &[REPAIR, PUT_X_OR_DRIFT], ..heal },
        Beside { name: "repair against writer of another table", roles: &[REPAIR, PUT_NOTE], ..heal },
        Beside { name: "repair by force against writer", roles: &[FORCE, PUT_X_OR_DRIFT], ..force },
    ]
}

/// One of them, on a graph that is made once.
struct Again {
    beside: Beside,
    bounds: Bounds,
    stock: Option<Stock>,
}

impl Play for Again {
    async fn perform(&mut self, beginning: &[Choice]) -> Run {
        let Self { beside, bounds, stock } = self;
        if stock.is_none() {
            *stock = Some((beside.state)().await);
        }
        let Some(stock) = stock else { unreachable!() };
        let place = stock.put_back(LONG).await;
        let witness = place.open().await;
        witness.branches().await.unwrap();
        let stage = Stage::at(beside.roles.len(), &place, beside.sight);
        let cast = Cast { name: beside.name, root: &stock.root, roles: beside.roles, bounds: *bounds };
        let (run, ending) = play(&stage, cast, beginning).await;
        place.clock.later(bounds.lease);
        let concluded = beside.conclude(stock, &witness, &place, ending).await;
        concluded.unwrap_or_else(|e| panic!("{}, {bounds:?}, {:?}: {e}\n{}", beside.name, run.taken, stage.trace()));
        run
    }
}

type Checked = std::result::Result<(), String>;

impl Beside {
    fn repairs(&self) -> bool {
        self.go.is_empty()
    }

    /// Recovers as a process that comes later would, checks what it finds, and goes on.
    async fn conclude(&self, stock: &Stock, witness: &Graph, place: &Place, mut ending: Ending) -> Checked {
        let open = place.engine().open(&place.root, Access::ReadWrite).await;
        let later = open.map_err(|e| format!("open: {e}"))?;
        if self.repairs() && !ending.all_lived() {
            repair(later.clone(), !self.deleted.is_empty()).await.map_err(|e| format!("repair: {e}"))?;
        }
        whole(&later).await?;
        for branch in ["main", "b", "new"] {
            match content(&later, &head(branch)).await {
                Ok(lines) => drop(ending.contents.insert(branch, lines)),
                Err(e) if e.reason() == Reason::BranchNotFound => {}
                Err(e) => return Err(format!("reading {branch}: {e}")),
            }
        }
        for (i, role) in self.roles.iter().enumerate() {
            judge(role, &ending, i)?;
        }
        self.check_contents(stock, &ending)?;
        let readable = stock.readable().await?;
        let gone = |position: &usize| !readable.contains(position);
        if self.stay.iter().any(gone) || ending.outcomes[0].is_ok() && !self.go.iter().all(gone) {
            return Err(format!("the commits {readable:?} can be read: {ending:#?}"));
        }
        self.go_on(&later, witness, &ending).await?;
        place.clock.later(LONG);
        let before = self.contents(&later, &ending).await?;
        clean(later.clone()).await.map_err(|e| format!("the next cleanup: {e}"))?;
        if self.contents(&later, &ending).await? != before {
            return Err("a cleanup changed what branches show".to_string());
        }
        whole(&later).await
    }

    /// Nothing is lost, and a branch that was made shows what it was made from.
    fn check_contents(&self, stock: &Stock, ending: &Ending) -> Checked {
        for branch in stock.heads.keys() {
            let found = &ending.contents[branch.as_str()];
            let wanted = stock.lines(branch).iter().filter(|line| branch != "main" || !line.contains(self.deleted));
            if wanted.clone().any(|line| !found.contains(line)) {
                return Err(format!("{branch} lost something: {ending:#?}"));
            }
            if found.iter().any(|line| branch == "main" && line.contains(self.deleted)) {
                return Err(format!("{branch} was not repaired: {ending:#?}"));
            }
        }
        match ending.contents.get("new") {
            Some(lines) if *lines != stock.history[OLD].1 => Err(format!("a branch shows something else: {ending:#?}")),
            None if self.makes.is_some() && ending.outcomes[1].is_ok() => Err("no branch".to_string()),
            _ => Ok(()),
        }
    }

    /// Everybody goes on without being opened again.
    async fn go_on(&self, later: &Graph, witness: &Graph, ending: &Ending) -> Checked {
        for (graph, slug) in [(witness, "after-1"), (later, "after-2")] {
            for branch in ending.contents.keys() {
                load(graph, branch, LoadMode::Merge, &person(slug, 1))
                    .await
                    .map_err(|e| format!("the next write on {branch}: {e}"))?;
            }
        }
        whole(witness).await
    }

    async fn contents(&self, graph: &Graph, ending: &Ending) -> std::result::Result<Vec<Vec<String>>, String> {
        let mut out = Vec::new();
        for branch in ending.contents.keys() {
            out.push(content(graph, &head(branch)).await.map_err(|e| format!("reading {branch}: {e}"))?);
        }
        Ok(out)
    }
}

fn sweep_upkeep(bounds: Bounds, what: &str) {
    let begun = Instant::now();
    let mut total = Tally::default();
    let only = std::env::var("OMNIGRAPH_SIM_ONLY").unwrap_or_default();
    for beside in cases().into_iter().filter(|beside| beside.name.contains(&only)) {
        let at = Instant::now();
        let tally = explore_each(|| Again { beside, bounds, stock: None });
        println!("{what}: {}: {} orders, {} steps, {:?}", beside.name, tally.runs, tally.steps, at.elapsed());
        total.runs += tally.runs;
        total.steps += tally.steps;
    }
    let Tally { runs, steps } = total;
    crate::tell(&format!(
        "{what}: {runs} orders of upkeep and another process, {steps} steps in {:?}",
        begun.elapsed()
    ));
}

#[test]
fn orders_of_upkeep_and_others_at_work() {
    sweep_upkeep(Bounds { switches: switches(2), deaths: 0, lease: Duration::from_secs(10) }, "upkeep");
}

#[test]
fn every_death_of_upkeep_or_of_others_beside_it() {
    sweep_upkeep(Bounds { switches: switches(0), deaths: 1, lease: Duration::from_millis(100) }, "mortal upkeep");
}
