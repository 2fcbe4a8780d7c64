//! A crowd of processes that do random things to one bank, one step at a time, and die at random.
//!
//! Money moves between accounts in single commits, so no reader may ever see another total; entries are
//! written under request ids that are repeated until they are acknowledged, so each may be there once only.
//! Everything follows from a seed: `OMNIGRAPH_SIM_SEED=<seed>` repeats one run, `OMNIGRAPH_SIM_RUNS=<n>`
//! makes more of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use omnigraph_engine::model::{
    Actor, Change, EntityWrite, LoadMode, ReadSelector, Target, TypeRef, Value, WriteOptions,
};
use omnigraph_engine::{Access, Error, Graph, Reason};
use omnigraph_tests::{content, create, engine, head, load, memory_root};

use crate::stage::{Choice, Stage};

const SCHEMA: &str = "node Account { k: String @key  balance: I64 }\nnode Entry { k: String @key }\n\
                      edge Noted: Entry -> Account { }";
const ACCOUNTS: usize = 4;
const TOTAL: i64 = 400;
const ACTORS: usize = 6;
/// Steps after which nobody begins anything new.
const STEPS: usize = 260;
/// One step in so many kills its actor.
const MORTALITY: usize = 40;
const RUNS: u64 = 24;

/// What a member of the crowd does for a living.
#[derive(Clone, Copy, Debug)]
enum Trade {
    Banker,
    Clerk,
    Brancher,
    Recoverer,
    Reader,
}

const TRADES: [Trade; ACTORS] =
    [Trade::Banker, Trade::Clerk, Trade::Clerk, Trade::Brancher, Trade::Recoverer, Trade::Reader];

/// What outlives the processes: what the callers were told.
#[derive(Debug, Default)]
struct Told {
    closing: bool,
    /// Entries asked for, and whether they were acknowledged.
    entries: BTreeMap<String, bool>,
    /// What was read at a commit once must be read again.
    seen: HashMap<String, Vec<String>>,
    counts: BTreeMap<&'static str, u64>,
}

#[derive(Clone)]
struct Member {
    number: usize,
    trade: Trade,
    stage: Stage,
    graph: Graph,
    told: Arc<Mutex<Told>>,
    rng: Arc<Mutex<fastrand::Rng>>,
}

/// Whether a caller may meet this when others are at work or a process dies; nothing else is tolerated.
fn is_expected(error: &Error) -> bool {
    matches!(
        error.reason(),
        Reason::HeadMoved
            | Reason::ReadSetChanged
            | Reason::TooMuchContention
            | Reason::BranchNotFound
            | Reason::BranchExists
            | Reason::BranchClosed
            | Reason::RecoveryRequired
            | Reason::InDoubt
    )
}

impl Member {
    fn below(&self, n: usize) -> usize {
        self.rng.lock().unwrap().usize(0..n)
    }

    fn count(&self, what: &'static str) {
        *self.told.lock().unwrap().counts.entry(what).or_default() += 1;
    }

    /// Works until the crowd is sent home. A process that died stops at its first failing call.
    async fn live(self) {
        loop {
            self.stage.step(self.number).await;
            if self.told.lock().unwrap().closing || self.stage.is_dead(self.number) {
                return;
            }
            let done = match self.trade {
                Trade::Banker => self.transfer().await,
                Trade::Clerk => self.note().await,
                Trade::Brancher => self.branch().await,
                Trade::Recoverer => self.graph.recover().await.map(|_| ()),
                Trade::Reader if self.below(6) == 0 => self.audit().await,
                Trade::Reader => self.read().await,
            };
            match done {
                _ if self.stage.is_dead(self.number) => return,
                Ok(()) => {}
                Err(e) if is_expected(&e) => self.count(e.reason().as_str()),
                Err(e) => panic!("{:?}: {e} ({})\n{}", self.trade, e.reason(), self.stage.trace()),
            }
        }
    }

    async fn transfer(&self) -> Result<(), Error> {
        let branch = self.some_branch().await?;
        let snapshot = self.graph.snapshot(&head(&branch)).await?;
        let (from, to) = (self.below(ACCOUNTS), self.below(ACCOUNTS));
        if from == to {
            return Ok(());
        }
        let account = TypeRef::node("Account");
        let ids = [format!("a{from}"), format!("a{to}")];
        let found = self.graph.get(&snapshot, &account, &ids).await?;
        let balance = |i: usize| match found[i].properties.get("balance") {
            Some(Value::I64(n)) => *n,
            other => panic!("an account without balance: {other:?}"),
        };
        let set = |id: &String, balance: i64| Change::Update {
            type_ref: account.clone(),
            target: Target::Ids(vec![id.clone()]),
            set: BTreeMap::from([("balance".to_string(), Value::I64(balance))]),
        };
        let changes = vec![set(&ids[0], balance(0) - 7), set(&ids[1], balance(1) + 7)];
        let options = WriteOptions { expected_head: snapshot.head().to_string(), ..WriteOptions::on(&branch) };
        self.graph.mutate(changes, &options).await?;
        self.count("transfers");
        Ok(())
    }

