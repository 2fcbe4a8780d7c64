//! `branch protect`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Protect a branch, or lift its protection. A protected branch cannot be deleted, and takes no writes but merges and
/// maintenance.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch protect TARGET NAME [--off]\n       omnigraph branch protect --server URL --graph ID NAME [--off]"
)]
pub(crate) struct Protect {
    /// Path or URI of the graph, unless named otherwise, and the branch's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    /// Lift the protection
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Protect {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let name = only(words)?;
        let doing = if self.off { "lifting the protection of" } else { "protecting" };
        context.announce(&format!("{doing} branch {name} of {}", target.place()));
        let branch = target.protect_branch(&name, !self.off).await?;
        output::answer(context, || shape::branch(&branch), || table::branch(&branch))
    }
}
