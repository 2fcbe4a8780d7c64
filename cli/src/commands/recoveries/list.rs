//! `recoveries list`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape, table};

/// Older recoveries that are counted, to say how many there are beside those that are shown.
const COUNTED: usize = 1_000;

/// List the operations that were found interrupted and were completed or taken back, newest first. Changes nothing.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph recoveries list TARGET [OPTIONS]\n       omnigraph recoveries list --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct List {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The branch they were on [default: all]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Recoveries at most; a note says how many older ones there are
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl List {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let asked = self.limit.saturating_add(COUNTED + 1);
        let mut recoveries = target.recoveries(self.branch.as_deref(), asked).await?;
        let older = recoveries.len().saturating_sub(self.limit);
        recoveries.truncate(self.limit);
        let json = || recoveries.iter().map(shape::recovery).collect();
        output::answer(context, json, || table::recoveries(&recoveries))?;
        if let Some(note) = left_out(self.limit, older) {
            context.announce(&note);
        }
        Ok(())
    }
}

/// What to say of recoveries that are older than the `limit` ones that were shown, and how to see them.
fn left_out(limit: usize, older: usize) -> Option<String> {
    match older {
        0 => None,
        1..=COUNTED => Some(format!("{older} older recoveries are not shown; --limit {} shows all", limit + older)),
        _ => Some(format!("more than {COUNTED} older recoveries are not shown; a greater --limit shows more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_told_with_the_limit_that_shows_it() {
        assert_eq!(left_out(50, 0), None);
        assert_eq!(left_out(50, 7).unwrap(), "7 older recoveries are not shown; --limit 57 shows all");
        assert!(left_out(50, COUNTED).unwrap().contains("--limit 1050"));
        assert!(left_out(50, COUNTED + 1).unwrap().starts_with("more than 1000 older recoveries"));
    }
}
