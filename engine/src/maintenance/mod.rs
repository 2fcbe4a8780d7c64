//! Looking after a graph.

pub mod optimize;
pub mod verify;
