//! The real engine under a scheduler: every order of the steps of two writers, every place to die, and random
//! crowds that can be repeated from their seed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod crowd;
mod cuts;
mod explore;
mod pairs;
mod protocol;
mod stage;
