//! The test suite: one binary, one module a topic, since each binary links the storage library.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod archive;
mod basics;
mod cleanup;
mod clients;
mod compat;
mod contention;
mod counts;
mod disk;
mod e2e;
mod evolve;
mod feed;
mod histories;
mod indexes;
mod maintenance;
mod merge;
mod merge_cost;
mod model;
mod object_stores;
mod progress;
mod python;
mod recoveries;
mod repair;
mod review;
mod sand;
mod search;
mod stats;
mod tags;
mod types;
mod wire;
mod wire_schema;
mod workflow;
