//! A graph in files: the engine in this process.

use std::io::Write as _;
use std::sync::Arc;

use omnigraph_client::ErrorReason;
use omnigraph_engine::format::stamp;
use omnigraph_engine::maintenance::stats::{GraphStats, StatsOptions};
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{Actor, BranchInfo, Change, CommitInfo, LoadMode, ReadSelector, Schema, WriteOptions};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph};
use tokio::io::AsyncReadExt as _;

use super::reader::Reader;
use super::recovery::Recovery;
use super::upkeep::Indexes;
use super::{About, Caller, LoadInput, Outcome, Progress, Stored, StoredTable};
use crate::failure::{Failure, Result};

/// See the module header.
pub(crate) struct Embedded {
    graph: Graph,
    actor: Actor,
}

impl Embedded {
    pub(super) async fn open(root: &str, caller: &Caller, access: Access) -> Result<Self> {
        let graph = Engine::new(EngineOptions::default()).open(root, access).await?;
        Ok(Self { graph, actor: caller.actor() })
    }

    /// Creates a graph and opens it.
    pub(crate) async fn create(root: &str, schema: Schema, caller: &Caller, message: &str) -> Result<(Self, Outcome)> {
        let engine = Engine::new(EngineOptions::default());
        let actor = caller.actor();
        let (graph, receipt) = engine.create(root, schema, &actor, message).await?;
        Ok((Self { graph, actor }, Outcome::of(receipt, MAIN)))
    }

    /// Removes a graph for good.
    pub(crate) async fn remove(root: &str) -> Result<()> {
        Ok(Engine::new(EngineOptions::default()).remove(root).await?)
    }

    /// The engine's handle, for commands that work on files only.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn place(&self) -> String {
        self.graph.root().to_string()
    }

    pub(super) fn actor(&self) -> Actor {
        self.actor.clone()
    }

    pub(super) async fn read(&self, selector: &ReadSelector) -> Result<Reader> {
        let snapshot = self.graph.snapshot(selector).await?;
        Ok(Reader::embedded(self.graph.clone(), snapshot))
    }

    pub(super) async fn stored(&self, selector: &ReadSelector) -> Result<Stored> {
        let snapshot = self.graph.snapshot(selector).await?;
        let tables = snapshot.pins().map(|pin| StoredTable {
            type_ref: pin.type_ref.clone(),
            location: pin.at.as_ref().map(|at| at.location.clone()),
            lance_branch: pin.at.as_ref().and_then(|at| at.branch.clone()),
            version: pin.at.as_ref().map(|at| at.version),
            rows: pin.rows,
        });
        Ok(Stored {
            commit: snapshot.head().to_string(),
            root: self.graph.root().to_string(),
            stamp: stamp::CURRENT,
            manifest_branch: snapshot.branch.lance_branch.clone(),
            manifest_version: snapshot.version,
            tables: tables.collect(),
        })
    }

    pub(super) async fn mutate(&self, changes: Vec<Change>, options: &WriteOptions) -> Result<Outcome> {
        let receipt = self.graph.mutate(changes, options).await?;
        Ok(Outcome::of(receipt, options.branch_name()))
    }

    pub(super) async fn load(
        &self,
        input: LoadInput,
        mode: LoadMode,
        options: &WriteOptions,
        progress: Progress,
    ) -> Result<Outcome> {
        let bytes = match input.file {
            Some(path) => LoadBytes::File(path),
            None => spool(progress).await?,
        };
        let source =
            LoadSource { bytes, format: input.format, compression: input.compression, type_ref: input.type_ref };
        let receipt = self.graph.load(source, mode, options).await?;
        Ok(Outcome::of(receipt, options.branch_name()))
    }

    pub(super) async fn branches(&self) -> Result<Vec<BranchInfo>> {
        Ok(self.graph.branches().await?)
    }

    pub(super) async fn branch(&self, name: &str) -> Result<BranchInfo> {
        Ok(self.graph.branch(name).await?)
    }

    pub(super) async fn create_branch(&self, name: &str, from: &ReadSelector) -> Result<BranchInfo> {
        Ok(self.graph.create_branch(name, from, &self.actor).await?)
    }

    pub(super) async fn delete_branch(&self, name: &str, force: bool) -> Result<()> {
        Ok(self.graph.delete_branch(name, force, &self.actor).await?)
    }

    pub(super) async fn commit(&self, id: &str) -> Result<CommitInfo> {
        Ok(self.graph.commit(id).await?)
    }

    pub(super) async fn commit_by_request(&self, branch: &str, request_id: &str) -> Result<CommitInfo> {
        let found = self.graph.commit_by_request(branch, request_id).await?;
        found.ok_or_else(|| no_such_request(branch, request_id))
    }

    pub(super) async fn commits(&self, branch: &str, limit: usize, all: bool) -> Result<Vec<CommitInfo>> {
        let mut commits: Vec<CommitInfo> = Vec::new();
        while commits.len() < limit {
            let before = commits.last().map(|commit| commit.id.clone());
            let (before, left) = (before.as_deref(), limit - commits.len());
            let page = match all {
                true => self.graph.ancestors(branch, before, left).await?,
                false => self.graph.commits(branch, before, left).await?,
            };
            if page.is_empty() {
                break;
            }
            commits.extend(page);
        }
        Ok(commits)
    }

    pub(super) async fn recoveries(&self, branch: Option<&str>, limit: usize) -> Result<Vec<Recovery>> {
        let log = self.graph.recoveries().await?;
        let newest = log.into_iter().rev().filter(|row| branch.is_none_or(|branch| row.branch == branch));
        Ok(newest.take(limit).map(Recovery::from).collect())
    }

    pub(super) async fn stats(&self, branches: Vec<String>) -> Result<GraphStats> {
        let options = StatsOptions { branches: (!branches.is_empty()).then_some(branches) };
        Ok(self.graph.stats(&options).await?)
    }

    pub(super) async fn index_status(&self, selector: &ReadSelector) -> Result<Indexes> {
        let snapshot = self.graph.snapshot(selector).await?;
        let indexes = self.graph.index_status(&snapshot).await?;
        let commit = snapshot.head().to_string();
        Ok(Indexes { commit, indexes: indexes.into_iter().map(Into::into).collect() })
    }

    pub(super) async fn about(&self) -> Result<About> {
        let main = self.graph.branch(MAIN).await?;
        Ok(About {
            id: None,
            root: self.graph.root().to_string(),
            stamp: stamp::CURRENT,
            head: main.head,
            created_at: main.created_at,
        })
    }
}

/// The failure for a request that left no commit.
fn no_such_request(branch: &str, request_id: &str) -> Failure {
    let what = format!("no kept commit of branch {branch:?} was made by the request {request_id:?}");
    Failure::usage(what).because(ErrorReason::CommitNotFound)
}

/// Standard input in a file of its own, since a load may have to read it more than once.
async fn spool(progress: Progress) -> Result<LoadBytes> {
    let cannot = |e: std::io::Error| Failure::io("cannot keep standard input in a temporary file", &e);
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let mut input = tokio::io::stdin();
    let mut buffer = vec![0; 256 * 1024];
    let mut total = 0;
    loop {
        let read = input.read(&mut buffer).await;
        let read = read.map_err(|e| Failure::io("cannot read standard input", &e))?;
        if read == 0 {
            break;
        }
        file.write_all(&buffer[..read]).map_err(cannot)?;
        total += read as u64;
        progress(total);
    }
    file.flush().map_err(cannot)?;
    Ok(LoadBytes::Spooled(Arc::new(file)))
}
