//! What a change of schema is asked for and what it comes to. Data only.

use super::entity::TypeRef;
use super::schema::Schema;

/// A schema a branch should have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaWish {
    /// The schema. Types and properties that carry stable ids are the graph's own of the same ids; the others are
    /// found by name. `@was("Old")` on a type or a property says what it was called.
    pub schema: Schema,
    /// Further changes of name, by the names before the change.
    pub renames: Vec<Rename>,
}

impl From<Schema> for SchemaWish {
    fn from(schema: Schema) -> Self {
        Self { schema, renames: Vec::new() }
    }
}

/// A change of name that keeps data and history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The type, by its name before the change.
    pub type_ref: TypeRef,
    /// The property, by its name before the change; `None` renames the type.
    pub property: Option<String>,
    /// The name after the change.
    pub to: String,
}

/// The steps from the schema of a branch's head to a wanted one.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaPlan {
    /// The commit whose schema was compared.
    pub head: String,
    /// The schema as it would be, with the ids of what stays.
    pub schema: Schema,
    /// The steps in the order in which they are told; nothing to do if there are none.
    pub steps: Vec<SchemaStep>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepAction {
    /// Something is declared that was not there.
    Add,
    /// Something goes. Its data stays readable at older commits.
    Drop,
    /// Something gets another name.
    Rename,
    /// Something that stays is declared differently.
    Alter,
}

impl StepAction {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Drop => "drop",
            Self::Rename => "rename",
            Self::Alter => "alter",
        }
    }
}

/// What a step is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An interface.
    Interface(String),
    /// A type as a whole, or one of its constraints, by its name before the change; after it if it is added.
    Type(TypeRef),
    /// A property, under the same rule.
    Property(TypeRef, String),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interface(name) => write!(f, "interface:{name}"),
            Self::Type(type_ref) => write!(f, "{type_ref}"),
            Self::Property(type_ref, property) => write!(f, "{type_ref}.{property}"),
        }
    }
}

/// What a step costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepWork {
    /// The same whatever the table holds: no row is read or written.
    #[default]
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

/// Why a step cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefusalCode {
    /// The key of a type makes the ids of its entities.
    KeyChanged,
    /// The ends of an edge type.
    EndpointsChanged,
    /// A type of values that not every value fits in.
    TypeChanged,
    /// A property that must have a value is added to a type with entities and says none.
    RequiredWithoutDefault,
    /// An entity has no value where one is required.
    NullFound,
    /// An entity has a value that is not in the enum any more.
    EnumValueInUse,
    /// An entity is outside of a range.
    RangeViolated,
    /// A text does not match a pattern.
    CheckViolated,
    /// Two entities share a value that is to be unique.
    UniqueViolated,
    /// A node has too few or too many edges.
    CardinalityViolated,
    /// A default or a backfill that does not go with its property.
    BadDefault,
}

impl RefusalCode {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
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
}

/// Why a step cannot be taken, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub code: RefusalCode,
    /// A sentence that names the first offenders, if entities are in the way, and what to do.
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
    pub work: StepWork,
    /// Whether newer states do not show data that older ones do, so that it needs consent.
    pub loses_data: bool,
    /// Why the graph cannot take it; the whole change is then refused.
    pub refusal: Option<Refusal>,
}

/// A change of schema to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaApply {
    /// The schema the branch should have.
    pub wish: SchemaWish,
    /// Whether steps that lose data may be taken.
    pub consent: bool,
}