    /// Writes an entry and its edge, or asks again for one that was not acknowledged.
    async fn note(&self) -> Result<(), Error> {
        let key = {
            let mut told = self.told.lock().unwrap();
            let open = told.entries.iter().find(|(k, done)| !**done && k.starts_with(&format!("e{}-", self.number)));
            let key = open.map(|(k, _)| k.clone());
            key.unwrap_or_else(|| {
                let key = format!("e{}-{}", self.number, told.entries.len());
                told.entries.insert(key.clone(), false);
                key
            })
        };
        let entry = EntityWrite {
            type_ref: TypeRef::node("Entry"),
            id: None,
            endpoints: None,
            properties: BTreeMap::from([("k".to_string(), Value::String(key.clone()))]),
        };
        let edge = EntityWrite {
            type_ref: TypeRef::edge("Noted"),
            id: None,
            endpoints: Some((key.clone(), format!("a{}", self.below(ACCOUNTS)))),
            properties: BTreeMap::new(),
        };
        let options = WriteOptions { request_id: format!("r-{key}"), ..WriteOptions::default() };
        let receipt = self.graph.mutate(vec![Change::Insert(entry), Change::Insert(edge)], &options).await?;
        self.count(if receipt.replayed { "replays" } else { "entries" });
        self.told.lock().unwrap().entries.insert(key, true);
        Ok(())
    }

    async fn branch(&self) -> Result<(), Error> {
        let name = format!("b{}", self.below(2));
        let me = Actor::default();
        match self.below(3) {
            0 => self.graph.create_branch(&name, &head("main"), &me).await.map(|_| self.count("branches")),
            1 => self.graph.delete_branch(&name, false, &me).await.map(|()| self.count("branch deletes")),
            _ => {
                let row = format!("{{\"type\":\"Entry\",\"data\":{{\"k\":\"on-{}\"}}}}", self.below(1_000));
                load(&self.graph, &name, LoadMode::Merge, &row).await.map(|_| self.count("branch writes"))
            }
        }
    }

    async fn some_branch(&self) -> Result<String, Error> {
        let branches = self.graph.branches().await?;
        Ok(branches[self.below(branches.len())].name.clone())
    }

    /// The total of a branch, and that an old commit still shows what it showed.
    async fn read(&self) -> Result<(), Error> {
        let branch = self.some_branch().await?;
        let snapshot = self.graph.snapshot(&head(&branch)).await?;
        let (commit, lines) = (snapshot.head().to_string(), content(&self.graph, &head(&branch)).await?);
        let again = self.graph.snapshot(&head(&branch)).await?;
        assert_eq!(total(&lines), TOTAL, "on {branch}:\n{}", self.stage.trace());
        let known = {
            let mut told = self.told.lock().unwrap();
            if again.head() == commit {
                told.seen.insert(commit, lines);
            }
            let known: BTreeSet<String> = told.seen.keys().cloned().collect();
            let pick = self.below(known.len().max(1));
            known.into_iter().nth(pick)
        };
        if let Some(commit) = known {
            match content(&self.graph, &ReadSelector::Commit(commit.clone())).await {
                Ok(lines) => {
                    let seen = self.told.lock().unwrap().seen.get(&commit).cloned();
                    assert_eq!(Some(lines), seen, "{commit} shows other rows now:\n{}", self.stage.trace());
                }
                // Its branch is gone.
                Err(e) if e.reason() == Reason::CommitNotFound => {}
                Err(e) => return Err(e),
            }
        }
        self.count("reads");
        Ok(())
    }

    async fn audit(&self) -> Result<(), Error> {
        let report = self.graph.verify().await?;
        assert!(report.is_clean(), "{:#?}\n{}", report.problems, self.stage.trace());
        self.count("audits");
        Ok(())
    }
}

fn total(lines: &[String]) -> i64 {
    let balance = |line: &String| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        (row["type"] == "Account").then(|| row["data"]["balance"].as_i64().unwrap_or_default())
    };
    lines.iter().filter_map(balance).sum()
}

