//! `stats`: what a graph takes.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, upkeep};

/// Show what the tables of a graph take in its storage, how much of that is history, and how the graph is. Lists
/// every file of the graph, reads no data, changes nothing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph stats TARGET [OPTIONS]\n       omnigraph stats --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Stats {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// A branch whose tables to show; may be repeated [default: all]
    #[arg(long = "branch", value_name = "NAME")]
    branches: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Stats {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let stats = target.stats(self.branches).await?;
        output::answer(context, || upkeep::stats_json(&stats), || upkeep::stats_text(&stats))
    }
}
