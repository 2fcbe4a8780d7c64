//! `recoveries list`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// List the operations that were found interrupted and were completed or taken back, newest first. Changes nothing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph recoveries list TARGET [OPTIONS]\n       omnigraph recoveries list --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The branch they were on [default: all]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Recoveries at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let recoveries = target.recoveries(self.branch.as_deref(), self.limit).await?;
        let json = || recoveries.iter().map(shape::recovery).collect();
        output::answer(context, json, || table::recoveries(&recoveries))
    }
}
