//! The program `omnigraph`. Everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    omnigraph_cli::main(std::env::args_os())
}
