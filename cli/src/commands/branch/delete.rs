//! `branch delete`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs};
use crate::consent;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape};

/// Delete a branch. Branches made from it, and commits they share with it, stay.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch delete TARGET NAME [OPTIONS]\n       omnigraph branch delete --server URL --graph ID NAME [OPTIONS]"
)]
pub(crate) struct Delete {
    /// Path or URI of the graph, unless named otherwise, and the branch's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    /// Delete it even if its lineage can no longer be read
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Delete {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let name = only(words)?;
        let from = format!("branch {name} of {}", target.place());
        context.announce(&format!("deleting {from}"));
        consent::ask(context, &self.consent, &format!("delete {from}"))?;
        target.delete_branch(&name, self.force).await?;
        output::answer(context, || shape::deleted("branch", &name), || format!("deleted branch {name}"))
    }
}
