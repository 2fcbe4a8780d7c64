//! `branch diff`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::commands::wanted::WantedArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::diff;
use crate::selector::{self, VERSIONS};

/// Show what differs between two versions, entity by entity and property by property, whatever branches they are of.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch diff TARGET [FROM] TO [OPTIONS]\n       omnigraph branch diff --server URL --graph ID [FROM] TO [OPTIONS]",
    after_help = VERSIONS
)]
pub(crate) struct Diff {
    /// Path or URI of the graph, unless named otherwise, and the versions to compare
    #[arg(value_name = "[TARGET] [FROM] TO", required = true)]
    words: Vec<String>,
    /// Show only how many entities of which type differ
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    wanted: WantedArgs,
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
        let schema = target.read(&to).await?.schema;
        let changes = target.diff(&from, &to, &self.wanted.filter(&schema)?).await?;
        context.announce(&changes.range());
        match self.stat {
            true => diff::write_stat(context, changes).await,
            false => diff::write(context, changes, &schema).await,
        }
    }
}
