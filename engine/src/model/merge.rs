//! What a merge is asked for, what stands against it, and what it remembers. Data only.

use super::commit::{Receipt, TypeCounts};
use super::entity::{Entity, TypeRef};
use crate::error::Error;

/// What a merge came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeOutcome {
    /// The target has everything of the source already. Nothing was committed.
    AlreadyUpToDate,
    /// The target had nothing of its own since the base: it now shows what the source shows.
    FastForward,
    /// Both sides had changes.
    Merged,
}

impl MergeOutcome {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyUpToDate => "already_up_to_date",
            Self::FastForward => "fast_forward",
            Self::Merged => "merged",
        }
    }

    /// Reads the stable name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::AlreadyUpToDate, Self::FastForward, Self::Merged].into_iter().find(|o| o.as_str() == text)
    }
}

/// How fine both sides are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// Two sides that change different properties of one entity do not conflict.
    #[default]
    Property,
    /// Two sides that change one entity in different ways conflict.
    Entity,
}

/// One of the three states a merge looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What both sides come from.
    Base,
    /// The branch that is merged into: *ours*.
    Target,
    /// The branch that is merged: *theirs*.
    Source,
}

impl Side {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Target => "ours",
            Self::Source => "theirs",
        }
    }

    /// Reads the stable name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Base, Self::Target, Self::Source].into_iter().find(|s| s.as_str() == text)
    }
}

/// How the caller settles one conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The entity's type.
    pub type_ref: TypeRef,
    /// Its id.
    pub id: String,
    /// Only this property of it; `None` for the entity as a whole, its other conflicting properties included.
    pub property: Option<String>,
    /// Whose version is taken. An entity that does not exist on that side is deleted.
    pub take: Side,
}

/// How conflicts are found and settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeHow {
    /// How fine both sides are compared.
    pub granularity: Granularity,
    /// Whose version is taken where no resolution says so; `None` refuses the merge. Settles what both sides did to
    /// one entity, and edges whose end the other side deleted; never a uniqueness, cardinality or value constraint.
    pub strategy: Option<Side>,
    /// What the caller decided, entity by entity.
    pub resolutions: Vec<Resolution>,
}

/// A merge to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeRequest {
    /// The branch to merge; the options name the one it is merged into.
    pub source: String,
    /// The commit that must be the source's head; empty for no condition.
    pub expected_source_head: String,
    /// How conflicts are found and settled.
    pub how: MergeHow,
    /// Whether to delete the source afterwards.
    pub delete_source: bool,
}

/// What kind of conflict stands against a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConflictKind {
    /// Both sides made an entity of one id, with different content.
    DivergentInsert,
    /// Both sides changed one entity in ways that do not go together.
    DivergentUpdate,
    /// One side deleted an entity that the other changed.
    DeleteVsUpdate,
    /// One side deleted a node that an edge of the other needs.
    OrphanEdge,
    /// Two entities would share a value declared unique.
    UniqueViolation,
    /// A source would have too few or too many edges.
    CardinalityViolation,
    /// A property would break a constraint on its value.
    ValueConstraintViolation,
    /// Both sides declared one type or property differently.
    Schema,
}

impl ConflictKind {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DivergentInsert => "divergent_insert",
            Self::DivergentUpdate => "divergent_update",
            Self::DeleteVsUpdate => "delete_vs_update",
            Self::OrphanEdge => "orphan_edge",
            Self::UniqueViolation => "unique_violation",
            Self::CardinalityViolation => "cardinality_violation",
            Self::ValueConstraintViolation => "value_constraint_violation",
            Self::Schema => "schema",
        }
    }
}

/// Something that stands against a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// Its kind.
    pub kind: ConflictKind,
    /// The type of the entity concerned.
    pub type_ref: TypeRef,
    /// The id of the entity concerned; of a cardinality, of the node the edges start at.
    pub id: String,
    /// The properties concerned, in the order declared; `src` and `dst` stand for an edge's ends. Empty: the entity
    /// as a whole.
    pub properties: Vec<String>,
    /// The entity at the base; `None` if it did not exist.
    pub base: Option<Entity>,
    /// The entity in the target; `None` if it does not exist.
    pub target: Option<Entity>,
    /// The entity in the source; `None` if it does not exist.
    pub source: Option<Entity>,
    /// A sentence that says what stands against what.
    pub message: String,
}

/// What a merge would do, or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSummary {
    /// What it comes to if nothing stands against it.
    pub outcome: MergeOutcome,
    /// The commit from which both sides are compared. With several nearest common ancestors, the newest of them.
    pub base: String,
    /// The commit that is merged.
    pub source: String,
    /// The commit it is merged into.
    pub target: String,
    /// What changes in the target, by type.
    pub counts: Vec<TypeCounts>,
    /// Conflicts that the strategy or a resolution settles.
    pub settled: u64,
}

/// What a merge would do.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePreview {
    /// In short.
    pub summary: MergeSummary,
    /// Everything that stands against it, by type and id. Empty: it would be made.
    pub conflicts: Vec<Conflict>,
}

/// What a merge did.
#[derive(Clone, Debug)]
pub struct MergeResult {
    /// What it came to.
    pub outcome: MergeOutcome,
    /// The commit from which both sides were compared.
    pub base: String,
    /// The commit that was merged.
    pub source: String,
    /// Conflicts that the strategy or a resolution settled.
    pub settled: u64,
    /// The commit; the target's unchanged head if there was nothing to do.
    pub receipt: Receipt,
    /// What became of the source, if its deletion was asked for.
    pub source_deleted: Option<Result<(), Error>>,
}

/// What a merge, a revert or a cherry-pick remembers with its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeNote {
    /// What it came to.
    pub outcome: MergeOutcome,
    /// The commit from which both sides were compared.
    pub base: String,
    /// The commit whose content was brought in.
    pub source: String,
    /// The branch it was on, if it was named; empty otherwise.
    pub source_branch: String,
    /// Whose version was taken in conflicts without a resolution.
    pub strategy: Option<Side>,
    /// Conflicts that were settled.
    pub settled: u64,
    /// The resolutions that settled something; only the first of many are kept.
    pub resolutions: Vec<Resolution>,
}
