//! Why a server does not start or stop. Errors of calls are the engine's, and become statuses in `status`.

use std::fmt;
use std::io;

/// See the module header. The message says what to do.
#[derive(Debug)]
pub enum StartError {
    /// The storage address cannot be used.
    Storage(String),
    /// The token cannot be used.
    Token(String),
    /// The log cannot be set up as asked.
    Log(String),
    /// The address cannot be listened on.
    Listen(io::Error),
    /// The port file cannot be written.
    PortFile(io::Error),
    /// The services cannot be described.
    Reflection(String),
    /// A graph cannot be opened, and the server was told to be strict.
    Graph(String),
    /// The server stopped by itself.
    Serve(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(why) => write!(f, "the storage cannot be used: {}", crate::status::redact(why)),
            Self::Token(why) => write!(f, "the token is {why}"),
            Self::Log(why) => write!(f, "the log cannot be set up: {why}"),
            Self::Listen(e) => write!(f, "the address cannot be listened on: {e}"),
            Self::PortFile(e) => write!(f, "the port file cannot be written: {e}"),
            Self::Reflection(why) => write!(f, "the services cannot be described: {why}"),
            Self::Graph(why) => write!(f, "{why}"),
            Self::Serve(why) => write!(f, "the server stopped: {why}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen(e) | Self::PortFile(e) => Some(e),
            _ => None,
        }
    }
}
