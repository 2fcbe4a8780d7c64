//! `omnigraph.v1.GraphService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::graph_service_server::GraphService;
use tonic::{Request, Response, Status, Streaming};

use super::stream::{Call, Streamed};
use super::{
    about, actor, answer, catalog, entities, evolve, export, graph_of, load, mutate, neighbors, search, versions,
};
use crate::api::Api;
use crate::status;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl GraphService for Api {
    async fn create_graph(&self, request: Request<v1::CreateGraphRequest>) -> Answer<v1::CreateGraphResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        answer(&request.graph.clone(), async { catalog::create(&self.state, request, actor?).await }).await
    }

    async fn get_graph(&self, request: Request<v1::GetGraphRequest>) -> Answer<v1::GetGraphResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), catalog::get(&self.state, request)).await
    }

    async fn list_graphs(&self, request: Request<v1::ListGraphsRequest>) -> Answer<v1::ListGraphsResponse> {
        answer("", catalog::list(&self.state, request.into_inner())).await
    }

    async fn delete_graph(&self, request: Request<v1::DeleteGraphRequest>) -> Answer<v1::DeleteGraphResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), catalog::delete(&self.state, request)).await
    }

    async fn get_schema(&self, request: Request<v1::GetSchemaRequest>) -> Answer<v1::GetSchemaResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), versions::get_schema(&self.state, request)).await
    }

    async fn plan_schema(&self, request: Request<v1::PlanSchemaRequest>) -> Answer<v1::PlanSchemaResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), evolve::plan(&self.state, request)).await
    }

    async fn apply_schema(&self, request: Request<v1::ApplySchemaRequest>) -> Answer<v1::ApplySchemaResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { evolve::apply(&self.state, request, actor?).await }).await
    }

    async fn diff_schemas(&self, request: Request<v1::DiffSchemasRequest>) -> Answer<v1::DiffSchemasResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), evolve::diff(&self.state, request)).await
    }

    async fn get_snapshot(&self, request: Request<v1::GetSnapshotRequest>) -> Answer<v1::GetSnapshotResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), versions::get_snapshot(&self.state, request)).await
    }

    async fn load(&self, request: Request<Streaming<v1::LoadRequest>>) -> Answer<v1::LoadResponse> {
        let actor = actor(request.metadata());
        let mut parts = request.into_inner();
        let header = load::header(&mut parts).await.map_err(status::from_error)?;
        let graph = graph_of(header.options.as_ref());
        answer(&graph, async { load::load(&self.state, header, parts, actor?).await }).await
    }

    async fn mutate(&self, request: Request<v1::MutateRequest>) -> Answer<v1::MutateResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { mutate::mutate(&self.state, request, actor?).await }).await
    }

    async fn get_entities(&self, request: Request<v1::GetEntitiesRequest>) -> Answer<v1::GetEntitiesResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), entities::get(&self.state, request)).await
    }

    async fn neighbors(&self, request: Request<v1::NeighborsRequest>) -> Answer<v1::NeighborsResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), neighbors::get(&self.state, request)).await
    }

    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<v1::SearchResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), search::get(&self.state, request)).await
    }

    type ExportStream = Streamed<v1::ExportResponse>;

    async fn export(&self, request: Request<v1::ExportRequest>) -> Answer<Self::ExportStream> {
        let graph = request.get_ref().graph.clone();
        let call = Call::of(request.extensions(), &graph);
        match export::export(&self.state, request.into_inner()).await {
            Ok(parts) => Ok(call.respond(parts)),
            Err(e) => Err(status::from_error(about(&graph, e))),
        }
    }
}
