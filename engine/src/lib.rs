//! The OmniGraph engine: a typed property graph, versioned like source code, stored as Lance datasets on
//! local disk or an object store.
//!
//! # What it is
//! * [`Engine`] opens and creates graphs; a [`Graph`] is one open graph.
//! * A [`Snapshot`] fixes one state; everything read through it is of one moment and never waits for a
//!   writer.
//! * Every write is one atomic commit on one branch, whatever it touches.
//!
//! # What it is not
//! It knows no network protocol, no authentication and no query language. It keeps no state beside the
//! store that could not be derived again.

pub mod archive;
pub mod branch;
pub mod clock;
pub mod data;
pub mod engine;
pub mod error;
pub mod failpoint;
pub mod format;
pub mod graph;
pub mod history;
pub mod id;
pub mod intent;
pub mod limits;
pub mod maintenance;
pub mod manifest;
pub mod merge;
pub mod model;
pub mod options;
pub mod read;
pub mod recovery;
pub mod schema;
pub mod store;
pub mod txn;
pub mod write;

pub use engine::{Access, Engine};
pub use error::{Error, Kind, Reason, Result, Violation};
pub use graph::Graph;
pub use manifest::Snapshot;
pub use options::EngineOptions;
