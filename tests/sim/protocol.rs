//! A model of how commits and recovery share a store, explored in every order of their steps.
//!
//! Two writers commit to one branch, each to table A, B or both, while recoverers begin at any moment a claim stands,
//! whoever holds it. Any actor may crash before any of its calls, and a claim may be lost or become unreadable at
//! any moment. A step is one call to the store together with what its answer alone decides:
//!
//! | Call | What it is in the engine |
//! |---|---|
//! | `Newest` | capture, and the look at the head before a turn: `txn/commit.rs`, `manifest/heads.rs` |
//! | `Height` | the newest version of a table to be restored: `recovery/restore.rs` |
//! | `Claim`, `Confirm`, `Effect`, `Publish`, `Clear` | the turn: `txn/turn.rs`, `intent/mod.rs` |
//! | `Begin` | reading a claim: `meet` and `sweep` in `recovery/sweep.rs`, `recovery/unreadable.rs` |
//! | `Observe`, `Judge`, `Decide`, `Clear` | `settle` in `recovery/sweep.rs`, `recovery/classify.rs` |
//! | the last three of an unreadable claim | `recovery/unreadable.rs` |
//!
//! A writer that finds a table ahead of its pin settles its own intent, restores in turns of its own until no table of
//! its own is ahead, and prepares again. A recoverer that finds an operation undone restores its tables in the same
//! way, as `sweep` does, or goes away, as a writer does that only wanted the turn.
//!
//! Wherever nobody is under way but who crashed, recovery runs to its end, whoever waited goes on, and a fresh writer
//! commits to both tables. Then each writer that lives was told that it is committed; what was told is in the lineage
//! once and anything else at most once; each commit is its parent and exactly its own effects, and none if it restores
//! or undoes; no table stands ahead of its pin. So nothing unpublished is ever pinned, and nobody is stuck.
//!
//! Where it is coarser than the engine:
//! - A crash is no step: who crashed is who never moves again. A call whose answer is lost, or that lands after its
//!   caller gave it up, is a slow actor's.
//! - Leases, waiting and queues are left out, as nothing may depend on them: who waits for a claim goes on when it is
//!   gone, and a waiting writer that decides the holder's operation is a recoverer.
//! - Staging and checking are left out, since they read only versions that never change; so are refusals
//!   (`HEAD_MOVED`, `READ_SET_CHANGED`), which end a write before its turn, and limits on attempts, since all loops
//!   end by themselves.
//! - Audit records, renewal of leases, forks, new tables and versions made by others (drift) are left out.
//! - Finding a claim and reading its intent is one step.
//!
//! Two shortcuts keep the states few: a step that nobody can tell from its delay goes first ([`steps`]), and what
//! nobody can tell any more is forgotten ([`forget`]). A test compares with an exploration that takes neither.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use self::check::{at_rest, check, describe};
use self::forget::forget;
use self::state::{Actor, BOTH, Key, LAST, Next, State};
use self::steps::{AS_BUILT, Rules, all_successors, successors};

mod check;
mod forget;
mod state;
mod steps;

const A: u8 = 1;
const B: u8 = 2;

/// A recoverer that only decides, and one that may also put tables back.
const DECIDES: u8 = 0;
const SWEEPS: u8 = BOTH;

/// Who takes part and what may go wrong.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// The tables of each writer.
    writers: [u8; 2],
    /// Which tables each recoverer may put back.
    recoverers: &'static [u8],
    /// How many actors may crash.
    crashes: usize,
    /// How many claims may be lost or become unreadable.
    accidents: u8,
}

/// What there was.
struct Explored {
    states: usize,
    /// The states in which nobody is under way.
    rests: HashMap<Key, State>,
}

impl Setting {
    const fn new(writers: [u8; 2], recoverers: &'static [u8], accidents: u8) -> Self {
        Self { writers, recoverers, crashes: 1, accidents }
    }

    fn start(&self) -> State {
        let recoverers: Vec<Actor> = self.recoverers.iter().map(|tables| Actor::recoverer(*tables)).collect();
        State::new(self.writers.map(Actor::writer), &recoverers)
    }

    /// Visits every state, deepest first, until a promise is broken, which is the error.
    fn explore(&self, rules: Rules, shortcuts: bool) -> Result<Explored, String> {
        let mut seen = HashSet::new();
        let mut rests = HashMap::new();
        let mut open = Vec::new();
        let mut next = vec![self.start()];
        loop {
            for mut state in next.drain(..) {
                if shortcuts {
                    forget(&mut state);
                }
                if seen.insert(state.key()) {
                    open.push(state);
                }
            }
            let Some(state) = open.pop() else { break };
            if let Some(mut rest) = at_rest(&state, self.crashes) {
                forget(&mut rest);
                if rests.insert(rest.key(), rest).is_none() {
                    check(&rest, rules, &mut |_, _| {})?;
                }
            }
            let expand = if shortcuts { successors } else { all_successors };
            expand(&state, rules, self.accidents, &mut next);
        }
        Ok(Explored { states: seen.len(), rests })
    }

