//! `tag protect`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, tags};

/// Protect a tag against deletion, or lift its protection.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph tag protect TARGET NAME [--off]\n       omnigraph tag protect --server URL --graph ID NAME [--off]"
)]
pub(crate) struct Protect {
    /// Path or URI of the graph, unless named otherwise, and the tag's name
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
        context.announce(&format!("{doing} tag {name} of {}", target.place()));
        let tag = target.protect_tag(&name, !self.off).await?;
        output::answer(context, || tags::json(&tag), || tags::text(&tag))
    }
}
