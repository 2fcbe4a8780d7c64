//! What a graph must hold, as its clients were told, and everything that contradicts it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Violations that are told one by one. More are counted.
const LISTED: usize = 50;

/// The ledger of one place. Every entry is made when its commit is acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    book: Mutex<Book>,
}

/// See [`Ledger`].
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// For each branch that lasts: its own commits by request id.
    pub(crate) commits: BTreeMap<String, BTreeMap<String, String>>,
    /// For each branch that lasts: its items and their numbers.
    pub(crate) items: BTreeMap<String, BTreeMap<String, i64>>,
    /// For each branch that lasts: its edges by id.
    pub(crate) follows: BTreeMap<String, BTreeSet<String>>,
    /// What each account holds.
    pub(crate) balances: BTreeMap<String, i64>,
    /// Commits of the bank, in the order of their acknowledgements.
    pub(crate) transfers: Vec<String>,
    /// Who won on which head of the counter.
    pub(crate) wins: BTreeMap<String, String>,
    /// Branches whose creation was answered so late that it may be finished after their deletion.
    pub(crate) strays: BTreeSet<String>,
    /// Counts for the report.
    pub(crate) counts: Counts,
    violations: Vec<String>,
    unlisted: usize,
}

/// Counts for the report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Commits acknowledged.
    pub(crate) acknowledged: u64,
    /// Of those, acknowledgements that came only when the request was made again.
    pub(crate) replayed: u64,
    /// Attempts that were repeated because their outcome was unknown or the server was busy.
    pub(crate) retries: u64,
    /// Attempts that another writer came before.
    pub(crate) conflicts: u64,
    /// Writes that were refused, as their condition demands.
    pub(crate) refusals: u64,
    /// Reads that were checked.
    pub(crate) reads: u64,
    /// Branches made and deleted again.
    pub(crate) branches: u64,
    /// Servers killed.
    pub(crate) kills: u64,
    /// Interrupted operations that somebody decided.
    pub(crate) recoveries: u64,
    /// Commits that the check found.
    pub(crate) commits: u64,
    /// The longest that a write took whose server died under it; of all, if none was killed.
    pub(crate) slowest: Duration,
    /// Of a run of upkeep.
    pub(crate) upkeep: Upkeep,
}

/// Counts of a run of upkeep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Upkeep {
    /// Runs of `optimize` that were done.
    pub(crate) optimized: u64,
    /// Runs of `repair` that were done.
    pub(crate) repaired: u64,
    /// Runs of `cleanup` that were done.
    pub(crate) cleaned: u64,
    /// Runs of any of them that were told to try again.
    pub(crate) busy: u64,
    /// The longest that one run took.
    pub(crate) longest: Duration,
    /// Commits that cleanups made unreadable.
    pub(crate) removed: u64,
    /// Commits whose content was noted.
    pub(crate) noted: u64,
    /// Later reads of them that found the same.
    pub(crate) same: u64,
    /// Commits that were found to be gone, as they may.
    pub(crate) gone: u64,
    /// Rows that the slow scan brought.
    pub(crate) slow_rows: u64,
    /// Commits that could be read after the last cleanup.
    pub(crate) readable: u64,
    /// What the store held before the first write, after a quarter of the run, at most in its second half, and in the
    /// end.
    pub(crate) sizes: [Size; 4],
}

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Ledger {
    /// The book, for one change or one look.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        // Every change is a single step, so a panic elsewhere left it whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something contradicts what was promised.
    pub(crate) fn violation(&self, what: impl Into<String>) {
        let mut book = self.book();
        if book.violations.len() < LISTED {
            book.violations.push(what.into());
        } else {
            book.unlisted += 1;
        }
    }

    /// Notes it unless `holds`.
    pub(crate) fn expect(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violation(what());
        }
    }

    /// How many violations there are.
    pub(crate) fn violated(&self) -> usize {
        let book = self.book();
        book.violations.len() + book.unlisted
    }

    /// Whether there are more violations than anybody reads.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.book().unlisted > 0
    }

    /// The violations that are told one by one, and how many more there are.
    pub(crate) fn violations(&self) -> Vec<String> {
        let book = self.book();
        let mut listed = book.violations.clone();
        if book.unlisted > 0 {
            listed.push(format!("{} more", book.unlisted));
        }
        listed
    }
}
