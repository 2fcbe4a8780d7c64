//! One face for a graph in files and a graph on a server, so that commands do not know which they work on and
//! their output and exit codes cannot differ. Domain types are the engine's.

mod convert;
mod embedded;
mod evolve;
mod history;
mod reader;
mod recovery;
mod remote;
mod upkeep;

pub(crate) use evolve::{Evolved, Plan, SchemaDiff, Wish};
pub(crate) use history::{Applied, Changes, Merged};
pub(crate) use reader::{Reader, Rows, type_named};
pub(crate) use recovery::Recovery;
pub(crate) use upkeep::{Index, Indexes};

use std::path::PathBuf;
use std::sync::Arc;

use omnigraph_client::Client;
use omnigraph_engine::archive::ImportReport;
use omnigraph_engine::data::{Compression, InputFormat, Source};
use omnigraph_engine::maintenance::stats::GraphStats;
use omnigraph_engine::model::{
    Actor, BranchInfo, Change, CommitInfo, LoadMode, ReadSelector, Receipt, Schema, TypeCounts, TypeRef, WriteOptions,
};
use omnigraph_engine::{Access, Engine, EngineOptions, Graph, schema};

use crate::address::Address;
use crate::failure::{Failure, Result};
use embedded::Embedded;
use remote::Remote;

/// Who asks, and how a server is called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) token: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) timeout: Option<u64>,
}

impl Caller {
    /// The name stored with what is written to files.
    pub(crate) fn actor(&self) -> Actor {
        self.actor.clone().map_or_else(Actor::default, Actor)
    }
}

/// A graph to work on.
pub(crate) enum Target {
    /// In files, with the engine in this process.
    Embedded(Embedded),
    /// On a server.
    Remote(Remote),
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) commit: String,
    pub(crate) parents: Vec<String>,
    pub(crate) branch: String,
    pub(crate) changed: bool,
    pub(crate) replayed: bool,
    pub(crate) counts: Vec<TypeCounts>,
    /// Microseconds since the epoch; `None` if nothing changed.
    pub(crate) created_at: Option<i64>,
}

impl Outcome {
    /// From the engine's receipt of a write to this branch.
    pub(crate) fn of(receipt: Receipt, branch: &str) -> Self {
        let Receipt { commit, changed, replayed, .. } = receipt;
        Self {
            commit: commit.id,
            parents: if changed { commit.parents } else { Vec::new() },
            branch: branch.to_string(),
            changed,
            replayed,
            counts: if changed { commit.counts } else { Vec::new() },
            created_at: changed.then_some(commit.created_at),
        }
    }
}

/// An input to load.
#[derive(Clone, Debug)]
pub(crate) struct LoadInput {
    /// The file; `None` is standard input.
    pub(crate) file: Option<PathBuf>,
    pub(crate) format: InputFormat,
    pub(crate) compression: Compression,
    pub(crate) type_ref: Option<TypeRef>,
}

/// How one version is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) commit: String,
    pub(crate) root: String,
    pub(crate) stamp: u32,
    pub(crate) manifest_branch: Option<String>,
    pub(crate) manifest_version: u64,
    /// By kind and name.
    pub(crate) tables: Vec<StoredTable>,
}

/// How one type is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTable {
    pub(crate) type_ref: TypeRef,
    /// `None` if nothing was ever written to the type.
    pub(crate) location: Option<String>,
    pub(crate) lance_branch: Option<String>,
    pub(crate) version: Option<u64>,
    pub(crate) rows: u64,
}

/// A graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// The id on a server; `None` for files, which have an address only.
    pub(crate) id: Option<String>,
    pub(crate) root: String,
    pub(crate) stamp: u32,
    pub(crate) head: String,
    pub(crate) created_at: i64,
}

/// Told the bytes sent so far.
pub(crate) type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// Calls the same method of whichever backend there is.
macro_rules! either {
    ($self:expr, $backend:ident => $call:expr) => {
        match $self {
            Target::Embedded($backend) => $call,
            Target::Remote($backend) => $call,
        }
    };
}

use either;

impl Target {
    /// Opens the graph.
    pub(crate) async fn open(address: &Address, caller: &Caller, access: Access) -> Result<Self> {
        match address {
            Address::Storage { root } => Ok(Self::Embedded(Embedded::open(root, caller, access).await?)),
            Address::Server { url, graph: Some(graph) } => Ok(Self::Remote(Remote::connect(url, graph, caller).await?)),
            Address::Server { graph: None, .. } => Err(no_graph()),
        }
    }

    /// Where this is, for people.
    pub(crate) fn place(&self) -> String {
        either!(self, target => target.place())
    }

    /// Who writes.
    pub(crate) fn actor(&self) -> Actor {
        either!(self, target => target.actor())
    }

    /// Fixes one version to read.
    pub(crate) async fn read(&self, selector: &ReadSelector) -> Result<Reader> {
        either!(self, target => target.read(selector).await)
    }

    /// How a version is stored.
    pub(crate) async fn stored(&self, selector: &ReadSelector) -> Result<Stored> {
        let mut stored = either!(self, target => target.stored(selector).await)?;
        stored.tables.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
        Ok(stored)
    }

    /// Carries out steps as one commit.
    pub(crate) async fn mutate(&self, changes: Vec<Change>, options: &WriteOptions) -> Result<Outcome> {
        either!(self, target => target.mutate(changes, options).await)
    }

