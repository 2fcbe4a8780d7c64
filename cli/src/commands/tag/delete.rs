//! `tag delete`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs};
use crate::consent;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, shape};

/// Delete a tag. Its commit stays for as long as anything else keeps it from being cleaned up.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph tag delete TARGET NAME [OPTIONS]\n       omnigraph tag delete --server URL --graph ID NAME [OPTIONS]"
)]
pub(crate) struct Delete {
    /// Path or URI of the graph, unless named otherwise, and the tag's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
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
        let from = format!("tag {name} of {}", target.place());
        context.announce(&format!("deleting {from}"));
        consent::ask(context, &self.consent, &format!("delete {from}"))?;
        let tag = target.delete_tag(&name).await?;
        let text = || format!("deleted tag {name} of commit {}", tag.commit);
        output::answer(context, || shape::deleted("tag", &name), text)
    }
}
