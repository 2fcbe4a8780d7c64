//! A soak: several servers over real storage, many clients, and servers that are killed at any moment. Every
//! acknowledged write must be there in the end, once, and nothing else.
//!
//! Nothing is simulated: servers, object store and command line are processes, and the clients use the
//! published client. What is decided by chance follows from a seed; timing does not.

mod branches;
mod checks;
mod items;
mod kills;
mod ledger;
mod options;
mod place;
mod report;
mod settle;
mod strict;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use omnigraph_client::{Graph, node};
use tokio::task::JoinSet;

pub use options::Options;

use branches::Brancher;
use items::Writer;
use place::{GRAPH, Place, Programs};
use report::say;
use settle::{SETTLE_LIMIT, Write, create_branch};
use strict::{ACCOUNTS, BANK_BRANCH, COUNTER, COUNTER_BRANCH, OPENING, Strict, account};

use crate::servers::weed;

/// What the run itself meets: a program that does not start, a disk that is full.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

pub(crate) const MAIN: &str = "main";

const SCHEMA: &str = r"
node Item { slug: String @key  n: I64 }
node Account { slug: String @key  balance: I64 }
node Counter { slug: String @key  value: I64 }
edge Follows: Item -> Item {}
";

/// How often the run tells how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// When a run is over.
#[derive(Debug)]
pub(crate) struct Run {
    until: Instant,
    writes: AtomicU64,
    stopped: AtomicBool,
}

impl Run {
    /// Whether it is still on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed) && Instant::now() < self.until
    }

    /// Whether one more write may be made; counts it.
    pub(crate) fn takes_write(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        let allowed = self.writes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if !allowed {
            self.stop();
        }
        self.goes_on()
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// How many of each work on a place.
#[derive(Clone, Copy, Debug)]
struct Crew {
    writers: usize,
    counters: usize,
    tellers: usize,
    watchers: usize,
}

const ON_S3: Crew = Crew { writers: 6, counters: 3, tellers: 2, watchers: 2 };
const ON_DISK: Crew = Crew { writers: 3, counters: 2, tellers: 1, watchers: 1 };

/// Runs a soak; whether everything held. `this` is the running program, which carries the keeper of the stores.
///
/// # Errors
/// What keeps the run from being made or checked.
pub async fn run(options: &Options, this: &Path) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => tempfile::Builder::new().prefix("omnigraph-soak-").tempdir()?.keep(),
    };
    for part in ["weed", "disk", "logs"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    say(&format!("soak of {:.1} minutes, seed {seed}, in {}", options.minutes.as_secs_f64() / 60.0, folder.display()));
    let store = weed::start_over(this, &options.weed, "soak", &folder.join("weed")).await?;
    let places = places(&folder, &Programs::beside(this)?, &store);
    let ended = soak(options, seed, &places).await;
    for place in &places {
        place.stop().await;
    }
    drop(store);
    say(&format!("\n{}", report::table(&places)));
    let mut held = true;
    for place in &places {
        for violation in place.ledger.violations() {
            say(&format!("violation on {}: {violation}", place.name));
            held = false;
        }
    }
    if let Err(e) = &ended {
        say(&format!("the run broke off: {e}"));
    }
    held &= ended.is_ok();
    if held && options.folder.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    match held {
        true => say("everything acknowledged is there, once"),
        false => say(&format!("seed {seed}; logs and data are in {}", folder.display())),
    }
    Ok(held)
}

fn places(folder: &Path, programs: &Programs, store: &crate::servers::ObjectStore) -> Vec<Arc<Place>> {
    let make = |name, crew: Crew, servers, storage: String, environment| {
        let own = (0..crew.writers).map(|writer| own_branch(name, writer));
        let lasting = [MAIN, COUNTER_BRANCH, BANK_BRANCH].map(String::from).into_iter().chain(own).collect();
        let logs = folder.join("logs");
        Arc::new(Place::new(name, lasting, servers, storage, environment, logs, programs.clone()))
    };
    vec![
        make("s3", ON_S3, 3, format!("{}/cluster", store.url), store.environment.clone()),
        make("disk", ON_DISK, 1, folder.join("disk").display().to_string(), Vec::new()),
    ]
}

