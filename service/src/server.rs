//! Puts a server together and runs it: the services, what happens around their calls, and its end.

mod connection;

use std::net::SocketAddr;
use std::path::Path;

use arrow_flight::flight_service_server::FlightServiceServer;
use omnigraph_engine::EngineOptions;
use omnigraph_proto::FILE_DESCRIPTOR_SET;
use omnigraph_proto::v1::branch_service_server::BranchServiceServer;
use omnigraph_proto::v1::commit_service_server::CommitServiceServer;
use omnigraph_proto::v1::graph_service_server::GraphServiceServer;
use omnigraph_proto::v1::maintenance_service_server::MaintenanceServiceServer;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::service::{Routes, RoutesBuilder};
use tower::ServiceBuilder;

use crate::api::Api;
use crate::config::Config;
use crate::error::StartError;
use crate::health::Health;
use crate::limits::{KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT, MAX_FLIGHT_MESSAGE_BYTES, STREAM_WINDOW_BYTES};
use crate::metrics::Metrics;
use crate::middleware::Around;
use crate::middleware::auth::RequireToken;
use crate::middleware::count::CountCalls;
use crate::middleware::deadline::HonourDeadline;
use crate::middleware::limits::LimitCalls;
use crate::middleware::plain::PlainHttp;
use crate::middleware::request_id::NameCalls;
use crate::middleware::trace::TraceCalls;
use crate::middleware::whole::WholeUploads;
use crate::shutdown::Plan;
use crate::state::{Known, State};
use crate::sweeper;

/// Makes servers.
#[derive(Clone, Copy, Debug)]
pub struct Server;

/// A server that runs. Dropping it shuts it down without waiting.
#[derive(Debug)]
pub struct Running {
    local_addr: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<Result<(), StartError>>,
    _stop_when_dropped: DropGuard,
}

impl Server {
    /// Starts a server in this process. It takes calls when this returns.
    ///
    /// # Errors
    /// Whatever keeps it from starting; nothing runs then.
    pub async fn bind(config: Config) -> Result<Running, StartError> {
        Self::bind_with(config, EngineOptions::default()).await
    }

    /// The same over an engine with these options: another clock, other ids, injected faults.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn bind_with(mut config: Config, options: EngineOptions) -> Result<Running, StartError> {
        config.check()?;
        config.read_token()?;
        let state = State::new(&config, options.clone());
        if config.strict {
            open_all(&state).await?;
        }
        let listener = TcpListener::bind(config.listen).await.map_err(StartError::Listen)?;
        let local_addr = listener.local_addr().map_err(StartError::Listen)?;
        let (health, health_service) = Health::new().await;
        let routes = routes(&config, Api::new(state.clone()), health_service)?;
        let plan = Plan {
            health: health.clone(),
            state: state.clone(),
            refuse: state.draining().clone(),
            cut: CancellationToken::new(),
            delay: std::time::Duration::from_secs(config.shutdown_delay_seconds),
            drain: config.drain(),
        };
        let stop = CancellationToken::new();
        // From here on, giving up stops what runs.
        let guard = stop.clone().drop_guard();
        let task = tokio::spawn(run(config.clone(), options, routes, listener, plan, stop.clone()));
        if let Some(interval) = config.recovery_interval() {
            tokio::spawn(sweeper::run(state, interval, stop.clone()));
        }
        health.serving().await;
        if let Some(file) = &config.port_file {
            write_port(file, local_addr.port()).await?;
        }
        if config.is_open_to_the_network() {
            tracing::warn!(address = %local_addr, "anyone who can reach this server is let in: it has no token");
        }
        tracing::info!(address = %local_addr, read_only = config.read_only, "serving");
        Ok(Running { local_addr, _stop_when_dropped: guard, stop, task })
    }
}

impl Running {
    /// The address that is listened on, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address as clients take it.
    pub fn uri(&self) -> String {
        format!("http://{}", self.local_addr)
    }

    /// Shuts the server down and waits until it is: not ready, no new connections, a bounded time for calls
    /// under way.
    ///
    /// # Errors
    /// The server had stopped by itself.
    pub async fn shutdown(self) -> Result<(), StartError> {
        self.stop.cancel();
        self.task.await.unwrap_or_else(|e| Err(StartError::Serve(e.to_string())))
    }

