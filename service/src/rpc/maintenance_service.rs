//! `omnigraph.v1.MaintenanceService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::maintenance_service_server::MaintenanceService;
use tonic::{Request, Response, Status};

use super::{answer, recoveries, stats};
use crate::api::Api;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl MaintenanceService for Api {
    async fn list_recoveries(&self, request: Request<v1::ListRecoveriesRequest>) -> Answer<v1::ListRecoveriesResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), recoveries::list(&self.state, request)).await
    }

    async fn get_recovery(&self, request: Request<v1::GetRecoveryRequest>) -> Answer<v1::GetRecoveryResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), recoveries::get(&self.state, request)).await
    }

    async fn get_stats(&self, request: Request<v1::GetStatsRequest>) -> Answer<v1::GetStatsResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), stats::get(&self.state, request)).await
    }

    async fn get_index_status(
        &self,
        request: Request<v1::GetIndexStatusRequest>,
    ) -> Answer<v1::GetIndexStatusResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), stats::indexes(&self.state, request)).await
    }
}
