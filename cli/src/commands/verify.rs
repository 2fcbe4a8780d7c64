//! `verify`: checks every invariant of a graph in files.

use clap::Args;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::progress::Tables;
use crate::output::{self, shape, table};
use crate::target::open_in_files;

/// Check every invariant of a graph on every live branch. Changes nothing. Exit code 6 if one is broken.
#[derive(Debug, Args)]
#[command(override_usage = "omnigraph verify TARGET\n       omnigraph verify --cluster DIR|URI --graph ID")]
pub(crate) struct Verify {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Verify {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (root, _) = context.root("verify", "", &self.scope, self.words, &Words::NONE)?;
        context.announce(&format!("checking {root}"));
        let graph = open_in_files(&root).await?;
        let progress = Tables::show(context, "checking");
        let report = graph.observed(progress.clone()).verify().await;
        progress.finish();
        let report = report?;
        output::answer(context, || shape::report(graph.root(), &report), || table::report(&report))?;
        if report.is_clean() {
            return Ok(());
        }
        let what = format!("{} problems in {}", report.problems.len(), graph.root());
        Err(Failure::new(Exit::Attention, what))
    }
}
