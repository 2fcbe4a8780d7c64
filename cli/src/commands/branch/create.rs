//! `branch create`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Make a branch that starts at an existing version: the head of main, or what the version flags name.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch create TARGET NAME [OPTIONS]\n       omnigraph branch create --server URL --graph ID NAME [OPTIONS]"
)]
pub(crate) struct Create {
    /// Path or URI of the graph, unless named otherwise, and the name of the new branch
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let selector = self.version.selector()?;
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let name = only(words)?;
        context.announce(&format!("making branch {name} in {}", target.place()));
        let branch = target.create_branch(&name, &selector).await?;
        output::answer(context, || shape::branch(&branch), || table::branch(&branch))
    }
}
