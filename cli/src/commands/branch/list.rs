//! `branch list`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// List the live branches, main included, by name.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph branch list TARGET\n       omnigraph branch list --server URL --graph ID")]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let branches = target.branches().await?;
        let json = || branches.iter().map(shape::branch).collect();
        output::answer(context, json, || table::branches(&branches))
    }
}
