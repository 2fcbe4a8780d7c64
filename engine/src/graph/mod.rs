//! The handle of one open graph. Holds no logic: every method names the module that does the work.

pub mod create;
pub mod import;
pub mod open;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::archive::{self, ArchiveOptions};
use crate::branch;
use crate::error::Result;
use crate::format::recovery_row::RecoveryRow;
use crate::history;
use crate::history::diff::Diff;
use crate::maintenance::cleanup::{self, CleanupOptions, CleanupReport};
use crate::maintenance::index_status;
use crate::maintenance::optimize::{self, OptimizeReport};
use crate::maintenance::progress::{Nobody, Observer};
use crate::maintenance::repair::{self, RepairOptions, RepairReport};
use crate::maintenance::stats::{self, GraphStats, StatsOptions};
use crate::maintenance::verify::{self, VerifyReport};
use crate::manifest::Snapshot;
use crate::merge;
use crate::model::{
    Actor, BranchInfo, Change, CommitInfo, DiffFilter, Entity, FeedMessage, IndexStatus, LoadMode, MergeHow,
    MergePreview, MergeRequest, MergeResult, Predicate, ReadSelector, Receipt, SchemaApply, SchemaPlan, SchemaStep,
    SchemaWish, TagInfo, TypeRef, WatchRequest, WriteOptions,
};
use crate::read;
use crate::read::neighbors::{Neighborhood, NeighborsQuery};
use crate::read::scan::{Rows, ScanPlan, ScanRequest};
use crate::read::search::SearchRequest;
use crate::recovery;
use crate::schema;
use crate::txn::Core;
use crate::write;
use crate::write::load::LoadSource;

/// An open graph. Cheap to clone; every method can be called from many tasks at once.
#[derive(Clone, Debug)]
pub struct Graph {
    core: Arc<Core>,
    observer: Arc<dyn Observer>,
}

