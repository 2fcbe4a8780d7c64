//! `schema apply`.

use clap::Args;
use omnigraph_client::ErrorReason;
use omnigraph_engine::Access;
use omnigraph_engine::model::WriteOptions;

use super::wish::{self, WishArgs};
use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs, WriteArgs};
use crate::consent;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::colour::Paint;
use crate::output::{self, evolve};
use crate::target::{Evolved, Target, Wish};

/// Give a branch the schema in a file, and change its data accordingly, as one commit or not at all. Exit code 4 if the
/// graph cannot take a step; then the answer is the plan, and nothing was changed. What is dropped stays readable at
/// older commits.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph schema apply TARGET FILE [OPTIONS]\n       omnigraph schema apply --server URL --graph ID FILE [OPTIONS]"
)]
pub(crate) struct Apply {
    /// Path or URI of the graph, unless named otherwise, and the .pg file with the wanted schema; - is standard input
    #[arg(value_name = "[TARGET] FILE", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    wish: WishArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Apply {
    pub(crate) async fn run(mut self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "FILE");
        let words = std::mem::take(&mut self.words);
        let (address, words) = context.address(&self.scope, words, &takes)?;
        let file = only(words)?;
        let target = Target::open(&address, &context.caller(&self.scope), Access::ReadWrite).await?;
        let branch = self.write.branch();
        context.announce(&format!("changing the schema of branch {branch} of {}", target.place()));
        let wanted = self.wish.read(&target, branch, &file).await?;
        let options = self.write.options(target.actor());
        let command = |head: &str| self.wish.command(&address, branch, &file, head);
        match target.apply_schema(&wanted, self.consent.yes, &options).await {
            Ok(evolved) => tell(context, &evolved),
            Err(failure) if failure.is(ErrorReason::ConfirmationRequired) && !self.consent.yes => {
                tell(context, &self.ask(context, &target, &wanted, options, command).await?)
            }
            Err(failure) => {
                if failure.is(ErrorReason::SchemaRefused) {
                    let plan = target.plan_schema(branch, &wanted).await?;
                    wish::show(context, &plan, branch, &command(&plan.head))?;
                }
                Err(failure)
            }
        }
    }

    /// Shows what would be lost, asks, and makes exactly the change that was shown.
    async fn ask(
        &self,
        context: &Context,
        target: &Target,
        wanted: &Wish,
        options: WriteOptions,
        command: impl Fn(&str) -> String,
    ) -> Result<Evolved> {
        let branch = self.write.branch();
        let plan = target.plan_schema(branch, wanted).await?;
        wish::show(context, &plan, branch, &command(&plan.head))?;
        wish::ensure_possible(&plan)?;
        let deed = format!("lose data of {} on branch {branch} of {}", evolve::losses(&plan), target.place());
        consent::ask(context, &self.consent, &deed)?;
        let mut options = options;
        if options.expected_head.is_empty() {
            options.expected_head = plan.head;
        }
        target.apply_schema(wanted, true, &options).await
    }
}

/// Answers what a change did.
fn tell(context: &Context, evolved: &Evolved) -> Result<()> {
    output::answer(context, || evolve::evolved_json(evolved), || evolve::evolved_text(evolved, Paint::stdout()))
}
