//! `graph list`.

use clap::Args;
use futures::TryStreamExt;
use omnigraph_client::{GraphState, GraphSummary};
use serde_json::{Value as Json, json};

use crate::address::{Address, Words};
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{self, table};
use crate::target::connect;

/// List the graphs of a server. One that cannot be opened is listed with the reason.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph graph list --server URL")]
pub(crate) struct List {
    /// Address of the server, unless named otherwise
    #[arg(value_name = "URL")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if self.scope.graph.is_some() {
            return Err(Failure::usage("--graph means nothing here: all graphs of the server are listed"));
        }
        let (address, _) = context.address(&self.scope, self.words, &Words::NONE)?;
        let Address::Server { url, .. } = address else {
            return Err(Failure::usage("only a server knows its graphs; give --server URL"));
        };
        let client = connect(&url, &context.caller(&self.scope)).await?;
        let graphs: Vec<GraphSummary> = client.list_graphs().try_collect().await?;
        output::answer(context, || graphs.iter().map(shape).collect(), || text(&graphs))
    }
}

fn shape(graph: &GraphSummary) -> Json {
    let (state, reason, detail) = match &graph.state {
        GraphState::Unknown => ("unknown", None, None),
        GraphState::Ready => ("ready", None, None),
        GraphState::Quarantined { reason, detail } => ("quarantined", reason.map(|r| r.reason()), Some(detail)),
    };
    json!({"graph": graph.id, "root": graph.root_uri, "state": state, "reason": reason, "detail": detail})
}

fn text(graphs: &[GraphSummary]) -> String {
    let mut table = table::with_heads(["graph", "state", "root"]);
    for graph in graphs {
        let state = match &graph.state {
            GraphState::Unknown => "not looked at yet".to_string(),
            GraphState::Ready => "ready".to_string(),
            GraphState::Quarantined { detail, .. } => format!("quarantined: {detail}"),
        };
        table.add_row([graph.id.clone(), state, graph.root_uri.clone()]);
    }
    table.to_string()
}
