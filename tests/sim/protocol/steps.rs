//! What each actor's next call does. One call a step; what follows from its answer alone is part of the step.

use super::state::{Actor, Entry, Intent, Kind, LAST, Next, State, Version, has, operation};

/// The three conditions on which everything rests. Each can be taken away, to see that the model notices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// An effect lands at exactly the version after its base or not at all.
    pub(super) strict_effects: bool,
    /// An operation is rolled forward only if each of its effects is there and its own.
    pub(super) checked_forward: bool,
    /// A publish lands only where nothing stands.
    pub(super) conditional_publish: bool,
}

/// As the engine has them.
pub(super) const AS_BUILT: Rules = Rules { strict_effects: true, checked_forward: true, conditional_publish: true };

/// Adds the states that one step leads to. A step that nobody can tell from its delay goes before all others.
pub(super) fn successors(state: &State, rules: Rules, accidents: u8, out: &mut Vec<State>) {
    match (0..LAST).find(|place| is_private(state, *place, rules)) {
        Some(place) => step(state, place, rules, out),
        None => all_successors(state, rules, accidents, out),
    }
}

/// The same without a preference.
pub(super) fn all_successors(state: &State, rules: Rules, accidents: u8, out: &mut Vec<State>) {
    for place in 0..LAST {
        step(state, place, rules, out);
    }
    if state.accidents == accidents {
        return;
    }
    for claim in state.claims() {
        let mut lost = *state;
        lost.accidents += 1;
        lost.drop_claim(claim.turn);
        out.push(lost);
        if claim.is_readable() {
            let mut spoilt = *state;
            spoilt.accidents += 1;
            spoilt.put_claim(Intent::unreadable(claim.turn));
            out.push(spoilt);
        }
    }
}

/// Whether the answer to an actor's next call is settled, and no other actor sees that it was made: a look at what
/// never changes again, a condition that failed for good, a claim on a turn that is over and that nobody wants.
fn is_private(state: &State, place: usize, rules: Rules) -> bool {
    let actor = &state.actors[place];
    let intent = &actor.intent;
    let decided = state.newest > intent.turn;
    match actor.next {
        // Its answer is asked again by the condition of what follows.
        Next::Judge => true,
        Next::Confirm => decided,
        Next::Publish | Next::Decide => decided && rules.conditional_publish,
        Next::Effect => rules.strict_effects && state.heights[actor.table] > intent.base[actor.table],
        Next::Observe => decided || state.heights[actor.table] > intent.base[actor.table],
        Next::Clear | Next::Claim if decided && !is_waiting(state, actor) => {
            let claim = state.claim(intent.turn).unwrap_or(intent);
            (0..LAST).filter(|p| *p != place).map(|p| &state.actors[p]).all(|other| match other.next {
                Next::Begin => !is_worth_reading(state, claim, other),
                Next::Height | Next::Claim => other.intent.turn != intent.turn,
                _ => true,
            })
        }
        _ => false,
    }
}

/// Whether it makes a difference that a recoverer meets a claim. On a turn that is over, a claim blocks only who
/// wants that very turn, and leads to more than its removal only if tables are to be put back.
fn is_worth_reading(state: &State, claim: &Intent, recoverer: &Actor) -> bool {
    state.newest == claim.turn
        || (claim.tables & recoverer.tables != 0 && !state.entry(claim.turn + 1).is_of(claim))
        || state.actors.iter().any(|a| a.next == Next::Claim && a.intent.turn == claim.turn)
}

/// Whether an actor waits for a turn that somebody holds.
pub(super) fn is_waiting(state: &State, actor: &Actor) -> bool {
    actor.next == Next::Claim && state.claim(actor.intent.turn).is_some()
}

