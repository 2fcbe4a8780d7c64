//! Every order in which the steps of a few actors can follow each other, found by repeating runs.
//!
//! A run follows a given beginning and then the first choice each time; whatever else it could have chosen
//! becomes the beginning of another run. So each order is run exactly once, and one that fails can be
//! repeated from its choices.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use omnigraph_engine::model::{Actor, LoadMode};
use omnigraph_engine::{Access, Error, Graph, Reason, Result};
use omnigraph_tests::{SOCIAL, content, create, engine, head, load, memory_root, person};

use crate::stage::{Choice, Stage};

/// What an actor does.
pub(crate) type Deed = fn(Graph) -> BoxFuture<'static, Result<()>>;

/// One actor of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    pub(crate) does: Deed,
    /// A branch and a text that one line of it holds exactly if the deed took effect; none for deeds without
    /// a trace in the data.
    pub(crate) shows: Option<(&'static str, &'static str)>,
    /// How it may fail while alive, with no effect.
    pub(crate) may_fail: &'static [Reason],
}

/// A few actors, and what there is before they begin.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) schema: &'static str,
    /// Records; those after a line `then` are a commit of their own.
    pub(crate) seed: &'static str,
    pub(crate) branches: &'static [&'static str],
    pub(crate) roles: &'static [Role],
    /// Whether the actors have no table in common, so that most orders say the same.
    pub(crate) independent: bool,
    /// What must hold at the end beside what holds always.
    pub(crate) check: fn(&Ending) -> std::result::Result<(), String>,
}

/// How far a scenario is explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How often an actor may be left although it could go on; `None` is always.
    pub(crate) switches: Option<usize>,
    /// How many actors may die.
    pub(crate) deaths: usize,
    /// How long claims are honoured.
    pub(crate) lease: Duration,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ending {
    /// How each actor's deed ended.
    pub(crate) outcomes: Vec<std::result::Result<(), Error>>,
    /// Which of them died.
    pub(crate) dead: Vec<bool>,
    /// The lines of each live branch.
    pub(crate) contents: BTreeMap<&'static str, Vec<String>>,
}

impl Ending {
    /// How many deeds were acknowledged.
    pub(crate) fn successes(&self) -> usize {
        self.outcomes.iter().filter(|o| o.is_ok()).count()
    }

    /// Whether nobody died.
    pub(crate) fn all_lived(&self) -> bool {
        !self.dead.contains(&true)
    }

    fn holds(&self, branch: &str, text: &str) -> usize {
        self.contents.get(branch).map_or(0, |lines| lines.iter().filter(|l| l.contains(text)).count())
    }
}

/// What exploring a scenario came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) runs: u64,
    pub(crate) steps: u64,
}

/// What is run again and again.
pub(crate) trait Play {
    /// One run, checked.
    async fn perform(&mut self, beginning: &[Choice]) -> Run;
}

/// Runs every order within the bounds, on as many threads as the machine has processors.
pub(crate) fn explore(scenario: &Scenario, bounds: Bounds) -> Tally {
    explore_each(|| Afresh { scenario, bounds })
}

/// As [`explore`], with a play of its own for each thread.
pub(crate) fn explore_each<P: Play>(stage: impl Fn() -> P + Sync) -> Tally {
    let (runs, steps) = (AtomicU64::new(0), AtomicU64::new(0));
    let open = Mutex::new((vec![Vec::<Choice>::new()], 0_usize));
    let failed = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let mut play = stage();
                while !failed.load(Ordering::SeqCst) {
                    let next = {
                        let mut open = open.lock().unwrap();
                        let next = open.0.pop();
                        open.1 += usize::from(next.is_some());
                        if next.is_none() && open.1 == 0 {
                            return;
                        }
                        next
                    };
                    let Some(beginning) = next else {
                        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
                        continue;
                    };
                    let guard = FailOnPanic(&failed);
                    let run = runtime.block_on(play.perform(&beginning));
                    std::mem::forget(guard);
                    runs.fetch_add(1, Ordering::SeqCst);
                    steps.fetch_add(run.taken.len() as u64, Ordering::SeqCst);
                    let mut open = open.lock().unwrap();
                    open.1 -= 1;
                    for at in beginning.len()..run.taken.len() {
                        for other in &run.offered[at] {
                            if *other != run.taken[at] {
                                open.0.push([&run.taken[..at], &[*other]].concat());
                            }
                        }
                    }
                }
            });
        }
    });
    Tally { runs: runs.into_inner(), steps: steps.into_inner() }
}

