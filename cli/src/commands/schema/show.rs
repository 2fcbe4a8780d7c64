//! `schema show`.

use clap::Args;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape};

/// Show the schema of a version as .pg text.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph schema show TARGET [OPTIONS]\n       omnigraph schema show --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Show {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (reader, _) = context.reader(&self.scope, &self.version, self.words, &Words::NONE).await?;
        let json = || shape::schema(&reader.commit, &reader.source, &reader.schema);
        output::answer(context, json, || reader.source.clone())
    }
}
