//! `graph show`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Show where a graph is and how far.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph graph show TARGET\n       omnigraph graph show --server URL --graph ID")]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let about = target.about().await?;
        output::answer(context, || shape::about(&about), || table::about(&about))
    }
}
