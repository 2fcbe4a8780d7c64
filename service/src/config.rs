//! What a server is told when it starts: arguments, environment variables, defaults.
//!
//! Every option is an argument and an environment variable. The token is neither: it comes from
//! `OMNIGRAPH_TOKEN` or from a file, so that it shows in no list of processes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use clap::builder::FalseyValueParser;
use omnigraph_engine::Access;
use omnigraph_engine::engine::graph_root;
use omnigraph_engine::store::root::Root;

use crate::error::StartError;
use crate::limits;
use crate::middleware::auth::Token;
use crate::telemetry::LogFormat;

/// What is logged unless told otherwise: the storage library reports every file it touches as news.
const DEFAULT_LOG: &str = "info,lance=warn";

/// The environment variable that holds the token.
const TOKEN_VARIABLE: &str = "OMNIGRAPH_TOKEN";

/// The configuration of a server. In code, start from [`Config::new`].
#[derive(Clone, Debug, Parser)]
#[command(name = "omnigraph-server", version, about = "Serves versioned property graphs over gRPC and Arrow Flight")]
pub struct Config {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, env = "OMNIGRAPH_LISTEN", default_value = "127.0.0.1:50051", value_name = "ADDRESS")]
    pub listen: SocketAddr,

    /// Where the graphs are: a folder or an s3:// address; graph ID is at STORAGE/graphs/ID.omni
    #[arg(long, env = "OMNIGRAPH_STORAGE", value_name = "STORAGE")]
    pub storage: String,

    /// Serve for reading only: nothing is ever written, not even a recovery
    #[arg(long, env = "OMNIGRAPH_READ_ONLY", value_parser = FalseyValueParser::new())]
    pub read_only: bool,

    /// Refuse to start if a graph cannot be opened, instead of serving the others
    #[arg(long, env = "OMNIGRAPH_STRICT", value_parser = FalseyValueParser::new())]
    pub strict: bool,

    /// File with the token that callers must send; OMNIGRAPH_TOKEN holds it instead
    #[arg(long, env = "OMNIGRAPH_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// File to write the bound port to once the server listens
    #[arg(long, env = "OMNIGRAPH_PORT_FILE", value_name = "FILE")]
    pub port_file: Option<PathBuf>,

    /// Folder for loads on their way in; the system's temporary folder unless given
    #[arg(long, env = "OMNIGRAPH_SPOOL_DIR", value_name = "FOLDER")]
    pub spool_dir: Option<PathBuf>,

    /// Do not describe the services to callers that ask (gRPC reflection)
    #[arg(long, env = "OMNIGRAPH_NO_REFLECTION", value_parser = FalseyValueParser::new())]
    pub no_reflection: bool,

    /// Form of the log
    #[arg(long, env = "OMNIGRAPH_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub log_format: LogFormat,

    /// What to log, as tracing directives, for example `info,omnigraph_engine=debug`
    #[arg(
        long,
        env = "OMNIGRAPH_LOG",
        default_value = DEFAULT_LOG,
        value_name = "DIRECTIVES"
    )]
    pub log: String,

    /// Largest request message, in bytes
    #[arg(long, env = "OMNIGRAPH_MAX_MESSAGE_BYTES", default_value_t = limits::MAX_MESSAGE_BYTES, value_name = "BYTES")]
    pub max_message_bytes: usize,

    /// Most calls under way on one connection
    #[arg(long, env = "OMNIGRAPH_MAX_STREAMS", default_value_t = limits::MAX_STREAMS, value_name = "CALLS")]
    pub max_streams: u32,

    /// Most calls under way in all
    #[arg(long, env = "OMNIGRAPH_MAX_CALLS", default_value_t = limits::MAX_CALLS, value_name = "CALLS")]
    pub max_calls: usize,

    /// Most followers of branches, beside the calls under way
    #[arg(long, env = "OMNIGRAPH_MAX_WATCHERS", default_value_t = limits::MAX_WATCHERS, value_name = "CALLS")]
    pub max_watchers: usize,

    /// Largest load, in bytes as they arrive
    #[arg(long, env = "OMNIGRAPH_MAX_LOAD_BYTES", default_value_t = limits::MAX_LOAD_BYTES, value_name = "BYTES")]
    pub max_load_bytes: u64,

    /// Most bytes of all loads under way
    #[arg(long, env = "OMNIGRAPH_MAX_SPOOLED_BYTES", default_value_t = limits::MAX_SPOOLED_BYTES, value_name = "BYTES")]
    pub max_spooled_bytes: u64,

    /// Seconds that calls under way get to finish at shutdown
    #[arg(long, env = "OMNIGRAPH_DRAIN_SECONDS", default_value_t = limits::DRAIN_SECONDS, value_name = "SECONDS")]
    pub drain_seconds: u64,

    /// Seconds between reporting not ready and refusing connections, for load balancers to notice
    #[arg(long, env = "OMNIGRAPH_SHUTDOWN_DELAY_SECONDS", default_value_t = 0, value_name = "SECONDS")]
    pub shutdown_delay_seconds: u64,

    /// Seconds between looks for interrupted writes on every open graph; 0 leaves them to the next writer
    #[arg(
        long,
        env = "OMNIGRAPH_RECOVERY_INTERVAL_SECONDS",
        default_value_t = limits::RECOVERY_INTERVAL_SECONDS,
        value_name = "SECONDS"
    )]
    pub recovery_interval_seconds: u64,

    /// The token that callers must send. None: everyone is let in.
    #[arg(skip)]
    pub token: Option<Token>,
}

