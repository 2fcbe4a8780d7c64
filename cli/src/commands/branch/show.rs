//! `branch show`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Show a branch and its head.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch show TARGET NAME\n       omnigraph branch show --server URL --graph ID NAME"
)]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise, and the branch's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let branch = target.branch(&only(words)?).await?;
        output::answer(context, || shape::branch(&branch), || table::branch(&branch))
    }
}
