//! What a follower of a branch asks for and gets. Data only.

use super::commit::CommitInfo;
use super::diff::{DiffFilter, EntityChange};
use super::evolve::SchemaStep;

/// Where following a branch starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WatchStart {
    /// After the head of this moment.
    #[default]
    Now,
    /// With the first commit of the branch's history.
    Beginning,
    /// After a commit of the branch's own chain of first parents.
    After(String),
    /// After the message that carried this cursor.
    Cursor(String),
}

/// What is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// The branch; empty means main.
    pub branch: String,
    /// Where to start.
    pub start: WatchStart,
    /// Which changes are wanted. Commits without one are told all the same, with no change.
    pub filter: DiffFilter,
    /// Whether the changes are wanted, or only the commits.
    pub changes: bool,
}

/// One message to a follower. The messages of one commit follow each other: its begin, its changes, its end.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedMessage {
    /// A commit begins.
    Begin(Box<CommitInfo>),
    /// How it changed the schema. What went with a type or a property is not told entity by entity. Comes before the
    /// changes, and only if there is anything to tell and changes are wanted.
    Schema(Vec<SchemaStep>),
    /// Some of its changes, ordered by kind, type and id.
    Changes(Vec<EntityChange>),
    /// The commit is complete. The cursor resumes after it.
    End {
        /// Opaque; bound to the graph, the branch's incarnation and the filter.
        cursor: String,
    },
    /// Nothing new for a while. The cursor resumes here.
    Idle {
        /// As of the last commit told.
        cursor: String,
    },
}
