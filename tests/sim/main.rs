//! The real engine under a scheduler: every order of the steps of two writers, every place to die, and random
//! crowds that can be repeated from their seed.
//!
//! What is small by default goes deeper if the environment says so: `OMNIGRAPH_SIM_DEEP=1` dies a second time at every
//! place of a recovery instead of at one, lets either of two processes die also where maintenance or a merge is one of
//! them, and checks everything again at the end of each run; `OMNIGRAPH_SIM_SWITCHES=2` lets two processes take turns
//! more often; `OMNIGRAPH_SIM_ONLY=merge` explores only those orders whose name holds this.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

mod crowd;
mod cuts;
mod explore;
mod pairs;
mod parted;
mod protocol;
mod stage;
mod states;
mod stock;

/// Says what was explored, also when the tests pass: the harness keeps only what is printed by macros to itself.
pub(crate) fn tell(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "explored: {what}");
}

/// Whether to search for long. See the module header.
pub(crate) fn deep() -> bool {
    std::env::var("OMNIGRAPH_SIM_DEEP").is_ok_and(|text| text == "1")
}
