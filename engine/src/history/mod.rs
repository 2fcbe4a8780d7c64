//! The commits of a graph: looking them up, what they changed, names for them, following them.

pub mod diff;
pub mod feed;
pub mod log;
pub mod tags;