struct FailOnPanic<'a>(&'a AtomicBool);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What was chosen, and what could have been.
pub(crate) struct Run {
    pub(crate) taken: Vec<Choice>,
    offered: Vec<Vec<Choice>>,
}

/// A scenario on a graph that is made for each run.
struct Afresh<'a> {
    scenario: &'a Scenario,
    bounds: Bounds,
}

impl Play for Afresh<'_> {
    async fn perform(&mut self, beginning: &[Choice]) -> Run {
        let Self { scenario, bounds } = *self;
        let root = memory_root("sim");
        let witness = prepare(scenario, &root).await;
        let stage = Stage::new(scenario.roles.len());
        let cast = Cast { name: scenario.name, root: &root, roles: scenario.roles, bounds };
        let (run, ending) = play(&stage, cast, beginning).await;
        let story = || format!("{}, {bounds:?}, choices {:?}:\n{}", scenario.name, run.taken, stage.trace());
        conclude(scenario, &root, &witness, ending).await.unwrap_or_else(|e| panic!("{e}\n{}", story()));
        engine().remove(&root).await.unwrap();
        run
    }
}

/// Who plays, and where.
#[derive(Clone, Copy)]
pub(crate) struct Cast<'a> {
    pub(crate) name: &'a str,
    pub(crate) root: &'a str,
    pub(crate) roles: &'a [Role],
    pub(crate) bounds: Bounds,
}

/// Plays once. The branches' lines are for the caller to read.
pub(crate) async fn play(stage: &Stage, cast: Cast<'_>, beginning: &[Choice]) -> (Run, Ending) {
    let Cast { name, root, roles, bounds } = cast;
    let mut actors = Vec::new();
    for (i, role) in roles.iter().enumerate() {
        let graph = stage.engine(i, 1_000 + i as u64, bounds.lease).open(root, Access::ReadWrite).await.unwrap();
        let (stage, does) = (stage.clone(), role.does);
        actors.push(tokio::spawn(async move {
            let _leaving = stage.leaving(i);
            stage.admit(i);
            stage.step(i).await;
            stage.act(i, does(graph)).await
        }));
    }
    let run = direct(stage, bounds, beginning).await;
    let died = |i: usize| run.taken.iter().any(|c| c.is_death() && c.actor() == i);
    let dead: Vec<bool> = (0..roles.len()).map(died).collect();
    let mut outcomes = Vec::new();
    for (actor, dead) in actors.into_iter().zip(&dead) {
        if *dead {
            // Nobody hears from it any more.
            actor.abort();
            outcomes.push(Err(Error::internal("the process died")));
        } else {
            outcomes.push(
                actor.await.unwrap_or_else(|e| panic!("{name}: {e}, choices {:?}\n{}", run.taken, stage.trace())),
            );
        }
    }
    (run, Ending { outcomes, dead, contents: BTreeMap::new() })
}

async fn prepare(scenario: &Scenario, root: &str) -> Graph {
    let graph = create(&engine(), root, scenario.schema).await.unwrap();
    for text in scenario.seed.split("then\n").filter(|text| !text.is_empty()) {
        load(&graph, "main", LoadMode::Append, text).await.unwrap();
    }
    for branch in scenario.branches {
        graph.create_branch(branch, &head("main"), &Actor::default()).await.unwrap();
    }
    graph
}

