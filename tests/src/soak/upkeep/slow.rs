//! One scan that is read so slowly that the version it reads is cleaned away around it.
//!
//! It begins while its version is the newest that shows many small fragments. Then an optimize joins these, nothing
//! but the scan needs them any more, and cleanups come. Only when one has removed the commit right after its own does
//! the scan go on; it must bring every row that was there. Far more is left unread than anything on the way buffers.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use fastrand::Rng;
use futures::TryStreamExt;
use omnigraph_client::{Batches, ErrorReason, Graph, LoadSource, Result};
use serde_json::json;
use tokio::time::Instant;

use crate::soak::place::Place;
use crate::soak::settle::{Write, ask, read};
use crate::soak::{MAIN, Outcome, items};

/// Loads that fill the table; each makes a fragment.
const LOADS: usize = 48;
/// Rows of a load.
const ROWS: usize = 64;
/// Letters in a row, drawn at random, so that nothing makes them smaller.
const LETTERS: usize = 4096;

/// From one batch to the next while it waits.
const PACE: Duration = Duration::from_secs(20);

/// A commit that nothing holds, by which it is seen that cleanups have come so far.
#[derive(Debug)]
pub(super) struct Mark {
    commit: String,
    passed: AtomicBool,
    over: AtomicBool,
}

impl Mark {
    /// Looks whether it is gone, after a cleanup.
    pub(super) async fn look(&self, place: &Place) {
        if !self.is_passed() && is_gone(place, &self.commit).await == Some(true) {
            self.passed.store(true, Ordering::Relaxed);
        }
    }

    fn is_passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }

    /// No further cleanup comes.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn is_awaited(&self) -> bool {
        !self.is_passed() && !self.over.load(Ordering::Relaxed)
    }
}

/// Whether a commit of main cannot be read any more; `None` is noted.
async fn is_gone(place: &Place, commit: &str) -> Option<bool> {
    let look =
        |graph: Graph| async move { graph.get("Page", [slug(0, 0)]).properties(["slug"]).commit(commit).send().await };
    let what = format!("looking whether commit {commit} is still there");
    Some(ask(place, 0, &what, &[ErrorReason::CommitNotFound], look).await?.is_err())
}

/// The scan.
pub(super) struct Slow {
    place: Arc<Place>,
    commit: String,
    mark: Arc<Mark>,
    expected: BTreeMap<String, u64>,
    found: BTreeMap<String, u64>,
    rows: usize,
    batches: Batches,
}

fn slug(load: usize, row: usize) -> String {
    format!("page-{load}-{row}")
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Slow {
    /// Fills the table on main, begins the scan, and makes the commit after it.
    ///
    /// # Errors
    /// It cannot begin.
    pub(super) async fn begin(place: &Arc<Place>, chance: &mut Rng) -> Outcome<Self> {
        let mut expected = BTreeMap::new();
        let mut commit = String::new();
        for load in 0..LOADS {
            commit = fill(place, load, &mut expected, chance).await.ok_or("the pages were not loaded")?;
        }
        let begin = |graph: Graph| {
            let scan = graph.scan("Page").columns(["slug", "text"]).commit(&commit).max_endpoints(1);
            async move {
                let mut batches = scan.parallelism(1).send().await?;
                // The server reads, and so holds what it reads.
                let first = batches.try_next().await?;
                Ok((first, batches))
            }
        };
        let begun = read(place, 1, "beginning the slow scan", begin).await;
        let (first, batches) = begun.ok_or("the slow scan did not begin")?;
        for n in 0..2 {
            // The second supersedes the first.
            items::write_one(place, 0, MAIN, &format!("mark-{n}")).await;
        }
        let mark = place.ledger.book().commits.get(MAIN).and_then(|made| made.get(&format!("mark-0@{MAIN}")).cloned());
        let commit_after = mark.ok_or("no mark was made")?;
        let mark = Arc::new(Mark { commit: commit_after, passed: false.into(), over: false.into() });
        let (place, found) = (place.clone(), BTreeMap::new());
        let mut slow = Self { place, commit, mark, expected, found, rows: 0, batches };
        first.iter().for_each(|batch| slow.take(batch));
        Ok(slow)
    }

    pub(super) fn mark(&self) -> Arc<Mark> {
        self.mark.clone()
    }

    /// Reads until the mark is passed, and then the rest.
    pub(super) async fn read(mut self) -> String {
        while self.mark.is_awaited() {
            let pause = Instant::now();
            while self.mark.is_awaited() && pause.elapsed() < PACE {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            if self.mark.is_awaited() && !self.next().await {
                break;
            }
        }
        let ledger = &self.place.ledger;
        ledger.expect(self.mark.is_passed(), || "no cleanup passed the slow scan before it was over".to_string());
        while self.next().await {}
        self.conclude();
        self.commit
    }

    /// Takes the next batch; whether there was one.
    async fn next(&mut self) -> bool {
        match self.batches.try_next().await {
            Ok(Some(batch)) => {
                self.take(&batch);
                true
            }
            Ok(None) => false,
            Err(e) => {
                self.place.ledger.violation(format!("the slow scan failed after {} rows: {e}", self.rows));
                false
            }
        }
    }

    fn take(&mut self, batch: &RecordBatch) {
        let (slugs, texts) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        self.rows += batch.num_rows();
        for (slug, text) in slugs.iter().zip(texts.iter()) {
            self.found.insert(slug.unwrap_or_default().to_string(), digest(text.unwrap_or_default()));
        }
    }

    fn conclude(&self) {
        let right = self.rows == self.expected.len() && self.found == self.expected;
        self.place.ledger.expect(right, || {
            format!(
                "the slow scan of commit {} brought {} rows, or others than {}",
                self.commit,
                self.rows,
                self.expected.len()
            )
        });
        self.place.ledger.book().counts.upkeep.slow_rows = self.rows as u64;
    }
}

/// Expects that a commit, which the scan held, is let go after it.
pub(super) async fn check_let_go(place: &Place, commit: &str) {
    let gone = is_gone(place, commit).await;
    place.ledger.expect(gone != Some(false), || format!("commit {commit} outlived the slow scan of it"));
}

/// Loads some rows; the commit if it was acknowledged.
async fn fill(place: &Place, load: usize, expected: &mut BTreeMap<String, u64>, chance: &mut Rng) -> Option<String> {
    let mut records = String::new();
    for row in 0..ROWS {
        let text: String = std::iter::repeat_with(|| chance.alphanumeric()).take(LETTERS).collect();
        let record = json!({"type": "Page", "data": {"slug": slug(load, row), "text": &text}});
        records.push_str(&format!("{record}\n"));
        expected.insert(slug(load, row), digest(&text));
    }
    let request = format!("pages-{load}");
    let write = Write { place, branch: MAIN, request: request.clone(), refusals: &[], lasts: true };
    let attempt = |graph: Graph| {
        let load = graph.load(LoadSource::from(records.clone())).branch(MAIN).request_id(&request);
        async move { Result::Ok(load.send().await?.receipt) }
    };
    write.settle(load, attempt).await.map(|receipt| receipt.commit_id)
}
