//! `omnigraph.v1.CommitService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::commit_service_server::CommitService;
use tonic::{Request, Response, Status};

use super::stream::Streamed;
use super::{answer, commits};
use crate::api::Api;
use crate::status;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl CommitService for Api {
    async fn get_commit(&self, request: Request<v1::GetCommitRequest>) -> Answer<v1::GetCommitResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), commits::get(&self.state, request)).await
    }

    async fn list_commits(&self, request: Request<v1::ListCommitsRequest>) -> Answer<v1::ListCommitsResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), commits::list(&self.state, request)).await
    }

    type ListChangesStream = Streamed<v1::ListChangesResponse>;

    async fn list_changes(&self, _request: Request<v1::ListChangesRequest>) -> Answer<Self::ListChangesStream> {
        Err(status::not_implemented("omnigraph.v1.CommitService/ListChanges"))
    }

    type WatchCommitsStream = Streamed<v1::WatchCommitsResponse>;

    async fn watch_commits(&self, _request: Request<v1::WatchCommitsRequest>) -> Answer<Self::WatchCommitsStream> {
        Err(status::not_implemented("omnigraph.v1.CommitService/WatchCommits"))
    }

    async fn create_tag(&self, _request: Request<v1::CreateTagRequest>) -> Answer<v1::CreateTagResponse> {
        Err(status::not_implemented("omnigraph.v1.CommitService/CreateTag"))
    }

    async fn get_tag(&self, _request: Request<v1::GetTagRequest>) -> Answer<v1::GetTagResponse> {
        Err(status::not_implemented("omnigraph.v1.CommitService/GetTag"))
    }

    async fn list_tags(&self, _request: Request<v1::ListTagsRequest>) -> Answer<v1::ListTagsResponse> {
        Err(status::not_implemented("omnigraph.v1.CommitService/ListTags"))
    }

    async fn delete_tag(&self, _request: Request<v1::DeleteTagRequest>) -> Answer<v1::DeleteTagResponse> {
        Err(status::not_implemented("omnigraph.v1.CommitService/DeleteTag"))
    }
}
