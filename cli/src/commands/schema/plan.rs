//! `schema plan`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use super::wish::{self, WishArgs};
use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::target::Target;

/// Show the steps from the schema of a branch's head to the one in a file, what they cost, and what stands against
/// them. Writes nothing. Exit code 4 if the graph cannot take a step.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph schema plan TARGET FILE [OPTIONS]\n       omnigraph schema plan --server URL --graph ID FILE [OPTIONS]"
)]
pub(crate) struct Plan {
    /// Path or URI of the graph, unless named otherwise, and the .pg file with the wanted schema; - is standard input
    #[arg(value_name = "[TARGET] FILE", required = true)]
    words: Vec<String>,
    /// Branch whose head is compared
    #[arg(long, value_name = "NAME", default_value = MAIN)]
    branch: String,
    #[command(flatten)]
    wish: WishArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Plan {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "FILE");
        let (address, words) = context.address(&self.scope, self.words, &takes)?;
        let file = only(words)?;
        let target = Target::open(&address, &context.caller(&self.scope), Access::ReadOnly).await?;
        let wanted = self.wish.read(&target, &self.branch, &file).await?;
        let plan = target.plan_schema(&self.branch, &wanted).await?;
        wish::show(context, &plan, &self.branch, &self.wish.command(&address, &self.branch, &file, &plan.head))?;
        wish::ensure_possible(&plan)
    }
}
