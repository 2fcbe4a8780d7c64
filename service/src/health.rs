//! Whether the server takes calls, by the standard health protocol: as a whole, and per service.

use omnigraph_proto::v1::branch_service_server::SERVICE_NAME as BRANCHES;
use omnigraph_proto::v1::commit_service_server::SERVICE_NAME as COMMITS;
use omnigraph_proto::v1::graph_service_server::SERVICE_NAME as GRAPHS;
use omnigraph_proto::v1::maintenance_service_server::SERVICE_NAME as MAINTENANCE;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

/// The Flight service's name, which its crate does not give away.
const FLIGHT: &str = "arrow.flight.protocol.FlightService";

/// Every name that can be asked about; the empty one is the server as a whole.
const NAMES: [&str; 6] = ["", GRAPHS, BRANCHES, COMMITS, MAINTENANCE, FLIGHT];

/// See the module header.
#[derive(Clone, Debug)]
pub struct Health {
    reporter: HealthReporter,
}

impl Health {
    /// Not serving yet, and the service that says so.
    pub async fn new() -> (Self, HealthServer<HealthService>) {
        let health = Self { reporter: HealthReporter::new() };
        health.set(ServingStatus::NotServing).await;
        let service = HealthService::from_health_reporter(health.reporter.clone());
        (health, HealthServer::new(service))
    }

    /// Calls are taken.
    pub async fn serving(&self) {
        self.set(ServingStatus::Serving).await;
    }

    /// Calls should go elsewhere.
    pub async fn not_serving(&self) {
        self.set(ServingStatus::NotServing).await;
    }

    /// Ends the streams of those who watch, which would otherwise keep a shutdown waiting.
    pub async fn end_watches(&mut self) {
        for name in NAMES {
            self.reporter.clear_service_status(name).await;
        }
    }

    async fn set(&self, status: ServingStatus) {
        for name in NAMES {
            self.reporter.set_service_status(name, status).await;
        }
    }
}
