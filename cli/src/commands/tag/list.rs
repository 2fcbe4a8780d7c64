//! `tag list`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, tags};

/// List the tags, by name.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph tag list TARGET\n       omnigraph tag list --server URL --graph ID")]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let found = target.tags().await?;
        output::answer(context, || found.iter().map(tags::json).collect(), || tags::table(&found))
    }
}
