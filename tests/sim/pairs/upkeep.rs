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
pub(super) const LONG: Duration = Duration::from_secs(2 * 60 * 60);

const CLEANUP: CleanupOptions = CleanupOptions { keep: Some(1), older_than: None, confirm: true, concurrency: 1 };

/// The commit of [`storied`] that somebody wants although no policy does. Nobody else shows its rows.
const OLD: usize = 1;

/// What a branch or a tag of that commit is called.
const NEW: &str = "new";

pub(super) async fn clean(graph: Graph) -> Result<()> {
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
    assert_eq!(rows, 1, "a read misses rows");
    Ok(())
}

async fn branch_old(graph: Graph) -> Result<()> {
    let old = old_commit(&graph).await?;
    graph.create_branch(NEW, &old, &Actor::default()).await.map(|_| ())
}

async fn tag_old(graph: Graph) -> Result<()> {
    let old = old_commit(&graph).await?;
    graph.create_tag(NEW, &old, "", &Actor::default()).await.map(|_| ())
}

async fn repair(graph: Graph, force: bool) -> Result<()> {
    let report = graph.repair("main", RepairOptions { confirm: true, force }).await?;
    assert_eq!(report.refused(), 0, "{report:#?}");
    Ok(())
}

const CLEAN: Role = silent(deed!(g => clean(g)), NONE);
const READ_OLD: Role = silent(deed!(g => read_old(g)), &[Reason::CommitNotFound]);
const BRANCH_OLD: Role = silent(deed!(g => branch_old(g)), &[Reason::CommitNotFound]);
const TAG_OLD: Role = silent(deed!(g => tag_old(g)), &[Reason::CommitNotFound]);
const REPAIR: Role = silent(deed!(g => repair(g, false)), NONE);
const FORCE: Role = silent(deed!(g => repair(g, true)), NONE);
const PUT_X_OR_DRIFT: Role = Role { may_fail: &[Reason::Drift], ..PUT_X };

/// Changes, the registration of forks, and looks at what others do.
fn upkeep(actor: usize, verb: &str, path: &str) -> bool {
    if !is_look(verb) {
        return changes(actor, verb, path) || path.contains("/_refs/branches/");
    }
    let lists = ["g/_refs/readers", "g/_refs/branches", "g/_refs/tags", "g/__recovery"];
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
    /// How to read what the second one makes.
    makes: Option<fn() -> ReadSelector>,
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

fn cleanups() -> Vec<Beside> {
    let cleanup = Beside {
        name: "two cleanups",
        state: a_story,
        roles: &[CLEAN, CLEAN],
        sight: upkeep,
        stay: &[3],
        go: &[0, 1, 2],
        deleted: "nobody",
        makes: None,
    };
    vec![
        cleanup,
        Beside { name: "cleanup against writer", roles: &[CLEAN, PUT_X], ..cleanup },
        Beside { name: "cleanup against optimize", roles: &[CLEAN, OPTIMIZE], ..cleanup },
    ]
}

/// A cleanup and somebody who wants what it lets go.
fn cleanups_of_what_is_wanted() -> Vec<Beside> {
    let read = Beside {
        name: "cleanup against a reader of an old commit",
        state: a_story,
        roles: &[CLEAN, READ_OLD],
        sight: marker,
        stay: &[3],
        go: &[0, 2],
        deleted: "nobody",
        makes: None,
    };
    vec![
        read,
        Beside {
            name: "cleanup against a branch of an old commit",
            roles: &[CLEAN, BRANCH_OLD],
            makes: Some(|| head(NEW)),
            ..read
        },
        Beside {
            name: "cleanup against a tag of an old commit",
            roles: &[CLEAN, TAG_OLD],
            makes: Some(|| ReadSelector::Tag(NEW.into())),
            ..read
        },
    ]
}

fn repairs() -> Vec<Beside> {
    let heal = Beside {
        name: "two repairs",
        state: rewritten,
        roles: &[REPAIR, REPAIR],
        sight: upkeep,
        stay: &[0, 1, 2, 3],
        go: &[],
        deleted: "nobody",
        makes: None,
    };
    let force = Beside { state: changed, deleted: "\"p1\"", ..heal };
    vec![
        heal,
        Beside { name: "repair against writer", roles: &[REPAIR, PUT_X_OR_DRIFT], ..heal },
        Beside { name: "repair against writer of another table", roles: &[REPAIR, PUT_NOTE], ..heal },
        Beside { name: "repair by force against writer", roles: &[FORCE, PUT_X_OR_DRIFT], ..force },
    ]
}

/// One of them, on a graph that is made once.
struct Again<'a> {
    beside: Beside,
    bounds: Bounds,
    model: &'a Stock,
    stock: Option<Stock>,
}

