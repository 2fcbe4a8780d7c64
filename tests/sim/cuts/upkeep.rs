//! Every mutating store call of a cleanup and of a repair is a place to die; a deletion is one. After each death
//! another process finds a whole graph with everything that was to stay, goes on, and brings the same work to its end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use omnigraph_engine::maintenance::cleanup::{CleanupOptions, CleanupReport};
use omnigraph_engine::maintenance::repair::{RepairAction, RepairOptions};
use omnigraph_engine::model::LoadMode;
use omnigraph_engine::{Graph, Reason};
use omnigraph_tests::{content, head, load, person};

use crate::states::{Others, drifted, neglected, note};
use crate::stock::Stock;

/// Work that is interrupted, and what it is to come to.
trait Case: Sized {
    /// A case of its own for whoever asks.
    async fn prepare() -> Self;

    /// Dies at a place and checks what is left. How many deaths that were, in this work and in what came after it;
    /// none if the work has no such place.
    async fn survive(&self, at: u64) -> Option<u64>;
}

/// Dies at every place there is, on as many threads as the machine has processors.
fn sweep<C: Case>() -> u64 {
    let (next, places, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let case = C::prepare().await;
                    while !over.load(Ordering::SeqCst) {
                        match case.survive(next.fetch_add(1, Ordering::SeqCst)).await {
                            Some(deaths) => drop(places.fetch_add(deaths, Ordering::SeqCst)),
                            None => over.store(true, Ordering::SeqCst),
                        }
                    }
                });
            });
        }
    });
    places.into_inner()
}

/// Where the recovery of what died at a place dies as well, given how many calls it makes: at one of them, each time
/// another, or at all.
pub(super) fn second_deaths(at: u64, calls: u64) -> Vec<u64> {
    match calls {
        0 => Vec::new(),
        _ if crate::deep() => (0..calls).collect(),
        _ => vec![at % calls],
    }
}

/// Commits of each branch that are to stay, beside those where another begins.
const KEEP: u64 = 1;

/// More than any grace, and than the time for which recoveries stay on record.
const NEGLECTED: Duration = Duration::from_secs(8 * 24 * 60 * 60);

fn keep(n: u64) -> CleanupOptions {
    CleanupOptions { keep: Some(n), confirm: true, concurrency: 1, ..CleanupOptions::default() }
}

/// A cleanup of a graph that needs it.
struct Cleanup {
    stock: Stock,
    kept: Vec<usize>,
    folders: BTreeMap<String, usize>,
}

impl Cleanup {
    /// Checks that the heads are whole for everybody, and writes on them.
    async fn go_on(&self, everybody: [&Graph; 2], label: &str) {
        for graph in everybody {
            let names: Vec<String> = graph.branches().await.unwrap().into_iter().map(|b| b.name).collect();
            assert_eq!(names, ["main", "b"], "{label}");
            for name in &names {
                assert_eq!(content(graph, &head(name)).await.unwrap(), self.stock.lines(name), "{label}: {name}");
            }
        }
        for (graph, branch) in everybody.into_iter().zip(["main", "b"]) {
            load(graph, branch, LoadMode::Merge, &person("next", 1))
                .await
                .unwrap_or_else(|e| panic!("{label}: the next write on {branch}: {e}"));
        }
    }

    /// Cleans up to the end, after a write on each branch. What is left then, folder by folder.
    async fn finish(&self, graph: &Graph, label: &str) -> BTreeMap<String, usize> {
        let report = graph.cleanup(&keep(KEEP + 1)).await.unwrap_or_else(|e| panic!("{label}: again: {e}"));
        assert_eq!(report.errors(), 0, "{label}: {report:#?}");
        if crate::deep() {
            let verified = graph.verify().await.unwrap();
            assert!(verified.is_clean() && verified.pending == 0, "{label}: {verified:#?}");
        }
        // Leases run out, and what a death leaves of an unfinished commit Lance keeps for a week by its own clock.
        let unfinished =
            |path: &str| path.contains("/_graph_commit_recoveries.lance/") && !path.contains("/_versions/");
        self.stock.folders(|path| path.contains("g/_refs/readers/") || unfinished(path)).await
    }
}

