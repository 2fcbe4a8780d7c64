//! Two processes that want things of one graph at the same moment, in every order of the steps that the other
//! could see, also with one of them dying at each.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::model::{Actor, Change, EdgePolicy, EntityWrite, LoadMode, Target, TypeRef, Value, WriteOptions};
use omnigraph_engine::{Access, Graph, Reason, Result};
use omnigraph_tests::{SOCIAL, engine, head, load, person};

use crate::explore::{Bounds, Ending, Role, Scenario, Tally, explore};

const SEED: &str = "{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}\n{\"type\":\"Person\",\"data\":{\"slug\":\"b\"}}\n";

/// The same in a commit each, so that there is something to compact.
const CRUMBS: &str =
    "{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}\nthen\n{\"type\":\"Person\",\"data\":{\"slug\":\"b\"}}\n";

macro_rules! deed {
    ($graph:ident => $body:expr) => {{
        fn deed($graph: Graph) -> BoxFuture<'static, Result<()>> {
            async move { $body.await.map(|_| ()) }.boxed()
        }
        deed
    }};
}

mod lineage;
mod upkeep;

fn rename(to: &str, expected_head: &str) -> (Vec<Change>, WriteOptions) {
    let set = BTreeMap::from([("name".to_string(), Value::String(to.to_string()))]);
    let target = Target::Ids(vec!["a".into()]);
    let options = WriteOptions { expected_head: expected_head.to_string(), ..WriteOptions::default() };
    (vec![Change::Update { type_ref: TypeRef::node("Person"), target, set }], options)
}

/// Writes on the condition that nothing changed since the seed was loaded.
async fn claim(graph: Graph, by: &str) -> Result<()> {
    let commits = graph.commits("main", None, 10).await?;
    let seen = commits.iter().find(|c| c.operation == "load").map(|c| c.id.as_str()).unwrap_or_default();
    let (changes, options) = rename(by, seen);
    graph.mutate(changes, &options).await.map(|_| ())
}

async fn forget_a(graph: Graph) -> Result<()> {
    let change = Change::Delete {
        type_ref: TypeRef::node("Person"),
        target: Target::Ids(vec!["a".into()]),
        edges: EdgePolicy::Cascade,
    };
    graph.mutate(vec![change], &WriteOptions::default()).await.map(|_| ())
}

async fn befriend_a(graph: Graph) -> Result<()> {
    let edge = EntityWrite {
        type_ref: TypeRef::edge("Knows"),
        id: None,
        endpoints: Some(("b".into(), "a".into())),
        properties: BTreeMap::new(),
    };
    graph.mutate(vec![Change::Insert(edge)], &WriteOptions::default()).await.map(|_| ())
}

const NOTE: &str = "{\"type\":\"Note\",\"data\":{\"id\":\"n\",\"text\":\"t\"}}\n";
const NONE: &[Reason] = &[];

const fn writer(does: crate::explore::Deed, shows: (&'static str, &'static str), may_fail: &'static [Reason]) -> Role {
    Role { does, shows: Some(shows), may_fail }
}

const fn silent(does: crate::explore::Deed, may_fail: &'static [Reason]) -> Role {
    Role { does, shows: None, may_fail }
}

fn nothing_more(_: &Ending) -> std::result::Result<(), String> {
    Ok(())
}

fn one_wins(ending: &Ending) -> std::result::Result<(), String> {
    match ending.successes() {
        1 => Ok(()),
        n if ending.all_lived() || n > 1 => Err(format!("{n} of two succeeded")),
        _ => Ok(()),
    }
}

/// Maintenance is no reason to refuse anybody.
fn one_wins_alone(ending: &Ending) -> std::result::Result<(), String> {
    if ending.all_lived() && ending.successes() < 2 { Err("maintenance got in the way".to_string()) } else { Ok(()) }
}

fn at_most_one_wins(ending: &Ending) -> std::result::Result<(), String> {
    if ending.successes() > 1 { Err("both succeeded".to_string()) } else { Ok(()) }
}

