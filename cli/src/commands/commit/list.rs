//! `commit list`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// List the commits of a branch, newest first, those it shares with its parent included.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit list TARGET [OPTIONS]\n       omnigraph commit list --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The branch
    #[arg(long, value_name = "NAME", default_value = MAIN)]
    branch: String,
    /// Commits at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let commits = target.commits(&self.branch, self.limit, false).await?;
        let json = || commits.iter().map(shape::commit).collect();
        output::answer(context, json, || table::commits(&commits))
    }
}
