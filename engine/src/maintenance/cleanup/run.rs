//! Carrying a plan out, or finding out what it would free. What fails concerns only the table or the thing it fails on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;

use super::look::{self, Look};
use super::plan::{self, Plan, Shown, TablePlan};
use super::rows::Rows;
use super::{BranchStats, CleanupReport, Reclaimed, guard, log, orphans};
use crate::error::Result;
use crate::format::retention_json::GoingLine;
use crate::format::{paths, ref_json};
use crate::intent::{readers, retention as marker};
use crate::limits;
use crate::maintenance::progress::{OWN_TABLES, Observer};
use crate::maintenance::retention::{BranchVerdict, State};
use crate::manifest::branches;
use crate::store::lance::TableAt;
use crate::store::lance::clean::Removed;
use crate::store::object_log::Put;
use crate::txn::Core;

/// Does everything, in an order in which nothing that can be named is ever left without what it shows.
pub(super) async fn carry_out(
    core: &Arc<Core>,
    mut plan: Plan,
    concurrency: usize,
    really: bool,
    observer: &dyn Observer,
) -> CleanupReport {
    let mut run = Run { core, concurrency, really, observer, rows: Rows::of(&plan), reclaimed: Vec::new() };
    observer.tables(plan.tables.len() + OWN_TABLES);
    let oldest = plan.look.verdict.branches.iter().filter_map(|b| b.oldest.as_ref()).map(|c| c.created_at).min();
    run.close(&mut plan).await;
    run.branches(&mut plan).await;
    observer.table_begun(paths::MANIFEST);
    run.manifest(&plan).await;
    observer.table_done(paths::MANIFEST);
    let needed = if really { still_needed(core, &plan, concurrency).await } else { Ok(Vec::new()) };
    match needed {
        Ok(needed) => {
            plan.spare(&needed);
            run.tables(&mut plan).await;
            run.datasets(&plan).await;
        }
        // Without knowing what is still needed, nothing more goes.
        Err(e) => {
            for table in plan.tables.values() {
                run.rows.fail_with(&table.key, &e);
                observer.table_done(&table.key);
            }
        }
    }
    observer.table_begun(paths::RECOVERIES);
    run.log(oldest).await;
    observer.table_done(paths::RECOVERIES);
    run.markers(&plan.look).await;
    if really {
        run.finish(&plan.look).await;
    }
    if really && let Err(e) = readers::remove_expired(&core.store, core.now()).await {
        tracing::warn!(error = %e, "leases of readers that are over could not be removed");
    }
    let verdict = &plan.look.verdict;
    CleanupReport {
        preview: !really,
        branches: verdict.branches.iter().map(branch_stats).collect(),
        commits_kept: verdict.kept,
        commits_removed: verdict.removed,
        tables: run.rows.into_tables(),
        reclaimed: run.reclaimed,
    }
}

fn branch_stats(verdict: &BranchVerdict) -> BranchStats {
    BranchStats {
        branch: verdict.name.clone(),
        commits_kept: verdict.kept,
        commits_removed: verdict.removed,
        oldest_kept: verdict.oldest.as_ref().map(|commit| commit.id.clone()),
    }
}

struct Run<'a> {
    core: &'a Arc<Core>,
    concurrency: usize,
    really: bool,
    observer: &'a dyn Observer,
    rows: Rows,
    reclaimed: Vec<Reclaimed>,
}

