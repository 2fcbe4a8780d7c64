//! `optimize`: compacts the tables of a graph in files.

use clap::Args;
use omnigraph_engine::Reason;
use omnigraph_engine::maintenance::optimize::{OptimizeReport, Skipped};

use super::upkeep::{self, Branches};
use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::progress::Tables;
use crate::output::{self, shape, table};
use crate::target::open_to_maintain;

/// Rewrite small fragments of a graph in files into fewer large ones, as one commit that changes no content.
/// Writers and readers go on meanwhile. A branch that fails stops no other. Exit code 6 if a table has drifted and
/// needs `repair`.
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

/// A branch, and what became of it.
type Done = (String, Result<OptimizeReport>);

impl Optimize {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let concurrency = upkeep::concurrency()?;
        let (root, _) = context.root("optimize", "", &self.scope, self.words, &Words::NONE)?;
        context.announce(&format!("optimizing {root}"));
        let graph = open_to_maintain(&root).await?;
        let branches = Branches::new(self.branch, self.all_branches);
        let mut done: Vec<Done> = Vec::new();
        for branch in branches.names(&graph).await? {
            let progress = Tables::show(context, format!("optimizing {branch}"));
            let outcome = graph.observed(progress.clone()).optimize(&branch, concurrency).await;
            progress.finish();
            match outcome {
                // It was there when the branches were listed, and somebody deleted it since.
                Err(e) if self.all_branches && e.reason() == Reason::BranchNotFound => {}
                // There is nothing to tell but the failure.
                Err(e) if !self.all_branches => return Err(e.into()),
                outcome => done.push((branch, outcome.map_err(Failure::from))),
            }
        }
        let json = |(branch, outcome): &Done| match outcome {
            Ok(report) => shape::optimized(report),
            Err(failure) => shape::not_optimized(branch, failure),
        };
        let text = |(_, outcome): &Done| outcome.as_ref().map(table::optimized).unwrap_or_default();
        output::answer(context, || done.iter().map(json).collect(), || done.iter().map(text).collect())?;
        conclude(&done, &format!("omnigraph repair {root}{}", branches.flag()))
    }
}

/// Fails if a branch failed, or if a table has drifted: `repair` is next then.
fn conclude(done: &[Done], repair: &str) -> Result<()> {
    let failures: Vec<(&str, &Failure)> =
        done.iter().filter_map(|(branch, outcome)| Some((branch.as_str(), outcome.as_ref().err()?))).collect();
    let drifted = drifted(done.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()));
    let mut exits: Vec<Exit> = failures.iter().map(|(_, failure)| failure.exit()).collect();
    let mut told = Vec::new();
    if !failures.is_empty() {
        let (failed, all) = (failures.len(), done.len());
        let mut what = format!("{failed} of {all} branches could not be optimized");
        for (branch, failure) in failures {
            let reason = failure.reason().map(|reason| format!(" [{reason}]")).unwrap_or_default();
            what.push_str(&format!("\n  {branch}: {}{reason}", failure.message()));
        }
        told.push(what);
    }
    if drifted > 0 {
        exits.push(Exit::Attention);
        told.push(format!("{drifted} tables have drifted and were left alone; `{repair}` is next"));
    }
    match worst(exits) {
        None => Ok(()),
        Some(exit) => Err(Failure::new(exit, told.join("\n"))),
    }
}

/// The worst of several exit codes: what somebody has to look into, then what failed for good, then what another try may
/// mend.
fn worst(exits: Vec<Exit>) -> Option<Exit> {
    exits.into_iter().max_by_key(|exit| match exit {
        Exit::Attention => 2,
        Exit::Failed => 1,
        _ => 0,
    })
}

fn drifted<'a>(reports: impl Iterator<Item = &'a OptimizeReport>) -> usize {
    reports.flat_map(|report| &report.tables).filter(|t| t.skipped == Some(Skipped::DriftNeedsRepair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::Error;
    use omnigraph_engine::maintenance::optimize::TableStats;

    const REPAIR: &str = "omnigraph repair /g --all-branches";

    fn fine(branch: &str, skipped: Option<Skipped>) -> Done {
        let table = TableStats {
            table_key: "node:Person".into(),
            fragments_removed: 0,
            fragments_added: 0,
            committed: false,
            skipped,
            manifest_version: Some(1),
            lance_head_version: Some(2),
            pending_indexes: Vec::new(),
        };
        (branch.into(), Ok(OptimizeReport { branch: branch.into(), commit: None, tables: vec![table] }))
    }

    fn failed(branch: &str, reason: Reason) -> Done {
        (branch.into(), Err(Error::new(reason, format!("why {branch}")).into()))
    }

    #[test]
    fn what_went_wrong_is_told_in_the_end_with_the_worst_code() {
        assert!(conclude(&[fine("main", None), fine("b", Some(Skipped::Inherited))], REPAIR).is_ok());
        let main = || fine("main", None);
        let drifts = || fine("d", Some(Skipped::DriftNeedsRepair));
        let [busy, broken, stuck] = [Reason::TooMuchContention, Reason::DataCorrupt, Reason::RecoveryRequired];
        for (done, exit) in [
            (vec![main(), failed("b", busy)], Exit::Conflict),
            (vec![main(), failed("b", busy), failed("c", broken)], Exit::Failed),
            (vec![failed("main", broken), failed("b", busy)], Exit::Failed),
            (vec![failed("main", stuck), failed("b", broken), failed("c", busy)], Exit::Attention),
            (vec![drifts(), main()], Exit::Attention),
            (vec![failed("b", broken), drifts()], Exit::Attention),
        ] {
            assert_eq!(conclude(&done, REPAIR).unwrap_err().exit(), exit, "{done:?}");
        }
        let both = conclude(&[main(), failed("b", broken), failed("c", stuck), drifts()], REPAIR).unwrap_err();
        assert_eq!(
            both.message(),
            "2 of 4 branches could not be optimized\n  b: why b [DATA_CORRUPT]\n  c: why c [RECOVERY_REQUIRED]\n1 tables \
             have drifted and were left alone; `omnigraph repair /g --all-branches` is next"
        );
    }
}
