//! A run in which servers are killed at moments nobody chose, and come back on another port.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use omnigraph_client::{Graph, node};
use tokio::task::JoinSet;

use super::branches::Brancher;
use super::items::Writer;
use super::place::Place;
use super::report::{KILLS, say};
use super::settle::Write;
use super::strict::{ACCOUNTS, BANK_BRANCH, COUNTER, COUNTER_BRANCH, OPENING, Strict, account};
use super::{Layout, MAIN, Options, Outcome, Run, calm_down, checks, make_branches, make_graph, own_branch};

/// Pause between two kills, in milliseconds.
const PAUSE: std::ops::Range<u64> = 1_000..4_000;

/// One in so many kills takes all servers of a place at once.
const ALL_AT_ONCE: u32 = 10;

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

/// The place on S3 and that on disk.
pub(crate) fn layouts() -> [Layout; 2] {
    let layout = |name, servers, crew: Crew| {
        let own = (0..crew.writers).map(|writer| own_branch(name, writer));
        let lasting = [MAIN, COUNTER_BRANCH, BANK_BRANCH].map(String::from).into_iter().chain(own).collect();
        Layout { servers, lasting }
    };
    [layout("s3", 3, ON_S3), layout("disk", 1, ON_DISK)]
}

/// Makes the run and checks what came of it.
///
/// # Errors
/// What keeps the run from being made or checked.
pub(crate) async fn soak(options: &Options, seed: u64, places: &[Arc<Place>]) -> Outcome {
    let mut chance = Rng::with_seed(seed);
    for place in places {
        // All before anything is killed.
        make_graph(place).await?;
        open_bank(place).await?;
        make_branches(place).await?;
    }
    let run = Run::begin(options);
    let mut workers = JoinSet::new();
    for (place, crew) in places.iter().zip([ON_S3, ON_DISK]) {
        employ(&mut workers, &run, place, crew, &mut chance);
    }
    let killer = tokio::spawn(kill(run.clone(), places.to_vec(), chance.fork()));
    run.watch(places, &KILLS, || killer.is_finished()).await;
    killer.await??;
    calm_down(workers).await?;
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

/// Makes accounts and the counter.
async fn open_bank(place: &Place) -> Outcome {
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
    Ok(())
}

/// Sets everybody to work, spread over the servers.
fn employ(workers: &mut JoinSet<()>, run: &Arc<Run>, place: &Arc<Place>, crew: Crew, chance: &mut Rng) {
    for at in 0..crew.writers {
        let (name, branch) = (format!("writer-{}-{at}", place.name), own_branch(place.name, at));
        let (run, place, chance) = (run.clone(), place.clone(), chance.fork());
        workers.spawn(Writer { run, place, at, name, branch, chance, pace: Duration::ZERO }.work());
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

/// Kills and restarts until the run is over.
///
/// # Errors
/// A server does not come up again.
async fn kill(run: Arc<Run>, places: Vec<Arc<Place>>, mut chance: Rng) -> Outcome {
    let members: Vec<(usize, usize)> =
        places.iter().enumerate().flat_map(|(place, p)| (0..p.size()).map(move |at| (place, at))).collect();
    while run.goes_on() {
        tokio::time::sleep(Duration::from_millis(chance.u64(PAUSE))).await;
        let (place, at) = members[chance.usize(..members.len())];
        let place = &places[place];
        if chance.u32(..ALL_AT_ONCE) == 0 {
            let all = (0..place.size()).map(|at| place.restart(at));
            futures::future::try_join_all(all).await?;
        } else {
            place.restart(at).await?;
        }
    }
    Ok(())
}
