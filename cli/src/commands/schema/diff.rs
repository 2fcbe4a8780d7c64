//! `schema diff`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::colour::Paint;
use crate::output::{self, evolve};
use crate::selector::{self, VERSIONS};

/// Show how the schemas of two versions differ, whatever branches they are of. What was renamed is told as renamed.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph schema diff TARGET [FROM] TO [OPTIONS]\n       omnigraph schema diff --server URL --graph ID [FROM] TO [OPTIONS]",
    after_help = VERSIONS
)]
pub(crate) struct Diff {
    /// Path or URI of the graph, unless named otherwise, and the versions to compare
    #[arg(value_name = "[TARGET] [FROM] TO", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Diff {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::between(1, 2, "[FROM] TO");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadOnly).await?;
        let (from, to) = match words.as_slice() {
            [to] => (selector::read(MAIN)?, selector::read(to)?),
            [from, to] => (selector::read(from)?, selector::read(to)?),
            _ => return Err(Failure::usage("say which versions to compare")),
        };
        let diff = target.diff_schemas(&from, &to).await?;
        context.announce(&format!("from commit {} to commit {}", diff.before, diff.after));
        output::answer(context, || evolve::diff_json(&diff), || evolve::diff_text(&diff, Paint::stdout()))
    }
}