/// What one uninterrupted cleanup did has to be something of everything.
fn expect_thorough(report: &CleanupReport) {
    assert_eq!(report.errors(), 0, "{report:#?}");
    for what in ["branch", "fork", "dataset", "records"] {
        assert!(report.reclaimed.iter().any(|r| r.what == what), "no {what}: {report:#?}");
    }
    for key in ["node:Person", "node:Note", "__manifest"] {
        let removed = report.tables.iter().find(|t| t.table_key == key).map(|t| t.old_versions_removed);
        assert!(removed > Some(0), "{key}: {report:#?}");
    }
}

impl Case for Cleanup {
    async fn prepare() -> Self {
        let mut stock = neglected("cut-cleanup").await;
        // What is left of it would be counted.
        stock.forge(|path| path.contains("g/nodes/") && path.contains("/_versions/"), "d42.manifest");
        let mut case = Self { stock, kept: Vec::new(), folders: BTreeMap::new() };
        let graph = case.stock.put_back(NEGLECTED).await.open().await;
        expect_thorough(&graph.cleanup(&keep(KEEP)).await.unwrap());
        case.kept = case.stock.readable().await.unwrap();
        assert!(case.kept.len() + 4 < case.stock.history.len(), "{:?}", case.kept);
        case.go_on([&graph, &graph], "reference").await;
        case.folders = case.finish(&graph, "reference").await;
        let verified = graph.verify().await.unwrap();
        assert!(verified.is_clean() && verified.pending == 0, "{verified:#?}");
        case
    }

    async fn survive(&self, at: u64) -> Option<u64> {
        let place = self.stock.put_back(NEGLECTED).await;
        let witness = place.open().await;
        witness.branches().await.unwrap();
        let died = place.dying(at, async |graph| {
            let _ = graph.cleanup(&keep(KEEP)).await;
        });
        if !died.await {
            return None;
        }
        let label = format!("a cleanup died at call {at}");
        let later = place.open().await;
        let report = later.verify().await.unwrap();
        assert!(report.is_clean() && report.pending == 0, "{label}: {report:#?}");
        let readable = self.stock.readable().await.unwrap_or_else(|e| panic!("{label}: {e}"));
        assert!(self.kept.iter().all(|kept| readable.contains(kept)), "{label}: {readable:?} of {:?}", self.kept);
        self.go_on([&witness, &later], &label).await;
        let folders = self.finish(&later, &label).await;
        let readable = self.stock.readable().await.unwrap_or_else(|e| panic!("{label}: {e}"));
        assert_eq!(readable, self.kept, "{label}");
        assert_eq!(folders, self.folders, "{label}");
        Some(1)
    }
}

#[test]
fn every_call_of_a_cleanup_can_be_the_last() {
    let places = sweep::<Cleanup>();
    assert!(places > 0);
    crate::tell(&format!("{places} places to die in a cleanup"));
}

/// A repair: `FORCED` of what others deleted, else of fragments that they put together. Both also put back what one of
/// ours left.
struct Repair<const FORCED: bool> {
    stock: Stock,
    after: Vec<String>,
}

/// How far a repair has come.
struct Progress {
    /// Commits that published what others made.
    published: usize,
    lines: Vec<String>,
}

impl<const FORCED: bool> Repair<FORCED> {
    const OPTIONS: RepairOptions = RepairOptions { confirm: true, force: FORCED };

    async fn repair(graph: &Graph) -> Vec<RepairAction> {
        let report = graph.repair("main", Self::OPTIONS).await.unwrap();
        assert_eq!(report.refused(), 0, "{report:#?}");
        report.tables.iter().map(|table| table.action).filter(|action| *action != RepairAction::None).collect()
    }

    async fn progress(graph: &Graph) -> Progress {
        let commits = graph.commits("main", None, 1_000).await.unwrap();
        let published = commits.iter().filter(|commit| commit.operation.starts_with("repair")).count();
        Progress { published, lines: content(graph, &head("main")).await.unwrap() }
    }

