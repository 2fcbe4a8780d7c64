//! One look at a graph: which branches live, what their histories say, which lines the manifest has, who holds what.
//!
//! Versions are listed first. What comes into being during the look is newer than that and therefore in no set of what
//! goes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};

use super::plan::{Plan, Shown};
use super::{guard, pins};
use crate::error::{Error, Reason, Result};
use crate::format::intent_json::IntentDoc;
use crate::format::manifest_row::{ManifestRow, ObjectType};
use crate::format::ref_json::RefDoc;
use crate::format::{commit_row, paths};
use crate::intent::{readers, retention as marker};
use crate::limits;
use crate::maintenance::retention::{self, Branch, Input, Line, Pin, Policy, State, Verdict};
use crate::manifest::branches::{self, RefEntry};
use crate::manifest::heads::Line as WarmLine;
use crate::manifest::{BranchIdentity, Snapshot, View, resolve};
use crate::model::CommitInfo;
use crate::store::lance::clean::Fork;
use crate::txn::Core;

/// What was seen.
#[derive(Debug)]
pub(super) struct Look {
    /// When.
    pub now: i64,
    /// The heads of the live branches, main first, then by name.
    pub views: Vec<View>,
    /// Branches whose lineage is closed and whose document does not say so yet.
    pub closed: Vec<RefEntry>,
    /// Names of deleted branches whose documents are still there.
    pub deleted: Vec<String>,
    /// The incarnations of the tags.
    pub tags: BTreeSet<String>,
    /// The registered lines of the manifest but main.
    pub forks: Vec<Fork>,
    /// All lines of the manifest with their versions.
    pub lines: Vec<Line>,
    /// The operations under way.
    pub intents: Vec<IntentDoc>,
    /// What stays and goes.
    pub verdict: Verdict,
    /// What reads hold of states that are gone.
    pub held: Vec<Shown>,
}

