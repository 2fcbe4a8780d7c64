//! `index status`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, upkeep};

/// Show how far every index is that the schema of a version asks for: whether it is built, and which rows it covers.
/// Changes nothing; `optimize` builds what is missing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph index status TARGET [OPTIONS]\n       omnigraph index status --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Status {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let selector = self.version.selector()?;
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let found = target.index_status(&selector).await?;
        output::answer(context, || upkeep::indexes_json(&found), || upkeep::indexes_text(&found))
    }
}
