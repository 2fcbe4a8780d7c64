//! `branch merge`.

use clap::Args;
use omnigraph_client::ErrorReason;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{MergeHow, MergePreview, MergeRequest, ReadSelector, Schema};

use crate::address::Words;
use crate::args::{NoteArgs, ScopeArgs};
use crate::commands::resolve::HowArgs;
use crate::context::{Context, only};
use crate::failure::{Failure, Result};
use crate::output::{self, merge};
use crate::target::{Merged, Target};

const HOW_TO_GO_ON: &str = "nothing was changed. Take one side with --strategy ours|theirs, or decide entity by \
                            entity with --resolve TYPE/ID[.PROPERTY]=ours|theirs|base or --resolutions FILE; what a \
                            constraint forbids has to be mended on one of the branches first";

const EXAMPLES: &str = "Examples:

  omnigraph branch merge social.omni review --preview
  omnigraph branch merge social.omni review --resolve Person/ada.age=theirs --message 'spring review'
  omnigraph branch merge social.omni review --into release --strategy theirs --delete-source";

/// Merge a branch into another: what it changed since both parted, as one commit with two parents, or not at all. Exit
/// code 4 if both sides changed the same thing in different ways, or the result would break a constraint; then the
/// answer is a table of conflicts, and nothing was changed.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch merge TARGET SOURCE [OPTIONS]\n       omnigraph branch merge --server URL --graph ID SOURCE [OPTIONS]",
    after_help = EXAMPLES
)]
pub(crate) struct Merge {
    /// Path or URI of the graph, unless named otherwise, and the branch to merge
    #[arg(value_name = "[TARGET] SOURCE", required = true)]
    words: Vec<String>,
    /// Branch to merge into
    #[arg(long, value_name = "NAME", default_value = MAIN)]
    into: String,
    /// Show what the merge would do, and change nothing
    #[arg(long, conflicts_with_all = ["delete_source", "expect_head", "expect_source_head", "request_id", "message"])]
    preview: bool,
    /// Delete the source once it is merged. If that fails, the merge stands
    #[arg(long)]
    delete_source: bool,
    /// Merge only while this commit is the source's head
    #[arg(long, alias = "expected-source-head", value_name = "COMMIT")]
    expect_source_head: Option<String>,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    note: NoteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Merge {
    pub(crate) async fn run(mut self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "SOURCE");
        let access = if self.preview { Access::ReadOnly } else { Access::ReadWrite };
        let words = std::mem::take(&mut self.words);
        let (target, words) = context.target(&self.scope, words, &takes, access).await?;
        let source = only(words)?;
        let doing = if self.preview { "looking at what it means to merge" } else { "merging" };
        context.announce(&format!("{doing} branch {source} into branch {} of {}", self.into, target.place()));
        let how = self.how.read(&target, &self.into).await?;
        match self.preview {
            true => self.preview(context, &target, &source, &how).await,
            false => self.merge(context, &target, source, how).await,
        }
    }

    async fn preview(&self, context: &Context, target: &Target, source: &str, how: &MergeHow) -> Result<()> {
        let preview = target.preview_merge(source, &self.into, how).await?;
        let schema = self.schema(target).await?;
        show(context, &preview, &schema)?;
        match preview.conflicts.len() {
            0 => Ok(()),
            n => {
                context.announce(HOW_TO_GO_ON);
                let what = format!("{n} conflicts stand against merging {source} into {}", self.into);
                Err(Failure::usage(what).because(ErrorReason::MergeConflict))
            }
        }
    }

    async fn merge(&self, context: &Context, target: &Target, source: String, how: MergeHow) -> Result<()> {
        let request = MergeRequest {
            source,
            expected_source_head: self.expect_source_head.clone().unwrap_or_default(),
            how,
            delete_source: self.delete_source,
        };
        let options = self.note.options(&self.into, target.actor());
        match target.merge(&request, &options).await {
            Ok(merged) => tell(context, &request.source, &merged),
            Err(failure) => {
                if failure.is(ErrorReason::MergeConflict) {
                    self.explain(context, target, &request).await?;
                }
                Err(failure)
            }
        }
    }

    /// Shows what stands against a merge that was refused.
    async fn explain(&self, context: &Context, target: &Target, request: &MergeRequest) -> Result<()> {
        let preview = target.preview_merge(&request.source, &self.into, &request.how).await?;
        if preview.conflicts.is_empty() {
            context.announce("the branches have changed meanwhile; nothing stands against the merge any more");
            return Ok(());
        }
        let schema = self.schema(target).await?;
        show(context, &preview, &schema)?;
        context.announce(HOW_TO_GO_ON);
        Ok(())
    }

    async fn schema(&self, target: &Target) -> Result<std::sync::Arc<Schema>> {
        Ok(target.read(&ReadSelector::Branch(self.into.clone())).await?.schema)
    }
}

fn show(context: &Context, preview: &MergePreview, schema: &Schema) -> Result<()> {
    output::answer(context, || merge::preview_json(preview, schema), || merge::preview_text(preview, schema))
}

/// Answers what a merge did.
fn tell(context: &Context, source: &str, merged: &Merged) -> Result<()> {
    output::answer(context, || merge::merged_json(merged), || merge::merged_text(merged))?;
    match &merged.source_deleted {
        Some(Err(failure)) => context.announce(&merge::source_stays(source, failure)),
        Some(Ok(())) => context.announce(&format!("deleted branch {source}")),
        None => {}
    }
    Ok(())
}
