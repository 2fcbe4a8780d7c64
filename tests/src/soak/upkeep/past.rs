//! Old commits that somebody remembers. As long as a commit has to stay, it shows what it showed at first; after
//! that, it may only be answered with the one error that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures::{StreamExt, TryStreamExt};
use omnigraph_client::{Branch, Commit, Error, ErrorReason, Graph, Result, Selector, TypeRef};
use omnigraph_engine::limits::RETENTION_GRACE;

use super::KEEP;
use crate::soak::Run;
use crate::soak::checks::{follows_of, items_of};
use crate::soak::place::Place;
use crate::soak::settle::{ask, read};
use crate::soak::strict::number;

/// Commits that readers remember at once.
const MAX_KNOWN: usize = 400;

/// Pause between two looks of a reader, in milliseconds.
const PAUSE: std::ops::Range<u64> = 50..250;

/// What a commit shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Content {
    items: usize,
    follows: usize,
    digest: u64,
}

/// How it is read.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Scans over Flight, which say what they read.
    Scan,
    /// Pages of entities, which do not.
    Pages,
}

/// How long a commit has to stay.
#[derive(Clone, Debug)]
enum Owed {
    /// While it is among the newest of its branch, and a while after this moment, at which it was the head.
    Newest(Option<Instant>),
    /// For ever: this branch begins there.
    Branch(String),
}

/// A commit whose content was noted.
#[derive(Clone, Debug)]
struct Known {
    /// Branch in whose history it was found.
    branch: String,
    content: Content,
    owed: Owed,
}

/// What came of reading an old commit.
enum Look {
    Shows(Content),
    Gone,
    /// Noted as a violation.
    Wrong,
}

/// Everything that is remembered of one place.
#[derive(Debug)]
pub(super) struct Past {
    place: Arc<Place>,
    known: Mutex<BTreeMap<String, Known>>,
    /// Branches that were made at old commits.
    branches: Mutex<Vec<String>>,
}

/// Remembers commits and reads them again until the run is over.
pub(super) async fn look_back(run: Arc<Run>, past: Arc<Past>, at: usize, mut chance: Rng) {
    while run.goes_on() {
        if chance.u8(..10) < 4 {
            past.note_one(at, &mut chance).await;
        } else {
            past.look_again(at, &mut chance).await;
        }
        tokio::time::sleep(Duration::from_millis(chance.u64(PAUSE))).await;
    }
}

