//! Soaks: servers over real storage, many clients, and something that goes wrong or on beside them. Every
//! acknowledged write must be there in the end, once, and nothing else. In one kind of run servers are killed at any
//! moment ([`kills`]); in the other nothing is, and optimize, repair and cleanup run again and again ([`upkeep`]).
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
mod upkeep;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

pub use options::Options;

use place::{GRAPH, Place, Programs};
use report::{Story, say};
use settle::{SETTLE_LIMIT, create_branch};

use crate::servers::{ObjectStore, weed};

/// What the run itself meets: a program that does not start, a disk that is full.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

pub(crate) const MAIN: &str = "main";

const SCHEMA: &str = r"
node Item { slug: String @key  n: I64 }
node Account { slug: String @key  balance: I64 }
node Counter { slug: String @key  value: I64 }
node Page { slug: String @key  text: String }
edge Follows: Item -> Item {}
";

/// How often the run tells how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// When a run is over.
#[derive(Debug)]
pub(crate) struct Run {
    begun: Instant,
    until: Instant,
    writes: AtomicU64,
    stopped: AtomicBool,
}

impl Run {
    /// Begins now.
    fn begin(options: &Options) -> Arc<Self> {
        let (begun, writes) = (Instant::now(), AtomicU64::new(options.writes));
        Arc::new(Self { begun, until: begun + options.minutes, writes, stopped: AtomicBool::new(false) })
    }

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

    /// Tells how far it is until it is over, which it is early if there is no use in going on.
    async fn watch(&self, places: &[Arc<Place>], story: &Story, is_useless: impl Fn() -> bool) {
        while self.goes_on() {
            tokio::select! {
                () = tokio::time::sleep(PROGRESS.min(self.until.saturating_duration_since(Instant::now()))) => {}
                _ = tokio::signal::ctrl_c() => self.stop(),
            }
            story.progress(places, self.begun.elapsed());
            if is_useless() || places.iter().any(|place| place.ledger.is_hopeless()) {
                self.stop();
            }
        }
    }
}

/// Waits for clients after the run is over. What is under way ends by itself.
async fn calm_down(mut workers: JoinSet<()>) -> Outcome {
    say("writing is over; waiting for what is under way");
    let calm = async {
        while let Some(ended) = workers.join_next().await {
            ended?;
        }
        Ok::<(), tokio::task::JoinError>(())
    };
    Ok(tokio::time::timeout(SETTLE_LIMIT * 4, calm).await.map_err(|_| "a client came to no end")??)
}

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
    let programs = Programs::beside(this)?;
    let (places, story, ended) = if options.upkeep {
        let places = places(&folder, &programs, &store, upkeep::layouts(), Place::calm);
        let ended = upkeep::soak(options, seed, &places).await;
        (places, report::UPKEEP, ended)
    } else {
        let places = places(&folder, &programs, &store, kills::layouts(), |place| place);
        let ended = kills::soak(options, seed, &places).await;
        (places, report::KILLS, ended)
    };
    for place in &places {
        place.stop().await;
    }
    drop(store);
    say(&format!("\n{}", story.table(&places)));
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
        true => say(story.moral),
        false => say(&format!("seed {seed}; logs and data are in {}", folder.display())),
    }
    Ok(held)
}

/// A place before it is made.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    servers: usize,
    /// Branches that last.
    lasting: Vec<String>,
}

/// The place on S3 and that on disk.
fn places(
    folder: &Path,
    programs: &Programs,
    store: &ObjectStore,
    [on_s3, on_disk]: [Layout; 2],
    as_wanted: impl Fn(Place) -> Place,
) -> Vec<Arc<Place>> {
    let make = |name, Layout { servers, lasting }, storage: String, environment| {
        let logs = folder.join("logs");
        Arc::new(as_wanted(Place::new(name, lasting, servers, storage, environment, logs, programs.clone())))
    };
    vec![
        make("s3", on_s3, format!("{}/cluster", store.url), store.environment.clone()),
        make("disk", on_disk, folder.join("disk").display().to_string(), Vec::new()),
    ]
}

/// The branch of a writer.
pub(crate) fn own_branch(place: &str, writer: usize) -> String {
    format!("own/{place}-{writer}")
}

/// Starts the servers and makes the graph.
async fn make_graph(place: &Place) -> Outcome {
    place.start().await?;
    let client = place.client(0).ok_or("a server has no client")?;
    client.create_graph(GRAPH, SCHEMA).await?;
    Ok(())
}

/// Makes the branches that last from the head of main.
async fn make_branches(place: &Place) -> Outcome {
    for branch in place.lasting.iter().filter(|branch| *branch != MAIN) {
        if !create_branch(place, 0, branch).await {
            return Err(format!("branch {branch} was not made").into());
        }
    }
    Ok(())
}
