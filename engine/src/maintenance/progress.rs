//! How far a maintenance operation is, told to whoever wants to know.

use std::fmt::Debug;

/// The graph's own tables that a maintenance of all tables counts, too: the manifest and the recovery log.
pub(super) const OWN_TABLES: usize = 2;

/// Is told of the tables that a maintenance operation works on, while it works. The operation itself makes every call
/// and waits for it, so an observer returns at once. An operation that succeeds says of every table that it announced
/// once that it is done; one that fails may stop anywhere. What is done beside tables is not told.
pub trait Observer: Debug + Send + Sync {
    /// An operation is to work on so many tables, those that turn out to need nothing included. Told once by every
    /// operation, as soon as it is known.
    fn tables(&self, total: usize);

    /// Work on a table begins. Several may be worked on at once, and one that needs nothing is never begun. `key` is
    /// `node:<Type>`, `edge:<Type>` or the name of one of the graph's own tables. A type that an operation meets on
    /// several branches, or in several datasets, is as many tables.
    fn table_begun(&self, key: &str);

    /// A table is done.
    fn table_done(&self, key: &str);
}

/// Nobody wants to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn tables(&self, _: usize) {}

    fn table_begun(&self, _: &str) {}

    fn table_done(&self, _: &str) {}
}
