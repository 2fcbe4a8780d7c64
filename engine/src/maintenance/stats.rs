//! What a graph's tables take in the store, and how a graph is.
//!
//! Every dataset is listed once and compared with what the heads of the live branches refer to. No data is read
//! and nothing is written, so it works on a graph that is open for reading only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};

use crate::error::{Reason, Result};
use crate::format::paths;
use crate::limits;
use crate::manifest::{View, branches};
use crate::model::branch::MAIN;
use crate::model::index;
use crate::store::lance::index::IndexState;
use crate::store::lance::space::{Files, Lines, References};
use crate::store::lance::{Table, TableAt};
use crate::txn::Core;

/// Branches whose heads are resolved at once.
const HEADS_AT_ONCE: usize = 8;

/// What to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsOptions {
    /// Branches whose tables to tell of; `None` means every live one. Totals are of the whole graph anyway.
    pub branches: Option<Vec<String>>,
}

/// What one table takes on one branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSpace {
    /// `node:<Type>`, `edge:<Type>` or the name of one of the graph's own tables.
    pub table_key: String,
    /// The branch; empty for a table that all branches share.
    pub branch: String,
    /// Rows at the branch's head.
    pub rows: u64,
    /// Versions that exist on the branch's own line. None if the branch never wrote to the table.
    pub versions: u64,
    /// Fragments at the branch's head.
    pub fragments: u64,
    /// Files on the branch's own line.
    pub files: u64,
    /// Bytes of the files on the branch's own line that its head needs.
    pub bytes_live: u64,
    /// Bytes of the files that the head refers to on the lines of the branches it was made from.
    pub bytes_inherited: u64,
    /// Bytes of the files on the branch's own line that only older versions, other branches or nothing refer to.
    pub bytes_history: u64,
    /// Indexes that should exist.
    pub indexes_declared: u64,
    /// How many of them do.
    pub indexes_present: u64,
    /// Rows that an index should cover and does not, over all indexes that should exist.
    pub index_rows_uncovered: u64,
}

/// Everything below a graph's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceTotals {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of those files, the ones on lines where no live branch ends: of deleted branches and of tables that no
    /// branch shows. Branches made from them may still read some.
    pub orphaned_files: u64,
    /// Their bytes.
    pub orphaned_bytes: u64,
}

/// What a graph takes, and how it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphStats {
    /// The tables of types: main's first, then those of the other branches by name; nodes before edges, by name.
    pub tables: Vec<TableSpace>,
    /// The manifest, an entry a branch in the same order.
    pub manifests: Vec<TableSpace>,
    /// The recovery log; `None` while nothing was ever recovered.
    pub recovery_log: Option<TableSpace>,
    /// The whole graph, whichever branches were asked for.
    pub totals: SpaceTotals,
    /// Live branches, main included.
    pub branches_live: u64,
    /// Operations under way or interrupted.
    pub intents_pending: u64,
    /// Leases of long reads, those included that ran out and were not removed yet.
    pub leases: u64,
}

/// Measures a graph. Costs one listing of every object below its root, [`limits::MAINTENANCE_CONCURRENCY`]
/// datasets at a time, and a few requests for every table state that was not open yet. Memory follows the largest
/// datasets, with about 100 bytes a file. Writers may go on: every branch is measured as it was when it was come to,
/// and what is written during the listing counts as history.
///
/// # Errors
/// [`Reason::BranchNotFound`] for a branch that was asked for; [`Reason::LimitExceeded`] for a dataset of more than
/// [`limits::MAX_LISTED_FILES`] files; the store's.
pub async fn stats(core: &Arc<Core>, options: &StatsOptions) -> Result<GraphStats> {
    let views = views(core).await?;
    let wanted = wanted(core, &views, options).await?;
    let mut stats = GraphStats { branches_live: views.len() as u64, ..GraphStats::default() };
    let shown = shown(core, &views, wanted.as_ref()).await?;
    let mut measured = measure(core, shown.by_dataset, &mut stats.totals).await?;
    measured.extend(shown.empty);
    measured.sort_by_key(|m| m.place);
    for Measured { place, space } in measured {
        match place {
            Place::Table(..) => stats.tables.push(space),
            Place::Manifest(_) => stats.manifests.push(space),
            Place::Log => stats.recovery_log = Some(space),
        }
    }
    stats.intents_pending = core.intents.list().await?.len() as u64;
    stats.leases = core.store.log().list(paths::READERS).await?.len() as u64;
    Ok(stats)
}

