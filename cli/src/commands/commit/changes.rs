//! `commit changes`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::ReadSelector;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::commands::wanted::WantedArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::diff;

/// Show what a commit changed against its first parent, entity by entity and property by property.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit changes TARGET ID [OPTIONS]\n       omnigraph commit changes --server URL --graph ID ID [OPTIONS]"
)]
pub(crate) struct Changes {
    /// Path or URI of the graph, unless named otherwise, and the commit's id
    #[arg(value_name = "[TARGET] ID", required = true)]
    words: Vec<String>,
    /// Show only how many entities of which type it changed
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    wanted: WantedArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Changes {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "ID");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let commit = only(words)?;
        let schema = target.read(&ReadSelector::Commit(commit.clone())).await?.schema;
        let changes = target.changes_of(&commit, &self.wanted.filter(&schema)?).await?;
        context.announce(&changes.range());
        match self.stat {
            true => diff::write_stat(context, changes).await,
            false => diff::write(context, changes, &schema).await,
        }
    }
}
