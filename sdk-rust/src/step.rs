//! The steps of a change of schema: what each does, to what, what it costs, and what stands against it.

use std::fmt;

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::schema_change::{Action, Cost};

use crate::entity::TypeRef;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepAction {
    /// Something that this version has no name for.
    Unknown,
    /// Something is declared that was not there.
    Add,
    /// Something goes. Its data stays readable at older commits.
    Drop,
    /// Something gets another name, and keeps its data and its history.
    Rename,
    /// Something that stays is declared differently.
    Alter,
}

impl StepAction {
    /// Its name in lower case, `rename`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Add => "add",
            Self::Drop => "drop",
            Self::Rename => "rename",
            Self::Alter => "alter",
        }
    }

    fn from_wire(action: Action) -> Self {
        match action {
            Action::Unspecified => Self::Unknown,
            Action::Add => Self::Add,
            Action::Drop => Self::Drop,
            Action::Rename => Self::Rename,
            Action::Alter => Self::Alter,
        }
    }
}

/// What a step is about, by its name before the change; after it if it is added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An interface.
    Interface(String),
    /// A type as a whole, or one of its constraints.
    Type(TypeRef),
    /// A property.
    Property(TypeRef, String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => write!(f, "interface:{name}"),
            Self::Type(type_ref) => write!(f, "{type_ref}"),
            Self::Property(type_ref, property) => write!(f, "{type_ref}.{property}"),
        }
    }
}

/// What a step costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepCost {
    /// Not told, as in a comparison of two versions; or something that this version has no name for.
    Unknown,
    /// The same whatever the table holds: no row is read or written.
    Metadata,
    /// The rows of the type are read and checked.
    Check {
        /// How many.
        rows: u64,
    },
    /// A column of the type is written for every row.
    Rewrite {
        /// How many rows.
        rows: u64,
        /// Bytes of the column before compression, estimated.
        bytes: u64,
    },
}

/// Why a graph cannot take a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// Something that this version has no name for.
    Unknown,
    /// The key of a type makes the ids of its entities.
    KeyChanged,
    /// The ends of an edge type.
    EndpointsChanged,
    /// The new type of a property does not fit every value of the old one.
    TypeChanged,
    /// A property that must have a value is added to a type with entities, and nothing says which value they get.
    RequiredWithoutDefault,
    /// An entity has no value where one would be required.
    NullFound,
    /// An entity has a value that would not be a member of its enum any more.
    EnumValueInUse,
    /// An entity is outside of a new range.
    RangeViolated,
    /// A text does not match a new pattern.
    CheckViolated,
    /// Two entities share a value that would have to be unique.
    UniqueViolated,
    /// A node has too few or too many edges.
    CardinalityViolated,
    /// A default or a backfill does not go with its property.
    BadDefault,
}

impl RefusalCode {
    /// Its name in capitals, `KEY_CHANGED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::KeyChanged => "KEY_CHANGED",
            Self::EndpointsChanged => "ENDPOINTS_CHANGED",
            Self::TypeChanged => "TYPE_CHANGED",
            Self::RequiredWithoutDefault => "REQUIRED_WITHOUT_DEFAULT",
            Self::NullFound => "NULL_FOUND",
            Self::EnumValueInUse => "ENUM_VALUE_IN_USE",
            Self::RangeViolated => "RANGE_VIOLATED",
            Self::CheckViolated => "CHECK_VIOLATED",
            Self::UniqueViolated => "UNIQUE_VIOLATED",
            Self::CardinalityViolated => "CARDINALITY_VIOLATED",
            Self::BadDefault => "BAD_DEFAULT",
        }
    }

    fn from_wire(code: wire::RefusalCode) -> Self {
        use wire::RefusalCode as C;
        match code {
            C::Unspecified => Self::Unknown,
            C::KeyChanged => Self::KeyChanged,
            C::EndpointsChanged => Self::EndpointsChanged,
            C::TypeChanged => Self::TypeChanged,
            C::RequiredWithoutDefault => Self::RequiredWithoutDefault,
            C::NullFound => Self::NullFound,
            C::EnumValueInUse => Self::EnumValueInUse,
            C::RangeViolated => Self::RangeViolated,
            C::CheckViolated => Self::CheckViolated,
            C::UniqueViolated => Self::UniqueViolated,
            C::CardinalityViolated => Self::CardinalityViolated,
            C::BadDefault => Self::BadDefault,
        }
    }
}

