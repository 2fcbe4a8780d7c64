//! Filters and orderings over one type's rows. Data; the store gives them their meaning over rows and
//! [`eval`] the same over one entity.
//!
//! Three-valued logic as in SQL: a comparison with null is unknown, and only rows for which the whole
//! predicate is true match. Column names are the type's properties plus `id`, and `src`, `dst` on edges.

pub mod eval;

use super::value::Value;

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less than.
    Lt,
    /// Less than or equal.
    Le,
    /// Greater than.
    Gt,
    /// Greater than or equal.
    Ge,
}

/// A filter tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// All hold; empty is true.
    And(Vec<Predicate>),
    /// Any holds; empty is false.
    Or(Vec<Predicate>),
    /// The inner one does not hold (unknown stays unknown).
    Not(Box<Predicate>),
    /// A property compared with a value.
    Compare {
        /// The column.
        property: String,
        /// The comparison.
        op: CompareOp,
        /// The right-hand side; null is refused, use [`Predicate::IsNull`].
        value: Value,
    },
    /// The property equals one of the values.
    In {
        /// The column.
        property: String,
        /// Candidates; empty matches nothing.
        values: Vec<Value>,
    },
    /// The property is null.
    IsNull {
        /// The column.
        property: String,
    },
    /// The text property starts with this literal text.
    StartsWith {
        /// The column.
        property: String,
        /// The prefix; wildcards have no meaning.
        prefix: String,
    },
    /// The text property contains this literal text.
    Contains {
        /// The column.
        property: String,
        /// The substring; wildcards have no meaning.
        substring: String,
    },
}

/// One sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The column.
    pub property: String,
    /// Largest first. Nulls come last either way.
    pub descending: bool,
}
