//! The graph's own terms: schema, values, entities, predicates, changes, commits, branches.
//!
//! Pure and synchronous: nothing here reads, writes, waits, or knows how anything is stored or sent.

pub mod branch;
pub mod change;
pub mod commit;
pub mod entity;
pub mod index;
pub mod key;
pub mod predicate;
pub mod rank;
pub mod schema;
pub mod selector;
pub mod value;

pub use branch::BranchInfo;
pub use change::{Change, EdgePolicy, EntityWrite, LoadMode, Target, WriteOptions};
pub use commit::{Actor, CommitInfo, Receipt, StepResult, TypeCounts};
pub use entity::{Entity, EntityKind, TypeRef};
pub use index::{IndexDecl, IndexKind, IndexMethod, IndexStatus, Metric, WantedIndex};
pub use predicate::{CompareOp, OrderBy, Predicate};
pub use schema::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityType, InterfaceType, Property, PropertyType,
    RangeConstraint, ScalarType, Schema,
};
pub use selector::ReadSelector;
pub use value::Value;
