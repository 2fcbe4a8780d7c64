//! Looking after a graph.

pub mod cleanup;
pub mod index_status;
pub mod optimize;
pub mod progress;
mod recovered;
pub mod repair;
pub mod retention;
pub mod stats;
pub mod verify;
