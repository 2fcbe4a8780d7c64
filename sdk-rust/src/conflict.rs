//! What stands against a merge, how it is settled, and what a commit remembers of it.

use omnigraph_proto::v1 as wire;

use crate::entity::{Entity, EntityKind, TypeRef};

/// What a merge came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeOutcome {
    /// Something that this version has no name for.
    Unknown,
    /// The target has everything of the source already. Nothing was committed.
    AlreadyUpToDate,
    /// The target had nothing of its own: it now shows what the source shows.
    FastForward,
    /// Both sides had changes.
    Merged,
}

impl MergeOutcome {
    /// Its name in lower case, `fast_forward`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::AlreadyUpToDate => "already_up_to_date",
            Self::FastForward => "fast_forward",
            Self::Merged => "merged",
        }
    }

    pub(crate) fn from_wire(outcome: wire::MergeOutcome) -> Self {
        match outcome {
            wire::MergeOutcome::Unspecified => Self::Unknown,
            wire::MergeOutcome::AlreadyUpToDate => Self::AlreadyUpToDate,
            wire::MergeOutcome::FastForward => Self::FastForward,
            wire::MergeOutcome::Merged => Self::Merged,
        }
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

impl Granularity {
    pub(crate) fn to_wire(self) -> i32 {
        match self {
            Self::Property => wire::Granularity::Property.into(),
            Self::Entity => wire::Granularity::Entity.into(),
        }
    }
}

/// Whose version is taken in conflicts that no resolution settles. It never settles a uniqueness, cardinality or value
/// constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// That of the branch that is merged into.
    Ours,
    /// That of what is merged.
    Theirs,
}

impl Strategy {
    /// Its name in lower case, `ours`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
        }
    }

    pub(crate) fn to_wire(self) -> i32 {
        match self {
            Self::Ours => wire::Strategy::Ours.into(),
            Self::Theirs => wire::Strategy::Theirs.into(),
        }
    }

    /// `None` if any conflict refused the merge.
    fn from_wire(strategy: wire::Strategy) -> Option<Self> {
        match strategy {
            wire::Strategy::Unspecified | wire::Strategy::Fail => None,
            wire::Strategy::Ours => Some(Self::Ours),
            wire::Strategy::Theirs => Some(Self::Theirs),
        }
    }
}

/// One of the three states a merge looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What both sides come from.
    Base,
    /// The branch that is merged into.
    Ours,
    /// What is merged.
    Theirs,
}

impl Side {
    /// Its name in lower case, `theirs`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Ours => "ours",
            Self::Theirs => "theirs",
        }
    }

    fn to_wire(self) -> i32 {
        match self {
            Self::Base => wire::Side::Base.into(),
            Self::Ours => wire::Side::Ours.into(),
            Self::Theirs => wire::Side::Theirs.into(),
        }
    }

    fn from_wire(side: wire::Side) -> Self {
        match side {
            wire::Side::Unspecified | wire::Side::Base => Self::Base,
            wire::Side::Ours => Self::Ours,
            wire::Side::Theirs => Self::Theirs,
        }
    }
}

/// How the caller settles what is in conflict about one entity.
///
/// ```
/// use omnigraph_client::{Resolution, Side};
///
/// let all = Resolution::entity("Person", "ada", Side::Theirs);
/// let age = Resolution::property("Person", "ada", "age", Side::Ours);
/// assert_eq!((all.property, age.property.as_deref()), (None, Some("age")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The entity's type.
    pub type_ref: TypeRef,
    /// Its id.
    pub id: String,
    /// Only this property of it, `src` and `dst` for an edge's ends; `None` for the entity as a whole.
    pub property: Option<String>,
    /// Whose version is taken. An entity that does not exist on that side is deleted.
    pub take: Side,
}

impl Resolution {
    /// Takes a whole entity from one side.
    pub fn entity(type_ref: impl Into<TypeRef>, id: impl Into<String>, take: Side) -> Self {
        Self { type_ref: type_ref.into(), id: id.into(), property: None, take }
    }

