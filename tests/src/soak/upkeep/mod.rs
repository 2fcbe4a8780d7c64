//! A run of upkeep: optimize, repair and cleanup run again and again, as processes of their own, beside clients that
//! write and clients that read old commits. Nothing is killed and nothing may fail: not a write, not a command, and
//! not a read of what has to stay. What is written stays, once, and the store stays small.
//!
//! A cleanup leaves alone what was superseded less than a minute ago, so only runs of more than a minute see it remove
//! what they wrote. Every run therefore ends with a wait of a minute and a last cleanup, after which exactly what is
//! owed can be read.

mod jobs;
mod past;
mod slow;
mod space;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use omnigraph_engine::limits::RETENTION_GRACE;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::items::{self, Writer};
use super::ledger::Size;
use super::place::Place;
use super::report::{UPKEEP, say};
use super::{Layout, MAIN, Options, Outcome, Run, calm_down, checks, make_branches, make_graph, own_branch};
use jobs::{Job, keep_at};
use past::{Past, look_back};
use slow::Slow;

/// Commits of every branch that a cleanup is told to keep, and that readers count on.
const KEEP: usize = 10;

const WRITERS: usize = 4;
const READERS: usize = 3;

/// From one write of a writer to the next, so that the store would grow steadily. On S3 a commit takes longer, and
/// writers at several servers who ask for more than a branch can take wait for each other without any order.
const PACE: Duration = Duration::from_secs(1);
const REMOTE_PACE: Duration = Duration::from_secs(2);

/// A branch that is written so rarely that its newest commits are older than what is merely young.
const QUIET: &str = "quiet";
/// From one write on it to the next; a commit of an optimize follows each.
const QUIET_PACE: Duration = Duration::from_secs(15);

/// Branches made at old commits, and how long one comes after the other.
const KEPT: usize = 6;
const KEPT_PACE: Duration = Duration::from_secs(8);

/// Two loops, so that a cleanup meets an optimize or a repair at any point.
const LOOPS: [&[Job]; 2] = [&[Job::Optimize, Job::Repair], &[Job::Cleanup]];

/// A little longer than something is young; and than it takes until a read that is over is forgotten.
const AGE: Duration = RETENTION_GRACE.saturating_add(Duration::from_secs(2));
const FORGET: Duration = Duration::from_secs(5);

/// The place on S3 and that on disk.
pub(crate) fn layouts() -> [Layout; 2] {
    ["s3", "disk"].map(|name| {
        let own = (0..WRITERS).map(|writer| own_branch(name, writer));
        Layout { servers: 2, lasting: [MAIN, QUIET].map(String::from).into_iter().chain(own).collect() }
    })
}

/// A place with what was prepared there.
struct Scene {
    place: Arc<Place>,
    past: Arc<Past>,
    /// What stood before the first write.
    base: Size,
    slow: Slow,
    chance: Rng,
}

/// A scene while the run is on.
struct Act {
    place: Arc<Place>,
    past: Arc<Past>,
    base: Size,
    chance: Rng,
    mark: Arc<slow::Mark>,
    slow: JoinHandle<String>,
    samples: JoinHandle<Outcome<space::Samples>>,
    upkeep: Vec<JoinHandle<Outcome>>,
}

/// Makes the run and checks what came of it.
///
/// # Errors
/// What keeps the run from being made or checked.
pub(crate) async fn soak(options: &Options, seed: u64, places: &[Arc<Place>]) -> Outcome {
    let mut chance = Rng::with_seed(seed);
    say("preparing");
    let scenes = places.iter().map(|place| prepare(place, chance.fork())).collect::<Vec<_>>();
    let scenes = futures::future::try_join_all(scenes).await?;
    let run = Run::begin(options);
    let mut workers = JoinSet::new();
    let acts: Vec<Act> = scenes.into_iter().map(|scene| employ(&mut workers, &run, scene)).collect();
    let broke_off = || acts.iter().flat_map(|act| &act.upkeep).any(JoinHandle::is_finished);
    run.watch(places, &UPKEEP, || run.goes_on() && broke_off()).await;
    calm_down(workers).await?;
    say(&format!("waiting {} seconds until nothing is young any more", AGE.as_secs()));
    let ends = acts.into_iter().map(|act| wind_up(act, options.minutes));
    futures::future::try_join_all(ends).await?;
    for place in places {
        checks::verify(place).await?;
    }
    Ok(())
}

