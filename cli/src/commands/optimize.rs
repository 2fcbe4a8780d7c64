//! `optimize`: compacts the tables of a graph in files.

use clap::Args;
use omnigraph_engine::limits::MAINTENANCE_CONCURRENCY;
use omnigraph_engine::maintenance::optimize::{OptimizeReport, Skipped};
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::{self, shape, table};
use crate::target::open_to_maintain;

/// The environment variable that says how many tables are worked on at once.
const CONCURRENCY: &str = "OMNIGRAPH_MAINTENANCE_CONCURRENCY";

/// Rewrite small fragments of a graph in files into fewer large ones, as one commit that changes no content.
/// Writers and readers go on meanwhile. Exit code 6 if a table has drifted and needs `repair`.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph optimize TARGET [--branch NAME | --all-branches]\n       omnigraph optimize --cluster DIR|URI --graph ID [--branch NAME | --all-branches]"
)]
pub(crate) struct Optimize {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Branch whose tables to compact [default: main]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Compact the tables of every live branch
    #[arg(long, conflicts_with = "branch")]
    all_branches: bool,
}

impl Optimize {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let concurrency = concurrency()?;
        let (root, _) = context.root("optimize", "", &self.scope, self.words, &Words::NONE)?;
        context.announce(&format!("optimizing {root}"));
        let graph = open_to_maintain(&root).await?;
        let branches = if self.all_branches {
            graph.branches().await?.into_iter().map(|b| b.name).collect()
        } else {
            vec![self.branch.unwrap_or_else(|| MAIN.to_string())]
        };
        let mut reports = Vec::with_capacity(branches.len());
        for branch in branches {
            reports.push(graph.optimize(&branch, concurrency).await?);
        }
        let json = || reports.iter().map(shape::optimized).collect();
        output::answer(context, json, || reports.iter().map(table::optimized).collect())?;
        match drifted(&reports) {
            0 => Ok(()),
            n => {
                let what = format!("{n} tables have drifted and were left alone; `omnigraph repair {root}` is next");
                Err(Failure::new(Exit::Attention, what))
            }
        }
    }
}

fn drifted(reports: &[OptimizeReport]) -> usize {
    let tables = reports.iter().flat_map(|r| &r.tables);
    tables.filter(|t| t.skipped == Some(Skipped::DriftNeedsRepair)).count()
}

fn concurrency() -> Result<usize> {
    match std::env::var(CONCURRENCY) {
        Ok(text) if !text.is_empty() => match text.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(Failure::usage(format!("{CONCURRENCY}={text:?} is no number of tables above 0"))),
        },
        _ => Ok(MAINTENANCE_CONCURRENCY),
    }
}