    /// Takes one property from one side; `src` and `dst` stand for an edge's ends.
    pub fn property(
        type_ref: impl Into<TypeRef>,
        id: impl Into<String>,
        property: impl Into<String>,
        take: Side,
    ) -> Self {
        Self { property: Some(property.into()), ..Self::entity(type_ref, id, take) }
    }

    pub(crate) fn into_wire(self) -> wire::Resolution {
        wire::Resolution {
            r#type: Some(self.type_ref.into_wire()),
            id: self.id,
            property: self.property.unwrap_or_default(),
            take: self.take.to_wire(),
        }
    }
}

impl From<wire::Resolution> for Resolution {
    fn from(resolution: wire::Resolution) -> Self {
        Self {
            take: Side::from_wire(resolution.take()),
            type_ref: TypeRef::from_wire(resolution.r#type),
            id: resolution.id,
            property: Some(resolution.property).filter(|property| !property.is_empty()),
        }
    }
}

/// What kind of conflict stands against a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictKind {
    /// A kind that this version has no name for.
    Unknown,
    /// Both sides made an entity of one id, with different content.
    DivergentInsert,
    /// Both sides changed one entity in ways that do not go together.
    DivergentUpdate,
    /// One side deleted an entity that the other changed.
    DeleteVsUpdate,
    /// One side deleted a node that an edge of the other needs. The entity is the edge.
    OrphanEdge,
    /// Two entities would share a value declared unique.
    UniqueViolation,
    /// A node would have too few or too many edges of a type.
    CardinalityViolation,
    /// A property would break a constraint on its value.
    ValueConstraintViolation,
    /// Both sides declared one type or property differently.
    Schema,
}

impl ConflictKind {
    /// Its name in lower case, `divergent_update`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
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

    fn from_wire(kind: wire::ConflictKind) -> Self {
        use wire::ConflictKind as K;
        match kind {
            K::Unspecified => Self::Unknown,
            K::DivergentInsert => Self::DivergentInsert,
            K::DivergentUpdate => Self::DivergentUpdate,
            K::DeleteVsUpdate => Self::DeleteVsUpdate,
            K::OrphanEdge => Self::OrphanEdge,
            K::UniqueViolation => Self::UniqueViolation,
            K::CardinalityViolation => Self::CardinalityViolation,
            K::ValueConstraintViolation => Self::ValueConstraintViolation,
            K::Schema => Self::Schema,
        }
    }
}

/// Something that stands against a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// What kind of conflict it is.
    pub kind: ConflictKind,
    /// The type concerned.
    pub type_ref: TypeRef,
    /// Id of the entity concerned; of a cardinality, of the node the edges start at. Empty for a schema conflict.
    pub id: String,
    /// The properties concerned, in declared order; `src` and `dst` stand for an edge's ends. Empty: the entity as a
    /// whole.
    pub properties: Vec<String>,
    /// The entity at the base; `None` if it did not exist.
    pub base: Option<Entity>,
    /// The entity in the branch that is merged into; `None` if it does not exist.
    pub ours: Option<Entity>,
    /// The entity in what is merged; `None` if it does not exist.
    pub theirs: Option<Entity>,
    /// A sentence for people that says what stands against what.
    pub message: String,
}