    /// Loads an input as one commit.
    pub(crate) async fn load(
        &self,
        input: LoadInput,
        mode: LoadMode,
        options: &WriteOptions,
        progress: Progress,
    ) -> Result<Outcome> {
        either!(self, target => target.load(input, mode, options, progress).await)
    }

    /// The live branches, by name.
    pub(crate) async fn branches(&self) -> Result<Vec<BranchInfo>> {
        let mut branches = either!(self, target => target.branches().await)?;
        branches.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(branches)
    }

    /// A branch.
    pub(crate) async fn branch(&self, name: &str) -> Result<BranchInfo> {
        either!(self, target => target.branch(name).await)
    }

    /// Makes a branch.
    pub(crate) async fn create_branch(&self, name: &str, from: &ReadSelector) -> Result<BranchInfo> {
        either!(self, target => target.create_branch(name, from).await)
    }

    /// Deletes a branch.
    pub(crate) async fn delete_branch(&self, name: &str, force: bool) -> Result<()> {
        either!(self, target => target.delete_branch(name, force).await)
    }

    /// A commit by id.
    pub(crate) async fn commit(&self, id: &str) -> Result<CommitInfo> {
        either!(self, target => target.commit(id).await)
    }

    /// The commit a request left on a branch.
    pub(crate) async fn commit_by_request(&self, branch: &str, request_id: &str) -> Result<CommitInfo> {
        either!(self, target => target.commit_by_request(branch, request_id).await)
    }

    /// The newest commits of a branch, or the newest of all ancestors of its head.
    pub(crate) async fn commits(&self, branch: &str, limit: usize, all: bool) -> Result<Vec<CommitInfo>> {
        either!(self, target => target.commits(branch, limit, all).await)
    }

    /// The newest recoveries, on one branch or on all.
    pub(crate) async fn recoveries(&self, branch: Option<&str>, limit: usize) -> Result<Vec<Recovery>> {
        // No branch is named by nothing; a server takes that for all.
        let branch = branch.filter(|name| !name.is_empty());
        either!(self, target => target.recoveries(branch, limit).await)
    }

    /// The recovery of the operation that this word names: its id, or a beginning of it that fits no other.
    pub(crate) async fn recovery(&self, word: &str) -> Result<Recovery> {
        recovery::ensure_long_enough(word)?;
        match self {
            // A server looks a whole id up by itself.
            Self::Remote(target) if recovery::is_whole(word) => target.recovery(word).await,
            _ => recovery::one_of(self.recoveries(None, usize::MAX).await?, word),
        }
    }

    /// What the tables of some branches take, or of all if none is named, and how the graph is.
    pub(crate) async fn stats(&self, branches: Vec<String>) -> Result<GraphStats> {
        either!(self, target => target.stats(branches).await)
    }

    /// How far the indexes of a version are.
    pub(crate) async fn index_status(&self, selector: &ReadSelector) -> Result<Indexes> {
        either!(self, target => target.index_status(selector).await)
    }

    /// The graph as a whole.
    pub(crate) async fn about(&self) -> Result<About> {
        either!(self, target => target.about().await)
    }
}

/// Makes a graph and says where it is.
pub(crate) async fn create(address: &Address, source: &str, caller: &Caller) -> Result<About> {
    match address {
        Address::Storage { root } => {
            let schema = schema::parse(source)?;
            Embedded::create(root, schema, caller, "").await?.0.about().await
        }
        Address::Server { url, graph: Some(graph) } => {
            let info = connect(url, caller).await?.create_graph(graph, source).await?;
            Ok(convert::about_in(info))
        }
        Address::Server { graph: None, .. } => Err(no_graph()),
    }
}

/// Makes a graph in files and tells of its first commit.
pub(crate) async fn create_in_files(root: &str, schema: Schema, caller: &Caller, message: &str) -> Result<Outcome> {
    Ok(Embedded::create(root, schema, caller, message).await?.1)
}

/// Makes a graph in files of an archive. Returns its root, too.
pub(crate) async fn import_in_files(root: &str, source: Source, caller: &Caller) -> Result<(String, ImportReport)> {
    let (graph, report) = Engine::new(EngineOptions::default()).import(root, source, &caller.actor()).await?;
    Ok((graph.root().to_string(), report))
}

/// Deletes a graph for good.
pub(crate) async fn delete(address: &Address, caller: &Caller) -> Result<()> {
    match address {
        Address::Storage { root } => Embedded::remove(root).await,
        Address::Server { url, graph: Some(graph) } => Ok(connect(url, caller).await?.delete_graph(graph).await?),
        Address::Server { graph: None, .. } => Err(no_graph()),
    }
}

/// The engine's handle of a graph in files, which writes nothing.
pub(crate) async fn open_in_files(root: &str) -> Result<Graph> {
    let embedded = Embedded::open(root, &Caller::default(), Access::ReadOnly).await?;
    Ok(embedded.graph().clone())
}

/// Opens a graph in files for maintenance, which recovers interrupted operations first.
pub(crate) async fn open_to_maintain(root: &str) -> Result<Graph> {
    let embedded = Embedded::open(root, &Caller::default(), Access::ReadWrite).await?;
    Ok(embedded.graph().clone())
}

/// A connection to a server as a whole.
pub(crate) async fn connect(url: &str, caller: &Caller) -> Result<Client> {
    remote::client(url, caller).await
}

fn no_graph() -> Failure {
    Failure::usage("say which graph of the server: --graph ID")
}