impl Run<'_> {
    /// Marks branches as deleted whose deletion stopped after their lineage was closed. The line of one that cannot be
    /// marked stays.
    async fn close(&self, plan: &mut Plan) {
        if !self.really {
            return;
        }
        for entry in &plan.look.closed {
            match branches::mark_deleted(&self.core.store, entry).await {
                Ok(Put::Done) => {}
                Ok(Put::Refused) => plan.branches.retain(|line| *line != entry.doc.lance_branch),
                Err(e) => {
                    tracing::warn!(branch = entry.name, error = %e, "a closed branch could not be marked as deleted");
                    plan.branches.retain(|line| *line != entry.doc.lance_branch);
                }
            }
        }
    }

    /// Removes the lines of the manifest that no branch needs.
    async fn branches(&mut self, plan: &mut Plan) {
        let failure = match lines_in_use(self.core, self.concurrency).await {
            Ok(mut used) => {
                if !self.really {
                    // They would have been marked as deleted by now.
                    for entry in &plan.look.closed {
                        used.remove(&entry.doc.lance_branch);
                    }
                }
                plan.branches.retain(|line| !used.contains(line));
                None
            }
            Err(e) => Some(e),
        };
        for line in &plan.branches {
            let done = match &failure {
                Some(e) => Err(e.clone()),
                None => orphans::remove_fork(self.core, paths::MANIFEST, line, self.really).await,
            };
            if self.really && matches!(done, Ok(Some(_))) {
                forget(self.core, &plan.look, line);
            }
            self.reclaimed.extend(reclaimed("branch", fork_name(paths::MANIFEST, line), done));
        }
    }

    /// Removes versions of the manifest.
    async fn manifest(&mut self, plan: &Plan) {
        let (core, really) = (self.core, self.really);
        let removed = self.removed(plan);
        let lines = plan.manifest().into_iter().filter(|(line, goes)| match line {
            // Also for the sake of files that no version ever referred to.
            None => true,
            Some(line) => !goes.is_empty() && !removed.contains(line),
        });
        let done: Vec<Result<Removed>> =
            futures::stream::iter(lines.collect::<Vec<_>>())
                .map(|(line, goes)| async move {
                    core.store.clean_line(paths::MANIFEST, line.as_deref(), &goes, really).await
                })
                .buffer_unordered(self.concurrency)
                .collect()
                .await;
        done.into_iter().for_each(|done| self.rows.add(paths::MANIFEST, done));
    }

    /// The lines of the manifest that are gone, or would be.
    fn removed(&self, plan: &Plan) -> BTreeSet<String> {
        let gone = |line: &&String| {
            let name = fork_name(paths::MANIFEST, line);
            self.reclaimed.iter().any(|r| r.what == "branch" && r.name == name && r.error.is_none())
        };
        plan.branches.iter().filter(gone).cloned().collect()
    }

    /// Removes forks and versions of every table.
    async fn tables(&mut self, plan: &mut Plan) {
        let (core, really, observer) = (self.core, self.really, self.observer);
        let done: Vec<TableDone> = futures::stream::iter(std::mem::take(&mut plan.tables))
            .map(|(location, table)| async move {
                observer.table_begun(&table.key);
                let done = clean_table(core, location, table, really).await;
                observer.table_done(&done.key);
                done
            })
            .buffer_unordered(self.concurrency)
            .collect()
            .await;
        for TableDone { key, forks, lines } in done {
            self.reclaimed.extend(forks);
            lines.into_iter().for_each(|line| self.rows.add(&key, line));
        }
        self.reclaimed.sort_by(|a, b| (a.what, &a.name).cmp(&(b.what, &b.name)));
    }

    /// Removes datasets that nothing names.
    async fn datasets(&mut self, plan: &Plan) {
        for location in &plan.datasets {
            let done = orphans::remove_dataset(self.core, location, self.really).await;
            self.reclaimed.extend(reclaimed("dataset", location.clone(), done));
        }
    }

    /// Removes old rows and old versions of the recovery log.
    async fn log(&mut self, oldest: Option<i64>) {
        match log::trim_rows(self.core, oldest, self.really).await {
            Ok(0) => {}
            Ok(count) => self.reclaimed.extend(reclaimed("records", format!("{count} recoveries"), Ok(Some(0)))),
            Err(e) => self.reclaimed.extend(reclaimed("records", paths::RECOVERIES.to_string(), Err(e))),
        }
        match log::clean(self.core, self.really).await {
            Ok(removed) if removed == Removed::default() => {}
            done => self.rows.add(paths::RECOVERIES, done),
        }
    }

    /// Drops announcements of what is gone completely. Those that stay keep nobody from anything but referring to
    /// what they name, and another run drops them.
    async fn finish(&self, look: &Look) {
        let mut left: BTreeMap<Option<String>, Vec<u64>> = BTreeMap::new();
        let announced = marker::read(&self.core.store).await.ok().flatten().map(|marker| marker.removing);
        let lines = announced.into_iter().flatten().flat_map(|removing| removing.lines).map(|line| line.lance_branch);
        let known = look.lines.iter().map(|line| line.lance_branch.clone());
        for line in lines.chain(known).collect::<BTreeSet<_>>() {
            match self.core.store.version_files(paths::MANIFEST, line.as_deref()).await {
                Ok(files) => drop(left.insert(line, files.iter().map(|file| file.version).collect())),
                Err(e) => tracing::warn!(error = %e, "versions of the manifest could not be listed"),
            }
        }
        let is_left = |going: &GoingLine| {
            left.get(&going.lance_branch).is_none_or(|there| {
                going.versions.iter().any(|(first, last)| there.iter().any(|v| (*first..=*last).contains(v)))
            })
        };
        if let Err(e) = marker::finish(&self.core.store, is_left).await {
            tracing::warn!(error = %e, "an announcement of what was removed could not be dropped");
        }
    }

    /// Removes the documents that deleted branches left, once their lines are gone, where the store can do that without
    /// taking away one that was just made anew.
    async fn markers(&mut self, look: &Look) {
        if !self.core.store.log().deletes_conditionally() {
            return;
        }
        for name in &look.deleted {
            let done = remove_marker(self.core, name, self.really).await;
            self.reclaimed.extend(reclaimed("marker", name.clone(), done));
        }
    }
}

