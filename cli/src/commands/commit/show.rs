//! `commit show`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Show a commit: by its id, or the one a write left under its request id.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit show TARGET ID\n       omnigraph commit show TARGET --request-id ID [--branch NAME]\n       omnigraph commit show --server URL --graph ID ID"
)]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise, and the commit's id
    #[arg(value_name = "[TARGET] ID")]
    words: Vec<String>,
    /// The request id the write carried, in place of the commit's
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// The branch that was written to [default: main]
    #[arg(long, value_name = "NAME", requires = "request_id")]
    branch: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = match self.request_id {
            Some(_) => Words::NONE,
            None => Words::exactly(1, "ID, or --request-id ID"),
        };
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let commit = match &self.request_id {
            Some(request) => {
                let branch = self.branch.as_deref().unwrap_or(MAIN);
                target.commit_by_request(branch, request).await?
            }
            None => target.commit(&only(words)?).await?,
        };
        output::answer(context, || shape::commit(&commit), || table::commit(&commit))
    }
}