/// Adds the states that the next call of one actor leads to: none if it makes none or waits, several if it has a
/// choice.
pub(super) fn step(state: &State, place: usize, rules: Rules, out: &mut Vec<State>) {
    let mut actor = state.actors[place];
    if actor.next == Next::End || is_waiting(state, &actor) {
        return;
    }
    let mut next = *state;
    let intent = actor.intent;
    let decided = state.newest > intent.turn;
    match actor.next {
        Next::End => {}
        Next::Begin => {
            for claim in state.claims().iter().filter(|c| is_worth_reading(state, c, &actor)) {
                next.actors[place] = meet(&actor, *claim);
                out.push(next);
            }
            return;
        }
        Next::Newest => read_newest(state, place, &mut actor),
        Next::Height => read_height(state, &mut actor),
        Next::Claim => {
            next.put_claim(intent);
            actor.next = Next::Confirm;
        }
        Next::Confirm if decided => {
            actor.keeps = true;
            actor.next = Next::Clear;
        }
        Next::Confirm => advance(&mut actor, 0, Next::Effect, Next::Publish),
        Next::Effect => commit_effect(&mut next, &mut actor, rules),
        Next::Publish => publish(&mut next, &mut actor, place, forward(state, &intent), rules),
        Next::Observe if !decided && is_own(state, &intent, actor.table) => {
            let following = actor.table + 1;
            advance(&mut actor, following, Next::Observe, Next::Judge);
        }
        Next::Observe => {
            // One effect that is missing decides; what the other tables hold makes no difference.
            actor.ours = false;
            actor.next = Next::Judge;
        }
        Next::Judge if decided => {
            actor.ours = false;
            actor.next = Next::Clear;
        }
        Next::Judge => actor.next = Next::Decide,
        Next::Decide => {
            let forwards = actor.ours || (!rules.checked_forward && intent.is_readable());
            let entry = if forwards { forward(state, &intent) } else { undo(state, &intent) };
            publish(&mut next, &mut actor, place, entry, rules);
        }
        Next::Clear => {
            next.drop_claim(intent.turn);
            return go_on(next, place, out);
        }
    }
    next.actors[place] = actor;
    out.push(next);
}

/// A recoverer that has read a claim.
pub(super) fn meet(recoverer: &Actor, claim: Intent) -> Actor {
    let readable = claim.is_readable();
    let mut met = Actor { intent: claim, ours: readable, next: Next::Judge, ..*recoverer };
    if readable {
        advance(&mut met, 0, Next::Observe, Next::Judge);
    }
    met
}

/// Puts an actor at the next table of its intent, or at what follows the last.
fn advance(actor: &mut Actor, from: usize, at_each: Next, after: Next) {
    for table in from..2 {
        if actor.intent.touches(table) {
            (actor.next, actor.table) = (at_each, table);
            return;
        }
    }
    (actor.next, actor.table) = (after, 0);
}

/// Learns the newest manifest. Prepared work stands if its tables are pinned where they were; else it is prepared
/// again, which for a writer reads only versions that never change.
fn read_newest(state: &State, place: usize, actor: &mut Actor) {
    let pins = state.entry(state.newest).pins;
    let before = state.entry(actor.intent.turn).pins;
    let kept = actor.keeps && (0..2).all(|t| !actor.intent.touches(t) || pins[t] == before[t]);
    actor.keeps = false;
    actor.next = Next::Claim;
    if kept {
        actor.intent.turn = state.newest;
        return;
    }
    actor.intent = Intent {
        owner: place as u8 + 1,
        restores: actor.restoring,
        turn: state.newest,
        staged: state.newest,
        tables: 0,
        base: [0; 2],
    };
    if actor.restoring {
        find_height(actor, 0);
    } else {
        actor.intent.tables = actor.tables;
        actor.intent.base = pins;
    }
}

/// Goes on to the next table that might stand ahead.
fn find_height(actor: &mut Actor, from: usize) {
    for table in from..2 {
        if has(actor.tables, table) {
            (actor.next, actor.table) = (Next::Height, table);
            return;
        }
    }
    (actor.next, actor.table) = (Next::Claim, 0);
    if actor.intent.tables == 0 {
        *actor = after_restoring(actor);
    }
}

/// Learns the newest version of a table: the base of its restoring, if it is ahead of the pin.
fn read_height(state: &State, actor: &mut Actor) {
    let table = actor.table;
    let height = state.heights[table];
    if height > state.entry(actor.intent.turn).pins[table] {
        actor.intent.tables |= 1 << table;
        actor.intent.base[table] = height;
    }
    find_height(actor, table + 1);
}

/// A writer goes back to its own work, a recoverer home.
fn after_restoring(actor: &Actor) -> Actor {
    if actor.recovers { Actor::default() } else { Actor::writer(actor.tables) }
}