/// The newest views of all live branches, main first, then by name.
async fn views(core: &Arc<Core>) -> Result<Vec<View>> {
    let names = branches::list(&core.store).await?.into_iter().map(|entry| entry.name);
    let names: Vec<String> = std::iter::once(MAIN.to_string()).chain(names).collect();
    let found: Vec<Option<View>> = futures::stream::iter(names)
        .map(|name| async move {
            match core.heads.head(&name).await {
                Ok((_, view)) => Ok(Some(view)),
                // Deleted meanwhile.
                Err(e) if e.reason() == Reason::BranchNotFound => Ok(None),
                Err(e) => Err(e),
            }
        })
        .buffered(HEADS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

/// The branches to tell of; `None` means all.
async fn wanted<'a>(core: &Core, views: &[View], options: &'a StatsOptions) -> Result<Option<HashSet<&'a str>>> {
    let Some(names) = &options.branches else {
        return Ok(None);
    };
    for name in names {
        if !views.iter().any(|view| view.snapshot.branch.name == *name) {
            return Err(branches::not_found(&core.store, name).await);
        }
    }
    Ok(Some(names.iter().map(String::as_str).collect()))
}

/// Where an entry stands in the answer: which branch, and which table of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Table(usize, usize),
    Manifest(usize),
    Log,
}

struct Measured {
    place: Place,
    space: TableSpace,
}

/// A table state that a branch shows.
struct Shown {
    place: Place,
    at: TableAt,
    /// Whether the line ends on this branch.
    owned: bool,
    /// The indexes that should exist.
    indexes: Vec<String>,
    /// What is known without looking; `None` if nobody asked for it.
    space: Option<TableSpace>,
    /// The state, if it is open and kept elsewhere.
    table: Option<Table>,
}

/// What all branches show.
#[derive(Default)]
struct AllShown {
    by_dataset: BTreeMap<String, Vec<Shown>>,
    /// Types without a dataset.
    empty: Vec<Measured>,
}

async fn shown(core: &Core, views: &[View], wanted: Option<&HashSet<&str>>) -> Result<AllShown> {
    let mut all = AllShown::default();
    let own = |table: &Table, place, space| Shown {
        place,
        at: table.at().clone(),
        owned: true,
        indexes: Vec::new(),
        space,
        table: Some(table.clone()),
    };
    for (number, view) in views.iter().enumerate() {
        let branch = view.snapshot.branch.name.as_str();
        let asked = wanted.is_none_or(|names| names.contains(branch));
        let named = |key: &str, rows: u64, declared: usize| TableSpace {
            table_key: key.to_string(),
            branch: branch.to_string(),
            rows,
            indexes_declared: declared as u64,
            ..TableSpace::default()
        };
        let mut pins: Vec<_> = view.snapshot.pins().collect();
        pins.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
        for (position, pin) in pins.into_iter().enumerate() {
            let place = Place::Table(number, position);
            let indexes: Vec<String> =
                index::wanted(view.snapshot.ty(&pin.type_ref)?).into_iter().map(|w| w.name).collect();
            let space = asked.then(|| named(&pin.type_ref.to_string(), pin.rows, indexes.len()));
            match (&pin.at, space) {
                (Some(at), space) => {
                    let shown = Shown { place, at: at.clone(), owned: pin.owned, indexes, space, table: None };
                    all.by_dataset.entry(at.location.clone()).or_default().push(shown);
                }
                (None, Some(space)) => all.empty.push(Measured { place, space }),
                (None, None) => {}
            }
        }
        let manifest = view.table();
        let space = asked.then(|| named(paths::MANIFEST, manifest.rows(), 0));
        let shown = own(manifest, Place::Manifest(number), space);
        all.by_dataset.entry(paths::MANIFEST.to_string()).or_default().push(shown);
    }
    if let Some(log) = core.store.open_newest(paths::RECOVERIES, None).await? {
        let space = TableSpace { table_key: paths::RECOVERIES.to_string(), rows: log.rows(), ..TableSpace::default() };
        let shown = own(&log, Place::Log, Some(space));
        all.by_dataset.entry(paths::RECOVERIES.to_string()).or_default().push(shown);
    }
    Ok(all)
}

