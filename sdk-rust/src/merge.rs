//! Merges: a branch into another, and what one would do.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::preview_merge_response::Part;

use crate::client::{Graph, unary};
use crate::conflict::{Conflict, Granularity, MergeOutcome, Resolution, Strategy};
use crate::error::{Error, ErrorReason, Result};
use crate::receipt::{Receipt, TypeCounts, WriteOptions, describe_conditions};
use crate::retry::Safety;

/// How conflicts are found and settled, while it is being described.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    pub(crate) granularity: Granularity,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) resolutions: Vec<Resolution>,
}

impl How {
    pub(crate) fn into_wire(self) -> wire::MergeHow {
        wire::MergeHow {
            granularity: self.granularity.to_wire(),
            strategy: self.strategy.map_or(wire::Strategy::Fail.into(), Strategy::to_wire),
            resolutions: self.resolutions.into_iter().map(Resolution::into_wire).collect(),
        }
    }
}

/// The methods of everything that settles conflicts. The type needs a field `how`.
macro_rules! settle_conflicts {
    () => {
        /// How fine both sides are compared; by property without a choice.
        #[must_use]
        pub fn granularity(mut self, granularity: $crate::Granularity) -> Self {
            self.how.granularity = granularity;
            self
        }

        /// Whose version is taken in conflicts that no resolution settles. Without a choice they are refused.
        #[must_use]
        pub fn strategy(mut self, strategy: $crate::Strategy) -> Self {
            self.how.strategy = Some(strategy);
            self
        }

        /// Settles what is in conflict about one entity, beside what was settled before. Without a conflict there it
        /// has no effect.
        #[must_use]
        pub fn resolve(mut self, resolution: $crate::Resolution) -> Self {
            self.how.resolutions.push(resolution);
            self
        }

        /// [`Self::resolve`] for each of them.
        #[must_use]
        pub fn resolve_all(mut self, resolutions: impl IntoIterator<Item = $crate::Resolution>) -> Self {
            self.how.resolutions.extend(resolutions);
            self
        }
    };
}

pub(crate) use settle_conflicts;

/// What a merge did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What it came to.
    pub outcome: MergeOutcome,
    /// What was written to the target.
    pub receipt: Receipt,
    /// The commit from which both sides were compared.
    pub base: String,
    /// The commit that was merged.
    pub source: String,
    /// Conflicts that the strategy or a resolution settled.
    pub conflicts_settled: u64,
    /// What became of the source branch; `None` unless its deletion was asked for.
    pub source_deletion: Option<SourceDeletion>,
}

impl AsRef<Receipt> for Merged {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// What became of a source branch that was to be deleted after its merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDeletion {
    /// Whether it is gone. The merge stands either way.
    pub deleted: bool,
    /// Why it is not, if this version knows the reason.
    pub reason: Option<ErrorReason>,
    /// The same for people; empty if it is gone.
    pub message: String,
}

impl From<wire::SourceDeletion> for SourceDeletion {
    fn from(deletion: wire::SourceDeletion) -> Self {
        let reason = ErrorReason::try_from(deletion.error).ok();
        Self {
            deleted: deletion.deleted,
            reason: reason.filter(|reason| *reason != ErrorReason::Unspecified),
            message: deletion.message,
        }
    }
}

/// A merge while it is being described, from [`Graph::merge`]. Nothing happens before [`Merge::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct Merge {
    graph: Graph,
    options: WriteOptions,
    source: String,
    expected_source_head: String,
    how: How,
    delete_source: bool,
}

impl Merge {
    describe_conditions!();
    settle_conflicts!();

    /// Merges into this branch. Without a choice it is main.
    pub fn into(mut self, branch: impl Into<String>) -> Self {
        self.options.branch = branch.into();
        self
    }

