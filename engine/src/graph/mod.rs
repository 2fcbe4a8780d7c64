//! The handle of one open graph. Holds no logic: every method names the module that does the work.

pub mod create;
pub mod open;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::branch;
use crate::error::Result;
use crate::format::recovery_row::RecoveryRow;
use crate::history;
use crate::maintenance::cleanup::{self, CleanupOptions, CleanupReport};
use crate::maintenance::index_status;
use crate::maintenance::optimize::{self, OptimizeReport};
use crate::maintenance::repair::{self, RepairOptions, RepairReport};
use crate::maintenance::stats::{self, GraphStats, StatsOptions};
use crate::maintenance::verify::{self, VerifyReport};
use crate::manifest::Snapshot;
use crate::model::{
    Actor, BranchInfo, Change, CommitInfo, Entity, IndexStatus, LoadMode, Predicate, ReadSelector, Receipt, TypeRef,
    WriteOptions,
};
use crate::read;
use crate::read::neighbors::{Neighborhood, NeighborsQuery};
use crate::read::scan::{Rows, ScanPlan, ScanRequest};
use crate::read::search::SearchRequest;
use crate::recovery;
use crate::txn::Core;
use crate::write;
use crate::write::load::LoadSource;

/// An open graph. Cheap to clone; every method can be called from many tasks at once.
#[derive(Clone, Debug)]
pub struct Graph {
    core: Arc<Core>,
}

impl Graph {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The canonical address of the graph.
    pub fn root(&self) -> &str {
        self.core.store.root().uri()
    }

    /// Fixes one state of the graph to read. Everything read through it is of one moment.
    ///
    /// # Errors
    /// The branch, commit or tag does not exist, or is not retained; the store's.
    pub async fn snapshot(&self, selector: &ReadSelector) -> Result<Snapshot> {
        read::snapshot::resolve(&self.core, selector).await
    }

    /// Fixes the state shown by one version of one line of the manifest, as recorded in a Flight ticket.
    ///
    /// # Errors
    /// [`crate::error::Reason::CommitNotFound`] if it is not retained; the store's.
    pub async fn snapshot_at(&self, lance_branch: Option<&str>, version: u64) -> Result<Snapshot> {
        read::snapshot::at(&self.core, lance_branch, version).await
    }

    /// Carries out steps as one atomic commit. Steps see the effects of those before them.
    ///
    /// # Errors
    /// Every violation of the schema and its constraints, with nothing changed; see [`crate::txn`] for
    /// conflicts and store failures.
    pub async fn mutate(&self, changes: Vec<Change>, options: &WriteOptions) -> Result<Receipt> {
        write::mutate::mutate(&self.core, changes, options).await
    }

    /// Loads an input as one atomic commit, streaming, in bounded memory.
    ///
    /// # Errors
    /// Every wrong record, and every violation of the schema and its constraints, with nothing changed.
    pub async fn load(&self, source: LoadSource, mode: LoadMode, options: &WriteOptions) -> Result<Receipt> {
        write::load::load(&self.core, source, mode, options).await
    }

    /// Makes a branch at a state of the graph. Atomic; copies nothing.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchExists`], [`crate::error::Reason::InvalidName`], or the selector's.
    pub async fn create_branch(&self, name: &str, from: &ReadSelector, actor: &Actor) -> Result<BranchInfo> {
        branch::create::create(&self.core, name, from, actor).await
    }

    /// A live branch.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`].
    pub async fn branch(&self, name: &str) -> Result<BranchInfo> {
        branch::list::get(&self.core, name).await
    }

    /// Every live branch by name, main included.
    ///
    /// # Errors
    /// The store's.
    pub async fn branches(&self) -> Result<Vec<BranchInfo>> {
        branch::list::list(&self.core).await
    }

    /// Deletes a branch. Branches made from it stay readable; its name can be used again at once. `force`
    /// removes a branch whose lineage cannot be read.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::BranchProtected`] for main.
    pub async fn delete_branch(&self, name: &str, force: bool, actor: &Actor) -> Result<()> {
        branch::delete::delete(&self.core, name, force, actor).await
    }

    /// A commit by id, on whatever live branch it is.
    ///
    /// # Errors
    /// [`crate::error::Reason::CommitNotFound`].
    pub async fn commit(&self, id: &str) -> Result<CommitInfo> {
        history::log::commit(&self.core, id).await
    }

    /// The commit a request made on a branch, if it made one.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`]; the store's.
    pub async fn commit_by_request(&self, branch: &str, request_id: &str) -> Result<Option<CommitInfo>> {
        history::log::by_request(&self.core, branch, request_id).await
    }

    /// Up to `limit` commits of a branch, its inherited part included, newest first, older than `before`.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`]; the store's.
    pub async fn commits(&self, branch: &str, before: Option<&str>, limit: usize) -> Result<Vec<CommitInfo>> {
        history::log::page(&self.core, branch, before, limit).await
    }

    /// Splits a scan into parts that can be read in parallel, by this or another process.
    ///
    /// # Errors
    /// A type, column or predicate that does not fit the schema.
    pub async fn plan_scan(&self, snapshot: &Snapshot, request: &ScanRequest, max_parts: usize) -> Result<ScanPlan> {
        read::scan::plan(&self.core, snapshot, request, max_parts).await
    }

