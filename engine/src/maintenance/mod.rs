//! Looking after a graph.

pub mod verify;