const PUT_X: Role = writer(
    deed!(g => async move { load(&g, "main", LoadMode::Append, &person("x", 1)).await }),
    ("main", "\"x\""),
    NONE,
);
const PUT_Y: Role = writer(
    deed!(g => async move { load(&g, "main", LoadMode::Append, &person("y", 1)).await }),
    ("main", "\"y\""),
    NONE,
);
const PUT_NOTE: Role =
    writer(deed!(g => async move { load(&g, "main", LoadMode::Append, NOTE).await }), ("main", "\"n\""), NONE);
const PUT_BOTH: Role = writer(
    deed!(g => async move { load(&g, "main", LoadMode::Append, &(person("z", 1) + NOTE)).await }),
    ("main", "\"z\""),
    NONE,
);
const PUT_X_ON_B: Role =
    writer(deed!(g => async move { load(&g, "b", LoadMode::Append, &person("x", 1)).await }), ("b", "\"x\""), NONE);
const PUT_Y_ON_B: Role =
    writer(deed!(g => async move { load(&g, "b", LoadMode::Append, &person("y", 1)).await }), ("b", "\"y\""), NONE);
const PUT_X_ON_DOOMED: Role = silent(
    deed!(g => async move { load(&g, "b", LoadMode::Append, &person("x", 1)).await }),
    &[Reason::BranchNotFound, Reason::BranchClosed],
);
const DELETE_B: Role =
    silent(deed!(g => async move { g.delete_branch("b", false, &Actor::default()).await }), &[Reason::BranchNotFound]);
const MAKE_C: Role = silent(
    deed!(g => async move { g.create_branch("c", &head("main"), &Actor::default()).await }),
    &[Reason::BranchExists],
);
const RECOVER: Role = silent(deed!(g => async move { g.recover().await }), NONE);
const OPEN: Role = silent(deed!(g => async move { engine().open(g.root(), Access::ReadWrite).await }), NONE);
const OPTIMIZE: Role = silent(deed!(g => async move { g.optimize("main", 1).await }), NONE);
const RENAME: Role = writer(
    deed!(g => async move {
        let (changes, options) = rename("renamed", "");
        g.mutate(changes, &options).await
    }),
    ("main", "\"renamed\""),
    NONE,
);
const CLAIM_ONE: Role =
    writer(deed!(g => claim(g, "one")), ("main", "\"one\""), &[Reason::HeadMoved, Reason::ReadSetChanged]);
const CLAIM_TWO: Role =
    writer(deed!(g => claim(g, "two")), ("main", "\"two\""), &[Reason::HeadMoved, Reason::ReadSetChanged]);
const OVERWRITE: Role = silent(
    deed!(g => async move { load(&g, "main", LoadMode::Overwrite, &person("b", 2)).await }),
    &[Reason::ReadSetChanged, Reason::EndpointMissing],
);
const BEFRIEND: Role = silent(deed!(g => befriend_a(g)), &[Reason::EndpointMissing, Reason::ReadSetChanged]);
const FORGET: Role = silent(deed!(g => forget_a(g)), &[Reason::ReadSetChanged, Reason::EntityNotFound]);

fn scenario(
    name: &'static str,
    seed: &'static str,
    branches: &'static [&'static str],
    roles: &'static [Role],
) -> Scenario {
    Scenario { name, schema: SOCIAL, seed, branches, roles, independent: false, check: nothing_more }
}

fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("same table", SEED, &[], &[PUT_X, PUT_Y]),
        scenario("same table, no dataset yet", "", &[], &[PUT_X, PUT_Y]),
        Scenario { independent: true, ..scenario("disjoint tables", SEED, &[], &[PUT_X, PUT_NOTE]) },
        scenario("two tables against one of them", SEED, &[], &[PUT_BOTH, PUT_X]),
        Scenario { independent: true, ..scenario("different branches", SEED, &["b"], &[PUT_X_ON_B, PUT_Y]) },
        scenario("first writes on one branch", SEED, &["b"], &[PUT_X_ON_B, PUT_Y_ON_B]),
        scenario("writer against branch delete", SEED, &["b"], &[PUT_X_ON_DOOMED, DELETE_B]),
        scenario("two deletes of one branch", SEED, &["b"], &[DELETE_B, DELETE_B]),
        Scenario { check: one_wins, ..scenario("one name for two branches", SEED, &[], &[MAKE_C, MAKE_C]) },
        Scenario { check: one_wins, ..scenario("strict updates of one row", SEED, &[], &[CLAIM_ONE, CLAIM_TWO]) },
        scenario("writer against recoverer", SEED, &[], &[PUT_BOTH, RECOVER]),
        scenario("writer against an open", SEED, &[], &[PUT_X, OPEN]),
        Scenario {
            check: at_most_one_wins,
            ..scenario("an edge and the loss of its end", SEED, &[], &[BEFRIEND, OVERWRITE])
        },
        scenario("an edge and the delete of its end", SEED, &[], &[BEFRIEND, FORGET]),
        scenario("writer against optimize", CRUMBS, &[], &[PUT_X, OPTIMIZE]),
        scenario("strict update against optimize", CRUMBS, &[], &[RENAME, OPTIMIZE]),
        Scenario {
            check: one_wins_alone,
            ..scenario("read token against optimize", CRUMBS, &[], &[CLAIM_ONE, OPTIMIZE])
        },
        scenario("two optimizes", CRUMBS, &[], &[OPTIMIZE, OPTIMIZE]),
    ]
}

/// Switches between actors that have no table in common.
const INDEPENDENT: usize = 2;

fn sweep(bounds: Bounds, what: &str) {
    let begun = Instant::now();
    let mut total = Tally::default();
    for scenario in scenarios() {
        let at = Instant::now();
        let few = scenario.independent.then_some(INDEPENDENT);
        let bounds = Bounds { switches: bounds.switches.or(few), ..bounds };
        let tally = explore(&scenario, bounds);
        println!("{what}: {}: {} orders, {} steps, {:?}", scenario.name, tally.runs, tally.steps, at.elapsed());
        total.runs += tally.runs;
        total.steps += tally.steps;
    }
    crate::tell(&format!(
        "{what}: {} orders of two processes, {} steps in {:?}",
        total.runs,
        total.steps,
        begun.elapsed()
    ));
}

/// Whether a scenario is to be explored, see the header of the program.
fn is_asked_for(name: &str) -> bool {
    std::env::var("OMNIGRAPH_SIM_ONLY").map_or(true, |only| name.contains(&only))
}

/// Waits for one thing.
fn alone<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// How many switches away from an actor that could go on: the first number by default, more if
/// `OMNIGRAPH_SIM_SWITCHES` says so.
fn switches(least: usize) -> Option<usize> {
    let more = std::env::var("OMNIGRAPH_SIM_SWITCHES").ok().and_then(|text| text.parse().ok());
    Some(more.unwrap_or(least))
}

#[test]
fn every_order_of_two_writers_who_wait_for_each_other() {
    sweep(Bounds { switches: None, deaths: 0, lease: Duration::from_secs(10) }, "polite");
}

#[test]
fn every_order_of_two_writers_who_take_each_other_for_dead() {
    sweep(Bounds { switches: switches(1), deaths: 0, lease: Duration::ZERO }, "hasty");
}

#[test]
fn every_death_of_one_of_two_writers() {
    // Short, so that who waits for a dead one does not have to look often.
    sweep(Bounds { switches: switches(0), deaths: 1, lease: Duration::from_millis(100) }, "mortal");
}

#[test]
fn every_death_of_one_of_two_writers_who_take_each_other_for_dead() {
    sweep(Bounds { switches: switches(0), deaths: 1, lease: Duration::ZERO }, "mortal and hasty");
}