/// Looks, and remembers what cannot change between two looks.
pub(super) struct Looker<'a> {
    pub(super) core: &'a Arc<Core>,
    pub(super) concurrency: usize,
    policy: Policy,
    only: Option<BTreeSet<State>>,
    lines: HashMap<String, Arc<WarmLine>>,
    shown: HashMap<State, Arc<Vec<Shown>>>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(core: &'a Arc<Core>, policy: Policy, concurrency: usize) -> Self {
        Self { core, concurrency, policy, only: None, lines: HashMap::new(), shown: HashMap::new() }
    }

    /// Looks again. Nothing goes that did not go by the earlier plan.
    ///
    /// # Errors
    /// As [`Looker::plan`].
    pub(super) async fn plan_again(&mut self, earlier: &Plan) -> Result<Plan> {
        self.only = Some(earlier.look.verdict.goes.clone());
        let mut plan = self.plan().await?;
        plan.confine_to(earlier);
        Ok(plan)
    }

    /// Looks, and works out everything that goes.
    ///
    /// # Errors
    /// A branch, an intent or a state that cannot be read; the store's.
    pub(super) async fn plan(&mut self) -> Result<Plan> {
        let look = self.look().await?;
        self.open(&look).await?;
        Plan::new(self.core, look, &self.shown, self.concurrency).await
    }

    async fn look(&mut self) -> Result<Look> {
        let core = self.core;
        let (forks, lines) = manifest_lines(core, self.concurrency).await?;
        let Documents { live, deleted } = documents(core, self.concurrency).await?;
        let mut branches = Vec::with_capacity(live.len() + 1);
        let mut views = Vec::with_capacity(live.len() + 1);
        let mut closed = Vec::new();
        let mut known = pins::Known::new();
        let heads = heads(core, live, self.concurrency).await?;
        for (entry, view) in heads {
            if view.snapshot.is_closed() {
                closed.extend(entry);
                continue;
            }
            self.offer(&view);
            branches.push(self.branch(entry.map(|e| e.doc), &view, &mut known).await?);
            views.push(view);
        }
        let intents = guard::intents(core).await?;
        let now = core.now();
        let leases: Vec<State> = leased(core, now).await?.into_iter().collect();
        // After the leases: whoever makes a tag holds its state until the tag stands.
        let tags = pins::all_tags(core).await?;
        let heads: Vec<String> = views.iter().map(|view| view.snapshot.head().to_string()).collect();
        let input = Input {
            policy: self.policy,
            pins: pins::pins(&tags, &branches, &heads, &known, &lines),
            branches,
            leases: leases.iter().map(|held| pin(held.lance_branch.clone(), held.manifest_version)).collect(),
            intents: intents.iter().flat_map(named_states).collect(),
            now,
            grace: limits::RETENTION_GRACE,
            orphan_grace: limits::ORPHAN_GRACE,
            only: self.only.clone(),
            doomed: doomed(core, &lines).await?,
            lines,
        };
        let verdict = retention::decide(&input);
        let mut held = Vec::new();
        for state in leases.iter().filter(|state| !verdict.stays.contains_key(state)).cloned().collect::<Vec<_>>() {
            held.extend(shown_once(&views, &state).await?);
        }
        let tags = tags.into_iter().map(|tag| tag.doc.tag_id).collect();
        Ok(Look { now, views, closed, deleted, tags, forks, lines: input.lines, intents, verdict, held })
    }

    /// This process may not have looked at the branch for long.
    fn offer(&self, view: &View) {
        if let Some(line) = self.core.heads.warm(&view.snapshot.branch.name)
            && line.identity == view.snapshot.branch
        {
            line.offer(view);
        }
    }

    /// The branch, and all ancestors of its head among those that are known.
    async fn branch(&mut self, doc: Option<RefDoc>, view: &View, known: &mut pins::Known) -> Result<Branch> {
        let identity = &view.snapshot.branch;
        let line = self
            .lines
            .entry(identity.branch_id.clone())
            .or_insert_with(|| WarmLine::detached(self.core.store.clone(), identity.clone()))
            .clone();
        let read = line.with_lineage(view, |l| (l.page(None, usize::MAX), l.ancestors(None, usize::MAX))).await;
        let (mut lineage, ancestors): (Vec<Arc<CommitInfo>>, _) = read.map_err(|e| unreadable(&identity.name, e))?;
        lineage.reverse();
        for commit in ancestors {
            known.entry(commit.id.clone()).or_insert(commit);
        }
        Ok(Branch {
            name: identity.name.clone(),
            lance_branch: identity.lance_branch.clone(),
            head: view.snapshot.version,
            forked_from: doc.map(|doc| State {
                lance_branch: doc.forked_from.lance_branch,
                manifest_version: doc.forked_from.manifest_version,
            }),
            lineage,
        })
    }

    /// Opens every state that stays. One that another cleanup removed meanwhile shows nothing.
    async fn open(&mut self, look: &Look) -> Result<()> {
        for view in &look.views {
            let state = state_of(view);
            self.shown.entry(state).or_insert_with(|| Arc::new(Shown::by(&view.snapshot)));
        }
        let unknown: Vec<State> =
            look.verdict.stays.keys().filter(|state| !self.shown.contains_key(state)).cloned().collect();
        let core = self.core;
        let opened: Vec<(State, Vec<Shown>)> = futures::stream::iter(unknown)
            .map(|state| async move {
                let shown = shown(core, &state).await?;
                Ok::<_, Error>((state, shown))
            })
            .buffer_unordered(self.concurrency)
            .try_collect()
            .await?;
        self.shown.extend(opened.into_iter().map(|(state, shown)| (state, Arc::new(shown))));
        Ok(())
    }
}

/// What a state shows; nothing if it does not exist any more.
///
/// # Errors
/// The store's, or damage.
pub(super) async fn shown(core: &Core, state: &State) -> Result<Vec<Shown>> {
    let view = resolve::at(&core.store, &identity(state), state.manifest_version).await?;
    Ok(view.map(|view| Shown::by(&view.snapshot)).unwrap_or_default())
}

/// What a state showed that is gone: a read may have begun to hold it just before. Told by the rows of a live branch
/// that has its commit in its history; nothing if none has.
///
/// # Errors
/// The store's, or damage.
pub(super) async fn shown_once(views: &[View], state: &State) -> Result<Vec<Shown>> {
    let mut views: Vec<&View> = views.iter().collect();
    views.sort_by_key(|view| view.snapshot.branch.lance_branch != state.lance_branch);
    for view in views {
        let rows = view.all_rows().await?;
        let makes_it = |row: &ManifestRow| {
            row.object_type == ObjectType::GraphCommit
                && commit_row::decode(row)
                    .is_ok_and(|(commit, extras)| !extras.brought_in && State::of(&commit) == *state)
        };
        if let Some(until) = rows.iter().position(makes_it).and_then(|position| rows.get(..=position)) {
            return Snapshot::from_rows(identity(state), state.manifest_version, until).map(|s| Shown::by(&s));
        }
    }
    Ok(Vec::new())
}

