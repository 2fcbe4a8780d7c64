//! The upkeep itself: the command line as a child process, again and again. It has to come to its end each time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::KEEP;
use super::slow::Mark;
use crate::soak::place::Place;
use crate::soak::{Outcome, Run};

/// Pause between two runs of a loop.
const PAUSE: Duration = Duration::from_millis(500);

/// The exit code of a command that others stood in the way of, and that changed nothing.
const BUSY: i32 = 4;

/// How often in a row a command may be told that.
const MAX_BUSY: u32 = 10;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Optimize,
    Repair,
    Cleanup,
}

impl Job {
    fn words(self) -> Vec<String> {
        let line = match self {
            Self::Optimize => "optimize --all-branches".to_string(),
            Self::Repair => "repair --all-branches --confirm".to_string(),
            Self::Cleanup => format!("cleanup --keep {KEEP} --confirm --yes"),
        };
        line.split(' ').map(String::from).collect()
    }

    /// Runs it. What must not be is noted.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) async fn carry_out(self, place: &Place) -> Outcome {
        let words = self.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for _ in 0..=MAX_BUSY {
            let begun = Instant::now();
            let ended = place.carry_out(&words).await?;
            time(place, begun.elapsed());
            match ended.code {
                Some(0) => {
                    self.count(place, &serde_json::from_str(&ended.out)?);
                    return Ok(());
                }
                Some(BUSY) => place.ledger.book().counts.upkeep.busy += 1,
                code => {
                    let said = format!("{}{}", ended.out, ended.err);
                    place.ledger.violation(format!("`{}` ended with {code:?}: {said}", words.join(" ")));
                    return Ok(());
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        place.ledger.violation(format!("`{}` was told to try again {MAX_BUSY} times in a row", words.join(" ")));
        Ok(())
    }

    fn count(self, place: &Place, report: &Json) {
        let mut book = place.ledger.book();
        let upkeep = &mut book.counts.upkeep;
        match self {
            Self::Optimize => upkeep.optimized += 1,
            Self::Repair => upkeep.repaired += 1,
            Self::Cleanup => {
                upkeep.cleaned += 1;
                upkeep.removed += report["commits_removed"].as_u64().unwrap_or_default();
                upkeep.readable = report["commits_kept"].as_u64().unwrap_or_default();
            }
        }
        drop(book);
        if self == Self::Repair
            && let Some(found) = drift(report)
        {
            place.ledger.violation(format!("repair found what nobody did: {found}"));
        }
    }
}

fn time(place: &Place, took: Duration) {
    let upkeep = &mut place.ledger.book().counts.upkeep;
    upkeep.longest = upkeep.longest.max(took);
}

/// What a repair took for somebody else's work. Nobody else is there.
fn drift(report: &Json) -> Option<&Json> {
    let tables = report.as_array()?.iter().filter_map(|branch| branch["tables"].as_array()).flatten();
    let (mut tables, known) = (tables, ["none", "inherited", "in_progress", "abandoned"]);
    tables.find(|table| !known.iter().any(|known| table["classification"] == *known))
}

/// Runs these one after the other until the run is over. After each cleanup the mark is looked at.
///
/// # Errors
/// A command cannot be run.
pub(super) async fn keep_at(run: Arc<Run>, place: Arc<Place>, jobs: &'static [Job], mark: Arc<Mark>) -> Outcome {
    while run.goes_on() {
        for job in jobs {
            job.carry_out(&place).await?;
            if *job == Job::Cleanup {
                mark.look(&place).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_our_own_work_is_no_drift() {
        let report = |classification: &str| json!([{"tables": [{"classification": classification}]}]);
        for known in ["none", "inherited", "in_progress", "abandoned"] {
            assert_eq!(drift(&report(known)), None, "{known}");
        }
        for strange in ["verified_maintenance", "suspicious", "unverifiable", ""] {
            assert!(drift(&report(strange)).is_some(), "{strange}");
        }
    }
}
