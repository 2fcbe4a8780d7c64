//! The command line: reads arguments, works on a graph in files or on a server, and answers.
//!
//! Data go to stdout and all else to stderr. What a command answers, and the code it exits with, do not depend
//! on where the graph is. It holds no logic of its own: files go through the engine, servers through the
//! client.

mod address;
mod args;
mod changes;
mod cluster;
mod commands;
mod config;
mod consent;
mod context;
mod failure;
mod filter;
mod literal;
mod output;
mod selector;
mod target;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::GlobalArgs;
use commands::Command;
use context::Context;
use failure::{Exit, Failure};
use output::colour::Paint;
use output::note;

/// Work with OmniGraph graphs, in files or on a server.
#[derive(Debug, Parser)]
#[command(
    name = "omnigraph",
    version,
    disable_help_subcommand = true,
    after_help = "A graph is named by a path or URI before the other words (./social.omni, s3://bucket/social.omni), \
                  by --server URL --graph ID, or by --cluster DIR --graph ID. Exit codes: 0 done, 1 failed, 2 usage, \
                  3 not found, 4 conflict or precondition, 5 no consent, 6 recovery or drift needs attention."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

/// Stack of the threads that work: storage plans are deep.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Runs the command line with these arguments, the program's name first. Effect, output and exit code are
/// documented in `docs/cli.md`.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let json = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return misread(&error, json),
    };
    log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let done = match runtime {
        // On a worker, which has the stack for it.
        Ok(runtime) => {
            let done = runtime.block_on(async { tokio::spawn(run(cli)).await });
            // Not waiting for a thread that may still read standard input.
            runtime.shutdown_background();
            done
        }
        Err(e) => Ok(Err(Failure::io("cannot start", &e))),
    };
    let done = done.unwrap_or_else(|e| Err(Failure::new(Exit::Failed, format!("the command broke down: {e}"))));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_unheard() => ExitCode::SUCCESS,
        Err(failure) => {
            note::failure(&failure, json);
            ExitCode::from(failure.exit() as u8)
        }
    }
}

async fn run(cli: Cli) -> failure::Result<()> {
    let context = Context::new(&cli.global)?;
    cli.command.run(&context).await
}

/// Help and versions are answers; anything else is a command line that makes no sense.
fn misread(error: &clap::Error, json: bool) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if json && !asked {
        let text = error.to_string();
        let text = text.trim_start_matches("error:").trim();
        note::failure(&Failure::usage(text), true);
    } else {
        // There is nowhere to report that the terminal is gone.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

/// Warnings of the libraries, and what `OMNIGRAPH_LOG` asks for, go to stderr.
fn log() {
    let wanted = tracing_subscriber::EnvFilter::try_from_env("OMNIGRAPH_LOG");
    let filter = wanted.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    let colour = Paint::stderr() == Paint::Coloured;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    // Whoever embeds the command line may have one already.
    let _ = subscriber.try_init();
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_preview_takes_nothing_that_writes() {
        let parse = |words: &str| Cli::try_parse_from(words.split_whitespace());
        assert!(parse("omnigraph branch merge g review --into main --preview --strategy ours").is_ok());
        assert!(parse("omnigraph branch merge g b --expected-head c --resolve A/a=ours --resolve B/b=base").is_ok());
        assert!(parse("omnigraph branch merge g review --preview --delete-source").is_err());
        assert!(parse("omnigraph branch merge g review --preview --request-id r").is_err());
        assert!(parse("omnigraph branch merge g review --strategy base").is_err());
        assert!(parse("omnigraph branch restore g main").is_err(), "nothing is restored by omission");
    }

    #[test]
    fn a_plan_takes_nothing_that_writes() {
        let parse = |words: &str| Cli::try_parse_from(words.split_whitespace());
        assert!(parse("omnigraph schema plan g s.pg --branch b --rename A=B --rename edge:C.d=e").is_ok());
        assert!(parse("omnigraph schema apply g - --yes --expected-head c --message m --request-id r --json").is_ok());
        assert!(parse("omnigraph schema diff g main tag:v1").is_ok());
        for words in ["plan g s.pg --yes", "plan g s.pg --message m", "diff g a --yes", "plan", "apply", "diff"] {
            assert!(parse(&format!("omnigraph schema {words}")).is_err(), "{words}");
        }
    }

    #[test]
    fn a_read_takes_one_way_to_name_a_version() {
        let parse = |words: &str| Cli::try_parse_from(words.split_whitespace());
        assert!(parse("omnigraph scan g Person --branch b --at 2013-01-31").is_ok());
        assert!(parse("omnigraph scan g Person --version 3 --branch b").is_ok());
        assert!(parse("omnigraph scan g Person --commit c --branch b").is_err());
        assert!(parse("omnigraph scan g Person --tag v1").is_ok());
        assert!(parse("omnigraph scan g Person --tag v1 --branch b").is_err());
        assert!(parse("omnigraph scan g Person --tag v1 --at 2013-01-31").is_err());
        assert!(parse("omnigraph scan g Person --tag v1 --commit c").is_err());
        assert!(parse("omnigraph scan g Person --at 2013-01-31 --version 3").is_err());
        assert!(parse("omnigraph scan g Person --yes").is_err());
        assert!(parse("omnigraph scan g Person --json --output csv").is_err());
    }
}
