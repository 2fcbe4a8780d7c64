//! The real engine under a scheduler: every order of the steps of two writers, every place to die, and random
//! crowds that can be repeated from their seed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod crowd;
mod cuts;
mod explore;
mod pairs;
mod protocol;
mod stage;

/// Says what was explored, also when the tests pass: the harness keeps only what is printed by macros to itself.
pub(crate) fn tell(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "explored: {what}");
}
