//! The commits of a graph.

pub mod log;
