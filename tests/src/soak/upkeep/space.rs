//! What the store takes while it is being kept up, and how much that may be.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use omnigraph_client::Graph;
use tokio::time::Instant;

use super::sleep_until;
use crate::soak::ledger::Size;
use crate::soak::place::Place;
use crate::soak::settle::read;
use crate::soak::{MAIN, Outcome, Run};

/// From one look to the next at a folder, and at a store that has to be listed.
const PACE: Duration = Duration::from_secs(2);
const REMOTE_PACE: Duration = Duration::from_secs(10);

/// What the second half of a run may take at most, in multiples of what its first quarter added.
///
/// The writers keep a pace, so without a cleanup what is added grows with time: at the end of the run it is four
/// times what it was after a quarter. A cleanup leaves a state alone for a minute after it was superseded and takes a
/// while itself, so what stands is about the last 75 seconds of writing: in a run of two minutes two and a half
/// times the quarter of 30 seconds, in a longer one less. What was there before the first write counts for nothing.
const GROWTH: u64 = 3;

/// Shorter runs are over before a cleanup may remove anything that they wrote.
const JUDGED_FROM: Duration = Duration::from_secs(120);

/// Files that the last cleanup may leave for each commit that can still be read, and for the branches themselves. A
/// commit is made of about ten, and an optimize adds indexes.
const FILES_LEFT: u64 = 20;
const FILES_ANYWAY: u64 = 400;

/// What the store holds, at moments since the beginning of the run.
pub(super) type Samples = Vec<(Duration, Size)>;

/// Looks until the run is over.
///
/// # Errors
/// The folder cannot be read.
pub(super) async fn sample(run: Arc<Run>, place: Arc<Place>) -> Outcome<Samples> {
    let mut samples = Vec::new();
    let pace = if place.local_folder().is_some() { PACE } else { REMOTE_PACE };
    let mut next = Instant::now();
    while run.goes_on() {
        let at = run.begun.elapsed();
        samples.extend(measure(&place).await?.map(|size| (at, size)));
        next = (next + pace).max(Instant::now());
        sleep_until(&run, next).await;
    }
    Ok(samples)
}

/// What the store holds now: on disk by its folder, else as a server tells.
///
/// # Errors
/// The folder cannot be read.
pub(super) async fn measure(place: &Place) -> Outcome<Option<Size>> {
    if let Some(folder) = place.local_folder() {
        let folder: PathBuf = folder.to_path_buf();
        return Ok(Some(tokio::task::spawn_blocking(move || walk(&folder)).await??));
    }
    let stats = |graph: Graph| async move { graph.stats().branch(MAIN).send().await };
    let totals = read(place, 0, "measuring the store", stats).await.map(|stats| stats.totals);
    Ok(totals.map(|totals| Size { files: totals.files, bytes: totals.bytes }))
}

/// Everything below a folder, some of which may go meanwhile.
fn walk(folder: &Path) -> std::io::Result<Size> {
    let mut size = Size::default();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Some(entries) = unless_gone(std::fs::read_dir(&folder))? else { continue };
        for entry in entries {
            let Some(entry) = unless_gone(entry)? else { continue };
            let Some(meta) = unless_gone(entry.metadata())? else { continue };
            if meta.is_dir() {
                open.push(entry.path());
            } else {
                size.files += 1;
                size.bytes += meta.len();
            }
        }
    }
    Ok(size)
}

fn unless_gone<T>(found: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match found {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Notes what stands in the end, after the last cleanup, and a violation if it is more than that should leave.
///
/// # Errors
/// The folder cannot be read.
pub(super) async fn conclude(place: &Place) -> Outcome {
    let Some(size) = measure(place).await? else { return Ok(()) };
    note(place, [(3, size)]);
    let readable = place.ledger.book().counts.upkeep.readable;
    place.ledger.expect(size.files <= readable * FILES_LEFT + FILES_ANYWAY, || {
        format!("{} files are left in the end for {readable} commits that can be read", size.files)
    });
    Ok(())
}

/// Notes the sizes, and a violation if they grew too much.
pub(super) fn judge(place: &Place, length: Duration, base: Size, samples: &Samples) {
    let Some((quarter, peak)) = quarter_and_peak(length, samples) else {
        place.ledger.violation("the store was not measured often enough");
        return;
    };
    note(place, [(0, base), (1, quarter), (2, peak)]);
    if length < JUDGED_FROM {
        return;
    }
    for (what, of) in [("files", (|s: Size| s.files) as fn(Size) -> u64), ("bytes", |s| s.bytes)] {
        let added = |size| of(size).saturating_sub(of(base));
        let (first, most) = (added(quarter), added(peak));
        place.ledger.expect(most <= first.saturating_mul(GROWTH), || {
            format!("writing had added {first} {what} after a quarter of the run and {most} in its second half")
        });
    }
}

/// Notes sizes for the report, by their place there.
fn note<const N: usize>(place: &Place, sizes: [(usize, Size); N]) {
    let mut book = place.ledger.book();
    for (at, size) in sizes {
        book.counts.upkeep.sizes[at] = size;
    }
}

/// What stood after a quarter, and the most of each number in the second half.
fn quarter_and_peak(length: Duration, samples: &Samples) -> Option<(Size, Size)> {
    let (_, quarter) = samples.iter().find(|(at, _)| *at >= length / 4)?;
    let late = samples.iter().filter(|(at, _)| *at >= length / 2).map(|(_, size)| *size);
    let peak = late.reduce(|a, b| Size { files: a.files.max(b.files), bytes: a.bytes.max(b.bytes) })?;
    Some((*quarter, peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarter_is_compared_with_the_second_half() {
        let samples = |files: &[u64]| -> Samples {
            let size = |n: &u64| Size { files: *n, bytes: 100 - *n };
            (0..).map(Duration::from_secs).zip(files.iter().map(size)).collect()
        };
        let length = Duration::from_secs(8);
        let found = quarter_and_peak(length, &samples(&[0, 9, 2, 9, 5, 4, 6, 3]));
        assert_eq!(found, Some((Size { files: 2, bytes: 98 }, Size { files: 6, bytes: 97 })));
        assert_eq!(quarter_and_peak(length, &samples(&[0, 1, 2, 3])), None);
        assert_eq!(quarter_and_peak(length, &samples(&[])), None);
    }
}