    /// Runs until `signal`, then shuts down; earlier if the server stops by itself.
    ///
    /// # Errors
    /// The server stopped by itself.
    pub async fn until(mut self, signal: impl Future<Output = ()>) -> Result<(), StartError> {
        tokio::select! {
            ended = &mut self.task => return ended.unwrap_or_else(|e| Err(StartError::Serve(e.to_string()))),
            () = signal => {}
        }
        self.shutdown().await
    }
}

/// Serves until `stop`, then shuts down as planned.
async fn run(
    config: Config,
    options: EngineOptions,
    routes: Routes,
    listener: TcpListener,
    plan: Plan,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let metrics = Metrics::new(plan.state.clone());
    let token = RequireToken(config.token);
    let around = ServiceBuilder::new()
        .layer(Around(NameCalls::new(options.clock, options.ids)))
        .layer(Around(PlainHttp::new(metrics.clone(), token.clone())))
        .layer(Around(CountCalls(metrics.calls().clone())))
        .layer(Around(TraceCalls))
        .layer(Around(token))
        .layer(Around(LimitCalls::new(config.max_calls, config.max_watchers)))
        .layer(Around(HonourDeadline))
        .layer(Around(WholeUploads))
        .into_inner();
    let refused = plan.refuse.clone();
    let serving = tonic::transport::Server::builder()
        // For those who read the metrics; rpcs over it are refused.
        .accept_http1(true)
        .max_concurrent_streams(config.max_streams)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(STREAM_WINDOW_BYTES * 4)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .layer(around)
        .add_routes(routes)
        .serve_with_incoming_shutdown(
            connection::accept(listener, plan.cut.clone(), config.max_streams),
            refused.cancelled_owned(),
        );
    let mut served = Box::pin(serving);
    tokio::select! {
        ended = &mut served => {
            let why = ended.err().map_or_else(|| "nothing listens any more".to_string(), |e| e.to_string());
            return Err(StartError::Serve(why));
        }
        () = stop.cancelled() => {}
    }
    plan.carry_out(served).await;
    Ok(())
}

/// Every service of the server.
fn routes<H>(config: &Config, api: Api, health: H) -> Result<Routes, StartError>
where
    H: tower::Service<
            http::Request<tonic::body::Body>,
            Response = http::Response<tonic::body::Body>,
            Error = std::convert::Infallible,
        > + tonic::server::NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    H::Future: Send,
{
    let bytes = config.max_message_bytes;
    let flight_bytes = bytes.max(MAX_FLIGHT_MESSAGE_BYTES);
    let mut routes = RoutesBuilder::default();
    routes
        .add_service(health)
        .add_service(GraphServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(BranchServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(CommitServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(MaintenanceServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(FlightServiceServer::new(api).max_decoding_message_size(flight_bytes));
    if !config.no_reflection {
        // Older tools ask for the older of the two.
        let describe = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let failed = |e: tonic_reflection::server::Error| StartError::Reflection(e.to_string());
        routes.add_service(describe().build_v1().map_err(failed)?);
        routes.add_service(describe().build_v1alpha().map_err(failed)?);
    }
    Ok(routes.routes())
}

/// Opens every graph, for a server that had rather not start than serve some of them.
async fn open_all(state: &State) -> Result<(), StartError> {
    let unusable = |id: &str, e: &omnigraph_engine::Error| {
        StartError::Graph(format!("graph {id:?} cannot be opened: {}", crate::status::as_answer(e).1))
    };
    let graphs = state.list().await.map_err(|e| StartError::Storage(e.message().to_string()))?;
    for (id, known) in graphs {
        if let Known::Quarantined(e) = &known {
            return Err(unusable(&id, e));
        }
        state.graph(&id).await.map_err(|e| unusable(&id, &e))?;
    }
    Ok(())
}

/// Written beside and renamed, so that a reader finds no port or the whole one.
async fn write_port(file: &Path, port: u16) -> Result<(), StartError> {
    let mut staged = file.as_os_str().to_owned();
    staged.push(".tmp");
    tokio::fs::write(&staged, format!("{port}\n")).await.map_err(StartError::PortFile)?;
    tokio::fs::rename(&staged, file).await.map_err(StartError::PortFile)
}
