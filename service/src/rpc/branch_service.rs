//! `omnigraph.v1.BranchService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::branch_service_server::BranchService;
use tonic::{Request, Response, Status};

use super::stream::Streamed;
use super::{actor, answer, branches};
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

    async fn merge_branch(&self, _request: Request<v1::MergeBranchRequest>) -> Answer<v1::MergeBranchResponse> {
        Err(status::not_implemented("omnigraph.v1.BranchService/MergeBranch"))
    }

    type PreviewMergeStream = Streamed<v1::PreviewMergeResponse>;

    async fn preview_merge(&self, _request: Request<v1::PreviewMergeRequest>) -> Answer<Self::PreviewMergeStream> {
        Err(status::not_implemented("omnigraph.v1.BranchService/PreviewMerge"))
    }
}
