//! Commits taken back or made again, and branches put back: each is a new commit.

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, unary};
use crate::conflict::MergeOutcome;
use crate::error::Result;
use crate::merge::{How, settle_conflicts};
use crate::receipt::{Receipt, WriteOptions, describe_write};
use crate::retry::Safety;
use crate::selector::Selector;

/// What a revert or a cherry-pick did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What it came to; already up to date if there was nothing to do.
    pub outcome: MergeOutcome,
    /// What was written to the branch.
    pub receipt: Receipt,
    /// Conflicts that the strategy or a resolution settled.
    pub conflicts_settled: u64,
}

impl AsRef<Receipt> for Applied {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// A revert while it is being described, from [`Graph::revert`]. Nothing happens before [`Revert::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct Revert {
    graph: Graph,
    options: WriteOptions,
    commit: String,
    how: How,
}

impl Revert {
    describe_write!();
    settle_conflicts!();

    /// Takes the commit back. All or nothing; if the branch shows none of it any more, nothing changes.
    ///
    /// # Errors
    /// `MERGE_CONFLICT` with nothing changed if something was changed again since; `COMMIT_NOT_FOUND` if the commit or
    /// its parent is no longer kept; `INVALID_ARGUMENT` for the first commit of the graph.
    pub async fn send(self) -> Result<Applied> {
        let safety = Safety::of_write(&self.options.request_id);
        let ask = wire::RevertCommitRequest {
            options: Some(self.options.into_wire(&self.graph.id)),
            commit_id: self.commit,
            how: Some(self.how.into_wire()),
        };
        let answer = unary!(self.graph.core, safety, branch.revert_commit(ask))?;
        Ok(Applied {
            outcome: MergeOutcome::from_wire(answer.outcome()),
            receipt: Receipt::read(answer.receipt)?,
            conflicts_settled: answer.conflicts_settled,
        })
    }
}

/// A cherry-pick while it is being described, from [`Graph::cherry_pick`]. Nothing happens before
/// [`CherryPick::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct CherryPick {
    graph: Graph,
    options: WriteOptions,
    commit: String,
    how: How,
}

impl CherryPick {
    describe_write!();
    settle_conflicts!();

    /// Makes the commit again. All or nothing; if the branch has all of it already, nothing changes.
    ///
    /// # Errors
    /// `MERGE_CONFLICT` with nothing changed; `COMMIT_NOT_FOUND` if the commit or its parent is no longer kept;
    /// `INVALID_ARGUMENT` for the first commit of the graph.
    pub async fn send(self) -> Result<Applied> {
        let safety = Safety::of_write(&self.options.request_id);
        let ask = wire::CherryPickCommitRequest {
            options: Some(self.options.into_wire(&self.graph.id)),
            commit_id: self.commit,
            how: Some(self.how.into_wire()),
        };
        let answer = unary!(self.graph.core, safety, branch.cherry_pick_commit(ask))?;
        Ok(Applied {
            outcome: MergeOutcome::from_wire(answer.outcome()),
            receipt: Receipt::read(answer.receipt)?,
            conflicts_settled: answer.conflicts_settled,
        })
    }
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What was written to the branch.
    pub receipt: Receipt,
    /// The commit whose content the branch shows now.
    pub source: String,
}

impl AsRef<Receipt> for Restored {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// A restore while it is being described, from [`Graph::restore`]. Nothing happens before [`Restore::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct Restore {
    graph: Graph,
    options: WriteOptions,
    to: Selector,
}

impl Restore {
    describe_write!();

    /// Makes the branch show what the version shows. The commits in between stay in the history. If it shows the same
    /// already, nothing changes.
    ///
    /// # Errors
    /// The version does not exist, and those of every write.
    pub async fn send(self) -> Result<Restored> {
        let safety = Safety::of_write(&self.options.request_id);
        let ask = wire::RestoreBranchRequest {
            options: Some(self.options.into_wire(&self.graph.id)),
            to: Some(self.to.into()),
        };
        let answer = unary!(self.graph.core, safety, branch.restore_branch(ask))?;
        Ok(Restored { receipt: Receipt::read(answer.receipt)?, source: answer.source_commit_id })
    }
}

impl Graph {
    /// Begins to take back what a commit changed against its first parent.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, bad: &str) -> omnigraph_client::Result<()> {
    /// let reverted = graph.revert(bad).branch("main").message("it was wrong").send().await?;
    /// println!("{}", reverted.receipt.commit_id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn revert(&self, commit: impl Into<String>) -> Revert {
        Revert { graph: self.clone(), options: WriteOptions::new(), commit: commit.into(), how: How::default() }
    }

    /// Begins to make again what a commit, of whatever branch, changed against its first parent.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, fix: &str) -> omnigraph_client::Result<()> {
    /// graph.cherry_pick(fix).branch("release").send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cherry_pick(&self, commit: impl Into<String>) -> CherryPick {
        CherryPick { graph: self.clone(), options: WriteOptions::new(), commit: commit.into(), how: How::default() }
    }

    /// Begins to make a branch (empty: main) show what another version shows, of whatever branch.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::Selector;
    ///
    /// graph.restore("main", Selector::Tag("release-1".into())).message("back to the release").send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn restore(&self, branch: impl Into<String>, to: Selector) -> Restore {
        let options = WriteOptions { branch: branch.into(), ..WriteOptions::new() };
        Restore { graph: self.clone(), options, to }
    }
}
