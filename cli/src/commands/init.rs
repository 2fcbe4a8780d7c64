//! `init`: makes a graph in files.

use std::path::PathBuf;

use clap::Args;
use omnigraph_engine::schema;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::commands::graph::create::read_schema;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};
use crate::target::create_in_files;

/// Make a graph in files, in one atomic step. Through a server, use `omnigraph graph create`.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph init TARGET --schema FILE\n       omnigraph init --cluster DIR|URI --graph ID --schema FILE"
)]
pub(crate) struct Init {
    /// Path or URI of the new graph
    #[arg(value_name = "TARGET", hide = true)]
    words: Vec<String>,
    /// Its schema, a .pg file or - for standard input
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Note to store with the first commit
    #[arg(long, short, value_name = "TEXT", default_value = "")]
    message: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Init {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let instead = "; a server makes a graph with `omnigraph graph create --server URL --graph ID`";
        let (root, _) = context.root("init", instead, &self.scope, self.words, &Words::NONE)?;
        let schema = schema::parse(&read_schema(&self.schema)?)?;
        context.announce(&format!("making a graph at {root}"));
        let outcome = create_in_files(&root, schema, &context.caller(&self.scope), &self.message).await?;
        output::answer(context, || shape::outcome(&outcome), || table::outcome(&outcome))
    }
}