/// Commits to one table.
fn commit_effect(next: &mut State, actor: &mut Actor, rules: Rules) {
    let (table, intent) = (actor.table, actor.intent);
    let height = next.heights[table];
    if height > intent.base[table] && rules.strict_effects {
        // Its own operation is undone by the way of recovery.
        actor.gave_up = true;
        actor.ours = true;
        return advance(actor, 0, Next::Observe, Next::Judge);
    }
    let Intent { owner, restores, turn, staged, .. } = intent;
    let from = if restores { next.entry(turn).pins[table] } else { height };
    next.push_version(table, Version { owner, restores, turn, staged, from });
    advance(actor, table + 1, Next::Effect, Next::Publish);
}

/// Whether the effect on a table stands where it belongs.
fn is_own(state: &State, intent: &Intent, table: usize) -> bool {
    let number = intent.base[table] + 1;
    if number > state.heights[table] {
        return false;
    }
    let version = &state.versions[table][usize::from(number)];
    (version.owner, version.restores, version.staged) == (intent.owner, intent.restores, intent.staged)
}

/// The recorded rows of an intent.
fn forward(state: &State, intent: &Intent) -> Entry {
    let mut pins = state.entry(intent.turn).pins;
    for (table, pin) in pins.iter_mut().enumerate() {
        if intent.touches(table) {
            *pin = intent.base[table] + 1;
        }
    }
    Entry { owner: intent.owner, kind: intent.kind(), pins }
}

/// The statement that an operation never happened.
fn undo(state: &State, intent: &Intent) -> Entry {
    Entry { owner: 0, kind: Kind::Undo, pins: state.entry(intent.turn).pins }
}

/// Writes the manifest version after the turn. Whether that landed or not, the version exists from now on and says
/// what became of the operation.
fn publish(next: &mut State, actor: &mut Actor, place: usize, entry: Entry, rules: Rules) {
    let number = actor.intent.turn + 1;
    if next.newest < number || !rules.conditional_publish {
        write(next, number, entry);
    }
    let own = actor.intent.owner == place as u8 + 1;
    if own && !actor.gave_up && !actor.intent.restores && next.entry(number).is_of(&actor.intent) {
        actor.told = true;
    }
    actor.ours = false;
    actor.next = Next::Clear;
}

/// Writes a version of the manifest and looks whether it is its parent and exactly the effects of its own.
fn write(next: &mut State, number: u8, entry: Entry) {
    let replaced = *next.entry(number);
    if next.newest >= number && replaced.kind == Kind::Work {
        next.commits[usize::from(replaced.owner) - 1] -= 1;
    }
    let mut changed = 0;
    if entry.kind == Kind::Work {
        let owner = usize::from(entry.owner) - 1;
        next.commits[owner] += 1;
        changed = next.actors[owner].tables;
    }
    next.entries[usize::from(number)] = entry;
    next.newest = next.newest.max(number);
    let parent = *next.entry(number - 1);
    for table in 0..2 {
        let added = if has(changed, table) { operation(entry.owner, number - 1) } else { 0 };
        let before = next.content(table, parent.pins[table]);
        let after = next.content(table, entry.pins[table]);
        next.broken |= before & added != 0 || after != before | added;
    }
}

/// Goes on after the claim was given up.
fn go_on(mut next: State, place: usize, out: &mut Vec<State>) {
    let actor = next.actors[place];
    let Actor { intent, tables, recovers, .. } = actor;
    let stands = next.entry(intent.turn + 1).is_of(&intent);
    let idle = Actor { tables, recovers, ..Actor::default() };
    let mut then = Actor { next: Next::Newest, restoring: actor.restoring, ..idle };
    if intent.owner != place as u8 + 1 {
        // Who only wanted the turn goes away. Who swept puts the tables of what was undone back at once.
        next.actors[place] = Actor::default();
        out.push(next);
        then.tables &= intent.tables;
        then.restoring = true;
        if stands || then.tables == 0 {
            return;
        }
    } else if actor.told {
        then = Actor { told: true, ..idle };
    } else if actor.gave_up {
        // What became of the operation is not asked: it cannot stand without the effect it could not make.
        then.restoring = true;
    } else if stands {
        then = after_restoring(&actor);
    } else if actor.keeps {
        then.keeps = true;
        then.intent = intent;
    }
    next.actors[place] = then;
    out.push(next);
}