/// One run; returns what happened, a line each, and what was counted.
async fn run(seed: u64) -> (String, BTreeMap<&'static str, u64>) {
    let root = memory_root("crowd");
    let witness = create(&engine(), &root, SCHEMA).await.unwrap();
    let account =
        |i| format!("{{\"type\":\"Account\",\"data\":{{\"k\":\"a{i}\",\"balance\":{}}}}}\n", TOTAL / ACCOUNTS as i64);
    // Every table is there from the beginning: several that are made at once are made side by side.
    let first =
        "{\"type\":\"Entry\",\"data\":{\"k\":\"seed\"}}\n{\"edge\":\"Noted\",\"from\":\"seed\",\"to\":\"a0\"}\n";
    let seed_rows = (0..ACCOUNTS).map(account).collect::<String>() + first;
    load(&witness, "main", LoadMode::Append, &seed_rows).await.unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let told = Arc::new(Mutex::new(Told::default()));
    let mut stage = Stage::new(ACTORS);
    let lease = Duration::from_secs(if rng.bool() { 10 } else { 0 });
    let (seed_of_lives, mut lives) = (seed.wrapping_mul(1_000), 0);
    let mut tasks = Vec::new();
    for number in 0..ACTORS {
        tasks.push(born(number, &stage, &root, &told, seed_of_lives + lives, lease));
        lives += 1;
    }
    let mut steps = 0;
    while stage.settle().await {
        let offered = stage.choices(steps < STEPS);
        let (deaths, moves): (Vec<Choice>, Vec<Choice>) = offered.into_iter().partition(|c| c.is_death());
        let dies = !deaths.is_empty() && rng.usize(0..MORTALITY) == 0;
        let from = if dies { deaths } else { moves };
        let choice = from[rng.usize(0..from.len())];
        stage.take(choice).await;
        steps += 1;
        told.lock().unwrap().closing = steps >= STEPS;
        assert!(steps < 20 * STEPS, "the crowd does not go home: seed {seed}\n{}", stage.trace());
        if choice.is_death() {
            let number = choice.actor();
            // Gone for good before another takes its place.
            tasks[number].abort();
            let _ = (&mut tasks[number]).await;
            stage.reborn(number);
            tasks[number] = born(number, &stage, &root, &told, seed_of_lives + lives, lease);
            lives += 1;
        }
    }
    for task in tasks {
        task.await.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    let label = format!("seed {seed}\n{}", stage.trace());
    conclude(&root, &told, &label).await;
    engine().remove(&root).await.unwrap();
    let counts = told.lock().unwrap().counts.clone();
    (stage.trace(), counts)
}

/// A new process at the crowd's place `number`.
fn born(
    number: usize,
    stage: &Stage,
    root: &str,
    told: &Arc<Mutex<Told>>,
    seed: u64,
    lease: Duration,
) -> tokio::task::JoinHandle<()> {
    let engine = stage.engine(number, seed, lease);
    let rng = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
    let (stage, told, root) = (stage.clone(), told.clone(), root.to_string());
    tokio::spawn(async move {
        let _leaving = stage.leaving(number);
        stage.admit(number);
        stage.step(number).await;
        match engine.open(&root, Access::ReadWrite).await {
            Ok(graph) => {
                let trade = TRADES[number];
                Member { number, trade, stage: stage.clone(), graph, told, rng }.live().await;
            }
            Err(_) if stage.is_dead(number) => {}
            Err(e) => panic!("opening: {e}\n{}", stage.trace()),
        }
    })
}

/// What must hold once everybody has gone home.
async fn conclude(root: &str, told: &Arc<Mutex<Told>>, label: &str) {
    let later = engine().open(root, Access::ReadWrite).await.unwrap_or_else(|e| panic!("{e}: {label}"));
    let report = later.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}: {label}");
    for branch in later.branches().await.unwrap() {
        let lines = content(&later, &head(&branch.name)).await.unwrap();
        assert_eq!(total(&lines), TOTAL, "{}: {label}", branch.name);
    }
    let lines = content(&later, &head("main")).await.unwrap();
    let commits = later.commits("main", None, 100_000).await.unwrap();
    let entries = told.lock().unwrap().entries.clone();
    for (key, acknowledged) in entries {
        let rows = lines.iter().filter(|l| l.contains("\"Entry\"") && l.contains(&format!("\"{key}\""))).count();
        let made = commits.iter().filter(|c| c.request_id == format!("r-{key}")).count();
        assert_eq!(rows, made, "{key}: {label}");
        assert!(rows == 1 || (rows == 0 && !acknowledged), "{key} is there {rows} times: {label}");
    }
    load(&later, "main", LoadMode::Append, "{\"type\":\"Entry\",\"data\":{\"k\":\"last\"}}")
        .await
        .unwrap_or_else(|e| panic!("the next write: {e}: {label}"));
}

fn alone<T>(work: impl std::future::Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_crowd_never_loses_money_or_entries() {
    if let Some(seed) = std::env::var("OMNIGRAPH_SIM_SEED").ok().and_then(|s| s.parse().ok()) {
        let (trace, counts) = alone(run(seed));
        println!("{trace}\n{counts:?}");
        return;
    }
    let runs = std::env::var("OMNIGRAPH_SIM_RUNS").ok().and_then(|s| s.parse().ok()).unwrap_or(RUNS);
    let next = Mutex::new(0..runs);
    let totals = Mutex::new(BTreeMap::<&'static str, u64>::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(seed) = next.lock().unwrap().next() else { return };
                    for (what, n) in alone(run(seed)).1 {
                        *totals.lock().unwrap().entry(what).or_default() += n;
                    }
                }
            });
        }
    });
    crate::tell(&format!("{runs} crowds: {:?}", totals.into_inner().unwrap()));
}

#[test]
fn a_run_can_be_repeated_from_its_seed() {
    let (first, second) = (alone(run(7)), alone(run(7)));
    // Two calls that one actor makes at once may arrive a moment sooner or later; who moves when is the same.
    let choices =
        |trace: &str| trace.lines().filter(|l| !l.starts_with(' ')).map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(choices(&first.0), choices(&second.0));
    assert_eq!(first.1, second.1);
}