    /// Reads rows of one type, or of one part of a planned scan. Blobs come as bytes.
    ///
    /// # Errors
    /// A type, column or predicate that does not fit the schema; the store's.
    pub async fn scan(&self, snapshot: &Snapshot, request: &ScanRequest, fragments: Option<&[u64]>) -> Result<Rows> {
        read::scan::scan(&self.core, snapshot, request, fragments).await
    }

    /// Entities by id, in the order asked for; missing ones are left out.
    ///
    /// # Errors
    /// The type does not exist; the store's.
    pub async fn get(&self, snapshot: &Snapshot, type_ref: &TypeRef, ids: &[String]) -> Result<Vec<Entity>> {
        read::get::by_ids(&self.core, snapshot, type_ref, ids).await
    }

    /// Entities for which a predicate holds, by id, after the id `after`, at most `limit`.
    ///
    /// # Errors
    /// The type or the predicate does not fit the schema; the store's.
    pub async fn find(
        &self,
        snapshot: &Snapshot,
        type_ref: &TypeRef,
        predicate: Option<&Predicate>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Entity>> {
        read::get::by_predicate(&self.core, snapshot, type_ref, predicate, after, limit).await
    }

    /// What is within some hops of some nodes.
    ///
    /// # Errors
    /// A start node or type that does not exist; the store's.
    pub async fn neighbors(&self, snapshot: &Snapshot, query: &NeighborsQuery) -> Result<Neighborhood> {
        read::neighbors::neighbors(&self.core, snapshot, query).await
    }

    /// The columns of a search's result, without searching.
    ///
    /// # Errors
    /// As [`read::search::search`].
    pub fn plan_search(&self, snapshot: &Snapshot, request: &SearchRequest) -> Result<SchemaRef> {
        read::search::schema(snapshot, request)
    }

    /// The entities nearest to a vector, those whose texts best answer some words, or those that do both, best first,
    /// with their ranks. Blobs come as bytes.
    ///
    /// # Errors
    /// A type, property, vector, text, filter or limit that does not fit; see [`read::search::search`]. The store's.
    pub async fn search(&self, snapshot: &Snapshot, request: &SearchRequest) -> Result<Rows> {
        read::search::search(&self.core, snapshot, request).await
    }

    /// The whole graph as newline-delimited JSON that a load reads back: nodes first, then edges.
    pub fn export(&self, snapshot: &Snapshot) -> BoxStream<'static, Result<Bytes>> {
        read::export::export(self.core.clone(), snapshot.clone())
    }

    /// Decides every interrupted operation whose holder is gone. Returns how many.
    ///
    /// # Errors
    /// The store's.
    pub async fn recover(&self) -> Result<usize> {
        self.core.ensure_writable()?;
        recovery::sweep::sweep(&self.core).await
    }

    /// Compacts every table that a branch has written, as one commit that changes no content, beside live
    /// writers and readers. Interrupted operations are recovered first. At most `concurrency` tables are
    /// rewritten at once.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::RecoveryRequired`] if an interrupted
    /// operation of the branch cannot be decided; the store's.
    pub async fn optimize(&self, branch: &str, concurrency: usize) -> Result<OptimizeReport> {
        optimize::optimize(&self.core, branch, concurrency).await
    }

    /// Classifies what stands above the published versions of a branch's tables and, if confirmed, settles it: what
    /// changed no row is published, what omnigraph left is put back, and by force all else is published, too. Rewrites
    /// no data. Without confirmation nothing is done, and a graph opened for reading will do.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::RecoveryRequired`] if an operation on the
    /// branch is not decided; the store's. What concerns one table is in the report.
    pub async fn repair(&self, branch: &str, options: RepairOptions) -> Result<RepairReport> {
        repair::repair(&self.core, branch, options).await
    }

    /// How far every index is that the schema of a snapshot asks for, by type.
    ///
    /// # Errors
    /// The store's.
    pub async fn index_status(&self, snapshot: &Snapshot) -> Result<Vec<IndexStatus>> {
        index_status::status(&self.core, snapshot).await
    }

    /// What the graph's tables take in the store, and how the graph is. Lists every object below its root; reads
    /// no data and changes nothing.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::LimitExceeded`] for a dataset of too many
    /// files; the store's.
    pub async fn stats(&self, options: &StatsOptions) -> Result<GraphStats> {
        stats::stats(&self.core, options).await
    }

    /// Removes the states that a policy lets go, on every live branch, and what nothing refers to, beside live
    /// writers and readers. Irreversible. Makes no commit, and without confirmation removes nothing: the report then
    /// says what it would remove. Interrupted operations are recovered first.
    ///
    /// # Errors
    /// With nothing removed: [`crate::error::Reason::InvalidArgument`] for a policy that says nothing,
    /// [`crate::error::Reason::RecoveryRequired`], [`crate::error::Reason::Drift`], a branch that cannot be read; the
    /// store's. What fails later is in the report.
    pub async fn cleanup(&self, options: &CleanupOptions) -> Result<CleanupReport> {
        cleanup::cleanup(&self.core, options).await
    }

    /// Every operation that was ever recovered, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn recoveries(&self) -> Result<Vec<RecoveryRow>> {
        recovery::audit::list(&self.core).await
    }

    /// Checks every invariant on every live branch. Changes nothing.
    ///
    /// # Errors
    /// The store's. What is wrong with the graph is in the report.
    pub async fn verify(&self) -> Result<VerifyReport> {
        verify::verify(&self.core).await
    }
}