    /// The shortest way to a broken promise, one step a line.
    fn shortest(&self, rules: Rules) -> Option<String> {
        let mut seen = HashSet::new();
        let mut all = vec![(self.start(), 0)];
        let mut next = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let state = all[at].0;
            if let Some(rest) = at_rest(&state, self.crashes) {
                let mut after =
                    vec!["nobody who lives can move; recovery runs, then who waited, then a fresh writer".to_string()];
                if let Err(broken) = check(&rest, rules, &mut |from, to| after.push(describe(from, to))) {
                    let mut lines = Vec::new();
                    while at > 0 {
                        lines.push(describe(&all[all[at].1].0, &all[at].0));
                        at = all[at].1;
                    }
                    lines.reverse();
                    lines.append(&mut after);
                    return Some(format!("{broken}\n  {}", lines.join("\n  ")));
                }
            }
            successors(&state, rules, self.accidents, &mut next);
            for state in next.drain(..) {
                let mut like = state;
                forget(&mut like);
                if seen.insert(like.key()) {
                    all.push((state, at));
                }
            }
            at += 1;
        }
        None
    }
}

/// Explored in every run.
const SETTINGS: [Setting; 12] = [
    Setting::new([A, A], &[SWEEPS], 1),
    Setting::new([A, A], &[DECIDES, DECIDES], 1),
    Setting::new([A, A], &[SWEEPS, SWEEPS], 0),
    Setting::new([A, B], &[SWEEPS], 1),
    Setting::new([A, B], &[DECIDES, DECIDES], 1),
    Setting::new([A, B], &[SWEEPS, DECIDES], 0),
    Setting::new([BOTH, A], &[SWEEPS], 1),
    Setting::new([BOTH, A], &[DECIDES, DECIDES], 1),
    Setting::new([BOTH, B], &[SWEEPS], 1),
    Setting::new([BOTH, B], &[DECIDES, DECIDES], 1),
    Setting::new([BOTH, BOTH], &[SWEEPS], 0),
    Setting::new([BOTH, BOTH], &[DECIDES, DECIDES], 1),
];

/// Explored too if `OMNIGRAPH_SIM_WIDE` is set: minutes where nothing is optimised.
const WIDE: [Setting; 5] = [
    Setting::new([A, B], &[SWEEPS, SWEEPS], 0),
    Setting::new([BOTH, A], &[SWEEPS, DECIDES], 0),
    Setting::new([BOTH, B], &[SWEEPS, DECIDES], 0),
    Setting::new([BOTH, BOTH], &[SWEEPS], 1),
    Setting::new([BOTH, BOTH], &[SWEEPS, DECIDES], 0),
];

#[test]
fn every_interleaving_of_the_protocol_keeps_its_promises() {
    let wide = if std::env::var_os("OMNIGRAPH_SIM_WIDE").is_some() { &WIDE[..] } else { &[] };
    for setting in SETTINGS.iter().chain(wide) {
        let began = Instant::now();
        match setting.explore(AS_BUILT, true) {
            Ok(all) => {
                println!("{setting:?}: {} states, {} at rest, {:?}", all.states, all.rests.len(), began.elapsed());
            }
            Err(broken) => panic!("{setting:?}: {}", setting.shortest(AS_BUILT).unwrap_or(broken)),
        }
    }
}

#[test]
fn the_model_notices_each_condition_that_is_missing() {
    let missing = [
        Rules { strict_effects: false, ..AS_BUILT },
        Rules { checked_forward: false, ..AS_BUILT },
        Rules { conditional_publish: false, ..AS_BUILT },
    ];
    for rules in missing {
        for setting in [Setting::new([A, A], &[SWEEPS], 0), Setting::new([BOTH, A], &[DECIDES], 0)] {
            let broken = setting.shortest(rules);
            println!("{rules:?}, {setting:?}: {}", broken.as_deref().unwrap_or("nothing is broken"));
            assert!(broken.is_some(), "{rules:?} breaks no promise of {setting:?}");
        }
    }
}

#[test]
fn the_shortcuts_miss_nothing() {
    let settings = [
        Setting::new([A, B], &[SWEEPS], 0),
        Setting::new([A, B], &[DECIDES], 1),
        Setting::new([A, BOTH], &[DECIDES], 0),
    ];
    for setting in settings {
        let short = setting.explore(AS_BUILT, true).unwrap();
        let long = setting.explore(AS_BUILT, false).unwrap();
        println!("{setting:?}: {} states instead of {}", short.states, long.states);
        let ends = |all: Explored| all.rests.into_values().map(essence).collect::<BTreeSet<Key>>();
        assert!(ends(short) == ends(long), "{setting:?}: some end is reached only in one way");
    }
}

/// A state at rest without what the shortcuts may change of it: whether a claim that nobody wants is removed yet,
/// and whether who crashed had learned that it is committed.
fn essence(mut rest: State) -> Key {
    for claim in rest.claims().to_vec() {
        let wanted = |a: &Actor| a.next == Next::Claim && a.intent.turn == claim.turn;
        if claim.turn < rest.newest && !rest.actors.iter().any(wanted) {
            rest.drop_claim(claim.turn);
        }
    }
    for place in 0..LAST {
        rest.actors[place].told |= rest.actors[place].next == Next::End && rest.commits[place] > 0;
    }
    forget(&mut rest);
    rest.key()
}
