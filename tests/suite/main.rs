//! The test suite: one binary, one module a topic, since each binary links the storage library.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod basics;
mod clients;
mod contention;
mod counts;
mod disk;
mod e2e;
mod maintenance;
mod model;
mod object_stores;
mod python;
mod recoveries;
mod types;
mod wire;