/// The states that running reads hold and tags name.
///
/// # Errors
/// A lease or a tag that cannot be read; the store's.
pub(super) async fn held(core: &Core, now: i64) -> Result<BTreeSet<State>> {
    let mut held = leased(core, now).await?;
    held.extend(pins::all_tags(core).await?.iter().map(pins::state_of));
    Ok(held)
}

/// The states that running reads hold.
async fn leased(core: &Core, now: i64) -> Result<BTreeSet<State>> {
    let held = readers::held_by_others(&core.store, now).await?.into_iter();
    Ok(held.map(|h| State { lance_branch: h.lance_branch, manifest_version: h.manifest_version }).collect())
}

fn identity(state: &State) -> BranchIdentity {
    match &state.lance_branch {
        None => BranchIdentity::main(),
        Some(line) => BranchIdentity { name: String::new(), branch_id: line.clone(), lance_branch: Some(line.clone()) },
    }
}

fn state_of(view: &View) -> State {
    State { lance_branch: view.snapshot.branch.lance_branch.clone(), manifest_version: view.snapshot.version }
}

fn pin(lance_branch: Option<String>, manifest_version: u64) -> Pin {
    Pin { lance_branch, manifest_version, why: String::new() }
}

/// The states that an operation begins on and makes.
fn named_states(intent: &IntentDoc) -> [Pin; 2] {
    let base = intent.base.manifest_version;
    [base, base + 1].map(|version| pin(intent.branch.lance_branch.clone(), version))
}

async fn manifest_lines(core: &Core, concurrency: usize) -> Result<(Vec<Fork>, Vec<Line>)> {
    let forks = core.store.forks(paths::MANIFEST).await?;
    let named = forks.iter().map(|fork| {
        let origin = State { lance_branch: fork.parent.clone(), manifest_version: fork.parent_version };
        (Some(fork.name.clone()), Some(origin), fork.created_at)
    });
    let named: Vec<_> = std::iter::once((None, None, 0)).chain(named).collect();
    let lines = futures::stream::iter(named)
        .map(|(lance_branch, origin, made_at)| async move {
            let files = core.store.version_files(paths::MANIFEST, lance_branch.as_deref()).await?;
            let versions: BTreeMap<u64, i64> = files.iter().map(|file| (file.version, file.stored_at)).collect();
            Ok::<_, Error>(Line { lance_branch, origin, made_at, versions })
        })
        .buffered(concurrency)
        .try_collect()
        .await?;
    Ok((forks, lines))
}

/// The documents of branches.
pub(super) struct Documents {
    /// Those of live branches, by name.
    pub live: Vec<RefEntry>,
    /// The names of deleted ones.
    pub deleted: Vec<String>,
}

/// Reads every branch document.
///
/// # Errors
/// [`Reason::DataCorrupt`] naming one that is unreadable; the store's.
pub(super) async fn documents(core: &Core, concurrency: usize) -> Result<Documents> {
    let files = core.store.log().list(paths::BRANCHES).await?;
    let names: Vec<String> = files.iter().filter_map(|file| paths::branch_of(file)).collect();
    let found: Vec<Option<RefEntry>> = futures::stream::iter(names)
        .map(|name| async move {
            branches::read(&core.store, &name).await.map_err(|e| match e.reason() {
                Reason::DataCorrupt => unreadable(&name, e),
                _ => e,
            })
        })
        .buffered(concurrency)
        .try_collect()
        .await?;
    let (deleted, mut live): (Vec<RefEntry>, Vec<RefEntry>) = found.into_iter().flatten().partition(|e| e.doc.deleted);
    live.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Documents { live, deleted: deleted.into_iter().map(|entry| entry.name).collect() })
}

