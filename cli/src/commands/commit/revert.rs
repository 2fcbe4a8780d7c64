//! `commit revert`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ScopeArgs, WriteArgs};
use crate::commands::resolve::HowArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, merge};

/// Take back, as a new commit, what a commit changed against its first parent. Exit code 4 if something of it was
/// changed again since: the commit is the base then, the branch is ours, and how it was before the commit is theirs.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit revert TARGET ID [OPTIONS]\n       omnigraph commit revert --server URL --graph ID ID [OPTIONS]"
)]
pub(crate) struct Revert {
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

impl Revert {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "ID");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let (commit, branch) = (only(words)?, self.write.branch());
        context.announce(&format!("taking back commit {commit} on branch {branch} of {}", target.place()));
        let how = self.how.read(&target, branch).await?;
        let options = self.write.options(target.actor());
        let applied = target.revert(&commit, &how, &options).await?;
        output::answer(context, || merge::applied_json(&applied), || merge::applied_text(&applied))
    }
}
