//! Leaves out of a state what nobody can tell any more, so that states which differ in nothing else are one.

use super::state::{ACTORS, Actor, Entry, Intent, Kind, LAST, NEVER, Next, State, Version};

/// Forgets the history of a state. Who acts from here on finds the same as before, but for the numbers: those still
/// in use are counted anew, in their order, and what followed directly still does.
pub(super) fn forget(state: &mut State) {
    let mut used = Used::of(state);
    for table in 0..2 {
        used.renumber_versions(state, table);
    }
    used.renumber_entries(state);
    let mut at = 0;
    for actor in &mut state.actors[..LAST] {
        if has_intent(actor) {
            actor.intent = used.renumbered(at);
            at += 1;
        }
    }
    for claim in state.claims_mut() {
        *claim = used.renumbered(at);
        at += 1;
    }
    // It makes no difference which of two writers, or of two recoverers, is where.
    for first in [0, 2] {
        let at = |place: usize| (state.actors[place].pack_nameless(), state.commits[place]);
        if at(first) > at(first + 1) {
            swap(state, first);
        }
    }
}

fn has_intent(actor: &Actor) -> bool {
    match actor.next {
        Next::End | Next::Begin => false,
        Next::Newest => actor.keeps,
        _ => true,
    }
}

/// Whether an actor will ask for more of its intent than what became of it.
fn needs_all(actor: &Actor, newest: u8) -> bool {
    match actor.next {
        Next::Newest | Next::Clear => actor.keeps,
        Next::Publish | Next::Observe | Next::Judge | Next::Decide => actor.intent.turn == newest,
        _ => true,
    }
}

/// Whether an actor will compare the pins of its turn with newer ones.
fn compares(actor: &Actor) -> bool {
    match actor.next {
        Next::Newest | Next::Clear => actor.keeps,
        Next::Height | Next::Claim | Next::Confirm => true,
        _ => false,
    }
}

/// Which numbers are in use, as sets of bits, and by which intents.
struct Used {
    intents: [Intent; 2 * ACTORS],
    count: usize,
    entries: u16,
    /// Those whose pins are.
    pins: u16,
    versions: [u16; 2],
    /// The transactions of each owner.
    staged: [u16; ACTORS + 1],
}

impl Used {
    fn of(state: &mut State) -> Self {
        let newest = state.newest;
        let versions = [1 << state.heights[0], 1 << state.heights[1]];
        let intents = [Intent::default(); 2 * ACTORS];
        let (entries, pins) = (1 << newest, 1 << newest);
        let mut used = Self { intents, count: 0, entries, pins, versions, staged: [0; ACTORS + 1] };
        for actor in &mut state.actors[..LAST] {
            if has_intent(actor) {
                let needs_all = needs_all(actor, newest);
                used.note(state.heights, newest, actor.intent, needs_all);
                if !needs_all {
                    (actor.ours, actor.table) = (false, 0);
                }
                if compares(actor) {
                    used.pins |= 1 << actor.intent.turn;
                }
            } else {
                actor.intent = Intent::default();
            }
        }
        for claim in state.claims() {
            used.note(state.heights, newest, *claim, claim.turn == newest);
        }
        for number in 0..=newest {
            if is_in(used.pins, number) {
                let pins = state.entry(number).pins;
                used.versions[0] |= 1 << pins[0];
                used.versions[1] |= 1 << pins[1];
            }
        }
        used
    }

    fn note(&mut self, heights: [u8; 2], newest: u8, mut intent: Intent, needs_all: bool) {
        self.entries |= 1 << intent.turn | 1 << (intent.turn + 1).min(newest);
        if needs_all {
            self.staged[usize::from(intent.owner)] |= 1 << intent.staged;
            for (table, height) in heights.into_iter().enumerate() {
                if intent.touches(table) {
                    let base = intent.base[table];
                    self.versions[table] |= 1 << base | 1 << (base + 1).min(height);
                } else {
                    intent.base[table] = NEVER;
                }
            }
        } else {
            intent.base = [NEVER; 2];
            intent.staged = NEVER;
        }
        self.intents[self.count] = intent;
        self.count += 1;
    }

