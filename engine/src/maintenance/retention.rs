//! Which states of the graph stay and which go. Pure: it is told what exists, who refers to what and what time it is,
//! and answers with exact sets.
//!
//! A state is one version of one line of the manifest. It stays if a live branch's newest commits or the age of its
//! commits say so, and, whatever the policy, if it is a head, the origin of a fork, held by somebody, or was a head a
//! moment ago. A version of a table stays if a state that stays shows it, if a fork of the table begins there, if an
//! operation under way names it, and if it is newer than everything that is shown. All else goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::CommitInfo;

/// What the caller lets go. With both set, a commit goes only if both let it; with neither, none goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The newest commits of every live branch that stay, inherited ones included.
    pub keep: Option<u64>,
    /// The age a commit must have to go.
    pub older_than: Option<Duration>,
}

/// One version of one line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The line: a Lance branch of the manifest; `None` for main.
    pub lance_branch: Option<String>,
    /// The version.
    pub manifest_version: u64,
}

impl State {
    /// The state that a commit made visible.
    pub fn of(commit: &CommitInfo) -> Self {
        Self { lance_branch: commit.lance_branch.clone(), manifest_version: commit.manifest_version }
    }
}

/// Somebody needs a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The line; `None` for main.
    pub lance_branch: Option<String>,
    /// The version.
    pub manifest_version: u64,
    /// Who, in one word for the report.
    pub why: String,
}

impl Pin {
    fn state(&self) -> State {
        State { lance_branch: self.lance_branch.clone(), manifest_version: self.manifest_version }
    }
}

/// Why something stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is what a live branch shows now.
    Head,
    /// It is among the newest commits that the policy keeps.
    Keep,
    /// It is younger than the policy lets go.
    Age,
    /// It was superseded a moment ago.
    Grace,
    /// A branch or a fork begins there.
    Fork,
    /// A running read holds it.
    Reader,
    /// An operation under way names it.
    Intent,
    /// It is the newest of its line, or newer than everything that is shown, and a line's end is never removed.
    Newest,
    /// A pin of another kind.
    Pinned(String),
}

impl Why {
    /// Its stable name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Head => "head",
            Self::Keep => "keep",
            Self::Age => "age",
            Self::Grace => "grace",
            Self::Fork => "fork",
            Self::Reader => "reader",
            Self::Intent => "intent",
            Self::Newest => "newest",
            Self::Pinned(why) => why,
        }
    }
}

/// Reasons to stay.
pub type Reasons = BTreeSet<Why>;

/// A live branch.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Its line of the manifest.
    pub lance_branch: Option<String>,
    /// The version that is its head.
    pub head: u64,
    /// Where it was made; `None` for main.
    pub forked_from: Option<State>,
    /// Every commit it has seen, its inherited part included, oldest first.
    pub lineage: Vec<Arc<CommitInfo>>,
}

/// A line of the manifest, whether or not a live branch is on it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name; `None` for main.
    pub lance_branch: Option<String>,
    /// The state it was forked from; `None` for main.
    pub origin: Option<State>,
    /// When it was made, microseconds since the epoch.
    pub made_at: i64,
    /// The versions that exist, with the time the store got them.
    pub versions: BTreeMap<u64, i64>,
}

impl Line {
    fn newest(&self) -> Option<u64> {
        self.versions.last_key_value().map(|(version, _)| *version)
    }

    fn state(&self, manifest_version: u64) -> State {
        State { lance_branch: self.lance_branch.clone(), manifest_version }
    }
}

/// Everything the decision depends on.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// What the caller lets go.
    pub policy: Policy,
    /// The live branches, main included.
    pub branches: Vec<Branch>,
    /// The lines that exist, main included.
    pub lines: Vec<Line>,
    /// Lasting pins.
    pub pins: Vec<Pin>,
    /// What running reads hold.
    pub leases: Vec<Pin>,
    /// What operations under way name.
    pub intents: Vec<Pin>,
    /// The time, microseconds since the epoch.
    pub now: i64,
    /// How long a state stays after it was superseded.
    pub grace: Duration,
    /// How long a line that no branch is on is left alone after it was used.
    pub orphan_grace: Duration,
    /// If set, only these states may go: what an earlier look found needed or did not find stays this time.
    pub only: Option<BTreeSet<State>>,
    /// States that an earlier cleanup began to remove. They go whatever else is said, unless they end a line.
    pub doomed: BTreeSet<State>,
}

