//! Everything that goes, table by table.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::StreamExt;

use super::look::Look;
use super::orphans;
use crate::error::{Error, Result};
use crate::format::intent_json::IntentDoc;
use crate::format::paths;
use crate::format::retention_json::GoingLine;
use crate::maintenance::retention::{self, Reasons, State, TableLine, TableVerdict, Why};
use crate::manifest::Snapshot;
use crate::store::lance::TableAt;
use crate::store::lance::clean::Fork;
use crate::txn::Core;

/// A table state that a state of the graph shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// `node:<Type>` or `edge:<Type>`.
    pub key: String,
    /// The state.
    pub at: TableAt,
}

impl Shown {
    /// Everything a state shows.
    pub(super) fn by(snapshot: &Snapshot) -> Vec<Self> {
        let pins = snapshot.pins();
        pins.filter_map(|pin| Some(Self { key: pin.type_ref.to_string(), at: pin.at.clone()? })).collect()
    }
}

/// What goes.
#[derive(Debug)]
pub(super) struct Plan {
    /// What it was made from.
    pub look: Look,
    /// Lines of the manifest that no branch needs, those made from others first.
    pub branches: Vec<String>,
    /// The tables, by location.
    pub tables: BTreeMap<String, TablePlan>,
    /// Datasets that nothing names.
    pub datasets: Vec<String>,
}

/// What goes of one dataset.
#[derive(Debug, Default)]
pub(super) struct TablePlan {
    /// `node:<Type>` or `edge:<Type>`.
    pub key: String,
    /// What becomes of the versions, by line.
    pub lines: BTreeMap<Option<String>, TableVerdict>,
    /// Forks that nothing needs, those made from others first.
    pub forks: Vec<String>,
    /// Why nothing is known of it. Then nothing of it goes.
    pub error: Option<Error>,
}

/// Versions of tables by location and line.
type Versions<T> = BTreeMap<String, BTreeMap<Option<String>, T>>;

impl Plan {
    /// Works it out. What fails for one table concerns only that table.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn new(
        core: &Core,
        look: Look,
        shown: &HashMap<State, Arc<Vec<Shown>>>,
        concurrency: usize,
    ) -> Result<Self> {
        let needed = lines_needed(&look);
        let branches = orphans::find(core, paths::MANIFEST, &look.forks, &needed, look.now).await?;
        let mut keys = keys(&look, shown);
        let mut shown = versions_shown(&look, shown);
        let mut named = versions_named(&look.intents);
        let locations: BTreeSet<String> = shown.keys().chain(named.keys()).cloned().collect();
        let work: Vec<Dataset> = locations
            .iter()
            .map(|location| Dataset {
                key: keys.remove(location).unwrap_or_else(|| location.clone()),
                shown: shown.remove(location).unwrap_or_default(),
                named: named.remove(location).unwrap_or_default(),
                location: location.clone(),
            })
            .collect();
        let now = look.now;
        let tables = futures::stream::iter(work)
            .map(|dataset| async move {
                let (lines, forks, error) = match dataset.plan(core, now).await {
                    Ok((lines, forks)) => (lines, forks, None),
                    Err(error) => (BTreeMap::new(), Vec::new(), Some(error)),
                };
                (dataset.location, TablePlan { key: dataset.key, lines, forks, error })
            })
            .buffer_unordered(concurrency)
            .collect()
            .await;
        let datasets = orphans::datasets(core, &locations, now, concurrency).await?;
        Ok(Self { look, branches, tables, datasets })
    }

    /// Leaves what did not go by an earlier plan. States of the manifest are confined by the look itself.
    pub(super) fn confine_to(&mut self, earlier: &Self) {
        self.branches.retain(|line| earlier.branches.contains(line));
        self.datasets.retain(|location| earlier.datasets.contains(location));
        for (location, table) in &mut self.tables {
            let before = earlier.tables.get(location);
            table.forks.retain(|fork| before.is_some_and(|b| b.forks.contains(fork)));
            for (line, verdict) in &mut table.lines {
                let before = before.and_then(|b| b.lines.get(line));
                verdict.goes.retain(|version| before.is_some_and(|b| b.goes.contains(version)));
            }
        }
    }

    /// The versions of the manifest that go, by line; every line is there.
    pub(super) fn manifest(&self) -> BTreeMap<Option<String>, BTreeSet<u64>> {
        let mut lines: BTreeMap<Option<String>, BTreeSet<u64>> =
            self.look.lines.iter().map(|line| (line.lance_branch.clone(), BTreeSet::new())).collect();
        for state in &self.look.verdict.goes {
            lines.entry(state.lance_branch.clone()).or_default().insert(state.manifest_version);
        }
        lines
    }

    /// What goes of the manifest, as it is announced.
    pub(super) fn going(&self) -> Vec<GoingLine> {
        let whole = self
            .branches
            .iter()
            .map(|line| GoingLine { lance_branch: Some(line.clone()), versions: vec![(0, u64::MAX)] });
        let lines = self.look.lines.iter().filter_map(|line| {
            let goes = |version: &u64| {
                let state = State { lance_branch: line.lance_branch.clone(), manifest_version: *version };
                self.look.verdict.goes.contains(&state)
            };
            let versions = runs(line.versions.keys().copied(), goes);
            (!versions.is_empty()).then(|| GoingLine { lance_branch: line.lance_branch.clone(), versions })
        });
        whole.chain(lines).collect()
    }

    /// Leaves table states that turned out to be needed.
    pub(super) fn spare(&mut self, needed: &[TableAt]) {
        for at in needed {
            self.datasets.retain(|location| *location != at.location);
            let Some(table) = self.tables.get_mut(&at.location) else { continue };
            // What it was made from is needed too; another run tells which of them are not.
            if at.branch.as_ref().is_some_and(|branch| table.forks.contains(branch)) {
                table.forks.clear();
            }
            if let Some(verdict) = table.lines.get_mut(&at.branch) {
                verdict.goes.remove(&at.version);
            }
        }
    }
}

