//! Commits, actors and what a write reports back. Data only.

use super::entity::TypeRef;
use super::merge::MergeNote;

/// Who wrote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor(pub String);

impl Actor {
    /// Acts for the recovery of interrupted operations.
    pub fn recovery() -> Self {
        Self("omnigraph:recovery".to_string())
    }

    /// Acts for the maintenance of tables.
    pub fn maintenance() -> Self {
        Self("omnigraph:maintenance".to_string())
    }
}

impl Default for Actor {
    fn default() -> Self {
        Self("anonymous".to_string())
    }
}

/// Rows changed in one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeCounts {
    /// The type.
    pub type_ref: TypeRef,
    /// Entities that did not exist before.
    pub inserted: u64,
    /// Entities whose row was rewritten.
    pub updated: u64,
    /// Entities that exist no more.
    pub deleted: u64,
}

/// The operation of commits that only rewrite how rows are stored.
pub const OPTIMIZE: &str = "optimize";

/// The operation of commits that undo an interrupted one or put tables back to what is published.
pub const RECOVERY: &str = "recovery";

/// The operation of commits that publish table versions in which others only rewrote how rows are stored.
pub const REPAIR: &str = "repair";

/// The operation of commits that bring in what another branch changed.
pub const MERGE: &str = "merge";

/// The operation of commits that take an earlier one back.
pub const REVERT: &str = "revert";

/// The operation of commits that make an earlier one again.
pub const CHERRY_PICK: &str = "cherry_pick";

/// The operation of commits that go back to an earlier state.
pub const RESTORE: &str = "restore";

/// The operation of commits that set or lift a branch's protection.
pub const PROTECTION: &str = "protection";

/// The operation of commits that publish table versions of which others changed the content, or may have.
pub const FORCED_REPAIR: &str = "repair_forced";

/// One commit of the graph's lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// A ULID, greater than its parents'.
    pub id: String,
    /// None for the genesis commit, one in the normal case, two for a merge. The first is the branch's
    /// own previous head.
    pub parents: Vec<String>,
    /// The branch it was made on.
    pub branch: String,
    /// Who made it.
    pub actor: Actor,
    /// When, microseconds since the epoch.
    pub created_at: i64,
    /// Free text; empty if none was given.
    pub message: String,
    /// The caller's idempotency key; empty if none was given.
    pub request_id: String,
    /// What made it: `init`, `load`, `mutate`, `recovery`, ….
    pub operation: String,
    /// What it changed, by type.
    pub counts: Vec<TypeCounts>,
    /// The version of the branch's manifest that made it visible.
    pub manifest_version: u64,
    /// The Lance branch of the manifest that holds it; `None` for main.
    pub lance_branch: Option<String>,
    /// What a merge, a revert or a cherry-pick remembers.
    pub merge: Option<Box<MergeNote>>,
    /// The commit of another graph that it stands for, if it came here with an import.
    pub imported: Option<Box<Imported>>,
}

/// A commit of the graph from which an archive was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its id there.
    pub id: String,
    /// When it was made there, microseconds since the epoch.
    pub created_at: i64,
}

impl CommitInfo {
    /// Whether a reader sees the same before and after it.
    pub fn keeps_content(&self) -> bool {
        matches!(self.operation.as_str(), OPTIMIZE | RECOVERY | REPAIR | PROTECTION)
    }
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The commit; the branch's unchanged head if nothing changed.
    pub commit: CommitInfo,
    /// Whether a commit was made.
    pub changed: bool,
    /// Whether this is the receipt of an earlier call with the same request id.
    pub replayed: bool,
    /// For a mutation, what each step did, in order. Empty for everything else, and for a replay: it is
    /// not kept with the commit.
    pub steps: Vec<StepResult>,
    /// For a load, the records of its input. Zero for everything else, and for a replay.
    pub records: u64,
}

/// What one step of a mutation did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The id of the entity inserted or upserted; empty for updates and deletes.
    pub id: String,
    /// Entities of the step's own type it made, changed or removed.
    pub affected: u64,
}