/// The newest views of main and of these branches. One that was deleted meanwhile is left out.
async fn heads(core: &Core, live: Vec<RefEntry>, concurrency: usize) -> Result<Vec<(Option<RefEntry>, View)>> {
    let wanted: Vec<Option<RefEntry>> = std::iter::once(None).chain(live.into_iter().map(Some)).collect();
    let found: Vec<Option<(Option<RefEntry>, View)>> = futures::stream::iter(wanted)
        .map(|entry| async move {
            let identity = entry.as_ref().map_or_else(BranchIdentity::main, RefEntry::identity);
            let newest = resolve::newest(&core.store, &identity).await;
            match newest.map_err(|e| unreadable(&identity.name, e))? {
                Some(view) => Ok(Some((entry, view))),
                None if lives(core, &identity).await? => Err(gone(&identity.name)),
                None => Ok::<_, Error>(None),
            }
        })
        .buffered(concurrency)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

async fn lives(core: &Core, identity: &BranchIdentity) -> Result<bool> {
    if identity.lance_branch.is_none() {
        return Ok(true);
    }
    let now = branches::read(&core.store, &identity.name).await?;
    Ok(now.is_some_and(|now| !now.doc.deleted && now.doc.branch_id == identity.branch_id))
}

/// Whether a branch lives now, or a tag stands, that the look did not see, or a read holds what goes. Asked once it is
/// announced what goes.
///
/// # Errors
/// As [`documents`]; a tag or a lease that cannot be read.
pub(super) async fn is_overtaken(core: &Core, plan: &Plan) -> Result<bool> {
    let look = &plan.look;
    // Before the documents: whoever makes a branch or a tag of an old state holds it until that stands.
    let leased = leased(core, core.now()).await?;
    let line_goes = |line: &Option<String>| line.as_ref().is_some_and(|line| plan.branches.contains(line));
    if leased.iter().any(|state| look.verdict.goes.contains(state) || line_goes(&state.lance_branch)) {
        return Ok(true);
    }
    let open = look.views.iter().map(|view| view.snapshot.branch.branch_id.as_str());
    let seen: BTreeSet<&str> = open.chain(look.closed.iter().map(|e| e.doc.branch_id.as_str())).collect();
    let now = documents(core, limits::MAINTENANCE_CONCURRENCY).await?;
    if now.live.iter().any(|entry| !seen.contains(entry.doc.branch_id.as_str())) {
        return Ok(true);
    }
    Ok(pins::all_tags(core).await?.iter().any(|tag| !look.tags.contains(&tag.doc.tag_id)))
}

/// What earlier cleanups began to remove and have not removed completely: it may be there in parts.
async fn doomed(core: &Core, lines: &[Line]) -> Result<BTreeSet<State>> {
    let removing = marker::read(&core.store).await?.map(|marker| marker.removing).unwrap_or_default();
    let begun: Vec<_> = removing.into_iter().filter(|removing| removing.begun).collect();
    let states = lines.iter().flat_map(|line| {
        let state = |version: &u64| State { lance_branch: line.lance_branch.clone(), manifest_version: *version };
        line.versions.keys().map(state)
    });
    let goes = |s: &State| begun.iter().any(|removing| removing.names(s.lance_branch.as_deref(), s.manifest_version));
    Ok(states.filter(goes).collect())
}

/// The newest views of every branch that lives now, closed ones left out.
///
/// # Errors
/// A branch that cannot be read; the store's.
pub(super) async fn views_now(core: &Core, concurrency: usize) -> Result<Vec<View>> {
    let live = documents(core, concurrency).await?.live;
    let views = heads(core, live, concurrency).await?.into_iter().map(|(_, view)| view);
    Ok(views.filter(|view| !view.snapshot.is_closed()).collect())
}

fn unreadable(branch: &str, cause: Error) -> Error {
    let what = format!(
        "branch {branch:?} cannot be read, so what it needs is not known; nothing was removed: {}",
        cause.message()
    );
    Error::new(cause.reason(), what).with("branch", branch).caused_by(cause)
}

fn gone(branch: &str) -> Error {
    let what = format!(
        "the lineage of branch {branch:?} is gone, so what it needs is not known; nothing was removed. `branch delete \
         --force` removes its name"
    );
    Error::new(Reason::DataCorrupt, what).with("branch", branch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::fixture::Fixture;

    #[tokio::test]
    async fn what_a_state_showed_is_told_by_the_history() {
        let fixture = Fixture::new("node A { k: String @key } node B { k: String @key }").await;
        for text in ["A a", "B a", "A b", "A c"] {
            let (ty, key) = text.split_once(' ').unwrap();
            fixture.add(&[format!("{{\"type\":\"{ty}\",\"data\":{{\"k\":\"{key}\"}}}}")]).await;
        }
        let views = [fixture.view().await];
        let tables = |shown: Vec<Shown>| {
            let mut tables: Vec<_> = shown.into_iter().map(|s| (s.key, s.at.location, s.at.version)).collect();
            tables.sort();
            tables
        };
        for (manifest_version, count) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 2)] {
            let state = State { lance_branch: None, manifest_version };
            let there = tables(shown(&fixture.core, &state).await.unwrap());
            assert_eq!(there.len(), count, "{manifest_version}");
            assert_eq!(tables(shown_once(&views, &state).await.unwrap()), there, "{manifest_version}");
        }
        let unknown = State { lance_branch: Some("B".to_string()), manifest_version: 2 };
        assert!(shown_once(&views, &unknown).await.unwrap().is_empty());
    }
}
