//! A graph on a server.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use omnigraph_client::{Client, ErrorReason, Graph, Selector};
use omnigraph_engine::maintenance::stats::GraphStats;
use omnigraph_engine::model::{Actor, BranchInfo, Change, CommitInfo, LoadMode, ReadSelector, WriteOptions};
use tokio::io::AsyncReadExt as _;

use super::convert;
use super::reader::Reader;
use super::recovery::Recovery;
use super::upkeep::{self, Indexes};
use super::{About, Caller, LoadInput, Outcome, Progress, Stored, StoredTable};
use crate::failure::{Failure, Result};

/// See the module header.
pub(crate) struct Remote {
    graph: Graph,
    url: String,
    actor: Actor,
}

/// Connects to a server, for commands about the server as a whole.
pub(crate) async fn client(url: &str, caller: &Caller) -> Result<Client> {
    let mut builder = Client::builder(url).user_agent(concat!("omnigraph-cli/", env!("CARGO_PKG_VERSION")));
    if let Some(token) = &caller.token {
        builder = builder.token(token);
    }
    if let Some(actor) = &caller.actor {
        builder = builder.actor(actor);
    }
    if let Some(seconds) = caller.timeout {
        builder = builder.timeout(Duration::from_secs(seconds));
    }
    Ok(builder.connect().await?)
}

impl Remote {
    pub(super) async fn connect(url: &str, graph: &str, caller: &Caller) -> Result<Self> {
        let client = client(url, caller).await?;
        Ok(Self { graph: client.graph(graph), url: url.to_string(), actor: caller.actor() })
    }

    /// The client's handle.
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn place(&self) -> String {
        format!("graph {} on {}", self.graph.id(), self.url)
    }

    pub(super) fn actor(&self) -> Actor {
        self.actor.clone()
    }

    pub(super) async fn read(&self, selector: &ReadSelector) -> Result<Reader> {
        let selector = self.selector(selector).await?;
        let info = self.graph.schema().at(selector).send().await?;
        Reader::remote(self.graph.clone(), info)
    }

    pub(super) async fn stored(&self, selector: &ReadSelector) -> Result<Stored> {
        let selector = self.selector(selector).await?;
        let snapshot = self.graph.snapshot().at(selector).send().await?;
        let tables = snapshot.tables.into_iter().map(|table| {
            let at = table.table.as_ref();
            StoredTable {
                type_ref: convert::type_in(table.type_ref),
                location: at.map(|at| at.location.clone()),
                lance_branch: at.and_then(|at| at.lance_branch.clone()),
                version: at.map(|at| at.version),
                rows: table.rows,
            }
        });
        Ok(Stored {
            commit: snapshot.read.id,
            root: snapshot.root_uri,
            stamp: snapshot.storage_stamp,
            manifest_branch: snapshot.manifest_branch,
            manifest_version: snapshot.manifest_version,
            tables: tables.collect(),
        })
    }

    pub(super) async fn mutate(&self, changes: Vec<Change>, options: &WriteOptions) -> Result<Outcome> {
        let mut mutation = self.graph.mutate().branch(options.branch_name());
        if !options.expected_head.is_empty() {
            mutation = mutation.expected_head(&options.expected_head);
        }
        if !options.request_id.is_empty() {
            mutation = mutation.request_id(&options.request_id);
        }
        mutation = mutation.message(&options.message);
        for change in changes {
            mutation = convert::change_out(mutation, change)?;
        }
        Ok(convert::receipt_in(mutation.send().await?.receipt))
    }

    pub(super) async fn load(
        &self,
        input: LoadInput,
        mode: LoadMode,
        options: &WriteOptions,
        progress: Progress,
    ) -> Result<Outcome> {
        let source = match input.file {
            Some(path) => omnigraph_client::LoadSource::File(path),
            None => omnigraph_client::LoadSource::stream(stdin()),
        };
        let mut load = self
            .graph
            .load(source)
            .branch(options.branch_name())
            .message(&options.message)
            .mode(convert::mode_out(mode))
            .format(convert::format_out(input.format))
            .compression(convert::compression_out(input.compression))
            .progress(move |bytes| progress(bytes));
        if let Some(type_ref) = &input.type_ref {
            load = load.of_type(convert::type_out(type_ref));
        }
        if !options.expected_head.is_empty() {
            load = load.expected_head(&options.expected_head);
        }
        if !options.request_id.is_empty() {
            load = load.request_id(&options.request_id);
        }
        Ok(convert::receipt_in(load.send().await?.receipt))
    }