impl Graph {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, observer: Arc::new(Nobody) }
    }

    /// The canonical address of the graph.
    pub fn root(&self) -> &str {
        self.core.store.root().uri()
    }

    /// The same graph, by a handle whose maintenance operations ([`Graph::optimize`], [`Graph::repair`],
    /// [`Graph::cleanup`], [`Graph::verify`]) tell this observer how far they are. Other handles tell it nothing.
    #[must_use]
    pub fn observed(&self, observer: Arc<dyn Observer>) -> Self {
        Self { core: self.core.clone(), observer }
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

    /// Up to `limit` ancestors of a branch's head, the head and what merges brought in included, newest first by id,
    /// older than `before`. A commit never comes before a descendant.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`]; the store's.
    pub async fn ancestors(&self, branch: &str, before: Option<&str>, limit: usize) -> Result<Vec<CommitInfo>> {
        history::log::ancestors(&self.core, branch, before, limit).await
    }

    /// Sets or lifts a branch's protection, as a commit of the branch. A protected branch cannot be deleted and takes
    /// no direct writes: merges, and maintenance, go on.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`]; the store's.
    pub async fn protect_branch(&self, name: &str, protected: bool, actor: &Actor) -> Result<BranchInfo> {
        branch::protect::protect(&self.core, name, protected, actor).await
    }

    /// What differs between two states, entity by entity, ordered by kind, type and id. Cost follows what differs,
    /// not what the tables hold; only what a reader can see counts.
    ///
    /// # Errors
    /// A selector's; [`crate::error::Reason::TypeNotFound`] for a type that neither state declares; the store's.
    pub async fn diff(&self, before: &ReadSelector, after: &ReadSelector, filter: &DiffFilter) -> Result<Diff> {
        history::diff::between(&self.core, before, after, filter).await
    }

    /// What a commit changed: its difference from its first parent, or from an empty graph if it has none.
    ///
    /// # Errors
    /// As [`Graph::diff`].
    pub async fn changes_of(&self, commit: &str, filter: &DiffFilter) -> Result<Diff> {
        history::diff::of_commit(&self.core, commit, filter).await
    }

    /// Follows a branch: every commit of its chain of first parents with what it changed, oldest first, each
    /// complete, at least once. Ends with an error when the branch is deleted.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::InvalidPageToken`] for a cursor of another
    /// graph, branch incarnation or filter, [`crate::error::Reason::HistoryGap`] if commits in between are not
    /// retained; the store's.
    pub async fn watch(&self, request: &WatchRequest) -> Result<BoxStream<'static, Result<FeedMessage>>> {
        history::feed::watch(&self.core, request).await
    }

    /// Names a commit, for ever. A tag keeps its commit from being cleaned up.
    ///
    /// # Errors
    /// [`crate::error::Reason::InvalidName`], [`crate::error::Reason::TagExists`], or the selector's.
    pub async fn create_tag(&self, name: &str, at: &ReadSelector, message: &str, actor: &Actor) -> Result<TagInfo> {
        history::tags::create(&self.core, name, at, message, actor).await
    }

    /// A tag.
    ///
    /// # Errors
    /// [`crate::error::Reason::TagNotFound`].
    pub async fn tag(&self, name: &str) -> Result<TagInfo> {
        history::tags::get(&self.core, name).await
    }

    /// Every tag by name.
    ///
    /// # Errors
    /// The store's.
    pub async fn tags(&self) -> Result<Vec<TagInfo>> {
        history::tags::list(&self.core).await
    }

    /// Sets or lifts a tag's protection against deletion.
    ///
    /// # Errors
    /// [`crate::error::Reason::TagNotFound`]; the store's.
    pub async fn protect_tag(&self, name: &str, protected: bool) -> Result<TagInfo> {
        history::tags::protect(&self.core, name, protected).await
    }

    /// Deletes a tag; its commit stays for as long as anything else keeps it. The name can be used again at once.
    ///
    /// # Errors
    /// [`crate::error::Reason::TagNotFound`], [`crate::error::Reason::TagProtected`]; the store's.
    pub async fn delete_tag(&self, name: &str) -> Result<TagInfo> {
        history::tags::delete(&self.core, name).await
    }

    /// Brings into the branch that the options name, as one commit with two parents, what another branch changed since
    /// they parted. All or nothing; the whole result obeys all constraints. Cost follows what both sides changed.
    ///
    /// # Errors
    /// [`crate::error::Reason::MergeConflict`] with what stands against it, and nothing changed;
    /// [`crate::error::Reason::HeadMoved`]; [`crate::error::Reason::CommitNotFound`] if the base is not retained; see
    /// [`crate::txn`] for conflicts with other writers and store failures.
    pub async fn merge(&self, request: &MergeRequest, options: &WriteOptions) -> Result<MergeResult> {
        merge::merge(&self.core, request, options).await
    }

    /// What [`Graph::merge`] would do with the heads as they are. Writes nothing.
    ///
    /// # Errors
    /// As [`Graph::merge`], but conflicts are in the answer.
    pub async fn preview_merge(&self, source: &str, target: &str, how: &MergeHow) -> Result<MergePreview> {
        merge::preview(&self.core, source, target, how).await
    }

    /// Takes back, as a new commit on the branch that the options name, what a commit changed against its first
    /// parent. What was changed again since is a conflict.
    ///
    /// # Errors
    /// As [`Graph::merge`].
    pub async fn revert(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<MergeResult> {
        merge::revert(&self.core, commit, how, options).await
    }

    /// Makes again, as a new commit on the branch that the options name, what a commit changed against its first
    /// parent.
    ///
    /// # Errors
    /// As [`Graph::merge`].
    pub async fn cherry_pick(&self, commit: &str, how: &MergeHow, options: &WriteOptions) -> Result<MergeResult> {
        merge::cherry_pick(&self.core, commit, how, options).await
    }

    /// Makes the branch that the options name show what another state shows, as a new commit.
    ///
    /// # Errors
    /// The selector's, and those of every write.
    pub async fn restore(&self, to: &ReadSelector, options: &WriteOptions) -> Result<MergeResult> {
        merge::restore(&self.core, to, options).await
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

    /// Every branch and tag and every state that can still be read, as a stream that [`crate::Engine::import`] makes a
    /// graph of. Memory is bounded but for the list of commits; time follows what commits changed, and the size of the
    /// heads, which are read as a whole in the end to make sure that the changes lead to them. What is being read is
    /// held against cleanups, unless the graph was opened for reading; what a cleanup removed before its turn is left
    /// out, or ends the stream if something names it.
    pub fn export_all(&self, options: ArchiveOptions) -> BoxStream<'static, Result<Bytes>> {
        archive::write(self.core.clone(), options)
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
        optimize::optimize(&self.core, branch, concurrency, &self.observer).await
    }

    /// Classifies what stands above the published versions of a branch's tables and, if confirmed, settles it: what
    /// changed no row is published, what omnigraph left is put back, and by force all else is published, too. Rewrites
    /// no data. Without confirmation nothing is done, and a graph opened for reading will do.
    ///
    /// # Errors
    /// [`crate::error::Reason::BranchNotFound`], [`crate::error::Reason::RecoveryRequired`] if an operation on the
    /// branch is not decided; the store's. What concerns one table is in the report.
    pub async fn repair(&self, branch: &str, options: RepairOptions) -> Result<RepairReport> {
        repair::repair(&self.core, branch, options, self.observer.as_ref()).await
    }

    /// The steps from the schema of a branch's head to a wanted one, what they cost, and what stands against them.
    /// Reads the rows that new constraints concern; writes nothing and promises nothing.
    ///
    /// # Errors
    /// [`crate::error::Reason::InvalidSchema`] naming every offender, [`crate::error::Reason::TypeNotFound`] or
    /// [`crate::error::Reason::PropertyNotFound`] for a rename of what is not there,
    /// [`crate::error::Reason::BranchNotFound`]; the store's.
    pub async fn plan_schema(&self, branch: &str, wish: &SchemaWish) -> Result<SchemaPlan> {
        schema::evolve::plan(&self.core, branch, wish).await
    }

    /// Gives a branch another schema, and changes its data accordingly, in one atomic commit. With `expected_head` a
    /// plan is carried out exactly as it was seen. A schema that is the same already changes nothing. Returns the
    /// steps taken; none for a replayed request.
    ///
    /// # Errors
    /// With nothing changed: as [`Graph::plan_schema`]; [`crate::error::Reason::SchemaRefused`] with every step the
    /// graph cannot take, [`crate::error::Reason::ConfirmationRequired`] for steps that lose data without consent;
    /// see [`crate::txn`] for conflicts and store failures.
    pub async fn apply_schema(
        &self,
        apply: &SchemaApply,
        options: &WriteOptions,
    ) -> Result<(Receipt, Vec<SchemaStep>)> {
        schema::evolve::apply(&self.core, apply, options).await
    }

    /// How the schema of one state differs from that of another. Types and properties are known by their stable ids.
    /// Reads no row, so costs are not told.
    ///
    /// # Errors
    /// The selectors'; the store's.
    pub async fn schema_changes(&self, before: &ReadSelector, after: &ReadSelector) -> Result<Vec<SchemaStep>> {
        schema::evolve::between(&self.core, before, after).await
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
        cleanup::cleanup(&self.core, options, self.observer.as_ref()).await
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
        verify::verify(&self.core, self.observer.as_ref()).await
    }
}