impl Config {
    /// The defaults, over this storage, on a free port of this machine.
    pub fn new(storage: impl Into<String>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            storage: storage.into(),
            read_only: false,
            strict: false,
            token_file: None,
            port_file: None,
            spool_dir: None,
            no_reflection: false,
            log_format: LogFormat::Text,
            log: DEFAULT_LOG.to_string(),
            max_message_bytes: limits::MAX_MESSAGE_BYTES,
            max_streams: limits::MAX_STREAMS,
            max_calls: limits::MAX_CALLS,
            max_watchers: limits::MAX_WATCHERS,
            max_load_bytes: limits::MAX_LOAD_BYTES,
            max_spooled_bytes: limits::MAX_SPOOLED_BYTES,
            drain_seconds: limits::DRAIN_SECONDS,
            shutdown_delay_seconds: 0,
            recovery_interval_seconds: limits::RECOVERY_INTERVAL_SECONDS,
            token: None,
        }
    }

    /// The same with a token that callers must send.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(Token::new(token));
        self
    }

    /// Takes the token from the environment or the token file, unless it is set already.
    ///
    /// # Errors
    /// A token in both places, an empty one, or an unreadable file.
    pub fn read_token(&mut self) -> Result<(), StartError> {
        let variable = std::env::var(TOKEN_VARIABLE).ok().filter(|text| !text.is_empty());
        if self.token.is_none() {
            self.token = token(variable, self.token_file.as_deref())?;
        }
        Ok(())
    }

    /// Checks what can be checked before anything is opened.
    ///
    /// # Errors
    /// A storage address that is not usable.
    pub fn check(&self) -> Result<(), StartError> {
        let unusable = |e: omnigraph_engine::Error| StartError::Storage(e.message().to_string());
        if self.storage.trim().is_empty() {
            return Err(StartError::Storage("the storage address is empty".to_string()));
        }
        let root = graph_root(self.storage_address(), "x").map_err(unusable)?;
        Root::parse(&root).map_err(unusable)?;
        Ok(())
    }

    /// The storage as the engine takes it: `file:data` is the folder `data`.
    pub fn storage_address(&self) -> &str {
        let storage = self.storage.trim_end_matches('/');
        match storage.strip_prefix("file:") {
            Some(path) if !path.starts_with("//") => path,
            _ => storage,
        }
    }

    /// How graphs are opened.
    pub fn access(&self) -> Access {
        if self.read_only { Access::ReadOnly } else { Access::ReadWrite }
    }

    /// How long calls under way get to finish.
    pub fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }

    /// How long between looks for interrupted operations; `None` if there are none, as where nothing is written.
    pub fn recovery_interval(&self) -> Option<Duration> {
        let looks = self.recovery_interval_seconds > 0 && self.access() == Access::ReadWrite;
        looks.then_some(Duration::from_secs(self.recovery_interval_seconds))
    }

    /// Whether anyone who can reach the server is let in.
    pub fn is_open_to_the_network(&self) -> bool {
        self.token.is_none() && !self.listen.ip().is_loopback()
    }
}

fn token(variable: Option<String>, file: Option<&Path>) -> Result<Option<Token>, StartError> {
    let text = match (variable, file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(StartError::Token(format!("given by {TOKEN_VARIABLE} and by a file; use one")));
        }
        (Some(text), None) => text,
        (None, Some(file)) => std::fs::read_to_string(file).map_err(|e| unreadable(file, &e))?,
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(StartError::Token("empty".to_string()));
    }
    Ok(Some(Token::new(text)))
}

fn unreadable(file: &Path, error: &io::Error) -> StartError {
    StartError::Token(format!("not readable from {}: {error}", file.display()))
}

#[cfg(test)]
mod tests;
