//! `omnigraph.v1.BranchService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::branch_service_server::BranchService;
use tonic::{Request, Response, Status};

use super::stream::{Call, Streamed};
use super::{about, actor, answer, branches, graph_of, merge};
use crate::api::Api;
use crate::status;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl BranchService for Api {
    async fn create_branch(&self, request: Request<v1::CreateBranchRequest>) -> Answer<v1::CreateBranchResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        answer(&request.graph.clone(), async { branches::create(&self.state, request, actor?).await }).await
    }

    async fn get_branch(&self, request: Request<v1::GetBranchRequest>) -> Answer<v1::GetBranchResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), branches::get(&self.state, request)).await
    }

    async fn list_branches(&self, request: Request<v1::ListBranchesRequest>) -> Answer<v1::ListBranchesResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), branches::list(&self.state, request)).await
    }

    async fn delete_branch(&self, request: Request<v1::DeleteBranchRequest>) -> Answer<v1::DeleteBranchResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        answer(&request.graph.clone(), async { branches::delete(&self.state, request, actor?).await }).await
    }

    async fn protect_branch(&self, request: Request<v1::ProtectBranchRequest>) -> Answer<v1::ProtectBranchResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        answer(&request.graph.clone(), async { branches::protect(&self.state, request, actor?).await }).await
    }

    async fn merge_branch(&self, request: Request<v1::MergeBranchRequest>) -> Answer<v1::MergeBranchResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { merge::merge(&self.state, request, actor?).await }).await
    }

    type PreviewMergeStream = Streamed<v1::PreviewMergeResponse>;

    async fn preview_merge(&self, request: Request<v1::PreviewMergeRequest>) -> Answer<Self::PreviewMergeStream> {
        let graph = request.get_ref().graph.clone();
        let call = Call::of(request.extensions(), &graph);
        match merge::preview(&self.state, request.into_inner()).await {
            Ok(parts) => Ok(call.respond(parts)),
            Err(e) => Err(status::from_error(about(&graph, e))),
        }
    }

    async fn revert_commit(&self, request: Request<v1::RevertCommitRequest>) -> Answer<v1::RevertCommitResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { merge::revert(&self.state, request, actor?).await }).await
    }

    async fn cherry_pick_commit(
        &self,
        request: Request<v1::CherryPickCommitRequest>,
    ) -> Answer<v1::CherryPickCommitResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { merge::cherry_pick(&self.state, request, actor?).await }).await
    }

    async fn restore_branch(&self, request: Request<v1::RestoreBranchRequest>) -> Answer<v1::RestoreBranchResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        let graph = graph_of(request.options.as_ref());
        answer(&graph, async { merge::restore(&self.state, request, actor?).await }).await
    }
}
