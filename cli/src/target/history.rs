//! Merges, differences, tags and feeds of a graph, wherever it is.

mod embedded;
mod remote;

use futures::stream::BoxStream;
use omnigraph_engine::model::{
    BranchInfo, DiffFilter, EntityChange, FeedMessage, MergeHow, MergeOutcome, MergePreview, MergeRequest,
    ReadSelector, SchemaStep, TagInfo, WatchRequest, WriteOptions,
};

use super::{Outcome, Target, either};
use crate::failure::Result;

/// What a revert or a cherry-pick did.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) outcome: MergeOutcome,
    pub(crate) settled: u64,
    pub(crate) write: Outcome,
}

/// What a merge did.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) outcome: MergeOutcome,
    /// The commit from which both sides were compared.
    pub(crate) base: String,
    /// The commit that was brought in.
    pub(crate) source: String,
    pub(crate) settled: u64,
    pub(crate) write: Outcome,
    /// What became of the source branch, if its deletion was asked for.
    pub(crate) source_deleted: Option<Result<()>>,
}

/// A difference under way.
pub(crate) struct Changes {
    /// The commit before; `None` stands for an empty graph.
    pub(crate) before: Option<String>,
    /// The commit after.
    pub(crate) after: String,
    /// How the schema changed.
    pub(crate) schema: Vec<SchemaStep>,
    pub(crate) stream: BoxStream<'static, Result<EntityChange>>,
}

impl Changes {
    /// Which commits are compared, for people.
    pub(crate) fn range(&self) -> String {
        match &self.before {
            Some(before) => format!("from commit {before} to commit {}", self.after),
            None => format!("from an empty graph to commit {}", self.after),
        }
    }
}

/// A branch that is followed.
pub(crate) type Feed = BoxStream<'static, Result<FeedMessage>>;

impl Target {
    /// Sets or lifts a branch's protection.
    pub(crate) async fn protect_branch(&self, name: &str, protected: bool) -> Result<BranchInfo> {
        either!(self, target => target.protect_branch(name, protected).await)
    }

    /// Merges a branch into the one that the options name.
    pub(crate) async fn merge(&self, request: &MergeRequest, options: &WriteOptions) -> Result<Merged> {
        either!(self, target => target.merge(request, options).await)
    }

    /// What a merge would do.
    pub(crate) async fn preview_merge(&self, source: &str, target: &str, how: &MergeHow) -> Result<MergePreview> {
        either!(self, graph => graph.preview_merge(source, target, how).await)
    }

    /// Takes back what a commit changed.
    pub(crate) async fn revert(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        either!(self, target => target.revert(commit, how, options).await)
    }

    /// Makes again what a commit changed.
    pub(crate) async fn cherry_pick(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        either!(self, target => target.cherry_pick(commit, how, options).await)
    }

    /// Makes the branch that the options name show another version. Returns the commit of that version, too.
    pub(crate) async fn restore(&self, to: &ReadSelector, options: &WriteOptions) -> Result<(String, Outcome)> {
        either!(self, target => target.restore(to, options).await)
    }

    /// What differs between two versions.
    pub(crate) async fn diff(
        &self,
        before: &ReadSelector,
        after: &ReadSelector,
        filter: &DiffFilter,
    ) -> Result<Changes> {
        either!(self, target => target.diff(before, after, filter).await)
    }

    /// What a commit changed against its first parent.
    pub(crate) async fn changes_of(&self, commit: &str, filter: &DiffFilter) -> Result<Changes> {
        either!(self, target => target.changes_of(commit, filter).await)
    }

    /// Follows a branch.
    pub(crate) async fn watch(&self, request: &WatchRequest) -> Result<Feed> {
        either!(self, target => target.watch(request).await)
    }

    /// The tags, by name.
    pub(crate) async fn tags(&self) -> Result<Vec<TagInfo>> {
        let mut tags = either!(self, target => target.tags().await)?;
        tags.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tags)
    }

    /// A tag.
    pub(crate) async fn tag(&self, name: &str) -> Result<TagInfo> {
        either!(self, target => target.tag(name).await)
    }

    /// Names the commit of a version.
    pub(crate) async fn create_tag(&self, name: &str, at: &ReadSelector, message: &str) -> Result<TagInfo> {
        either!(self, target => target.create_tag(name, at, message).await)
    }

    /// Sets or lifts a tag's protection.
    pub(crate) async fn protect_tag(&self, name: &str, protected: bool) -> Result<TagInfo> {
        either!(self, target => target.protect_tag(name, protected).await)
    }

    /// Deletes a tag, and returns what it was.
    pub(crate) async fn delete_tag(&self, name: &str) -> Result<TagInfo> {
        either!(self, target => target.delete_tag(name).await)
    }
}
