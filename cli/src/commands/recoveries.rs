//! `recoveries list`: completed recoveries of a graph in files.

use clap::{Args, Subcommand};

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};
use crate::target::open_in_files;

/// Look at completed recoveries of a graph in files.
#[derive(Debug, Subcommand)]
pub(crate) enum Recoveries {
    /// List them, oldest first
    List(List),
}

/// List every interrupted operation that was completed or taken back, oldest first. Changes nothing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph recoveries list TARGET\n       omnigraph recoveries list --cluster DIR|URI --graph ID"
)]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Recoveries {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let Self::List(list) = self;
        let (root, _) = context.root("recoveries list", "", &list.scope, list.words, &Words::NONE)?;
        context.announce(&format!("reading {root}"));
        let rows = open_in_files(&root).await?.recoveries().await?;
        let json = || rows.iter().map(shape::recovery).collect();
        output::answer(context, json, || table::recoveries(&rows))
    }
}