/// Why a step cannot be taken, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub code: RefusalCode,
    /// What stands against it, with the first entities that do, and what to do.
    pub remedy: String,
}

/// One step from a schema to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaStep {
    /// What it does.
    pub action: StepAction,
    /// To what.
    pub subject: Subject,
    /// A sentence for people. The same for the same change.
    pub description: String,
    /// What it costs.
    pub cost: StepCost,
    /// Whether newer versions do not show data that older ones do, so that it needs consent.
    pub loses_data: bool,
    /// Why the graph cannot take it; the whole change is then refused. `None`: it can.
    pub refusal: Option<Refusal>,
}

impl From<wire::SchemaChange> for SchemaStep {
    fn from(change: wire::SchemaChange) -> Self {
        let (action, code) = (StepAction::from_wire(change.action()), RefusalCode::from_wire(change.code()));
        let rows = change.entities_touched;
        let cost = match change.cost() {
            Cost::Unspecified => StepCost::Unknown,
            Cost::Metadata => StepCost::Metadata,
            Cost::Check => StepCost::Check { rows },
            Cost::Rewrite => StepCost::Rewrite { rows, bytes: change.bytes_written },
        };
        let subject = match change.r#type {
            None => Subject::Interface(change.interface),
            Some(ty) if change.property.is_empty() => Subject::Type(TypeRef::from_wire(Some(ty))),
            Some(ty) => Subject::Property(TypeRef::from_wire(Some(ty)), change.property),
        };
        Self {
            action,
            subject,
            description: change.description,
            cost,
            loses_data: change.destructive,
            refusal: change.refused.then_some(Refusal { code, remedy: change.remedy }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> wire::SchemaChange {
        wire::SchemaChange {
            action: Action::Alter.into(),
            r#type: Some(TypeRef::node("Person").into_wire()),
            property: "age".into(),
            description: "what happens".into(),
            cost: Cost::Rewrite.into(),
            entities_touched: 7,
            bytes_written: 28,
            ..wire::SchemaChange::default()
        }
    }

    #[test]
    fn steps_are_read_as_they_are_told() {
        let step = SchemaStep::from(change());
        assert_eq!((step.action, step.subject.to_string()), (StepAction::Alter, "node:Person.age".to_string()));
        assert_eq!((step.cost, step.loses_data, step.refusal), (StepCost::Rewrite { rows: 7, bytes: 28 }, false, None));
        let checked = SchemaStep::from(wire::SchemaChange { cost: Cost::Check.into(), bytes_written: 0, ..change() });
        assert_eq!(checked.cost, StepCost::Check { rows: 7 });
        let whole = SchemaStep::from(wire::SchemaChange { property: String::new(), ..change() });
        assert_eq!(whole.subject, Subject::Type(TypeRef::node("Person")));
        let interface = wire::SchemaChange { r#type: None, interface: "Named".into(), ..change() };
        assert_eq!(SchemaStep::from(interface).subject.to_string(), "interface:Named");
    }

    #[test]
    fn what_a_newer_server_says_stays_a_step_and_a_refusal() {
        let newer = wire::SchemaChange { action: 99, cost: 99, code: 99, refused: true, ..change() };
        let step = SchemaStep::from(wire::SchemaChange { remedy: "wait".into(), ..newer });
        assert_eq!((step.action, step.cost), (StepAction::Unknown, StepCost::Unknown));
        assert_eq!(step.refusal, Some(Refusal { code: RefusalCode::Unknown, remedy: "wait".into() }));
        for number in 1..=11 {
            let code = wire::RefusalCode::try_from(number).unwrap();
            let name = code.as_str_name().strip_prefix("REFUSAL_CODE_").unwrap();
            assert_eq!(RefusalCode::from_wire(code).as_str(), name);
        }
        assert!(wire::RefusalCode::try_from(12).is_err(), "a new code has a name here");
    }
}
