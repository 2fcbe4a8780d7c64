//! The OmniGraph client: typed calls over gRPC, and record batches over Arrow Flight, on one connection.
//!
//! # What it is
//! * [`Client`] is a connection, [`Graph`] a handle of one graph on it. Both are cheap to clone.
//! * Every write is one commit and answers a [`Receipt`]. The client names each write, so that it can safely
//!   repeat a call whose outcome is unknown; give a `request_id` of your own to be safe across processes.
//! * Every read sees one version, which it can name: head of a branch, commit, moment, or no older than a
//!   receipt.
//! * [`Error`] carries a reason to branch on; nobody has to read its text.
//!
//! # What it is not
//! It knows neither the engine nor its storage, keeps no state between calls and caches nothing. What it does
//! not cover is reached through the generated stubs, [`Client::raw`].
//!
//! # A tour
//! ```no_run
//! use futures::TryStreamExt;
//! use omnigraph_client::{Client, ErrorReason, LoadMode, LoadSource, Selector, edge, node, prop};
//!
//! # async fn tour() -> omnigraph_client::Result<()> {
//! let client = Client::builder("http://127.0.0.1:50051").actor("ada").connect().await?;
//! let graph = client.graph("social");
//!
//! // Write: one commit, whatever it touches.
//! let done = graph
//!     .mutate()
//!     .upsert(node("Person").set("slug", "ada").set("age", 36))
//!     .upsert(node("Person").set("slug", "grace"))
//!     .insert(edge("Knows", "ada", "grace"))
//!     .send()
//!     .await?;
//! graph.load(LoadSource::file("people.jsonl")).mode(LoadMode::Merge).send().await?;
//!
//! // Read, no older than what was written.
//! let ada = graph.get("Person", ["ada"]).at_least(&done).send().await?;
//! let mut rows = graph.scan("Person").filter(prop("age").ge(18)).send().await?;
//! while let Some(batch) = rows.try_next().await? {
//!     println!("{} rows", batch.num_rows());
//! }
//!
//! // Branch, and branch on reasons.
//! match graph.create_branch("review", Selector::default()).await {
//!     Err(error) if error.is(ErrorReason::BranchExists) => {}
//!     other => {
//!         other?;
//!     }
//! }
//!
//! // Look at what differs, and bring it in.
//! let review = Selector::Branch("review".into());
//! let mut changes = graph.changes(Selector::default(), review).send().await?.changes;
//! while let Some(change) = changes.try_next().await? {
//!     println!("{} {}/{}", change.kind().as_str(), change.type_ref, change.id);
//! }
//! graph.merge("review").into("main").send().await?;
//! # Ok(())
//! # }
//! ```

mod branches;
mod changes;
mod client;
mod commits;
mod config;
mod conflict;
mod entities;
mod entity;
mod error;
mod evolve;
mod export;
mod graphs;
mod id;
mod load;
mod maintenance;
mod merge;
mod mutate;
mod neighbors;
mod predicate;
mod put;
mod receipt;
mod recoveries;
mod retry;
mod revert;
mod scan;
mod schema;
mod search;
mod selector;
mod step;
mod tags;
mod time;
mod upload;
mod value;
mod watch;

pub use branches::{Branch, DeletedBranch};
pub use changes::{ChangeKind, Changes, ChangesRead, EntityChange};
pub use client::{Client, Graph, Listing, Raw, Transport};
pub use commits::{Commit, CommitRef};
pub use config::{ClientBuilder, Headers};
pub use conflict::{Conflict, ConflictKind, Granularity, MergeNote, MergeOutcome, Resolution, Side, Strategy};
pub use entities::EntitiesRead;
pub use entity::{Entity, EntityKind, TypeRef};
pub use error::{Code, Error, ErrorReason, Origin, Result, Violation};
pub use evolve::{ApplySchema, PlanSchema, Rename, SchemaApplied, SchemaDiff, SchemaPlan, SchemaSource};
pub use export::{Export, ExportRead};
pub use graphs::{GraphInfo, GraphState, GraphSummary, Snapshot, SnapshotRead, TableSnapshot, TableVersion};
pub use id::fresh_request_id;
pub use load::{Compression, Load, LoadFormat, LoadMode, LoadSource, Loaded};
pub use maintenance::{
    GraphStats, IndexMethod, IndexMetric, IndexStatus, IndexStatusRead, Indexes, SpaceTotals, StatsRead, TableSpace,
};
pub use merge::{Merge, MergePreview, MergeSummary, Merged, PreviewMerge, PreviewStream, SourceDeletion};
pub use mutate::{EdgePolicy, EntityWrite, Mutated, Mutation, OperationResult, Target, edge, node};
pub use neighbors::{Direction, Neighbor, Neighborhood, NeighborsRead};
pub use predicate::{Predicate, Prop, prop};
pub use put::{BatchSource, Put};
pub use receipt::{Receipt, TypeCounts};
pub use recoveries::{RecoveredTable, Recovery, RecoveryOutcome, TableFound};
pub use retry::RetryPolicy;
pub use revert::{Applied, CherryPick, Restore, Restored, Revert};
pub use scan::{Batches, Scan, ScanPlan};
pub use schema::{SchemaInfo, SchemaRead};
pub use search::{Hit, Search, SearchResults};
pub use selector::Selector;
pub use step::{Refusal, RefusalCode, SchemaStep, StepAction, StepCost, Subject};
pub use tags::Tag;
pub use value::Value;
pub use watch::{CommitBlock, CommitFeed, Feed, FeedMessage, Watch};

/// The messages of the contract, for use with [`Client::raw`] and [`SchemaInfo`].
pub use omnigraph_proto::v1 as proto;
