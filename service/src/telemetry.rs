//! The log: one line per event on standard error, as text or as JSON.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::error::StartError;

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Starts the log of this process. For the server's binary; a program that embeds the server has a log of
/// its own.
///
/// # Errors
/// Directives that make no sense, or a log that is set up already.
pub fn start(config: &Config) -> Result<(), StartError> {
    let filter = EnvFilter::try_new(&config.log).map_err(|e| StartError::Log(e.to_string()))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|e| StartError::Log(e.to_string()))
}
