//! `recoveries show`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Show what became of an interrupted operation, and what it had done to each table. Changes nothing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph recoveries show TARGET OPERATION\n       omnigraph recoveries show --server URL --graph ID OPERATION"
)]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise, and the operation's id or how it begins, 8 characters at least
    #[arg(value_name = "[TARGET] OPERATION", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "OPERATION");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let recovery = target.recovery(&only(words)?).await?;
        output::answer(context, || shape::recovery(&recovery), || table::recovery(&recovery))
    }
}
