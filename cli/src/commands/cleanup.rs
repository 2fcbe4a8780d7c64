//! `cleanup`: removes old states of a graph in files, and what nothing refers to.

use std::time::Duration;

use clap::Args;
use omnigraph_engine::maintenance::cleanup::CleanupOptions;

use super::upkeep;
use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs};
use crate::consent;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::progress::Tables;
use crate::output::{self, cleanup};
use crate::target::open_to_maintain;

/// Commits below which a branch has no state left to go back to when something goes wrong.
const RECOVERY_FLOOR: u64 = 3;

/// Remove old states of a graph in files, on every live branch, and what nothing refers to. Writers and readers go on
/// meanwhile. Without --confirm it shows what it would remove. What a removed commit showed cannot be read any more; the
/// commit stays in the history. Heads, states that branches were made from, and states that running reads hold stay.
/// --keep 10 is a good beginning. Exit code 6 if an interrupted write or a table that has drifted stands in the way.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph cleanup TARGET (--keep N | --older-than AGE)... [--confirm] [--yes]\n       omnigraph cleanup --cluster DIR|URI --graph ID (--keep N | --older-than AGE)... [--confirm] [--yes]"
)]
pub(crate) struct Cleanup {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Keep the newest N commits of every live branch, inherited ones included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    keep: Option<u64>,
    /// Remove only what is older: 7d, 12h, 30m, 45s, or several as in 1d12h. With --keep too, a commit goes only if both
    /// let it
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Do it instead of showing what would be done
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    consent: ConsentArgs,
}

impl Cleanup {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let options = self.options()?;
        let (root, _) = context.root("cleanup", "", &self.scope, self.words, &Words::NONE)?;
        let doing = if options.confirm { "cleaning up" } else { "looking at what a cleanup would remove of" };
        context.announce(&format!("{doing} {root}"));
        if options.keep.is_some_and(|keep| keep < RECOVERY_FLOOR) {
            context.announce(&format!(
                "warning: --keep below {RECOVERY_FLOOR} may leave nothing to go back to when something goes wrong; \
                 --keep 10 is safe"
            ));
        }
        if options.confirm && !is_local(&root) {
            consent::ask(context, &self.consent, &format!("remove old states of the graph at {root}, for good"))?;
        }
        let graph = open_to_maintain(&root).await?;
        let progress = Tables::show(context, if options.confirm { "cleaning up" } else { "looking" });
        let report = graph.observed(progress.clone()).cleanup(&options).await;
        progress.finish();
        let report = report?;
        output::answer(context, || cleanup::json(graph.root(), &report), || cleanup::text(&report))?;
        match report.errors() {
            0 => Ok(()),
            n => {
                let what = format!("{n} entries have errors; the rest is done, run the cleanup again for what is left");
                Err(Failure::new(Exit::Failed, what))
            }
        }
    }

    fn options(&self) -> Result<CleanupOptions> {
        if self.keep.is_none() && self.older_than.is_none() {
            return Err(Failure::usage(
                "say what may go: --keep N (10 is a good beginning), --older-than AGE (as in 7d), or both",
            ));
        }
        Ok(CleanupOptions {
            keep: self.keep,
            older_than: self.older_than,
            confirm: self.confirm,
            concurrency: upkeep::concurrency()?,
        })
    }
}

/// Whether a root is on this machine, where nobody else loses anything.
fn is_local(root: &str) -> bool {
    root.split_once("://").is_none_or(|(scheme, _)| matches!(scheme, "file" | "memory" | "shared-memory"))
}

/// Reads `7d`, `12h`, `30m`, `45s`, and several of them in a row.
fn age(text: &str) -> std::result::Result<Duration, String> {
    let refuse = || format!("{text:?} is no age; write 7d, 12h, 30m, 45s, or several as in 1d12h");
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let unit_seconds = match unit.chars().next() {
            Some('d') => 86_400,
            Some('h') => 3_600,
            Some('m') => 60,
            Some('s') => 1,
            _ => return Err(refuse()),
        };
        let more = number.checked_mul(unit_seconds).and_then(|more| seconds.checked_add(more));
        seconds = more.ok_or_else(refuse)?;
        rest = unit.get(1..).unwrap_or_default();
    }
    match seconds {
        0 => Err(refuse()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_numbers_with_units() {
        for (text, seconds) in [
            ("7d", 604_800),
            ("12h", 43_200),
            ("30m", 1_800),
            ("45s", 45),
            ("1d12h", 129_600),
            ("1h1m1s", 3_661),
            ("0d5s", 5),
        ] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in
            ["", "7", "d", "7x", "-1d", "1.5h", "7 d", "7dd", "0s", "99999999999999999999d", "9999999999999999d"]
        {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stores_that_others_share_are_told_from_this_machine() {
        for (root, local) in [
            ("./g.omni", true),
            ("/data/g.omni", true),
            ("file:///data/g.omni", true),
            ("shared-memory://a/g", true),
            ("s3://bucket/g.omni", false),
            ("gs://bucket/g.omni", false),
            ("az://container/g.omni", false),
        ] {
            assert_eq!(is_local(root), local, "{root}");
        }
    }
}
