//! The server's binary: reads its configuration, starts the log and the server, waits for a signal.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use omnigraph_service::{Config, Server, shutdown, telemetry};

#[tokio::main]
async fn main() -> ExitCode {
    match run(Config::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "omnigraph-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> Result<(), omnigraph_service::StartError> {
    telemetry::start(&config)?;
    Server::bind(config).await?.until(shutdown::signal()).await
}
