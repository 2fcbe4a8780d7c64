//! What must hold when nobody moves any more, and how the way to a violation is told.

use super::state::{ACTORS, Actor, BOTH, LAST, Next, State};
use super::steps::{Rules, is_waiting, meet, step};

/// More steps, and more claims, than there are for somebody who is alone.
const ENDLESS: usize = 200;

/// If no more than `crashes` actors are on their way, the state in which these have crashed and the others are done
/// or wait for them.
pub(super) fn at_rest(state: &State, crashes: usize) -> Option<State> {
    let is_moving = |a: &Actor| !matches!(a.next, Next::End | Next::Begin) && !is_waiting(state, a);
    if state.actors.iter().filter(|a| is_moving(a)).count() > crashes {
        return None;
    }
    let mut rest = *state;
    for actor in &mut rest.actors {
        if actor.next == Next::Begin {
            *actor = Actor::default();
        } else if is_moving(actor) {
            let Actor { recovers, told, .. } = *actor;
            // Its commit may still be published, and is then judged by its tables.
            let tables = if recovers { 0 } else { actor.tables };
            *actor = Actor { tables, recovers, told, ..Actor::default() };
        }
    }
    Some(rest)
}

/// Runs recovery to its end, then whoever waited, then a fresh writer of both tables. The error is the broken
/// promise. `seen` is shown each step.
pub(super) fn check(rest: &State, rules: Rules, seen: &mut dyn FnMut(&State, &State)) -> Result<(), String> {
    let mut state = *rest;
    for _ in 0..ENDLESS {
        let Some(claim) = state.claims().first().copied() else { break };
        state.actors[LAST] = meet(&Actor::recoverer(BOTH), claim);
        run(&mut state, LAST, rules, seen)?;
    }
    for place in 0..LAST {
        run(&mut state, place, rules, seen)?;
        let waited = rest.actors[place].next != Next::End;
        if waited && place < 2 && !state.actors[place].told {
            return Err(format!("{} lives and was never told that it is committed", name(&state, place)));
        }
    }
    state.actors[LAST] = Actor::writer(BOTH);
    run(&mut state, LAST, rules, seen)?;
    promises(&state)
}

fn promises(state: &State) -> Result<(), String> {
    for place in [0, 1, LAST] {
        let commits = state.commits[place];
        if commits > 1 || (commits == 0 && state.actors[place].told) {
            let told = if state.actors[place].told { "was told that it is committed and " } else { "" };
            return Err(format!("{} {told}is in the lineage {commits} times", name(state, place)));
        }
    }
    if state.broken {
        return Err("a commit is not its parent and exactly its own effects".to_string());
    }
    for table in 0..2 {
        if state.heights[table] != state.entry(state.newest).pins[table] {
            return Err(format!("table {} stays ahead of its pin", letter(table)));
        }
    }
    Ok(())
}

/// Lets one actor go on alone. Where it has a choice it does the most.
fn run(state: &mut State, place: usize, rules: Rules, seen: &mut dyn FnMut(&State, &State)) -> Result<(), String> {
    let mut next = Vec::new();
    for _ in 0..ENDLESS {
        if state.actors[place].next == Next::End {
            return Ok(());
        }
        step(state, place, rules, &mut next);
        let Some(last) = next.pop() else {
            return Err(format!("{} waits for a turn that nobody will give up", name(state, place)));
        };
        next.clear();
        seen(state, &last);
        *state = last;
    }
    Err(format!("{} comes to no end", name(state, place)))
}

fn name(state: &State, place: usize) -> &'static str {
    match place {
        LAST if state.actors[LAST].recovers => "recovery",
        _ => ["x", "y", "recoverer 1", "recoverer 2", "the fresh writer"][place],
    }
}

fn letter(table: usize) -> char {
    if table == 0 { 'A' } else { 'B' }
}

/// What happened between two states.
pub(super) fn describe(before: &State, after: &State) -> String {
    let Some(place) = (0..ACTORS).find(|p| before.actors[*p] != after.actors[*p]) else {
        let gone = before.claims().iter().find(|c| after.claim(c.turn) != Some(c)).map_or(0, |c| c.turn);
        let how = if after.claim(gone).is_some() { "becomes unreadable" } else { "is lost" };
        return format!("the claim of turn {gone} {how}");
    };
    let (was, is) = (&before.actors[place], &after.actors[place]);
    let table = letter(was.table);
    let turn = was.intent.turn;
    let what = match was.next {
        Next::End => "does nothing".to_string(),
        Next::Begin => format!("reads the claim of turn {}", is.intent.turn),
        Next::Newest | Next::Judge => format!("finds the manifest at {}", before.newest),
        Next::Height => format!("finds table {table} at {}", before.heights[was.table]),
        Next::Claim if was.intent.restores => format!("claims turn {turn} to restore"),
        Next::Claim => format!("claims turn {turn}"),
        Next::Confirm => format!("finds turn {turn} {}", if is.keeps { "over" } else { "open" }),
        Next::Effect if is.gave_up => format!("finds table {table} ahead"),
        Next::Effect => format!("makes version {} of table {table}", after.heights[was.table]),
        Next::Observe if is.ours => format!("finds the effect on table {table}"),
        Next::Observe => format!("does not find the effect on table {table}"),
        Next::Publish | Next::Decide => {
            let (old, new) = (before.entry(turn + 1), after.entry(turn + 1));
            let landed = before.newest != after.newest || old != new;
            let how = if landed { "publishes" } else { "finds" };
            format!("{how} manifest {}: {:?}, pins {:?}", turn + 1, new.kind, new.pins)
        }
        Next::Clear => format!("clears the claim of turn {turn}"),
    };
    format!("{} {what}", name(before, place))
}