    pub(super) async fn branches(&self) -> Result<Vec<BranchInfo>> {
        let branches = self.graph.list_branches().map_ok(convert::branch_in);
        Ok(branches.try_collect().await?)
    }

    pub(super) async fn branch(&self, name: &str) -> Result<BranchInfo> {
        Ok(convert::branch_in(self.graph.branch(name).await?))
    }

    pub(super) async fn create_branch(&self, name: &str, from: &ReadSelector) -> Result<BranchInfo> {
        let from = self.selector(from).await?;
        Ok(convert::branch_in(self.graph.create_branch(name, from).await?))
    }

    pub(super) async fn delete_branch(&self, name: &str, force: bool) -> Result<()> {
        Ok(self.graph.delete_branch(name, force).await.map(|_| ())?)
    }

    pub(super) async fn commit(&self, id: &str) -> Result<CommitInfo> {
        let commit = self.graph.commit(Selector::Commit(id.to_string())).await?;
        Ok(convert::commit_in(commit))
    }

    pub(super) async fn commit_by_request(&self, branch: &str, request_id: &str) -> Result<CommitInfo> {
        Ok(convert::commit_in(self.graph.commit_by_request(branch, request_id).await?))
    }

    pub(super) async fn commits(&self, branch: &str, limit: usize, all: bool) -> Result<Vec<CommitInfo>> {
        let mut listing = match all {
            true => self.graph.list_ancestors(branch),
            false => self.graph.list_commits(branch),
        };
        let mut commits = Vec::new();
        while commits.len() < limit {
            let Some(commit) = listing.try_next().await? else {
                break;
            };
            commits.push(convert::commit_in(commit));
        }
        Ok(commits)
    }

    pub(super) async fn recoveries(&self, branch: Option<&str>, limit: usize) -> Result<Vec<Recovery>> {
        let listing = self.graph.recoveries(branch.unwrap_or_default()).take(limit);
        Ok(listing.map_ok(convert::recovery_in).try_collect().await?)
    }

    pub(super) async fn recovery(&self, operation: &str) -> Result<Recovery> {
        Ok(convert::recovery_in(self.graph.recovery(operation).await?))
    }

    pub(super) async fn stats(&self, branches: Vec<String>) -> Result<GraphStats> {
        let asked = branches.into_iter().fold(self.graph.stats(), |asked, branch| asked.branch(branch));
        Ok(upkeep::stats_in(asked.send().await?))
    }

    pub(super) async fn index_status(&self, selector: &ReadSelector) -> Result<Indexes> {
        let selector = self.selector(selector).await?;
        let found = self.graph.index_status().at(selector).send().await?;
        Ok(Indexes { commit: found.read.id, indexes: found.indexes.into_iter().map(Into::into).collect() })
    }

    pub(super) async fn about(&self) -> Result<About> {
        Ok(convert::about_in(self.graph.info().await?))
    }

    /// The contract's form of a selector. It cannot name a manifest version, so the commit is looked up that
    /// made it: versions fall along the branch's history.
    pub(super) async fn selector(&self, selector: &ReadSelector) -> Result<Selector> {
        let ReadSelector::Version { branch, version } = selector else {
            return Ok(convert::selector_out(selector));
        };
        let mut commits = self.graph.list_commits(branch);
        while let Some(commit) = commits.try_next().await? {
            if commit.manifest_version == *version {
                return Ok(Selector::Commit(commit.id));
            }
            if commit.manifest_version < *version {
                break;
            }
        }
        let what = format!("branch {branch:?} has no manifest version {version}, or it is not retained");
        Err(Failure::usage(what).because(ErrorReason::CommitNotFound))
    }
}

/// Standard input as it comes.
fn stdin() -> impl futures::Stream<Item = std::io::Result<bytes::Bytes>> + Send {
    futures::stream::try_unfold(tokio::io::stdin(), |mut input| async {
        let mut buffer = bytes::BytesMut::with_capacity(256 * 1024);
        match input.read_buf(&mut buffer).await? {
            0 => Ok(None),
            _ => Ok(Some((buffer.freeze(), input))),
        }
    })
}