impl Past {
    pub(super) fn new(place: Arc<Place>) -> Self {
        Self { place, known: Mutex::default(), branches: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // Every change is a single step.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The branches that were made at old commits.
    pub(super) fn branches(&self) -> Vec<String> {
        self.branches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what one of the newest commits of some branch shows.
    async fn note_one(&self, at: usize, chance: &mut Rng) {
        if self.known().len() >= MAX_KNOWN {
            return;
        }
        let branch = &self.place.lasting[chance.usize(..self.place.lasting.len())];
        let asked = Instant::now();
        let Some(newest) = self.newest(at, branch).await else { return };
        let position = chance.usize(..newest.len().max(1));
        let Some(commit) = newest.get(position) else { return };
        self.note(at, branch, commit, (position == 0).then_some(asked), chance).await;
    }

    /// Notes what all of the newest commits show.
    pub(super) async fn note_all(&self, at: usize, chance: &mut Rng) {
        for branch in &self.place.lasting {
            for commit in self.newest(at, branch).await.into_iter().flatten() {
                self.note(at, branch, &commit, None, chance).await;
            }
        }
    }

    /// Notes what a commit shows. `head_at`: when it was the head at last, if that is known.
    async fn note(&self, at: usize, branch: &str, commit: &str, head_at: Option<Instant>, chance: &mut Rng) {
        if self.known().contains_key(commit) {
            return;
        }
        let owed = Owed::Newest(head_at);
        match self.read(at, Selector::Commit(commit.to_string()), chance).await {
            Look::Shows(content) => {
                let known = Known { branch: branch.to_string(), content, owed };
                self.known().entry(commit.to_string()).or_insert(known);
                self.place.ledger.book().counts.upkeep.noted += 1;
            }
            Look::Gone => self.check_may_be_gone(at, branch, commit, &owed, Instant::now()).await,
            Look::Wrong => {}
        }
    }

    /// Makes a branch at one of the older ones of some branch's newest commits, which it keeps from then on.
    pub(super) async fn keep_one(&self, at: usize, name: &str, chance: &mut Rng) {
        let branch = &self.place.lasting[chance.usize(..self.place.lasting.len())];
        let Some(newest) = self.newest(at, branch).await else { return };
        let Some(commit) = newest.get(chance.usize(newest.len() / 2..newest.len().max(1))) else { return };
        self.note(at, branch, commit, None, chance).await;
        let make = |graph: Graph| async move { graph.create_branch(name, Selector::Commit(commit.clone())).await };
        let what = format!("creating branch {name} at commit {commit}");
        let made = ask(&self.place, at, &what, &[ErrorReason::CommitNotFound], make).await;
        let failed = Instant::now();
        match made {
            Some(Ok(_)) => {
                self.branches.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_string());
                if let Some(known) = self.known().get_mut(commit) {
                    known.owed = Owed::Branch(name.to_string());
                }
            }
            Some(Err(_)) => self.check_may_be_gone(at, branch, commit, &Owed::Newest(None), failed).await,
            None => {}
        }
    }

    /// Reads some remembered commit again.
    async fn look_again(&self, at: usize, chance: &mut Rng) {
        let known = {
            let known = self.known();
            let nth = chance.usize(..known.len().max(1));
            known.iter().nth(nth).map(|(commit, known)| (commit.clone(), known.clone()))
        };
        let Some((commit, known)) = known else { return };
        let version = match &known.owed {
            Owed::Branch(name) if chance.bool() => Selector::Branch(name.clone()),
            _ => Selector::Commit(commit.clone()),
        };
        let look = self.read(at, version, chance).await;
        let failed = Instant::now();
        match look {
            Look::Shows(content) => self.compare(&commit, &known, content),
            Look::Gone => {
                self.known().remove(&commit);
                self.check_may_be_gone(at, &known.branch, &commit, &known.owed, failed).await;
                self.place.ledger.book().counts.upkeep.gone += 1;
            }
            Look::Wrong => {}
        }
    }

    /// Reads everything that is remembered once more, after a cleanup that found nothing young. What is owed is
    /// there, and nothing else.
    pub(super) async fn settle(&self, at: usize, chance: &mut Rng) {
        let Some(owed) = self.owed(at).await else { return };
        let known = self.known().clone();
        for (n, (commit, known)) in known.iter().enumerate() {
            match self.read(at + n, Selector::Commit(commit.clone()), chance).await {
                Look::Shows(content) => {
                    self.compare(commit, known, content);
                    let wanted = owed.contains(commit);
                    self.place.ledger.expect(wanted, || {
                        format!("commit {commit} of {} can still be read, and no branch needs it", known.branch)
                    });
                }
                Look::Gone => {
                    self.place.ledger.expect(!owed.contains(commit), || lost(commit, &known.branch));
                    self.place.ledger.book().counts.upkeep.gone += 1;
                }
                Look::Wrong => {}
            }
        }
    }

    /// Everything that a cleanup leaves: the newest commits of each branch, and those at which branches begin.
    async fn owed(&self, at: usize) -> Option<BTreeSet<String>> {
        let list = |graph: Graph| async move { graph.list_branches().try_collect::<Vec<Branch>>().await };
        let mut owed = BTreeSet::new();
        for branch in read(&self.place, at, "listing branches", list).await? {
            owed.extend(self.newest(at, &branch.name).await?);
            owed.insert(branch.forked_from);
        }
        Some(owed)
    }

    /// The newest commits of a branch, newest first.
    async fn newest(&self, at: usize, branch: &str) -> Option<Vec<String>> {
        let list = |graph: Graph| async move {
            let newest: Vec<Commit> = graph.list_commits(branch).take(KEEP).try_collect().await?;
            Ok(newest.into_iter().map(|commit| commit.id).collect())
        };
        read(&self.place, at, "listing the newest commits", list).await
    }

    /// Notes a violation if a commit had to be there that was gone at a moment. A commit never comes back among the
    /// newest, so if it is among them now, it was then.
    async fn check_may_be_gone(&self, at: usize, branch: &str, commit: &str, owed: &Owed, moment: Instant) {
        let had_to_be = match owed {
            Owed::Branch(_) => true,
            Owed::Newest(Some(head_at)) if moment.duration_since(*head_at) < RETENTION_GRACE => true,
            Owed::Newest(_) => {
                let newest = self.newest(at, branch).await;
                newest.is_some_and(|newest| newest.iter().any(|newest| newest == commit))
            }
        };
        self.place.ledger.expect(!had_to_be, || lost(commit, branch));
    }

    fn compare(&self, commit: &str, known: &Known, content: Content) {
        let same = content == known.content;
        self.place.ledger.book().counts.upkeep.same += u64::from(same);
        let before = known.content;
        self.place.ledger.expect(same, || format!("commit {commit} showed {before:?} and now shows {content:?}"));
    }

    async fn read(&self, at: usize, version: Selector, chance: &mut Rng) -> Look {
        let form = if chance.u8(..4) == 0 { Form::Pages } else { Form::Scan };
        let what = format!("reading {version:?} by {form:?}");
        let look = |graph| content(graph, version.clone(), form);
        self.place.ledger.book().counts.reads += 1;
        match ask(&self.place, at, &what, &[ErrorReason::CommitNotFound], look).await {
            Some(Ok(content)) => Look::Shows(content),
            Some(Err(_)) => Look::Gone,
            None => Look::Wrong,
        }
    }
}

fn lost(commit: &str, branch: &str) -> String {
    format!("commit {commit} of {branch} cannot be read any more, and has to stay")
}

async fn content(graph: Graph, version: Selector, form: Form) -> Result<Content> {
    let edges = TypeRef::edge("Follows");
    let (mut items, mut follows) = match form {
        Form::Scan => (items_of(graph.clone(), version.clone()).await?, follows_of(graph, version).await?),
        Form::Pages => {
            let items = graph.find("Item").at(version.clone()).page_size(1000).stream();
            let items = items.map_ok(|item| (item.id.clone(), number(&item, "n"))).try_collect().await?;
            let follows = graph.find(edges).at(version).page_size(1000).stream();
            (items, follows.map_ok(|edge| edge.id).try_collect().await?)
        }
    };
    items.sort_unstable();
    follows.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (&items, &follows).hash(&mut hasher);
    Ok::<_, Error>(Content { items: items.len(), follows: follows.len(), digest: hasher.finish() })
}
