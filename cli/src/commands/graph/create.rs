//! `graph create`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::commands::mutate::read_text;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{self, shape, table};
use crate::target::create;

/// Make a graph, with a schema and no data, in one atomic step.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph graph create --server URL --graph ID --schema FILE\n       omnigraph graph create TARGET --schema FILE"
)]
pub(crate) struct Create {
    /// Path or URI of the new graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// Its schema, a .pg file or - for standard input
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (address, _) = context.address(&self.scope, self.words, &Words::NONE)?;
        let source = read_schema(&self.schema)?;
        context.announce(&format!("making {address}"));
        let about = create(&address, &source, &context.caller(&self.scope)).await?;
        output::answer(context, || shape::about(&about), || table::about(&about))
    }
}

/// The text of a schema.
pub(crate) fn read_schema(file: &Path) -> Result<String> {
    let file = file.to_str().ok_or_else(|| Failure::usage("the schema's path is not UTF-8"))?;
    read_text(file)
}