    /// Merges only while this commit is the source's head; otherwise the answer is `HEAD_MOVED` and nothing changes.
    pub fn expected_source_head(mut self, commit: impl Into<String>) -> Self {
        self.expected_source_head = commit.into();
        self
    }

    /// Deletes the source once it is merged, also if it was merged already. Where that fails, the merge stands all the
    /// same, and [`Merged::source_deletion`] says why.
    pub fn delete_source(mut self) -> Self {
        self.delete_source = true;
        self
    }

    /// Merges: all or nothing, as one commit with two parents. The whole result has to obey all constraints.
    ///
    /// # Errors
    /// `MERGE_CONFLICT` with nothing changed, which [`Graph::preview_merge`] explains; `HEAD_MOVED`;
    /// `BRANCH_NOT_FOUND`; `COMMIT_NOT_FOUND` if the common ancestor is no longer kept.
    pub async fn send(self) -> Result<Merged> {
        let safety = Safety::of_write(&self.options.request_id);
        let ask = wire::MergeBranchRequest {
            options: Some(self.options.into_wire(&self.graph.id)),
            source_branch: self.source,
            expected_source_head: self.expected_source_head,
            how: Some(self.how.into_wire()),
            delete_source: self.delete_source,
        };
        let answer = unary!(self.graph.core, safety, branch.merge_branch(ask))?;
        Ok(Merged {
            outcome: MergeOutcome::from_wire(answer.outcome()),
            receipt: Receipt::read(answer.receipt)?,
            base: answer.base_commit_id,
            source: answer.source_commit_id,
            conflicts_settled: answer.conflicts_settled,
            source_deletion: answer.source_deletion.map(Into::into),
        })
    }
}

/// What a merge would be, with the heads as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSummary {
    /// What it comes to if nothing stands against it.
    pub outcome: MergeOutcome,
    /// The commit from which both sides are compared: the nearest common ancestor, of several the newest.
    pub base: String,
    /// Head of the source.
    pub source: String,
    /// Head of the target.
    pub target: String,
    /// What would change in the target, one entry for each type concerned.
    pub counts: Vec<TypeCounts>,
    /// Conflicts that the strategy or a resolution settles.
    pub conflicts_settled: u64,
    /// Conflicts that stand against it. Zero: it would be made.
    pub conflicts: u64,
}

impl From<wire::MergeSummary> for MergeSummary {
    fn from(summary: wire::MergeSummary) -> Self {
        Self {
            outcome: MergeOutcome::from_wire(summary.outcome()),
            base: summary.base_commit_id,
            source: summary.source_commit_id,
            target: summary.target_commit_id,
            counts: summary.counts.into_iter().map(Into::into).collect(),
            conflicts_settled: summary.conflicts_settled,
            conflicts: summary.conflicts,
        }
    }
}

/// What a merge would do.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePreview {
    /// In short.
    pub summary: MergeSummary,
    /// Everything that stands against it, nodes before edges, by type and id. Empty: it would be made.
    pub conflicts: Vec<Conflict>,
}

/// What a merge would do, as it arrives.
pub struct PreviewStream {
    /// In short.
    pub summary: MergeSummary,
    /// Everything that stands against it. Dropping the stream stops the work.
    pub conflicts: BoxStream<'static, Result<Conflict>>,
}

/// A question for what a merge would do, from [`Graph::preview_merge`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send` or `stream`"]
pub struct PreviewMerge {
    graph: Graph,
    source: String,
    target: String,
    how: How,
}

impl PreviewMerge {
    settle_conflicts!();

    /// Into this branch. Without a choice it is main.
    pub fn into(mut self, branch: impl Into<String>) -> Self {
        self.target = branch.into();
        self
    }

