//! For a graph on a server.

use futures::{StreamExt, TryStreamExt};
use omnigraph_client as client;
use omnigraph_engine::model::{
    BranchInfo, DiffFilter, MergeHow, MergePreview, MergeRequest, ReadSelector, TagInfo, WatchRequest, WriteOptions,
};

use super::{Applied, Changes, Feed, Merged};
use crate::failure::{Failure, Result};
use crate::target::Outcome;
use crate::target::convert::{self, history as into};
use crate::target::remote::Remote;

/// Says of a write what the options say. They have the same methods, and no type in common.
macro_rules! described {
    ($write:expr, $options:expr) => {{
        let (mut write, options): (_, &WriteOptions) = ($write.message(&$options.message), $options);
        if !options.expected_head.is_empty() {
            write = write.expected_head(&options.expected_head);
        }
        if !options.request_id.is_empty() {
            write = write.request_id(&options.request_id);
        }
        write
    }};
}

/// Says how conflicts are settled, likewise.
macro_rules! settled {
    ($ask:expr, $how:expr) => {{
        let how: &MergeHow = $how;
        let ask = $ask.granularity(into::granularity_out(how)).resolve_all(into::resolutions_out(how));
        match into::strategy_out(how) {
            Some(strategy) => ask.strategy(strategy),
            None => ask,
        }
    }};
}

fn changes(changes: client::Changes) -> Changes {
    Changes {
        schema: changes.schema.into_iter().map(convert::evolve::step_in).collect(),
        before: changes.before.map(|before| before.id),
        after: changes.after.id,
        stream: changes.changes.map_ok(into::change_in).map_err(Failure::from).boxed(),
    }
}

impl Remote {
    pub(super) async fn protect_branch(&self, name: &str, protected: bool) -> Result<BranchInfo> {
        Ok(convert::branch_in(self.graph().protect_branch(name, protected).await?))
    }

    pub(super) async fn merge(&self, request: &MergeRequest, options: &WriteOptions) -> Result<Merged> {
        let merge = self.graph().merge(&request.source).into(options.branch_name());
        let mut merge = settled!(described!(merge, options), &request.how);
        if !request.expected_source_head.is_empty() {
            merge = merge.expected_source_head(&request.expected_source_head);
        }
        if request.delete_source {
            merge = merge.delete_source();
        }
        Ok(into::merged_in(merge.send().await?))
    }

    pub(super) async fn preview_merge(&self, source: &str, target: &str, how: &MergeHow) -> Result<MergePreview> {
        let preview = settled!(self.graph().preview_merge(source).into(target), how);
        into::preview_in(preview.send().await?)
    }

    pub(super) async fn revert(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        let revert = self.graph().revert(commit).branch(options.branch_name());
        let revert = settled!(described!(revert, options), how);
        Ok(into::applied_in(revert.send().await?))
    }

    pub(super) async fn cherry_pick(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<Applied> {
        let pick = self.graph().cherry_pick(commit).branch(options.branch_name());
        let pick = settled!(described!(pick, options), how);
        Ok(into::applied_in(pick.send().await?))
    }

    pub(super) async fn restore(&self, to: &ReadSelector, options: &WriteOptions) -> Result<(String, Outcome)> {
        let restore = self.graph().restore(options.branch_name(), self.selector(to).await?);
        let restored = described!(restore, options).send().await?;
        Ok((restored.source, convert::receipt_in(restored.receipt)))
    }

    pub(super) async fn diff(
        &self,
        before: &ReadSelector,
        after: &ReadSelector,
        filter: &DiffFilter,
    ) -> Result<Changes> {
        let read = self.graph().changes(self.selector(before).await?, self.selector(after).await?);
        Ok(changes(into::changes_out(read, filter).send().await?))
    }

    pub(super) async fn changes_of(&self, commit: &str, filter: &DiffFilter) -> Result<Changes> {
        Ok(changes(into::changes_out(self.graph().changes_of(commit), filter).send().await?))
    }

    pub(super) async fn watch(&self, request: &WatchRequest) -> Result<Feed> {
        let feed = into::watch_out(self.graph(), request).messages();
        Ok(feed.map_ok(into::message_in).map_err(Failure::from).boxed())
    }

    pub(super) async fn tags(&self) -> Result<Vec<TagInfo>> {
        Ok(self.graph().list_tags().map_ok(into::tag_in).try_collect().await?)
    }

    pub(super) async fn tag(&self, name: &str) -> Result<TagInfo> {
        Ok(into::tag_in(self.graph().tag(name).await?))
    }

    pub(super) async fn create_tag(&self, name: &str, at: &ReadSelector, message: &str) -> Result<TagInfo> {
        let at = self.selector(at).await?;
        Ok(into::tag_in(self.graph().create_tag(name, at, message).await?))
    }

    pub(super) async fn protect_tag(&self, name: &str, protected: bool) -> Result<TagInfo> {
        Ok(into::tag_in(self.graph().protect_tag(name, protected).await?))
    }

    pub(super) async fn delete_tag(&self, name: &str) -> Result<TagInfo> {
        Ok(into::tag_in(self.graph().delete_tag(name).await?))
    }
}