/// Ranges that cover exactly those of the versions, in order, that go.
fn runs(versions: impl Iterator<Item = u64>, goes: impl Fn(&u64) -> bool) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    let mut open: Option<(u64, u64)> = None;
    for version in versions {
        if goes(&version) {
            open = Some((open.map_or(version, |(first, _)| first), version));
        } else {
            runs.extend(open.take());
        }
    }
    runs.extend(open);
    runs
}

/// The lines of the manifest that somebody needs.
fn lines_needed(look: &Look) -> BTreeSet<String> {
    let heads = look.views.iter().filter_map(|view| view.snapshot.branch.lance_branch.clone());
    let stay = look.verdict.stays.keys().filter_map(|state| state.lance_branch.clone());
    let named = look.intents.iter().filter_map(|intent| intent.branch.lance_branch.clone());
    heads.chain(stay).chain(named).collect()
}

/// The table key of every location: as the first live branch has it that shows it, main first.
fn keys(look: &Look, shown: &HashMap<State, Arc<Vec<Shown>>>) -> BTreeMap<String, String> {
    let heads = look.views.iter().flat_map(|view| Shown::by(&view.snapshot));
    let others = look.verdict.stays.keys().filter_map(|state| shown.get(state)).flat_map(|all| all.iter().cloned());
    let mut keys = BTreeMap::new();
    for Shown { key, at } in heads.chain(others) {
        keys.entry(at.location).or_insert(key);
    }
    keys
}

fn versions_shown(look: &Look, shown: &HashMap<State, Arc<Vec<Shown>>>) -> Versions<BTreeMap<u64, Reasons>> {
    let mut out: Versions<BTreeMap<u64, Reasons>> = BTreeMap::new();
    for (state, reasons) in &look.verdict.stays {
        for Shown { at, .. } in shown.get(state).iter().flat_map(|all| all.iter()) {
            let line = out.entry(at.location.clone()).or_default().entry(at.branch.clone()).or_default();
            line.entry(at.version).or_default().extend(reasons.iter().cloned());
        }
    }
    for Shown { at, .. } in &look.held {
        let line = out.entry(at.location.clone()).or_default().entry(at.branch.clone()).or_default();
        line.entry(at.version).or_default().insert(Why::Reader);
    }
    out
}

/// What operations under way begin on, make, and forked from.
fn versions_named(intents: &[IntentDoc]) -> Versions<BTreeSet<u64>> {
    let mut out: Versions<BTreeSet<u64>> = BTreeMap::new();
    for at in intents.iter().flat_map(named_tables) {
        out.entry(at.location).or_default().entry(at.branch).or_default().insert(at.version);
    }
    out
}

/// The table states that an operation names.
pub(super) fn named_tables(intent: &IntentDoc) -> Vec<TableAt> {
    let mut out = Vec::new();
    for effect in &intent.tables {
        let at = |branch: &Option<String>, version| TableAt {
            location: effect.location.clone(),
            branch: branch.clone(),
            version,
        };
        let last = effect.base_version + effect.effects.len() as u64;
        out.extend((effect.base_version..=last).map(|version| at(&effect.lance_branch, version)));
        out.extend(effect.fork_from.iter().map(|fork| at(&fork.lance_branch, fork.version)));
    }
    out
}

/// One dataset and what is known of it beforehand.
struct Dataset {
    location: String,
    key: String,
    shown: BTreeMap<Option<String>, BTreeMap<u64, Reasons>>,
    named: BTreeMap<Option<String>, BTreeSet<u64>>,
}

impl Dataset {
    /// What becomes of the versions of its lines, and which of its forks go.
    async fn plan(&self, core: &Core, now: i64) -> Result<(BTreeMap<Option<String>, TableVerdict>, Vec<String>)> {
        let Self { location, shown, named, .. } = self;
        let forks = core.store.forks(location).await?;
        let needed: BTreeSet<String> = shown.keys().chain(named.keys()).flatten().cloned().collect();
        let orphans = orphans::find(core, location, &forks, &needed, now).await?;
        let stay: Vec<Fork> = forks.into_iter().filter(|fork| !orphans.contains(&fork.name)).collect();
        let names = stay.iter().map(|fork| Some(fork.name.clone())).chain(shown.keys().cloned());
        let names: BTreeSet<Option<String>> = names.chain([None]).collect();
        let mut lines = BTreeMap::new();
        for line in names {
            let files = core.store.version_files(location, line.as_deref()).await?;
            let known = TableLine {
                versions: files.iter().map(|file| file.version).collect(),
                shown: shown.get(&line).cloned().unwrap_or_default(),
                forks: stay.iter().filter(|fork| fork.parent == line).map(|fork| fork.parent_version).collect(),
                intents: named.get(&line).cloned().unwrap_or_default(),
            };
            lines.insert(line, retention::decide_table(&known));
        }
        Ok((lines, orphans))
    }
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn runs_go_over_numbers_that_do_not_exist_and_never_over_one_that_stays() {
        let cover = |versions: &[u64], stay: &[u64]| runs(versions.iter().copied(), |v| !stay.contains(v));
        assert_eq!(cover(&[], &[]), []);
        assert_eq!(cover(&[1, 2, 5, 6, 7], &[]), [(1, 7)]);
        assert_eq!(cover(&[1, 2, 5, 6, 7], &[1, 5]), [(2, 2), (6, 7)]);
        assert_eq!(cover(&[3, 4], &[3, 4]), []);
    }
}