/// Makes the graph and everything that a cleanup has to find when the run begins.
async fn prepare(place: &Arc<Place>, mut chance: Rng) -> Outcome<Scene> {
    make_graph(place).await?;
    // Before the pages are there, so that no branch keeps them.
    make_branches(place).await?;
    let slow = Slow::begin(place, &mut chance).await?;
    Job::Optimize.carry_out(place).await?;
    // Even a branch made at one of the newest commits, which keeps as many before it, does not reach back to what the
    // slow scan waits to see gone.
    for (branch, count) in [(MAIN, 2 * KEEP + 2), (QUIET, KEEP + 2)] {
        for n in 0..count {
            items::write_one(place, n, branch, &format!("first-{n}")).await;
        }
    }
    let base = space::measure(place).await?.unwrap_or_default();
    Ok(Scene { place: place.clone(), past: Arc::new(Past::new(place.clone())), base, slow, chance })
}

/// Sets everybody to work.
fn employ(workers: &mut JoinSet<()>, run: &Arc<Run>, scene: Scene) -> Act {
    let Scene { place, past, base, slow, mut chance } = scene;
    let pace = if place.local_folder().is_some() { PACE } else { REMOTE_PACE };
    for at in 0..WRITERS {
        let (name, branch) = (format!("writer-{}-{at}", place.name), own_branch(place.name, at));
        let (run, place, chance) = (run.clone(), place.clone(), chance.fork());
        workers.spawn(Writer { run, place, at, name, branch, chance, pace }.work());
    }
    workers.spawn(write_rarely(run.clone(), place.clone()));
    for at in 0..READERS {
        workers.spawn(look_back(run.clone(), past.clone(), at, chance.fork()));
    }
    workers.spawn(keep_some(run.clone(), past.clone(), chance.fork()));
    let mark = slow.mark();
    let keep_at = |jobs| tokio::spawn(keep_at(run.clone(), place.clone(), jobs, mark.clone()));
    Act {
        upkeep: LOOPS.map(keep_at).into_iter().collect(),
        samples: tokio::spawn(space::sample(run.clone(), place.clone())),
        slow: tokio::spawn(slow.read()),
        mark,
        place,
        past,
        base,
        chance,
    }
}

/// Writes on the quiet branch until the run is over.
async fn write_rarely(run: Arc<Run>, place: Arc<Place>) {
    let (mut next, mut n) = (Instant::now(), 0);
    while run.takes_write() {
        items::write_one(&place, n, QUIET, &format!("rare-{n}")).await;
        (next, n) = (next + QUIET_PACE, n + 1);
        sleep_until(&run, next).await;
    }
}

/// Makes branches at old commits until there are enough or the run is over.
async fn keep_some(run: Arc<Run>, past: Arc<Past>, mut chance: Rng) {
    let mut next = Instant::now();
    for n in 0..KEPT {
        if run.goes_on() {
            past.keep_one(n, &format!("kept/{n}"), &mut chance).await;
        }
        next += KEPT_PACE;
        sleep_until(&run, next).await;
    }
}

async fn sleep_until(run: &Run, moment: Instant) {
    while run.goes_on() && Instant::now() < moment {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// After the run: lets everything grow old, cleans up for the last time, and checks.
async fn wind_up(act: Act, length: Duration) -> Outcome {
    let Act { place, past, base, mut chance, mark, slow, samples, upkeep } = act;
    for jobs in upkeep {
        jobs.await??;
    }
    space::judge(&place, length, base, &samples.await??);
    past.note_all(0, &mut chance).await;
    tokio::time::sleep(AGE).await;
    for job in [Job::Optimize, Job::Repair, Job::Cleanup] {
        job.carry_out(&place).await?;
    }
    mark.look(&place).await;
    mark.end();
    past.settle(0, &mut chance).await;
    let held = slow.await?;
    tokio::time::sleep(FORGET).await;
    Job::Cleanup.carry_out(&place).await?;
    slow::check_let_go(&place, &held).await;
    space::conclude(&place).await?;
    checks::write_everywhere(&place).await;
    checks::compare_lasting(&place).await;
    checks::check_branches(&place, &past.branches()).await;
    place.stop().await;
    Ok(())
}