    fn intents(&self) -> &[Intent] {
        &self.intents[..self.count]
    }

    fn renumber_versions(&self, state: &mut State, table: usize) {
        let used = self.versions[table];
        let pin = state.entry(state.newest).pins[table];
        let mut to = 0;
        for number in 0..=state.heights[table] {
            if is_in(used, number) {
                let version = self.remembered(state, table, pin, number);
                state.versions[table][to] = version;
                to += 1;
            }
        }
        state.heights[table] = to as u8 - 1;
    }

    /// The published version is what all content is counted from. Another matters only if the operation whose turn
    /// is open may publish it.
    fn remembered(&self, state: &State, table: usize, pin: u8, number: u8) -> Version {
        if number == pin {
            return Version::default();
        }
        let version = state.versions[table][usize::from(number)];
        let is_of = |i: &Intent| {
            let here = i.turn == state.newest && i.base[table] != NEVER && i.base[table] + 1 == number;
            here && (i.owner, i.restores, i.staged) == (version.owner, version.restores, version.staged)
        };
        if !self.intents().iter().any(is_of) {
            return Version::unknown();
        }
        Version {
            turn: if version.turn == state.newest { rank(self.entries, version.turn) } else { NEVER },
            staged: rank(self.staged[usize::from(version.owner)], version.staged),
            from: if version.from == pin { rank(self.versions[table], pin) } else { NEVER },
            ..version
        }
    }

    fn renumber_entries(&self, state: &mut State) {
        let mut to = 0;
        for number in 0..=state.newest {
            if !is_in(self.entries, number) {
                continue;
            }
            let old = *state.entry(number);
            let is_asked = |i: &Intent| i.turn + 1 == number && old.is_of(i);
            let asked = old.kind != Kind::Undo && self.intents().iter().any(is_asked);
            let mut entry = Entry::default();
            if asked {
                (entry.owner, entry.kind) = (old.owner, old.kind);
            }
            if is_in(self.pins, number) {
                entry.pins = [rank(self.versions[0], old.pins[0]), rank(self.versions[1], old.pins[1])];
            }
            state.entries[to] = entry;
            to += 1;
        }
        state.newest = to as u8 - 1;
    }

    fn renumbered(&mut self, at: usize) -> Intent {
        let mut intent = self.intents[at];
        intent.turn = rank(self.entries, intent.turn);
        let staged = self.staged[usize::from(intent.owner)];
        intent.staged = if intent.staged == NEVER { 0 } else { rank(staged, intent.staged) };
        for table in 0..2 {
            let base = intent.base[table];
            intent.base[table] = if base == NEVER { 0 } else { rank(self.versions[table], base) };
        }
        intent
    }
}

/// Lets two actors change places.
fn swap(state: &mut State, first: usize) {
    let (one, other) = (first as u8 + 1, first as u8 + 2);
    let change = |owner: &mut u8| {
        if *owner == one || *owner == other {
            *owner = one + other - *owner;
        }
    };
    state.actors.swap(first, first + 1);
    state.commits.swap(first, first + 1);
    for place in 0..LAST {
        change(&mut state.actors[place].intent.owner);
    }
    for claim in state.claims_mut() {
        change(&mut claim.owner);
    }
    for number in 0..=usize::from(state.newest) {
        change(&mut state.entries[number].owner);
    }
    for table in 0..2 {
        for number in 0..=usize::from(state.heights[table]) {
            change(&mut state.versions[table][number].owner);
        }
    }
}

fn is_in(used: u16, number: u8) -> bool {
    used >> number & 1 != 0
}

/// How many numbers below this one are in use.
fn rank(used: u16, number: u8) -> u8 {
    (used & ((1 << number) - 1)).count_ones() as u8
}
