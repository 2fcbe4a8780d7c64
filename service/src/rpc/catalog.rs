//! Graphs: make, look at, list, remove.

use omnigraph_engine::Graph;
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::format::stamp;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{Actor, ReadSelector};
use omnigraph_proto::v1;
use omnigraph_proto::v1::graph_summary;

use crate::convert::{commit, required, schema, time};
use crate::page::{self, Listing, Position};
use crate::state::{Known, State};
use crate::status;

/// `CreateGraph`.
pub(super) async fn create(
    state: &State,
    request: v1::CreateGraphRequest,
    actor: Actor,
) -> Result<v1::CreateGraphResponse> {
    let root = state.root(&request.graph)?;
    state.ensure_writable()?;
    let schema = schema::definition_to_engine(request.schema)?;
    let (engine, owner, id) = (state.engine().clone(), state.clone(), request.graph.clone());
    let graph = state
        .finish(async move {
            let (graph, _) = engine.create(&root, schema, &actor, "").await?;
            owner.adopt(&id, graph.clone()).await;
            Ok(graph)
        })
        .await?;
    let graph = describe(&request.graph, &graph).await?;
    Ok(v1::CreateGraphResponse { graph: Some(graph) })
}

/// `GetGraph`.
pub(super) async fn get(state: &State, request: v1::GetGraphRequest) -> Result<v1::GetGraphResponse> {
    let graph = state.graph(&request.graph).await?;
    let graph = describe(&request.graph, &graph).await?;
    Ok(v1::GetGraphResponse { graph: Some(graph) })
}

async fn describe(id: &str, graph: &Graph) -> Result<v1::Graph> {
    let head = graph.snapshot(&ReadSelector::default()).await?;
    let main = graph.branch(MAIN).await?;
    Ok(v1::Graph {
        id: id.to_string(),
        root_uri: graph.root().to_string(),
        storage_stamp: stamp::CURRENT,
        head: Some(commit::ref_to_proto(&head, true)),
        created_at: Some(time::to_proto(main.created_at)),
    })
}

/// `ListGraphs`.
pub(super) async fn list(state: &State, mut request: v1::ListGraphsRequest) -> Result<v1::ListGraphsResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("ListGraphs", &request);
    let after = listing.open(&token)?.map(|p| p.after);
    let all = state.list().await?;
    let mut rest = all.into_iter().filter(|(id, _)| after.as_ref().is_none_or(|after| id > after));
    let mut graphs = Vec::new();
    for (id, known) in rest.by_ref().take(size) {
        graphs.push(summary(state, id, &known)?);
    }
    let next_page_token = match (rest.next(), graphs.last()) {
        (Some(_), Some(last)) => listing.seal(&Position { after: last.id.clone(), ..Position::default() }),
        _ => String::new(),
    };
    Ok(v1::ListGraphsResponse { graphs, next_page_token })
}

fn summary(state: &State, id: String, known: &Known) -> Result<v1::GraphSummary> {
    let root_uri = state.root(&id)?;
    let (state, (error, detail)) = match known {
        Known::Unknown => (graph_summary::State::Unspecified, Default::default()),
        Known::Ready => (graph_summary::State::Ready, Default::default()),
        Known::Quarantined(why) => (graph_summary::State::Quarantined, status::as_answer(why)),
    };
    Ok(v1::GraphSummary { id, root_uri, state: state.into(), error: error.into(), detail })
}

/// `DeleteGraph`.
pub(super) async fn delete(state: &State, request: v1::DeleteGraphRequest) -> Result<v1::DeleteGraphResponse> {
    required("graph", &request.graph)?;
    let root = state.root(&request.graph)?;
    state.ensure_writable()?;
    if request.confirm != request.graph {
        let what =
            format!("this removes the graph {0:?} for good; set `confirm` to {0:?} if that is meant", request.graph);
        return Err(Error::new(Reason::ConfirmationRequired, what)
            .with("field", "confirm")
            .with("expected", &request.graph));
    }
    let (engine, owner, id) = (state.engine().clone(), state.clone(), request.graph);
    state
        .finish(async move {
            let removed = engine.remove(&root).await;
            // Even a removal that broke off leaves nothing that should go on being used.
            owner.forget(&id);
            removed
        })
        .await?;
    Ok(v1::DeleteGraphResponse {})
}
