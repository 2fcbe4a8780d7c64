//! For a graph in files.

use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::history::diff::Diff;
use omnigraph_engine::model::{
    BranchInfo, DiffFilter, MergeHow, MergePreview, MergeRequest, MergeResult, ReadSelector, TagInfo, WatchRequest,
    WriteOptions,
};

use super::{Applied, Changes, Feed, Merged};
use crate::failure::{Failure, Result};
use crate::target::Outcome;
use crate::target::embedded::Embedded;

fn merged(result: MergeResult, options: &WriteOptions) -> Merged {
    Merged {
        outcome: result.outcome,
        base: result.base,
        source: result.source,
        settled: result.settled,
        write: Outcome::of(result.receipt, options.branch_name()),
        source_deleted: result.source_deleted.map(|deleted| deleted.map_err(Failure::from)),
    }
}

fn applied(result: MergeResult, options: &WriteOptions) -> Applied {
    let write = Outcome::of(result.receipt, options.branch_name());
    Applied { outcome: result.outcome, settled: result.settled, write }
}

fn changes(diff: Diff) -> Changes {
    Changes {
        schema: diff.schema,
        before: diff.before.map(|before| before.head().to_string()),
        after: diff.after.head().to_string(),
        stream: diff.changes.map_err(Failure::from).boxed(),
    }
}

impl Embedded {
    pub(super) async fn protect_branch(&self, name: &str, protected: bool) -> Result<BranchInfo> {
        Ok(self.graph().protect_branch(name, protected, &self.actor()).await?)
    }

    pub(super) async fn merge(&self, request: &MergeRequest, options: &WriteOptions) -> Result<Merged> {
        Ok(merged(self.graph().merge(request, options).await?, options))
    }

    pub(super) async fn preview_merge(&self, source: &str, target: &str, how: &MergeHow) -> Result<MergePreview> {
        Ok(self.graph().preview_merge(source, target, how).await?)
    }

    pub(super) async fn revert(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        Ok(applied(self.graph().revert(commit, how, options).await?, options))
    }

    pub(super) async fn cherry_pick(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        Ok(applied(self.graph().cherry_pick(commit, how, options).await?, options))
    }

    pub(super) async fn restore(&self, to: &ReadSelector, options: &WriteOptions) -> Result<(String, Outcome)> {
        let restored = merged(self.graph().restore(to, options).await?, options);
        Ok((restored.source, restored.write))
    }

    pub(super) async fn diff(
        &self,
        before: &ReadSelector,
        after: &ReadSelector,
        filter: &DiffFilter,
    ) -> Result<Changes> {
        Ok(changes(self.graph().diff(before, after, filter).await?))
    }

    pub(super) async fn changes_of(&self, commit: &str, filter: &DiffFilter) -> Result<Changes> {
        Ok(changes(self.graph().changes_of(commit, filter).await?))
    }

    pub(super) async fn watch(&self, request: &WatchRequest) -> Result<Feed> {
        Ok(self.graph().watch(request).await?.map_err(Failure::from).boxed())
    }

    pub(super) async fn tags(&self) -> Result<Vec<TagInfo>> {
        Ok(self.graph().tags().await?)
    }

    pub(super) async fn tag(&self, name: &str) -> Result<TagInfo> {
        Ok(self.graph().tag(name).await?)
    }

    pub(super) async fn create_tag(&self, name: &str, at: &ReadSelector, message: &str) -> Result<TagInfo> {
        Ok(self.graph().create_tag(name, at, message, &self.actor()).await?)
    }

    pub(super) async fn protect_tag(&self, name: &str, protected: bool) -> Result<TagInfo> {
        Ok(self.graph().protect_tag(name, protected).await?)
    }

    pub(super) async fn delete_tag(&self, name: &str) -> Result<TagInfo> {
        Ok(self.graph().delete_tag(name).await?)
    }
}
