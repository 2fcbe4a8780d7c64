//! `omnigraph.v1.CommitService`.

use omnigraph_proto::v1;
use omnigraph_proto::v1::commit_service_server::CommitService;
use tonic::{Request, Response, Status};

use super::stream::{Call, Streamed};
use super::{about, actor, answer, changes, commits, tags, watch};
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

    async fn list_changes(&self, request: Request<v1::ListChangesRequest>) -> Answer<Self::ListChangesStream> {
        let graph = request.get_ref().graph.clone();
        let call = Call::of(request.extensions(), &graph);
        match changes::list(&self.state, request.into_inner()).await {
            Ok(parts) => Ok(call.respond(parts)),
            Err(e) => Err(status::from_error(about(&graph, e))),
        }
    }

    type WatchCommitsStream = Streamed<v1::WatchCommitsResponse>;

    async fn watch_commits(&self, request: Request<v1::WatchCommitsRequest>) -> Answer<Self::WatchCommitsStream> {
        let graph = request.get_ref().graph.clone();
        let call = Call::of(request.extensions(), &graph);
        match watch::watch(&self.state, request.into_inner()).await {
            Ok(parts) => Ok(call.respond(parts)),
            Err(e) => Err(status::from_error(about(&graph, e))),
        }
    }

    async fn create_tag(&self, request: Request<v1::CreateTagRequest>) -> Answer<v1::CreateTagResponse> {
        let actor = actor(request.metadata());
        let request = request.into_inner();
        answer(&request.graph.clone(), async { tags::create(&self.state, request, actor?).await }).await
    }

    async fn get_tag(&self, request: Request<v1::GetTagRequest>) -> Answer<v1::GetTagResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), tags::get(&self.state, request)).await
    }

    async fn list_tags(&self, request: Request<v1::ListTagsRequest>) -> Answer<v1::ListTagsResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), tags::list(&self.state, request)).await
    }

    async fn protect_tag(&self, request: Request<v1::ProtectTagRequest>) -> Answer<v1::ProtectTagResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), tags::protect(&self.state, request)).await
    }

    async fn delete_tag(&self, request: Request<v1::DeleteTagRequest>) -> Answer<v1::DeleteTagResponse> {
        let request = request.into_inner();
        answer(&request.graph.clone(), tags::delete(&self.state, request)).await
    }
}
