//! Checking every invariant.
//!
//! Reads everything that live branches show and changes nothing. What is wrong is reported, naming the
//! invariant; only a store that does not answer is an error. The invariants:
//!
//! * `I1` a pinned table version opens, holds the recorded number of rows, and whatever stands above it was
//!   made by this engine;
//! * `I2` the lineage of a branch is one chain by first parent, ids and manifest versions increase;
//! * `I4` ids are unique and follow from keys, the ends of edges exist, constraints hold;
//! * `I5` the snapshot recorded with a version says what its rows say;
//! * `I6` no two live branches share a line of the manifest, and every live branch opens;
//! * `I7` intents are readable, and there is at most one for a branch and base version.
//!
//! That acknowledged commits stay and that old snapshots never change (`I3`, `I8`) needs somebody who
//! remembers them; tests check those.

mod intents;
mod lineage;
mod refs;
mod rows;
mod tables;

use std::collections::HashSet;
use std::sync::Arc;

use super::progress::Observer;
use crate::error::{Error, Result};
use crate::limits;
use crate::manifest::resolve;
use crate::txn::Core;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Live branches checked.
    pub branches: usize,
    /// Table states checked.
    pub tables: usize,
    /// Commits checked.
    pub commits: usize,
    /// Operations under way or interrupted.
    pub pending: usize,
    /// What is broken, each naming the invariant.
    pub problems: Vec<Problem>,
}

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which invariant, as documented.
    pub invariant: &'static str,
    /// The branch.
    pub branch: String,
    /// What is wrong.
    pub detail: String,
}

impl VerifyReport {
    /// Whether nothing is broken.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, invariant: &'static str, branch: &str, detail: impl Into<String>) {
        self.problems.push(Problem { invariant, branch: branch.to_string(), detail: detail.into() });
    }
}

/// Checks every live branch. The cost is one read of every table state that a live branch shows, and memory
/// for the hashes of its ids and unique values, about 40 bytes each.
///
/// Writers may go on: every branch is checked as it was when the check came to it. The observer is told of every type
/// of every branch that opens.
///
/// # Errors
/// The store's.
pub async fn verify(core: &Arc<Core>, observer: &dyn Observer) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let views = refs::check(core, &mut report).await?;
    report.branches = views.len();
    observer.tables(views.iter().map(|view| view.snapshot.schema.types.len()).sum());
    let mut commits = HashSet::new();
    let mut tables = tables::Tables::default();
    let mut content = rows::Content::default();
    for view in &views {
        let snapshot = &view.snapshot;
        let branch = snapshot.branch.name.as_str();
        match view.all_rows().await {
            Ok(rows) => {
                let chain = lineage::check(&rows, snapshot);
                chain.problems.into_iter().for_each(|p| report.add("I2", branch, p));
                commits.extend(chain.commits);
            }
            Err(e) => {
                let e = damage(core, e).await?;
                report.add("I2", branch, format!("the manifest cannot be read: {}", e.message()));
                snapshot.schema.types.iter().for_each(|ty| observer.table_done(&ty.type_ref().to_string()));
                continue;
            }
        }
        match resolve::agrees_with_rows(view).await {
            Ok(true) => {}
            Ok(false) => report.add("I5", branch, "the recorded snapshot and the manifest's rows differ"),
            Err(e) => {
                let e = damage(core, e).await?;
                report.add("I5", branch, format!("the manifest's rows make no snapshot: {}", e.message()));
            }
        }
        let open = tables.open(core, snapshot, &mut report).await?;
        content.check(core, snapshot, &open, &mut report, observer).await?;
    }
    tables.check_lines(core, &mut report).await?;
    report.tables = tables.count();
    report.commits = commits.len();
    intents::check(core, &mut report).await?;
    Ok(report)
}

/// Tells damage from a store that does not answer: if it answers something else now, what failed is damaged.
async fn damage(core: &Core, failure: Error) -> Result<Error> {
    core.intents.list().await?;
    Ok(failure)
}

/// Problems of one kind in one place: all are counted, the first are listed.
#[derive(Default)]
struct Tally {
    listed: Vec<String>,
    total: u64,
}

impl Tally {
    fn add(&mut self, describe: impl FnOnce() -> String) {
        self.total += 1;
        if self.listed.len() < limits::MAX_TABLE_PROBLEMS {
            self.listed.push(describe());
        }
    }

    fn report(self, report: &mut VerifyReport, invariant: &'static str, branch: &str, place: &str) {
        let more = self.total - self.listed.len() as u64;
        for detail in self.listed {
            report.add(invariant, branch, format!("{place}: {detail}"));
        }
        if more > 0 {
            report.add(invariant, branch, format!("{place}: {more} more problems like these"));
        }
    }
}

#[cfg(test)]
mod tests;
