//! The OmniGraph server: gRPC and Arrow Flight over the engine, on one port.
//!
//! # What it is
//! * [`Server::bind`] starts a server from a [`Config`]; [`Running`] is one that runs.
//! * Every rpc validates, converts, calls the engine and converts back. Nothing is decided here that two
//!   servers over one storage could decide differently: servers have no state that matters.
//! * Around every call: a request id, a line of the log, the token, limits, the caller's deadline.
//! * On the same port `GET /metrics`, over plain HTTP, for a Prometheus server.
//!
//! # What it is not
//! It knows neither the storage nor how anything is stored, keeps no sessions, and has no rights beyond one
//! token for all callers.
//!
//! # Embedding
//! A program or a test runs a server of its own in its process, on a port nobody else has:
//!
//! ```no_run
//! use omnigraph_service::{Config, Server};
//!
//! # async fn example() -> Result<(), omnigraph_service::StartError> {
//! let server = Server::bind(Config::new("./data").with_token("s3cret")).await?;
//! let uri = server.uri(); // http://127.0.0.1:…, for a client
//! # let _ = uri;
//! server.shutdown().await
//! # }
//! ```
//!
//! [`Server::bind_with`] takes the engine's options too: clock, ids, injected faults. The log is the
//! embedding program's affair; the server writes `tracing` events and starts no subscriber.

mod api;
pub mod config;
pub mod convert;
pub mod error;
mod flight;
pub mod health;
pub mod limits;
pub mod metrics;
pub mod middleware;
pub mod page;
mod rpc;
pub mod server;
pub mod shutdown;
pub mod state;
pub mod status;
mod sweeper;
pub mod telemetry;

pub use config::Config;
pub use error::StartError;
pub use server::{Running, Server};
