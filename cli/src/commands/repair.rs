//! `repair`: looks at drift of a graph in files, and settles it.

use clap::Args;
use omnigraph_engine::maintenance::repair::{RepairOptions, RepairReport};

use super::upkeep::Branches;
use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::progress::Tables;
use crate::output::{self, repair};
use crate::target::{open_in_files, open_to_maintain};

/// Show what other programs did to the tables of a graph in files behind omnigraph's back, and publish it. Without
/// --confirm it shows what it would do, and writes nothing. With it, what changed no row is published, and what
/// interrupted writes of omnigraph left is put back; the rest is refused. Rewrites no data. Exit code 6 if a table was
/// refused or failed.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph repair TARGET [--branch NAME | --all-branches] [--force] [--confirm]\n       omnigraph repair --cluster DIR|URI --graph ID [--branch NAME | --all-branches] [--force] [--confirm]"
)]
pub(crate) struct Repair {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Branch whose tables to look at [default: main]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Look at the tables of every live branch
    #[arg(long, conflicts_with = "branch")]
    all_branches: bool,
    /// Do it instead of showing what would be done
    #[arg(long)]
    confirm: bool,
    /// Publish what may have changed rows and what cannot be examined, too. Nobody checks such rows: look at them
    /// first, and run `verify` afterwards
    #[arg(long)]
    force: bool,
}

impl Repair {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let options = RepairOptions { confirm: self.confirm, force: self.force };
        let (root, _) = context.root("repair", "", &self.scope, self.words, &Words::NONE)?;
        let doing = if options.confirm { "repairing" } else { "looking for drift in" };
        context.announce(&format!("{doing} {root}"));
        let graph = if options.confirm { open_to_maintain(&root).await? } else { open_in_files(&root).await? };
        let branches = Branches::new(self.branch, self.all_branches);
        let (mut reports, mut failure) = (Vec::new(), None);
        for branch in branches.names(&graph).await? {
            let progress = Tables::show(context, format!("looking at {branch}"));
            let outcome = graph.observed(progress.clone()).repair(&branch, options).await;
            progress.finish();
            match outcome {
                Ok(report) => reports.push(report),
                // What was done to the branches before is told all the same.
                Err(e) => {
                    failure = Some(Failure::from(e));
                    break;
                }
            }
        }
        if failure.is_none() || !reports.is_empty() {
            let json = || reports.iter().map(repair::json).collect();
            output::answer(context, json, || reports.iter().map(repair::text).collect())?;
        }
        let again = Again { root, branches };
        match failure {
            Some(failure) => Err(failure),
            None => conclude(context, &reports, options, &again),
        }
    }
}

/// Says what is next, and fails if something was refused.
fn conclude(context: &Context, reports: &[RepairReport], options: RepairOptions, again: &Again) -> Result<()> {
    let refused: usize = reports.iter().map(RepairReport::refused).sum();
    let open: usize = reports.iter().map(RepairReport::open).sum();
    if open > 0 {
        context.announce(&format!("{open} tables can be settled: `{}` is next", again.command(options.force, true)));
    }
    if refused == 0 {
        return Ok(());
    }
    let next = if options.force {
        "the errors say why".to_string()
    } else {
        format!("once you know what was done to them, `{}` shows what can be published", again.command(true, false))
    };
    Err(Failure::new(Exit::Attention, format!("{refused} tables were refused or failed and were left alone; {next}")))
}

/// The same command once more.
struct Again {
    root: String,
    branches: Branches,
}

impl Again {
    fn command(&self, force: bool, confirm: bool) -> String {
        let mut command = format!("omnigraph repair {}{}", self.root, self.branches.flag());
        for (flag, given) in [(" --force", force), (" --confirm", confirm)] {
            command.push_str(if given { flag } else { "" });
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_is_about_the_same_tables() {
        let again = |branch: Option<&str>, all_branches| Again {
            root: "/g".into(),
            branches: Branches::new(branch.map(ToString::to_string), all_branches),
        };
        assert_eq!(again(None, false).command(false, true), "omnigraph repair /g --confirm");
        assert_eq!(again(Some("b"), false).command(true, false), "omnigraph repair /g --branch b --force");
        assert_eq!(again(None, true).command(true, true), "omnigraph repair /g --all-branches --force --confirm");
    }
}
