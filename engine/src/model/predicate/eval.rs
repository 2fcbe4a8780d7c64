//! What a predicate says about one entity in memory. Pure.
//!
//! The same meaning as the store gives it over rows, so that a write sees its own uncommitted steps exactly
//! as a later read will: integers compare by value whatever their width and sign, a float column compares
//! in its own precision, negative zero equals zero, text compares by its bytes.

use std::cmp::Ordering;

use super::{CompareOp, Predicate};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::{Entity, EntityKind, EntityType, PropertyType, ScalarType, Value};

impl Predicate {
    /// Whether the predicate holds for an entity of type `ty`; `None` if that is unknown, because a value
    /// it depends on is null.
    ///
    /// # Errors
    /// [`Reason::PropertyNotFound`], [`Reason::InvalidPredicate`] naming the offender, or
    /// [`Reason::LimitExceeded`] for a tree too large or too deep, whatever the entity holds.
    pub fn matches(&self, ty: &EntityType, entity: &Entity) -> Result<Option<bool>> {
        Evaluation { ty, entity, nodes: 0 }.walk(self, 0)
    }
}

/// The error for a property a type lacks, with the nearest name that exists.
pub fn unknown_property(ty: &EntityType, property: &str) -> Error {
    let near = ty
        .columns()
        .map(|k| (strsim::damerau_levenshtein(k, property), k))
        .filter(|(d, k)| *d <= 2.max(k.len() / 3))
        .min();
    let hint = near.map(|(_, k)| format!("; did you mean {k:?}?")).unwrap_or_default();
    Error::new(Reason::PropertyNotFound, format!("{} has no property {property:?}{hint}", ty.type_ref()))
        .with("type", ty.type_ref())
        .with("property", property)
}

/// The error for a predicate that goes beyond what is planned.
pub fn too_large() -> Error {
    Error::new(
        Reason::LimitExceeded,
        format!(
            "the predicate has more than {} terms or is nested deeper than {}",
            limits::MAX_PREDICATE_NODES,
            limits::MAX_PREDICATE_DEPTH
        ),
    )
}

/// The error for a prefix or substring test of something that is no text.
pub fn not_text(property: &str) -> Error {
    Error::new(Reason::InvalidPredicate, format!("{property} is not text, so prefix and substring tests do not apply"))
        .with("property", property)
}

/// The error for a value that a property cannot be compared with.
pub fn not_comparable(ty: &EntityType, property: &str, value: &Value) -> Error {
    Error::new(
        Reason::InvalidPredicate,
        format!("{property} of {} cannot be compared with a {} value", ty.type_ref(), value.type_name()),
    )
    .with("property", property)
}

struct Evaluation<'a> {
    ty: &'a EntityType,
    entity: &'a Entity,
    nodes: usize,
}

/// One column of the entity.
enum Cell<'a> {
    /// `id`, `src` or `dst`.
    System(&'a str),
    /// A property and its value; `None` for null.
    Property(&'a PropertyType, Option<&'a Value>),
}

impl Cell<'_> {
    fn is_null(&self) -> bool {
        matches!(self, Self::Property(_, None))
    }
}

impl<'a> Evaluation<'a> {
    // Every branch is walked whatever the others say, so that a wrong predicate is refused for every entity.
    fn walk(&mut self, predicate: &Predicate, depth: usize) -> Result<Option<bool>> {
        self.nodes += 1;
        if self.nodes > limits::MAX_PREDICATE_NODES || depth > limits::MAX_PREDICATE_DEPTH {
            return Err(too_large());
        }
        match predicate {
            Predicate::And(all) => self.fold(all, false, depth),
            Predicate::Or(any) => self.fold(any, true, depth),
            Predicate::Not(inner) => Ok(self.walk(inner, depth + 1)?.map(|holds| !holds)),
            Predicate::Compare { property, op, value } => {
                let cell = self.cell(property)?;
                Ok(self.compare(property, &cell, value)?.map(|order| holds(*op, order)))
            }
            Predicate::In { property, values } => self.one_of(property, values),
            Predicate::IsNull { property } => Ok(Some(self.cell(property)?.is_null())),
            Predicate::StartsWith { property, prefix } => {
                Ok(self.text(property)?.map(|text| text.starts_with(prefix.as_str())))
            }
            Predicate::Contains { property, substring } => {
                Ok(self.text(property)?.map(|text| text.contains(substring.as_str())))
            }
        }
    }

    /// `decisive` is the answer of one term that settles all: true for or, false for and.
    fn fold(&mut self, terms: &[Predicate], decisive: bool, depth: usize) -> Result<Option<bool>> {
        let mut answer = Some(!decisive);
        for term in terms {
            match self.walk(term, depth + 1)? {
                Some(holds) if holds == decisive => answer = Some(decisive),
                Some(_) => {}
                None if answer == Some(decisive) => {}
                None => answer = None,
            }
        }
        Ok(answer)
    }

