//! The graph's own terms: schema, values, entities, predicates, changes, commits, branches.
//!
//! Pure and synchronous: nothing here reads, writes, waits, or knows how anything is stored or sent.

pub mod branch;
pub mod change;
pub mod commit;
pub mod diff;
pub mod entity;
pub mod evolve;
pub mod feed;
pub mod index;
pub mod key;
pub mod merge;
pub mod predicate;
pub mod rank;
pub mod schema;
pub mod selector;
pub mod tag;
pub mod value;

pub use branch::BranchInfo;
pub use change::{Change, EdgePolicy, EntityWrite, LoadMode, Target, WriteOptions};
pub use commit::{Actor, CommitInfo, Imported, Receipt, StepResult, TypeCounts};
pub use diff::{ChangeKind, DiffFilter, EntityChange};
pub use entity::{Entity, EntityKind, TypeRef};
pub use evolve::{
    Refusal, RefusalCode, Rename, SchemaApply, SchemaPlan, SchemaStep, SchemaWish, StepAction, StepWork, Subject,
};
pub use feed::{FeedMessage, WatchRequest, WatchStart};
pub use index::{IndexDecl, IndexKind, IndexMethod, IndexStatus, Metric, WantedIndex};
pub use merge::{
    Conflict, ConflictKind, Granularity, MergeHow, MergeNote, MergeOutcome, MergePreview, MergeRequest, MergeResult,
    MergeSummary, Resolution, Side,
};
pub use predicate::{CompareOp, OrderBy, Predicate};
pub use schema::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityType, InterfaceType, Property, PropertyType,
    RangeConstraint, ScalarType, Schema,
};
pub use selector::ReadSelector;
pub use tag::TagInfo;
pub use value::Value;
