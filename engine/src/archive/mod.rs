//! A whole graph as one stream of lines, and a graph from such a stream: how a graph moves to a release that does not
//! read its storage stamp.
//!
//! An archive holds *points*: the states of the graph that can still be read, each as the change from the nearest one
//! before it that it descends from. An import makes a commit of each. Both sides count and add up hashes of all rows
//! as they go, so that what was written is known to be what was read.

mod digest;
mod entity;
mod evolved;
mod import;
mod line;
mod lines;
mod plan;
mod replay;
mod sink;
mod write;

pub use import::{Genesis, Import, ImportReport};
pub use write::{ArchiveOptions, write};
