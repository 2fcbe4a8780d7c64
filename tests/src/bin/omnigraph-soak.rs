//! The soak, and the helper of tests that work with processes: as `cli` it is the command line, so that a test
//! runs what was built with it, and as `keep` it holds a store that must not outlive its test.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use omnigraph_tests::servers::keep;
use omnigraph_tests::soak::{self, Options};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match words.get(1).and_then(|word| word.to_str()) {
        Some("cli") => omnigraph_cli::main(std::iter::once("omnigraph".into()).chain(words.into_iter().skip(2))),
        Some(keep::WORD) => keep::run(words.into_iter().skip(2)),
        _ => soak(&Options::parse_from(words)),
    }
}

fn soak(options: &Options) -> ExitCode {
    let run = || {
        let this = std::env::current_exe()?;
        tokio::runtime::Runtime::new()?.block_on(soak::run(options, &this))
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "the soak could not be run: {e}");
            ExitCode::FAILURE
        }
    }
}
