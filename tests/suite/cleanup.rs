//! Cleanup: that exactly what the policy says goes, that whoever still needs something keeps it, and that nobody is in
//! anybody's way.

mod beside;
mod faults;
mod kept;
mod preview;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::clock::{Clock, SystemClock};
use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::maintenance::cleanup::{CleanupOptions, CleanupReport, TableStats};
use omnigraph_engine::model::{CommitInfo, LoadMode, ReadSelector};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph, Reason};
use omnigraph_tests::{SOCIAL, content, create, load, memory_root, person};

pub(super) const HOUR: u64 = 3_600;

/// Shows a time that only tests move; waiting moves it, and takes next to no time. Work that nobody waits for keeps its
/// real pace.
#[derive(Debug)]
struct Hourglass(AtomicI64);

impl Clock for Hourglass {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.later(duration);
        tokio::time::sleep(duration.min(Duration::from_millis(2))).boxed()
    }
}

impl Hourglass {
    fn later(&self, duration: Duration) {
        self.0.fetch_add(i64::try_from(duration.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

/// A root and the time there. It begins as the machine's, which is also the store's.
pub(super) struct Place {
    pub(super) root: String,
    clock: Arc<Hourglass>,
}

impl Place {
    fn at(root: impl Into<String>) -> Self {
        Self { root: root.into(), clock: Arc::new(Hourglass(SystemClock.now_micros().into())) }
    }

    pub(super) fn memory(name: &str) -> Self {
        Self::at(memory_root(name))
    }

    pub(super) fn disk(folder: &tempfile::TempDir) -> Self {
        Self::at(folder.path().canonicalize().unwrap().join("g").display().to_string())
    }

    /// An engine of its own, as another process would be.
    pub(super) fn engine(&self) -> Engine {
        Engine::new(EngineOptions { clock: self.clock.clone(), ..EngineOptions::default() })
    }

    pub(super) fn engine_with(&self, plan: &Arc<FaultPlan>) -> Engine {
        Engine::new(EngineOptions {
            clock: self.clock.clone(),
            faults: Some(plan.clone()),
            claim_lease: Duration::ZERO,
            ..EngineOptions::default()
        })
    }

    pub(super) async fn create(&self) -> Graph {
        create(&self.engine(), &self.root, SOCIAL).await.unwrap()
    }

    pub(super) async fn open(&self) -> Graph {
        self.engine().open(&self.root, Access::ReadWrite).await.unwrap()
    }

    pub(super) fn later(&self, seconds: u64) {
        self.clock.later(Duration::from_secs(seconds));
    }

    /// Until nobody honours the leases of reads that are over.
    pub(super) fn forget_reads(&self) {
        self.later(61);
    }

    async fn versions(&self, location: &str, line: Option<&str>) -> Vec<u64> {
        let line = line.map(|line| format!("/tree/{line}")).unwrap_or_default();
        let dataset = lance::Dataset::open(&format!("{}/{location}{line}", self.root)).await.unwrap();
        dataset.version_refs().await.unwrap().iter().map(|v| v.version).collect()
    }
}

pub(super) fn keep(n: u64) -> CleanupOptions {
    CleanupOptions { keep: Some(n), confirm: true, concurrency: 2, ..CleanupOptions::default() }
}

pub(super) fn row<'a>(report: &'a CleanupReport, key: &str) -> &'a TableStats {
    report.tables.iter().find(|t| t.table_key == key).unwrap()
}

pub(super) fn reclaimed(report: &CleanupReport, what: &str) -> usize {
    assert!(report.reclaimed.iter().all(|r| r.error.is_none()), "{report:?}");
    report.reclaimed.iter().filter(|r| r.what == what).count()
}

/// Adds people `from..to` to a branch, one a commit.
pub(super) async fn people(graph: &Graph, branch: &str, range: std::ops::Range<usize>) {
    for i in range {
        load(graph, branch, LoadMode::Append, &person(&format!("{branch}{i}"), 1)).await.unwrap();
    }
}

/// Commits of a branch, oldest first.
pub(super) async fn history(graph: &Graph, branch: &str) -> Vec<CommitInfo> {
    let mut commits = graph.commits(branch, None, 1_000).await.unwrap();
    commits.reverse();
    commits
}

pub(super) fn at(commit: &CommitInfo) -> ReadSelector {
    ReadSelector::Commit(commit.id.clone())
}

async fn contents(graph: &Graph, commits: &[CommitInfo]) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    for commit in commits {
        out.push(content(graph, &at(commit)).await.unwrap());
    }
    out
}

/// Checks that exactly the commits at these positions can be read, and as they were.
async fn expect_readable(graph: &Graph, commits: &[CommitInfo], before: &[Vec<String>], kept: &[usize]) {
    for (position, commit) in commits.iter().enumerate() {
        match content(graph, &at(commit)).await {
            Ok(lines) => {
                assert!(kept.contains(&position), "commit {position} can still be read");
                assert_eq!(lines, before[position], "commit {position}");
            }
            Err(e) => {
                assert!(!kept.contains(&position), "commit {position} is gone: {e}");
                assert_eq!(e.reason(), Reason::CommitNotFound, "{e}");
                assert!(e.message().contains("a cleanup removed it"), "{e}");
                assert_eq!(e.metadata()["oldest_retained"], commits[kept[0]].id, "{e}");
            }
        }
    }
}

/// Checks that a second run finds nothing, that everything holds, and that work goes on.
pub(super) async fn expect_settled(place: &Place, options: &CleanupOptions) {
    let graph = place.open().await;
    let again = graph.cleanup(options).await.unwrap();
    assert_eq!((again.errors(), again.commits_removed), (0, 0), "{again:?}");
    assert!(again.tables.iter().all(|t| t.old_versions_removed == 0 && t.bytes_removed == 0), "{again:?}");
    assert!(again.reclaimed.is_empty(), "{again:?}");
    assert_eq!(graph.verify().await.unwrap().problems, Vec::new());
}
