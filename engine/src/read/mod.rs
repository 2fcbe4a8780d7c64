//! Reading one fixed state of the graph. Nothing here waits for a writer.

pub mod export;
pub mod get;
pub mod neighbors;
pub mod scan;
pub mod snapshot;