/// The branch of a writer.
fn own_branch(place: &str, writer: usize) -> String {
    format!("own/{place}-{writer}")
}

async fn soak(options: &Options, seed: u64, places: &[Arc<Place>]) -> Outcome {
    let mut chance = Rng::with_seed(seed);
    for place in places {
        set_up(place).await?;
    }
    let begun = Instant::now();
    let (until, writes) = (begun + options.minutes, AtomicU64::new(options.writes));
    let run = Arc::new(Run { until, writes, stopped: AtomicBool::new(false) });
    let mut workers = JoinSet::new();
    for (place, crew) in places.iter().zip([ON_S3, ON_DISK]) {
        employ(&mut workers, &run, place, crew, &mut chance);
    }
    let killer = tokio::spawn(kills::kill(run.clone(), places.to_vec(), chance.fork()));
    while run.goes_on() {
        tokio::select! {
            () = tokio::time::sleep(PROGRESS.min(until.saturating_duration_since(Instant::now()))) => {}
            _ = tokio::signal::ctrl_c() => run.stop(),
        }
        report::progress(places, begun.elapsed());
        if killer.is_finished() || places.iter().any(|place| place.ledger.is_hopeless()) {
            run.stop();
        }
    }
    killer.await??;
    say("writing is over; waiting for what is under way");
    // What is under way ends by itself in this time.
    let calm = async {
        while let Some(ended) = workers.join_next().await {
            ended?;
        }
        Ok::<(), tokio::task::JoinError>(())
    };
    tokio::time::timeout(SETTLE_LIMIT * 4, calm).await.map_err(|_| "a client came to no end")??;
    say("checking");
    for place in places {
        for at in 0..place.size() {
            place.restart(at).await?;
        }
        checks::write_everywhere(place).await;
        checks::compare(place).await;
        place.stop().await;
        checks::verify(place).await?;
    }
    Ok(())
}

/// Starts the servers, makes the graph with accounts and counter, and the branches, all before anything is
/// killed.
async fn set_up(place: &Place) -> Outcome {
    place.start().await?;
    let client = place.client(0).ok_or("a server has no client")?;
    client.create_graph(GRAPH, SCHEMA).await?;
    let open = |graph: Graph| async move {
        let mut mutation = graph.mutate().request_id("open").branch(MAIN);
        mutation = mutation.insert(node("Counter").set("slug", COUNTER).set("value", 0));
        for n in 0..ACCOUNTS {
            mutation = mutation.insert(node("Account").set("slug", account(n)).set("balance", OPENING));
        }
        mutation.send().await.map(|done| done.receipt)
    };
    let write = Write { place, branch: MAIN, request: "open".to_string(), refusals: &[], lasts: true };
    write.settle(0, open).await.ok_or("the bank was not opened")?;
    place.ledger.book().balances = (0..ACCOUNTS).map(|n| (account(n), OPENING)).collect();
    for branch in place.lasting.iter().filter(|branch| *branch != MAIN) {
        if !create_branch(place, 0, branch).await {
            return Err(format!("branch {branch} was not made").into());
        }
    }
    Ok(())
}

/// Sets everybody to work, spread over the servers.
fn employ(workers: &mut JoinSet<()>, run: &Arc<Run>, place: &Arc<Place>, crew: Crew, chance: &mut Rng) {
    for at in 0..crew.writers {
        let (name, branch) = (format!("writer-{}-{at}", place.name), own_branch(place.name, at));
        let writer = Writer { run: run.clone(), place: place.clone(), at, name, branch, chance: chance.fork() };
        workers.spawn(writer.work());
    }
    let mut strict = |role: &str, at: usize| Strict {
        run: run.clone(),
        place: place.clone(),
        at,
        name: format!("{role}-{}-{at}", place.name),
        chance: chance.fork(),
    };
    for at in 0..crew.counters {
        workers.spawn(strict("counter", at).count());
    }
    for at in 0..crew.tellers {
        workers.spawn(strict("teller", at).transfer());
    }
    for at in 0..crew.watchers {
        workers.spawn(strict("watcher", at).watch());
    }
    let (name, chance) = (format!("brancher-{}", place.name), chance.fork());
    workers.spawn(Brancher { run: run.clone(), place: place.clone(), at: 1, name, chance }.work());
}
