//! `commit cherry-pick`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ScopeArgs, WriteArgs};
use crate::commands::resolve::HowArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, merge};

/// Make again, as a new commit, what a commit of whatever branch changed against its first parent. Exit code 4 if it
/// does not go together with what the branch has: its parent is the base then, the branch is ours, and the commit is
/// theirs.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit cherry-pick TARGET ID [OPTIONS]\n       omnigraph commit cherry-pick --server URL --graph ID ID [OPTIONS]"
)]
pub(crate) struct CherryPick {
    /// Path or URI of the graph, unless named otherwise, and the commit's id
    #[arg(value_name = "[TARGET] ID", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl CherryPick {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "ID");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let (commit, branch) = (only(words)?, self.write.branch());
        context.announce(&format!("making commit {commit} again on branch {branch} of {}", target.place()));
        let how = self.how.read(&target, branch).await?;
        let options = self.write.options(target.actor());
        let applied = target.cherry_pick(&commit, &how, &options).await?;
        output::answer(context, || merge::applied_json(&applied), || merge::applied_text(&applied))
    }
}