/// What becomes of one live branch's commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchVerdict {
    /// Its name.
    pub name: String,
    /// Commits whose state stays.
    pub kept: u64,
    /// Commits whose state goes now. Those whose state is gone already are in neither count.
    pub removed: u64,
    /// The oldest commit whose state stays.
    pub oldest: Option<Arc<CommitInfo>>,
}

/// The decision.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The states that stay, with the reasons. Only these may be read afterwards.
    pub stays: BTreeMap<State, Reasons>,
    /// The states that go. All of them exist.
    pub goes: BTreeSet<State>,
    /// The live branches in the order given.
    pub branches: Vec<BranchVerdict>,
    /// Commits of live branches whose state stays, each counted once.
    pub kept: u64,
    /// Commits of live branches whose state goes now, each counted once.
    pub removed: u64,
}

/// Decides about every state of the manifest.
pub fn decide(input: &Input) -> Verdict {
    let lines: BTreeMap<Option<&str>, &Line> = input.lines.iter().map(|l| (l.lance_branch.as_deref(), l)).collect();
    let mut stays = Stays { lines: &lines, doomed: &input.doomed, states: BTreeMap::new() };
    for branch in &input.branches {
        stays.add(State { lance_branch: branch.lance_branch.clone(), manifest_version: branch.head }, Why::Head);
        if let Some(origin) = &branch.forked_from {
            stays.add(origin.clone(), Why::Fork);
        }
        stays.add_wanted(branch, input);
    }
    for (pins, why) in [(&input.leases, Why::Reader), (&input.intents, Why::Intent)] {
        pins.iter().for_each(|pin| stays.add(pin.state(), why.clone()));
    }
    input.pins.iter().for_each(|pin| stays.add(pin.state(), Why::Pinned(pin.why.clone())));
    stays.add_recent(input);
    stays.add_ends(input);
    stays.add_all_but(input);
    stays.add_origins(input);
    let stays = stays.states;
    let goes: BTreeSet<State> = input
        .lines
        .iter()
        .flat_map(|line| line.versions.keys().filter(|v| Some(**v) != line.newest()).map(|v| line.state(*v)))
        .filter(|state| !stays.contains_key(state))
        .collect();
    let branches = input.branches.iter().map(|branch| count(branch, &stays, &goes)).collect();
    let named = named(input);
    let kept = named.iter().filter(|state| stays.contains_key(state)).count() as u64;
    let removed = named.iter().filter(|state| goes.contains(state)).count() as u64;
    Verdict { stays, goes, branches, kept, removed }
}

/// The states that commits of live branches made visible.
fn named(input: &Input) -> BTreeSet<State> {
    input.branches.iter().flat_map(|branch| &branch.lineage).map(|commit| State::of(commit)).collect()
}

struct Stays<'a> {
    lines: &'a BTreeMap<Option<&'a str>, &'a Line>,
    doomed: &'a BTreeSet<State>,
    states: BTreeMap<State, Reasons>,
}

