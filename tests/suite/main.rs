//! The test suite: one binary, one module a topic, since each binary links the storage library.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod basics;
mod cleanup;
mod clients;
mod contention;
mod counts;
mod disk;
mod e2e;
mod indexes;
mod maintenance;
mod model;
mod object_stores;
mod python;
mod recoveries;
mod repair;
mod search;
mod stats;
mod types;
mod wire;
