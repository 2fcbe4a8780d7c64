//! `snapshot`: how a version is stored.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Show how a version is stored: storage stamp, and per type the Lance dataset, branch, version and rows.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph snapshot TARGET [OPTIONS]\n       omnigraph snapshot --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Snapshot {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Snapshot {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let selector = self.version.selector()?;
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let stored = target.stored(&selector).await?;
        output::answer(context, || shape::stored(&stored, &selector), || table::stored(&stored))
    }
}
