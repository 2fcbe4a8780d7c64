//! Reading one fixed state of the graph. Nothing here waits for a writer.

mod batch;
pub(crate) mod delta;
pub mod export;
pub mod get;
mod lens;
pub mod neighbors;
pub mod scan;
pub mod search;
pub mod snapshot;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