/// Lists everything below the root, and measures what is shown against it.
async fn measure(
    core: &Core,
    mut shown: BTreeMap<String, Vec<Shown>>,
    totals: &mut SpaceTotals,
) -> Result<Vec<Measured>> {
    let root = core.store.folder("").await?;
    totals.count(root.files, false);
    let mut datasets = Vec::new();
    for folder in root.folders {
        match folder.as_str() {
            paths::MANIFEST | paths::RECOVERIES => datasets.push(folder),
            paths::REFS | paths::INTENTS => totals.count(core.store.files_below(&folder).await?, false),
            _ => {
                let types = core.store.folder(&folder).await?;
                totals.count(types.files, true);
                datasets.extend(types.folders);
            }
        }
    }
    let mut work: Vec<(String, Vec<Shown>)> = datasets
        .into_iter()
        .map(|location| {
            let shown = shown.remove(&location).unwrap_or_default();
            (location, shown)
        })
        .collect();
    // A listing may be behind what was written a moment ago.
    work.extend(shown);
    let mut found = futures::stream::iter(work)
        .map(|(location, shown)| dataset(core, location, shown))
        .buffer_unordered(limits::MAINTENANCE_CONCURRENCY);
    let mut out = Vec::new();
    while let Some((measured, part)) = found.try_next().await? {
        out.extend(measured);
        totals.add(part);
    }
    Ok(out)
}

impl SpaceTotals {
    fn count(&mut self, files: Files, orphaned: bool) {
        let orphans = if orphaned { files } else { Files::default() };
        self.add(Self {
            files: files.count,
            bytes: files.bytes,
            orphaned_files: orphans.count,
            orphaned_bytes: orphans.bytes,
        });
    }

    fn add(&mut self, other: Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.orphaned_files = self.orphaned_files.saturating_add(other.orphaned_files);
        self.orphaned_bytes = self.orphaned_bytes.saturating_add(other.orphaned_bytes);
    }
}

/// What is known of a table state.
struct State {
    references: References,
    fragments: u64,
    indexes: HashMap<String, IndexState>,
    table: Table,
}

/// Measures one dataset. What it refers to is learned before it is listed, so that the listing has it.
async fn dataset(core: &Core, location: String, shown: Vec<Shown>) -> Result<(Vec<Measured>, SpaceTotals)> {
    let mut states: HashMap<TableAt, State> = HashMap::new();
    for asked in shown.iter().filter(|shown| shown.space.is_some()) {
        if states.contains_key(&asked.at) {
            continue;
        }
        let table = match &asked.table {
            Some(table) => table.clone(),
            None => core.table(&asked.at).await?,
        };
        let state = State {
            references: table.references().await?,
            fragments: table.fragments().len() as u64,
            indexes: table.indexes().await?,
            table,
        };
        states.insert(asked.at.clone(), state);
    }
    let lines = core.store.lines(&location).await?;
    let mut totals = SpaceTotals::default();
    let ends: HashSet<Option<&str>> = shown.iter().filter(|s| s.owned).map(|s| s.at.branch.as_deref()).collect();
    for (line, files) in &lines {
        totals.count(files.all, !ends.contains(&line.as_deref()));
    }
    let measured = shown.into_iter().filter_map(|shown| {
        let state = states.get(&shown.at)?;
        let mut space = shown.space?;
        space.fragments = state.fragments;
        space.fill_files(&lines, state, &shown.at, shown.owned);
        space.fill_indexes(state, &shown.indexes);
        Some(Measured { place: shown.place, space })
    });
    Ok((measured.collect(), totals))
}

impl TableSpace {
    fn fill_files(&mut self, lines: &Lines, state: &State, at: &TableAt, owned: bool) {
        let (here, elsewhere) = state.references.files(lines, at.branch.as_deref());
        if !owned {
            self.bytes_inherited = here.bytes.saturating_add(elsewhere.bytes);
            return;
        }
        self.bytes_inherited = elsewhere.bytes;
        if let Some(line) = lines.get(&at.branch) {
            let mut live = here;
            live.add(line.shared);
            self.versions = line.versions;
            self.files = line.all.count;
            self.bytes_live = live.bytes;
            self.bytes_history = line.all.less(live).bytes;
        }
    }

    fn fill_indexes(&mut self, state: &State, declared: &[String]) {
        let rows = state.table.rows();
        for name in declared {
            let covered = state.indexes.get(name).map(|index| state.table.rows_in(&index.fragments));
            self.indexes_present += u64::from(covered.is_some());
            self.index_rows_uncovered += rows.saturating_sub(covered.unwrap_or(0));
        }
    }
}