impl From<wire::MergeConflict> for Conflict {
    fn from(conflict: wire::MergeConflict) -> Self {
        Self {
            kind: ConflictKind::from_wire(conflict.kind()),
            type_ref: TypeRef::from_wire(conflict.r#type),
            id: conflict.id,
            properties: conflict.properties,
            base: conflict.base.map(Into::into),
            ours: conflict.target.map(Into::into),
            theirs: conflict.source.map(Into::into),
            message: conflict.message,
        }
    }
}

/// What the commit of a merge, a revert or a cherry-pick remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeNote {
    /// What it came to.
    pub outcome: MergeOutcome,
    /// The commit from which both sides were compared.
    pub base: String,
    /// The commit whose content was brought in.
    pub source: String,
    /// Name that the branch it was on had then; empty if no branch was named.
    pub source_branch: String,
    /// Whose version was taken in conflicts without a resolution; `None` if those refused the merge.
    pub strategy: Option<Strategy>,
    /// Conflicts that were settled.
    pub conflicts_settled: u64,
    /// The resolutions that settled something; only the first of many are kept.
    pub resolutions: Vec<Resolution>,
}

impl From<wire::MergeNote> for MergeNote {
    fn from(note: wire::MergeNote) -> Self {
        Self {
            outcome: MergeOutcome::from_wire(note.outcome()),
            strategy: Strategy::from_wire(note.strategy()),
            base: note.base_commit_id,
            source: note.source_commit_id,
            source_branch: note.source_branch,
            conflicts_settled: note.conflicts_settled,
            resolutions: note.resolutions.into_iter().map(Into::into).collect(),
        }
    }
}

impl TypeRef {
    pub(crate) fn into_wire(self) -> wire::TypeRef {
        wire::TypeRef { kind: self.kind.to_wire(), type_name: self.name }
    }

    /// An absent type is a node type without a name, which no answer uses.
    pub(crate) fn from_wire(type_ref: Option<wire::TypeRef>) -> Self {
        let type_ref = type_ref.unwrap_or_default();
        Self { kind: EntityKind::from_wire(type_ref.kind), name: type_ref.type_name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(id: &str) -> wire::Entity {
        wire::Entity {
            kind: wire::EntityKind::Node.into(),
            type_name: "Person".into(),
            id: id.into(),
            ..Default::default()
        }
    }

    #[test]
    fn a_conflict_keeps_its_three_sides_apart() {
        let conflict = wire::MergeConflict {
            kind: wire::ConflictKind::DeleteVsUpdate.into(),
            r#type: Some(TypeRef::edge("Knows").into_wire()),
            id: "k".into(),
            properties: vec!["since".into()],
            base: Some(person("base")),
            source: Some(person("source")),
            target: None,
            message: "why".into(),
        };
        let read = Conflict::from(conflict);
        assert_eq!((read.kind, read.type_ref), (ConflictKind::DeleteVsUpdate, TypeRef::edge("Knows")));
        let id = |entity: Option<Entity>| entity.map(|entity| entity.id);
        assert_eq!(
            (id(read.base).as_deref(), id(read.theirs).as_deref(), id(read.ours)),
            (Some("base"), Some("source"), None)
        );
    }

    #[test]
    fn resolutions_survive_the_wire() {
        for resolution in [
            Resolution::entity("Person", "ada", Side::Base),
            Resolution::property("edge:Knows", "k", "src", Side::Ours),
            Resolution::property("Person", "ada", "age", Side::Theirs),
        ] {
            assert_eq!(Resolution::from(resolution.clone().into_wire()), resolution);
        }
    }

    #[test]
    fn a_note_says_what_was_done_about_conflicts() {
        let note = |strategy: wire::Strategy| {
            let wire = wire::MergeNote {
                outcome: wire::MergeOutcome::Merged.into(),
                strategy: strategy.into(),
                ..wire::MergeNote::default()
            };
            MergeNote::from(wire)
        };
        assert_eq!(note(wire::Strategy::Fail).strategy, None);
        assert_eq!(note(wire::Strategy::Theirs).strategy, Some(Strategy::Theirs));
        assert_eq!(note(wire::Strategy::Ours).outcome, MergeOutcome::Merged);
    }

    #[test]
    fn what_this_version_does_not_know_is_told_apart() {
        let read = Conflict::from(wire::MergeConflict { kind: 99, ..wire::MergeConflict::default() });
        assert_eq!(read.kind.as_str(), "unknown");
    }
}