/// Moves the actors until all are done.
async fn direct(stage: &Stage, bounds: Bounds, beginning: &[Choice]) -> Run {
    let mut run = Run { taken: Vec::new(), offered: Vec::new() };
    let (mut switches, mut deaths) = (0, 0);
    while stage.settle().await {
        let mut offered = stage.choices(deaths < bounds.deaths);
        let last = run.taken.last().map(|c| c.actor());
        let stays = last.filter(|l| offered.contains(&Choice::Go(*l)));
        if let (Some(last), Some(most)) = (stays, bounds.switches)
            && switches >= most
        {
            offered.retain(|c| c.actor() == last);
        }
        // Staying with the actor that moved last comes first, so that the first run has no switch at all.
        offered.sort_by_key(|c| (c.is_death(), Some(c.actor()) != last));
        let Some(choice) = beginning.get(run.taken.len()).or(offered.first()).copied() else {
            panic!("nobody can move:\n{}", stage.trace());
        };
        // Who repeats a run may find that an actor had one call less to make, as ids are not the same.
        let choice = if offered.contains(&choice) { choice } else { offered[0] };
        switches += usize::from(stays.is_some_and(|l| l != choice.actor()));
        deaths += usize::from(choice.is_death());
        run.taken.push(choice);
        run.offered.push(offered);
        assert!(run.taken.len() < 2_000, "a run does not end:\n{}", stage.trace());
        stage.take(choice).await;
    }
    run
}

/// Recovers as a process that comes later would, and checks what it finds.
async fn conclude(
    scenario: &Scenario,
    root: &str,
    witness: &Graph,
    mut ending: Ending,
) -> std::result::Result<(), String> {
    let later = engine().open(root, Access::ReadWrite).await.map_err(|e| format!("open: {e}"))?;
    whole(&later).await?;
    for branch in std::iter::once("main").chain(scenario.branches.iter().copied()) {
        match content(&later, &head(branch)).await {
            Ok(lines) => drop(ending.contents.insert(branch, lines)),
            Err(e) if e.reason() == Reason::BranchNotFound => {}
            Err(e) => return Err(format!("reading {branch}: {e}")),
        }
    }
    for (i, role) in scenario.roles.iter().enumerate() {
        judge(role, &ending, i)?;
    }
    (scenario.check)(&ending).map_err(|e| format!("{e}: {ending:#?}"))?;
    // Everybody goes on without being opened again.
    for (graph, slug) in [(witness, "after-1"), (&later, "after-2")] {
        for branch in ending.contents.keys() {
            if scenario.schema == SOCIAL {
                load(graph, branch, LoadMode::Merge, &person(slug, 1))
                    .await
                    .map_err(|e| format!("the next write on {branch}: {e}"))?;
            }
        }
    }
    whole(witness).await
}

/// Checks that everything holds and nothing is left open.
pub(crate) async fn whole(graph: &Graph) -> std::result::Result<(), String> {
    let report = graph.verify().await.map_err(|e| format!("verify: {e}"))?;
    if !report.is_clean() || report.pending > 0 {
        return Err(format!("not whole: {report:#?}"));
    }
    Ok(())
}

/// What must hold for every deed: acknowledged means there, once; refused means not there.
pub(crate) fn judge(role: &Role, ending: &Ending, actor: usize) -> std::result::Result<(), String> {
    let found = role.shows.map(|(branch, text)| ending.holds(branch, text));
    match (&ending.outcomes[actor], found) {
        (Ok(()), Some(1) | None) => Ok(()),
        (Ok(()), Some(n)) => Err(format!("what actor {actor} was acknowledged is there {n} times: {ending:#?}")),
        (Err(_), None | Some(0 | 1)) if ending.dead[actor] => Ok(()),
        (Err(e), None | Some(0)) if role.may_fail.contains(&e.reason()) => Ok(()),
        (Err(e), _) => Err(format!("actor {actor} failed with {e} ({}), found {found:?}: {ending:#?}", e.reason())),
    }
}