impl Stays<'_> {
    fn add(&mut self, state: State, why: Why) {
        if self.exists(&state) && !self.doomed.contains(&state) {
            self.states.entry(state).or_default().insert(why);
        }
    }

    /// What is newer than the listing may exist; what is older and not in it is gone.
    fn exists(&self, state: &State) -> bool {
        match self.lines.get(&state.lance_branch.as_deref()) {
            None => true,
            Some(line) => {
                line.versions.contains_key(&state.manifest_version)
                    || line.newest().is_none_or(|newest| newest < state.manifest_version)
            }
        }
    }

    fn add_wanted(&mut self, branch: &Branch, input: &Input) {
        let Policy { keep, older_than } = input.policy;
        let unlimited = keep.is_none() && older_than.is_none();
        for (position, commit) in (0_u64..).zip(branch.lineage.iter().rev()) {
            if unlimited || keep.is_some_and(|keep| position < keep) {
                self.add(State::of(commit), Why::Keep);
            }
            if older_than.is_some_and(|age| is_younger(commit.created_at, age, input.now)) {
                self.add(State::of(commit), Why::Age);
            }
        }
    }

    /// States that were a head a moment ago. Told by the commit that came after, and by when the store got it, whichever
    /// is later.
    fn add_recent(&mut self, input: &Input) {
        let made: BTreeMap<State, i64> =
            input.branches.iter().flat_map(|b| &b.lineage).map(|c| (State::of(c), c.created_at)).collect();
        for line in &input.lines {
            for (version, (next, stored_at)) in line.versions.keys().zip(line.versions.iter().skip(1)) {
                let made = made.get(&line.state(*next)).copied().unwrap_or(i64::MIN);
                if is_younger(made.max(*stored_at), input.grace, input.now) {
                    self.add(line.state(*version), Why::Grace);
                }
            }
        }
    }

    /// The end of a line cannot be removed, so where no branch has its head there it must stay readable if anybody can
    /// still name it.
    fn add_ends(&mut self, input: &Input) {
        let named = named(input);
        let live: BTreeSet<Option<&str>> = input.branches.iter().map(|b| b.lance_branch.as_deref()).collect();
        for line in input.lines.iter().filter(|line| !live.contains(&line.lance_branch.as_deref())) {
            if let Some(end) = line.newest().map(|version| line.state(version)).filter(|end| named.contains(end)) {
                self.add(end, Why::Newest);
            }
        }
    }

    fn add_all_but(&mut self, input: &Input) {
        let Some(only) = &input.only else { return };
        for line in &input.lines {
            let states = line.versions.keys().filter(|v| Some(**v) != line.newest()).map(|v| line.state(*v));
            let new: Vec<State> = states.filter(|s| !only.contains(s) && !self.states.contains_key(s)).collect();
            new.into_iter().for_each(|state| self.add(state, Why::Grace));
        }
    }

    /// Where the lines begin that stay, back to main: the storage keeps what their files came from, and everything
    /// that is kept must be readable. A line that was used a while ago counts, whether it is being made or left behind.
    fn add_origins(&mut self, input: &Input) {
        let in_use = |line: &Line| {
            let used = line.versions.values().copied().max().map_or(line.made_at, |stored| stored.max(line.made_at));
            is_younger(used, input.orphan_grace, input.now)
        };
        let mut open: Vec<&Line> = input.lines.iter().filter(|line| line.origin.is_some()).collect();
        loop {
            let (stay, rest): (Vec<&Line>, Vec<&Line>) = open.into_iter().partition(|line| {
                in_use(line) || self.states.keys().any(|state| state.lance_branch == line.lance_branch)
            });
            if stay.is_empty() {
                return;
            }
            stay.iter().filter_map(|line| line.origin.clone()).for_each(|origin| self.add(origin, Why::Fork));
            open = rest;
        }
    }
}

fn is_younger(then: i64, age: Duration, now: i64) -> bool {
    now.saturating_sub(then) < i64::try_from(age.as_micros()).unwrap_or(i64::MAX)
}

fn count(branch: &Branch, stays: &BTreeMap<State, Reasons>, goes: &BTreeSet<State>) -> BranchVerdict {
    let kept: Vec<&Arc<CommitInfo>> =
        branch.lineage.iter().filter(|commit| stays.contains_key(&State::of(commit))).collect();
    let removed = branch.lineage.iter().filter(|commit| goes.contains(&State::of(commit))).count();
    BranchVerdict {
        name: branch.name.clone(),
        kept: kept.len() as u64,
        removed: removed as u64,
        oldest: kept.first().map(|commit| (*commit).clone()),
    }
}

/// What is known of one line of a table.
#[derive(Clone, Debug, Default)]
pub struct TableLine {
    /// The versions that exist.
    pub versions: BTreeSet<u64>,
    /// Versions that states which stay show.
    pub shown: BTreeMap<u64, Reasons>,
    /// Versions at which forks begin that stay.
    pub forks: BTreeSet<u64>,
    /// Versions that operations under way name.
    pub intents: BTreeSet<u64>,
}

/// What becomes of the versions of one line of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableVerdict {
    /// Those that stay, with the reasons.
    pub stays: BTreeMap<u64, Reasons>,
    /// Those that go.
    pub goes: BTreeSet<u64>,
}

/// Decides about every version of one line of a table. A line that nothing shows and no fork begins on is left
/// alone: somebody may just be making it, and else it goes as a whole.
pub fn decide_table(line: &TableLine) -> TableVerdict {
    let mut verdict = TableVerdict::default();
    let newest = line.shown.keys().max().or_else(|| line.forks.iter().max());
    for version in &line.versions {
        let mut reasons = line.shown.get(version).cloned().unwrap_or_default();
        if line.forks.contains(version) {
            reasons.insert(Why::Fork);
        }
        if line.intents.contains(version) {
            reasons.insert(Why::Intent);
        }
        if reasons.is_empty() && newest.is_none_or(|newest| version > newest) {
            reasons.insert(Why::Newest);
        }
        if reasons.is_empty() {
            verdict.goes.insert(*version);
        } else {
            verdict.stays.insert(*version, reasons);
        }
    }
    verdict
}

#[cfg(test)]
mod tests;
