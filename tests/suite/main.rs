//! The test suite: one binary, one module a topic, since each binary links the storage library.

mod basics;
mod counts;
mod crash;
mod e2e;
mod python;
mod types;