impl Play for Again<'_> {
    async fn perform(&mut self, beginning: &[Choice]) -> Run {
        let Self { beside, bounds, model, stock } = self;
        if stock.is_none() {
            *stock = Some(model.twin("upkeep").await);
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
            repair(later.clone(), self.deleted.starts_with('"')).await.map_err(|e| format!("repair: {e}"))?;
        }
        whole(&later).await?;
        for branch in ["main", "b"] {
            if let Some(lines) = lines(&later, &head(branch)).await? {
                ending.contents.insert(branch, lines);
            }
        }
        for (i, role) in self.roles.iter().enumerate() {
            judge(role, &ending, i)?;
        }
        self.check_contents(stock, &ending)?;
        self.check_made(stock, &later, &ending).await?;
        let readable = stock.readable().await?;
        let gone = |position: &usize| !readable.contains(position);
        if self.stay.iter().any(gone) || ending.outcomes[0].is_ok() && !self.go.iter().all(gone) {
            return Err(format!("the commits {readable:?} can be read: {ending:#?}"));
        }
        // Everybody goes on without being opened again.
        load(witness, "main", LoadMode::Merge, &person("after", 1))
            .await
            .map_err(|e| format!("the next write on main: {e}"))?;
        if self.makes.is_none() && !crate::deep() {
            return Ok(());
        }
        place.clock.later(LONG);
        clean(later.clone()).await.map_err(|e| format!("the next cleanup: {e}"))?;
        self.check_made(stock, witness, &ending).await?;
        whole(witness).await
    }

    /// Nothing is lost but what was to go.
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
        Ok(())
    }

    /// What was made is there and shows what it was made from; what was refused is not there.
    async fn check_made(&self, stock: &Stock, graph: &Graph, ending: &Ending) -> Checked {
        let Some(makes) = self.makes else { return Ok(()) };
        match lines(graph, &makes()).await? {
            Some(lines) if lines != stock.history[OLD].1 => Err(format!("it shows something else: {lines:#?}")),
            Some(_) if ending.outcomes[1].is_err() && !ending.dead[1] => Err("it was refused and is there".to_string()),
            None if ending.outcomes[1].is_ok() => Err("it was made and is not there".to_string()),
            _ => Ok(()),
        }
    }
}

/// What a branch or a tag shows, if it is there.
async fn lines(graph: &Graph, of: &ReadSelector) -> std::result::Result<Option<Vec<String>>, String> {
    match content(graph, of).await {
        Ok(lines) => Ok(Some(lines)),
        Err(e) if matches!(e.reason(), Reason::BranchNotFound | Reason::TagNotFound) => Ok(None),
        Err(e) => Err(format!("reading {of:?}: {e}")),
    }
}

fn sweep_upkeep(cases: Vec<Beside>, bounds: Bounds, what: &str) {
    let begun = Instant::now();
    let mut total = Tally::default();
    for beside in cases.into_iter().filter(|beside| is_asked_for(beside.name)) {
        let at = Instant::now();
        let model = &alone((beside.state)());
        let tally = explore_each(|| Again { beside, bounds, model, stock: None });
        println!("{what}: {}: {} orders, {} steps, {:?}", beside.name, tally.runs, tally.steps, at.elapsed());
        total.runs += tally.runs;
        total.steps += tally.steps;
    }
    let Tally { runs, steps } = total;
    crate::tell(&format!("{what}: {runs} orders of two processes, {steps} steps in {:?}", begun.elapsed()));
}

/// Nobody dies.
pub(super) const ALIVE: Bounds = Bounds { switches: Some(1), deaths: 0, lease: Duration::from_secs(10) };

/// One of them dies, somewhere. For a deep search only: that upkeep can die everywhere is tried without company.
pub(super) const MORTAL: Bounds = Bounds { switches: Some(0), deaths: 1, lease: Duration::from_millis(100) };

fn sweep_both(cases: fn() -> Vec<Beside>, what: &str) {
    sweep_upkeep(cases(), Bounds { switches: switches(1), ..ALIVE }, what);
    if crate::deep() {
        sweep_upkeep(cases(), Bounds { switches: switches(0), ..MORTAL }, &format!("mortal {what}"));
    }
}

#[test]
fn orders_of_a_cleanup_and_others_at_work() {
    sweep_both(cleanups, "cleanups");
}

#[test]
fn orders_of_a_cleanup_and_those_who_want_what_it_lets_go() {
    sweep_both(cleanups_of_what_is_wanted, "cleanups of what is wanted");
}

#[test]
fn orders_of_a_repair_and_others_at_work() {
    sweep_both(repairs, "repairs");
}