    fn one_of(&mut self, property: &str, values: &[Value]) -> Result<Option<bool>> {
        self.nodes += values.len();
        if self.nodes > limits::MAX_PREDICATE_NODES {
            return Err(too_large());
        }
        let cell = self.cell(property)?;
        let mut found = false;
        for value in values {
            found |= self.compare(property, &cell, value)? == Some(Ordering::Equal);
        }
        Ok(if cell.is_null() && !values.is_empty() { None } else { Some(found) })
    }

    fn cell(&self, property: &str) -> Result<Cell<'a>> {
        let entity = self.entity;
        match property {
            "id" => return Ok(Cell::System(&entity.id)),
            "src" | "dst" if self.ty.kind == EntityKind::Edge => {
                let (src, dst) = entity
                    .endpoints
                    .as_ref()
                    .ok_or_else(|| Error::internal(format!("an edge of {} has no endpoints", self.ty.name)))?;
                return Ok(Cell::System(if property == "src" { src } else { dst }));
            }
            _ => {}
        }
        let declared = self.ty.property(property).ok_or_else(|| unknown_property(self.ty, property))?;
        let value = entity.properties.get(property).filter(|value| !value.is_null());
        Ok(Cell::Property(&declared.ty, value))
    }

    fn text(&self, property: &str) -> Result<Option<&'a str>> {
        match self.cell(property)? {
            Cell::System(text) => Ok(Some(text)),
            Cell::Property(PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_), value) => match value {
                None => Ok(None),
                Some(Value::String(text)) => Ok(Some(text)),
                Some(other) => Err(self.misplaced(property, other)),
            },
            Cell::Property(..) => Err(not_text(property)),
        }
    }

    /// How the column's value stands to a literal; `None` if it is null.
    fn compare(&self, property: &str, cell: &Cell<'_>, literal: &Value) -> Result<Option<Ordering>> {
        let refuse = || not_comparable(self.ty, property, literal);
        let (ty, value) = match cell {
            Cell::System(text) => {
                let Value::String(wanted) = literal else {
                    return Err(refuse());
                };
                return Ok(Some((*text).cmp(wanted.as_str())));
            }
            Cell::Property(PropertyType::Enum(_), value) => (ScalarType::String, value),
            Cell::Property(PropertyType::Scalar(ty), value) => (*ty, value),
            Cell::Property(PropertyType::Vector(_) | PropertyType::List(_), _) => {
                return Err(refuse());
            }
        };
        let literal = Comparable::new(ty, literal).ok_or_else(refuse)?;
        let Some(value) = value else { return Ok(None) };
        let value = Comparable::new(ty, value).ok_or_else(|| self.misplaced(property, value))?;
        value.order(&literal).map(Some).ok_or_else(|| Error::internal("values of one type do not compare"))
    }

    fn misplaced(&self, property: &str, value: &Value) -> Error {
        Error::internal(format!("{}.{property} of an entity holds a {}", self.ty.name, value.type_name()))
    }
}

/// A value as its column's type compares it.
#[derive(Debug)]
enum Comparable<'a> {
    Text(&'a str),
    Bool(bool),
    Integer(i128),
    Float(f64),
}

impl<'a> Comparable<'a> {
    /// `None` if a column of type `ty` does not compare with such a value.
    fn new(ty: ScalarType, value: &'a Value) -> Option<Self> {
        use ScalarType as S;
        Some(match (ty, value) {
            (S::String, Value::String(text)) => Self::Text(text),
            (S::Bool, Value::Bool(b)) => Self::Bool(*b),
            (S::I32 | S::I64 | S::U32 | S::U64, Value::I64(i)) => Self::Integer(i128::from(*i)),
            (S::I32 | S::I64 | S::U32 | S::U64, Value::U64(u)) => Self::Integer(i128::from(*u)),
            (S::F32 | S::F64, _) => Self::Float(float(ty, value)?),
            (S::Date, Value::Date(days)) => Self::Integer(i128::from(*days)),
            (S::DateTime, Value::Timestamp(micros)) => Self::Integer(i128::from(*micros)),
            _ => return None,
        })
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(a.total_cmp(b)),
            _ => None,
        }
    }
}

/// A number as a float column of type `ty` compares with it: in the column's precision, zero without a
/// sign. `None` for what is no number, NaN included.
pub fn float(ty: ScalarType, value: &Value) -> Option<f64> {
    let wide = match value {
        Value::F64(f) => *f,
        Value::I64(i) => *i as f64,
        Value::U64(u) => *u as f64,
        _ => return None,
    };
    // A 32-bit column holds the 32-bit neighbour of what a user wrote, so it is compared with just that.
    let fitted = if ty == ScalarType::F32 { f64::from(wide as f32) } else { wide };
    // Adding positive zero turns negative zero into it and leaves every other number alone.
    (!fitted.is_nan()).then_some(fitted + 0.0)
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

#[cfg(test)]
mod tests;
