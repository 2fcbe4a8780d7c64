//! Filters as typed trees. Names and values are data from end to end and never become query text.

use std::ops::Not;

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::predicate::{And, Compare, Contains, In, IsNull, Kind, Operator, Or, StartsWith};

use crate::value::Value;

/// A condition on one entity. Null follows the three-valued logic of SQL: a comparison with a null property is
/// unknown, and only entities for which the whole condition is true are selected.
///
/// ```
/// use omnigraph_client::prop;
///
/// let adults_called_a = prop("age").ge(18).and(prop("name").starts_with("A"));
/// let others = !adults_called_a.clone();
/// let known = prop("role").is_in(["staff", "guest"]).or(prop("role").is_null());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate(wire::Predicate);

/// A property, to be asked about: the left side of a condition. Besides declared names there are `id`, and for
/// edges `src` and `dst`.
pub fn prop(name: impl Into<String>) -> Prop {
    Prop(name.into())
}

/// See [`prop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prop(String);

impl Prop {
    /// Equals a value, which must not be null.
    pub fn eq(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Eq, value)
    }

    /// Has a value other than this.
    pub fn ne(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Ne, value)
    }

    /// Is less than a value. Strings compare by their bytes, false is less than true.
    pub fn lt(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Lt, value)
    }

    /// Is less than a value or equals it.
    pub fn le(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Le, value)
    }

    /// Is greater than a value.
    pub fn gt(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Gt, value)
    }

    /// Is greater than a value or equals it.
    pub fn ge(self, value: impl Into<Value>) -> Predicate {
        self.compare(Operator::Ge, value)
    }

    /// Equals one of several values. With none, nothing is selected.
    pub fn is_in<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        let values = values.into_iter().map(|v| v.into().into()).collect();
        Predicate::of(Kind::InSet(In { property: self.0, values }))
    }

    /// Is null.
    pub fn is_null(self) -> Predicate {
        Predicate::of(Kind::IsNull(IsNull { property: self.0 }))
    }

    /// Is not null.
    pub fn is_not_null(self) -> Predicate {
        !self.is_null()
    }

    /// Is a text that begins with this one, letter case included.
    pub fn starts_with(self, prefix: impl Into<String>) -> Predicate {
        Predicate::of(Kind::StartsWith(StartsWith { property: self.0, prefix: prefix.into() }))
    }

    /// Is a text that has this one somewhere in it, or a list that has this element.
    pub fn contains(self, part: impl Into<Value>) -> Predicate {
        let value = Some(part.into().into());
        Predicate::of(Kind::Contains(Contains { property: self.0, value }))
    }

    fn compare(self, operator: Operator, value: impl Into<Value>) -> Predicate {
        Predicate::of(Kind::Compare(Compare {
            property: self.0,
            operator: operator.into(),
            value: Some(value.into().into()),
        }))
    }
}

impl Predicate {
    /// All of several conditions; true if there are none.
    pub fn all(members: impl IntoIterator<Item = Predicate>) -> Self {
        let predicates = members.into_iter().map(|p| p.0).collect();
        Self::of(Kind::Conjunction(And { predicates }))
    }

    /// Any of several conditions; false if there are none.
    pub fn any(members: impl IntoIterator<Item = Predicate>) -> Self {
        let predicates = members.into_iter().map(|p| p.0).collect();
        Self::of(Kind::Disjunction(Or { predicates }))
    }

    /// This and another condition. Chains become one flat conjunction.
    #[must_use]
    pub fn and(self, other: Predicate) -> Self {
        match self.0.kind {
            Some(Kind::Conjunction(mut and)) => {
                and.predicates.push(other.0);
                Self::of(Kind::Conjunction(and))
            }
            _ => Self::all([self, other]),
        }
    }

    /// This or another condition. Chains become one flat disjunction.
    #[must_use]
    pub fn or(self, other: Predicate) -> Self {
        match self.0.kind {
            Some(Kind::Disjunction(mut or)) => {
                or.predicates.push(other.0);
                Self::of(Kind::Disjunction(or))
            }
            _ => Self::any([self, other]),
        }
    }

    /// The tree as it travels.
    pub fn into_wire(self) -> wire::Predicate {
        self.0
    }

    /// A tree that was built by other means.
    pub fn from_wire(tree: wire::Predicate) -> Self {
        Self(tree)
    }

    fn of(kind: Kind) -> Self {
        Self(wire::Predicate { kind: Some(kind) })
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        let member = wire::predicate::Not { predicate: Some(Box::new(self.0)) };
        Self::of(Kind::Negation(Box::new(member)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_flat_and_mixtures_are_not() {
        let abc = prop("a").eq(1).and(prop("b").eq(2)).and(prop("c").eq(3));
        let Some(Kind::Conjunction(and)) = abc.clone().into_wire().kind else { panic!() };
        assert_eq!(and.predicates.len(), 3);
        let mixed = abc.or(prop("d").is_null());
        let Some(Kind::Disjunction(or)) = mixed.into_wire().kind else { panic!() };
        assert_eq!(or.predicates.len(), 2);
    }

    #[test]
    fn a_comparison_holds_name_operator_and_value() {
        let Some(Kind::Compare(compare)) = prop("order").ge(18).into_wire().kind else { panic!() };
        assert_eq!(compare.property, "order");
        assert_eq!(compare.operator(), Operator::Ge);
        assert_eq!(compare.value.map(Value::from), Some(Value::I64(18)));
    }
}
