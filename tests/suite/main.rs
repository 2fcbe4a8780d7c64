//! The test suite: one binary, one module a topic, since each binary links the storage library.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod basics;
mod contention;
mod counts;
mod crash;
mod disk;
mod e2e;
mod model;
mod python;
mod types;
mod wire;