/// What was done to the forks and lines of one table.
struct TableDone {
    key: String,
    forks: Vec<Reclaimed>,
    lines: Vec<Result<Removed>>,
}

async fn clean_table(core: &Core, location: String, table: TablePlan, really: bool) -> TableDone {
    let TablePlan { key, lines, forks, error } = table;
    let mut done = TableDone { key, forks: Vec::new(), lines: error.into_iter().map(Err).collect() };
    for fork in forks {
        let removed = orphans::remove_fork(core, &location, &fork, really).await;
        done.forks.extend(reclaimed("fork", fork_name(&location, &fork), removed));
    }
    for (line, verdict) in lines {
        // On main lines also for the sake of files that no version ever referred to.
        if line.is_none() || !verdict.goes.is_empty() {
            done.lines.push(core.store.clean_line(&location, line.as_deref(), &verdict.goes, really).await);
        }
        let before = core.now().saturating_sub(orphans::micros(limits::ORPHAN_GRACE));
        done.lines.push(core.store.clean_scratch(&location, line.as_deref(), before, really).await);
    }
    done
}

/// This process may have the branch of a line that was removed among those it knows.
fn forget(core: &Core, look: &Look, line: &str) {
    let names = look.deleted.iter().chain(look.closed.iter().map(|entry| &entry.name));
    for name in names {
        if core.heads.warm(name).is_some_and(|warm| warm.identity.lance_branch.as_deref() == Some(line)) {
            core.heads.forget(name);
        }
    }
}

async fn remove_marker(core: &Core, name: &str, really: bool) -> Result<Option<u64>> {
    let file = paths::branch(name);
    let Some(document) = core.store.log().read(&file).await? else {
        return Ok(None);
    };
    let doc = ref_json::decode(name, &document.bytes)?;
    let files = core.store.version_files(paths::MANIFEST, Some(&doc.lance_branch)).await?;
    if !doc.deleted || !files.is_empty() {
        return Ok(None);
    }
    if really && core.store.log().delete_if_match(&file, &document).await? == Put::Refused {
        return Ok(None);
    }
    Ok(Some(document.bytes.len() as u64))
}

/// The table states that are needed although the plan did not know: shown by a state whose removal failed, by one that
/// a read holds by now, or by a head that was published since, or named by an operation.
async fn still_needed(core: &Core, plan: &Plan, concurrency: usize) -> Result<Vec<TableAt>> {
    let mut states = BTreeSet::new();
    let mut lines = plan.manifest();
    lines.retain(|_, goes| !goes.is_empty());
    for (line, goes) in lines {
        let left = core.store.version_files(paths::MANIFEST, line.as_deref()).await?;
        let left = left.into_iter().map(|file| file.version).filter(|version| goes.contains(version));
        states.extend(left.map(|manifest_version| State { lance_branch: line.clone(), manifest_version }));
    }
    states.extend(look::held(core, core.now()).await?);
    let mut needed: Vec<TableAt> = guard::intents(core).await?.iter().flat_map(plan::named_tables).collect();
    let views = look::views_now(core, concurrency).await?;
    for view in &views {
        needed.extend(Shown::by(&view.snapshot).into_iter().map(|shown| shown.at));
    }
    for state in states {
        let mut shown = look::shown(core, &state).await?;
        if shown.is_empty() {
            shown = look::shown_once(&views, &state).await?;
        }
        needed.extend(shown.into_iter().map(|shown| shown.at));
    }
    Ok(needed)
}

/// The lines of the manifest that a live branch is on or a read holds something of.
async fn lines_in_use(core: &Core, concurrency: usize) -> Result<BTreeSet<String>> {
    let live = look::documents(core, concurrency).await?.live.into_iter().map(|entry| entry.doc.lance_branch);
    let mut used: BTreeSet<String> = live.collect();
    used.extend(look::held(core, core.now()).await?.into_iter().filter_map(|state| state.lance_branch));
    Ok(used)
}

fn fork_name(location: &str, fork: &str) -> String {
    format!("{location}/tree/{fork}")
}

/// The report's entry; none for what turned out to be in use.
fn reclaimed(what: &'static str, name: String, done: Result<Option<u64>>) -> Option<Reclaimed> {
    match done {
        Ok(None) => None,
        Ok(Some(bytes)) => {
            tracing::info!(what, name, bytes, "a cleanup reclaims what nothing refers to");
            Some(Reclaimed { what, name, bytes, error: None })
        }
        Err(e) => {
            tracing::warn!(what, name, error = %e, "something that nothing refers to could not be reclaimed");
            let error = Some(format!("{} [{}]", e.message(), e.reason()));
            Some(Reclaimed { what, name, bytes: 0, error })
        }
    }
}
