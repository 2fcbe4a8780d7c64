//! Names for commits. Data only.

use super::commit::Actor;

/// A name that never moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagInfo {
    /// The name.
    pub name: String,
    /// The commit it names.
    pub commit: String,
    /// The branch the commit was found on.
    pub branch: String,
    /// When the tag was made, microseconds since the epoch.
    pub created_at: i64,
    /// Who made it.
    pub actor: Actor,
    /// A note; empty if none was given.
    pub message: String,
    /// Whether it refuses to be deleted.
    pub protected: bool,
}