    /// Asks, and reads conflicts as they come.
    ///
    /// # Errors
    /// `BRANCH_NOT_FOUND`; `COMMIT_NOT_FOUND` if the common ancestor is no longer kept. Conflicts are in the answer.
    pub async fn stream(self) -> Result<PreviewStream> {
        let ask = wire::PreviewMergeRequest {
            graph: self.graph.id,
            source_branch: self.source,
            target_branch: self.target,
            how: Some(self.how.into_wire()),
        };
        let core = &self.graph.core;
        let call = |ask| {
            let mut stub = core.branch();
            async move { stub.preview_merge(ask).await }
        };
        let mut answers = core.streaming(ask, call).await?.map_err(Error::from_status);
        let summary = match answers.try_next().await?.and_then(|answer| answer.part) {
            Some(Part::Summary(summary)) => summary.into(),
            _ => return Err(Error::malformed("a preview begins without its summary")),
        };
        let conflicts = answers.map(|answer| match answer?.part {
            Some(Part::Conflict(conflict)) => Ok(conflict.into()),
            _ => Err(Error::malformed("a preview holds something that is no conflict")),
        });
        Ok(PreviewStream { summary, conflicts: conflicts.boxed() })
    }

    /// Asks, and keeps all conflicts in memory.
    ///
    /// # Errors
    /// As [`PreviewMerge::stream`].
    pub async fn send(self) -> Result<MergePreview> {
        let PreviewStream { summary, conflicts } = self.stream().await?;
        Ok(MergePreview { summary, conflicts: conflicts.try_collect().await? })
    }
}

impl Graph {
    /// Begins to merge a branch into another. An empty name means main.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::{ErrorReason, Resolution, Side};
    ///
    /// let merge = graph
    ///     .merge("review")
    ///     .into("main")
    ///     .resolve(Resolution::property("Person", "ada", "age", Side::Theirs))
    ///     .message("spring review")
    ///     .request_id("merge-review-7")
    ///     .delete_source();
    /// match merge.send().await {
    ///     Ok(merged) => println!("{}: {}", merged.outcome.as_str(), merged.receipt.commit_id),
    ///     Err(error) if error.is(ErrorReason::MergeConflict) => println!("{error}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn merge(&self, source: impl Into<String>) -> Merge {
        Merge {
            graph: self.clone(),
            options: WriteOptions::new(),
            source: source.into(),
            expected_source_head: String::new(),
            how: How::default(),
            delete_source: false,
        }
    }

    /// Asks what merging a branch into another would do. Writes nothing and promises nothing.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let preview = graph.preview_merge("review").into("main").send().await?;
    /// for conflict in &preview.conflicts {
    ///     println!("{} {}/{}: {}", conflict.kind.as_str(), conflict.type_ref, conflict.id, conflict.message);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn preview_merge(&self, source: impl Into<String>) -> PreviewMerge {
        PreviewMerge { graph: self.clone(), source: source.into(), target: String::new(), how: How::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conflict::Side;

    #[test]
    fn without_a_strategy_conflicts_are_refused() {
        let how = How::default().into_wire();
        assert_eq!((how.strategy(), how.granularity()), (wire::Strategy::Fail, wire::Granularity::Property));
        let how = How {
            granularity: Granularity::Entity,
            strategy: Some(Strategy::Ours),
            resolutions: vec![Resolution::entity("Person", "ada", Side::Base)],
        };
        let how = how.into_wire();
        assert_eq!((how.strategy(), how.granularity()), (wire::Strategy::Ours, wire::Granularity::Entity));
        assert_eq!(how.resolutions[0].take(), wire::Side::Base);
    }

    #[test]
    fn a_source_that_stays_says_why() {
        let stays = wire::SourceDeletion {
            deleted: false,
            error: ErrorReason::BranchProtected.into(),
            message: "it is protected".into(),
        };
        let read = SourceDeletion::from(stays);
        assert_eq!((read.deleted, read.reason), (false, Some(ErrorReason::BranchProtected)));
        let gone = SourceDeletion::from(wire::SourceDeletion { deleted: true, ..Default::default() });
        assert_eq!((gone.deleted, gone.reason), (true, None));
    }
}