    /// Checks that it happened or did not, and that others go on accordingly.
    async fn expect_either(&self, graph: &Graph, told: bool, label: &str) {
        let Progress { published, lines } = Self::progress(graph).await;
        let report = graph.verify().await.unwrap();
        assert_eq!(report.pending, 0, "{label}");
        if published == 0 {
            assert!(!told, "{label}: an acknowledged repair is lost");
            assert_eq!(lines, self.stock.lines("main"), "{label}");
            let is_drift = report.problems.iter().all(|p| p.detail.starts_with("drift: node:Person"));
            assert!(is_drift && report.problems.len() == 1, "{label}: {:#?}", report.problems);
        } else {
            assert_eq!((published, &lines), (1, &self.after), "{label}");
            assert!(report.is_clean(), "{label}: {:#?}", report.problems);
        }
        let written = load(graph, "main", LoadMode::Merge, &person("next", 1)).await;
        match written {
            Ok(_) => assert_eq!(published, 1, "{label}"),
            Err(e) => assert_eq!((published, e.reason()), (0, Reason::Drift), "{label}: {e}"),
        }
        load(graph, "main", LoadMode::Merge, &note("next")).await.unwrap_or_else(|e| panic!("{label}: {e}"));
    }

    /// Checks that the same repair comes to its end and leaves nothing to do.
    async fn expect_again(&self, graph: &Graph, label: &str) {
        Self::repair(graph).await;
        assert!(Self::repair(graph).await.is_empty(), "{label}");
        load(graph, "main", LoadMode::Merge, &person("next", 2)).await.unwrap_or_else(|e| panic!("{label}: {e}"));
        let Progress { published, mut lines } = Self::progress(graph).await;
        lines.retain(|line| !line.contains("\"next\""));
        assert_eq!((published, &lines), (1, &self.after), "{label}");
    }

    /// Checks that everything is whole and every state there still.
    async fn expect_whole(&self, graph: &Graph, label: &str) {
        load(graph, "b", LoadMode::Merge, &person("next", 1)).await.unwrap_or_else(|e| panic!("{label}: b: {e}"));
        let report = graph.verify().await.unwrap();
        assert!(report.is_clean() && report.pending == 0, "{label}: {report:#?}");
        let readable = self.stock.readable().await.unwrap_or_else(|e| panic!("{label}: {e}"));
        assert_eq!(readable.len(), self.stock.history.len(), "{label}");
    }

    /// One run: dies at a place, perhaps once more in the recovery. Tells how often it died and how many calls the last
    /// recovery made; nothing if there is no such place.
    async fn interrupt(&self, at: u64, second: Option<u64>) -> Option<(u64, u64)> {
        let place = self.stock.put_back(Duration::from_secs(300)).await;
        let witness = place.open().await;
        witness.branches().await.unwrap();
        let mut told = false;
        let died = place.dying(at, async |graph| {
            told = graph.repair("main", Self::OPTIONS).await.is_ok();
        });
        if !died.await {
            return None;
        }
        let mut deaths = 1;
        if let Some(second) = second {
            deaths += u64::from(place.recover_dying(second).await);
        }
        let label = format!("a repair died at call {at}, its recovery at {second:?}, forced: {FORCED}");
        let (later, calls) = place.recover().await;
        self.expect_either(&later, told, &label).await;
        self.expect_again(&witness, &label).await;
        if second.is_none() || crate::deep() {
            self.expect_whole(&witness, &label).await;
        }
        Some((deaths, calls))
    }
}

impl<const FORCED: bool> Case for Repair<FORCED> {
    async fn prepare() -> Self {
        let others = Others { delete: FORCED, abandoned: true };
        let mut case = Self { stock: drifted("cut-repair", others).await, after: Vec::new() };
        let graph = case.stock.put_back(Duration::from_secs(300)).await.open().await;
        let mut done = Self::repair(&graph).await;
        done.sort_by_key(|action| action.as_str());
        assert_eq!(done, [RepairAction::Published, RepairAction::Restored]);
        case.after = Self::progress(&graph).await.lines;
        assert_eq!(case.after.len() + usize::from(FORCED), case.stock.lines("main").len());
        case
    }

    async fn survive(&self, at: u64) -> Option<u64> {
        let (mut deaths, calls) = self.interrupt(at, None).await?;
        for second in second_deaths(at, calls) {
            deaths += self.interrupt(at, Some(second)).await.map_or(0, |(deaths, _)| deaths - 1);
        }
        Some(deaths)
    }
}

#[test]
fn every_call_of_a_repair_and_of_its_recovery_can_be_the_last() {
    let (plain, forced) = (sweep::<Repair<false>>(), sweep::<Repair<true>>());
    assert!(plain > 0 && forced > 0);
    crate::tell(&format!("{plain} places to die in a repair, {forced} in one by force"));
}
