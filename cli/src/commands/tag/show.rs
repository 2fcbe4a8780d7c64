//! `tag show`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, tags};

/// Show a tag and the commit it names.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph tag show TARGET NAME\n       omnigraph tag show --server URL --graph ID NAME")]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise, and the tag's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let tag = target.tag(&only(words)?).await?;
        output::answer(context, || tags::json(&tag), || tags::text(&tag))
    }
}
