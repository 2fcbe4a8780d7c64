//! Predicates as typed expressions. No SQL text is ever built, so names and literals mean themselves.

use std::collections::HashSet;

use ::lance::deps::datafusion::common::{Column, ScalarValue};
use ::lance::deps::datafusion::logical_expr::{BinaryExpr, Like, Operator, expr::InList};
use ::lance::deps::datafusion::prelude::Expr;

use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::{CompareOp, EntityKind, EntityType, Predicate, PropertyType, ScalarType, Value};

/// Rows whose text column holds one of these values. For keys, endpoints and ids.
pub fn any_of(column: &str, values: impl IntoIterator<Item = String>) -> Expr {
    let list = values.into_iter().map(|v| literal(ScalarValue::Utf8(Some(v)))).collect();
    Expr::InList(InList { expr: Box::new(name(column)), list, negated: false })
}

/// Rows for which either holds.
pub fn either(a: Expr, b: Expr) -> Expr {
    binary(a, Operator::Or, b)
}

/// Translates a predicate over one type's rows.
///
/// # Errors
/// [`Reason::PropertyNotFound`], [`Reason::InvalidPredicate`] naming the offender, or
/// [`Reason::LimitExceeded`] for a tree too large or too deep.
pub fn translate(ty: &EntityType, predicate: &Predicate) -> Result<Expr> {
    let mut nodes = 0;
    Translator { ty }.walk(predicate, 0, &mut nodes)
}

struct Translator<'a> {
    ty: &'a EntityType,
}

impl Translator<'_> {
    fn walk(&self, predicate: &Predicate, depth: usize, nodes: &mut usize) -> Result<Expr> {
        *nodes += 1;
        if *nodes > limits::MAX_PREDICATE_NODES || depth > limits::MAX_PREDICATE_DEPTH {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "the predicate has more than {} terms or is nested deeper than {}",
                    limits::MAX_PREDICATE_NODES,
                    limits::MAX_PREDICATE_DEPTH
                ),
            ));
        }
        match predicate {
            Predicate::And(all) => self.fold(all, Operator::And, true, depth, nodes),
            Predicate::Or(any) => self.fold(any, Operator::Or, false, depth, nodes),
            Predicate::Not(inner) => Ok(Expr::Not(Box::new(self.walk(inner, depth + 1, nodes)?))),
            Predicate::Compare { property, op, value } => {
                let literal = self.literal(property, value)?;
                Ok(binary(name(property), operator(*op), literal))
            }
            Predicate::In { property, values } => {
                *nodes += values.len();
                let mut list = Vec::with_capacity(values.len());
                for value in values {
                    list.push(self.literal(property, value)?);
                }
                if list.is_empty() {
                    self.column(property)?;
                    return Ok(literal(ScalarValue::Boolean(Some(false))));
                }
                Ok(Expr::InList(InList { expr: Box::new(name(property)), list, negated: false }))
            }
            Predicate::IsNull { property } => {
                self.column(property)?;
                Ok(Expr::IsNull(Box::new(name(property))))
            }
            Predicate::StartsWith { property, prefix } => {
                self.like(property, format!("{}%", escape(prefix)))
            }
            Predicate::Contains { property, substring } => {
                self.like(property, format!("%{}%", escape(substring)))
            }
        }
    }

    fn fold(
        &self,
        terms: &[Predicate],
        operator: Operator,
        empty: bool,
        depth: usize,
        nodes: &mut usize,
    ) -> Result<Expr> {
        let mut translated = Vec::with_capacity(terms.len());
        for term in terms {
            translated.push(self.walk(term, depth + 1, nodes)?);
        }
        Ok(balance(translated, operator).unwrap_or_else(|| literal(ScalarValue::Boolean(Some(empty)))))
    }

    fn like(&self, property: &str, pattern: String) -> Result<Expr> {
        match self.column(property)? {
            ColumnType::Property(PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_))
            | ColumnType::System => Ok(Expr::Like(Like {
                negated: false,
                expr: Box::new(name(property)),
                pattern: Box::new(literal(ScalarValue::Utf8(Some(pattern)))),
                escape_char: Some('\\'),
                case_insensitive: false,
            })),
            ColumnType::Property(_) => Err(Error::new(
                Reason::InvalidPredicate,
                format!("{property} is not text, so prefix and substring tests do not apply"),
            )
            .with("property", property)),
        }
    }

    fn column(&self, property: &str) -> Result<ColumnType<'_>> {
        if property == "id" || (self.ty.kind == EntityKind::Edge && matches!(property, "src" | "dst")) {
            return Ok(ColumnType::System);
        }
        match self.ty.property(property) {
            Some(found) => Ok(ColumnType::Property(&found.ty)),
            None => Err(unknown_property(self.ty, property)),
        }
    }

    fn literal(&self, property: &str, value: &Value) -> Result<Expr> {
        let scalar = match self.column(property)? {
            ColumnType::System => match value {
                Value::String(s) => Some(ScalarValue::Utf8(Some(s.clone()))),
                _ => None,
            },
            ColumnType::Property(PropertyType::Enum(_)) => match value {
                Value::String(s) => Some(ScalarValue::Utf8(Some(s.clone()))),
                _ => None,
            },
            ColumnType::Property(PropertyType::Scalar(ty)) => scalar(*ty, value),
            ColumnType::Property(PropertyType::Vector(_) | PropertyType::List(_)) => None,
        };
        scalar.map(literal).ok_or_else(|| {
            Error::new(
                Reason::InvalidPredicate,
                format!(
                    "{property} of {} cannot be compared with a {} value",
                    self.ty.type_ref(),
                    value.type_name()
                ),
            )
            .with("property", property)
        })
    }
}

enum ColumnType<'a> {
    System,
    Property(&'a PropertyType),
}

/// The error for a property a type lacks, with the nearest name that exists.
pub fn unknown_property(ty: &EntityType, property: &str) -> Error {
    let known: HashSet<&str> = ty.columns().collect();
    let near = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(k, property), *k))
        .filter(|(d, k)| *d <= 2.max(k.len() / 3))
        .min();
    let hint = near.map(|(_, k)| format!("; did you mean {k:?}?")).unwrap_or_default();
    Error::new(Reason::PropertyNotFound, format!("{} has no property {property:?}{hint}", ty.type_ref()))
        .with("type", ty.type_ref())
        .with("property", property)
}

/// A balanced tree: a chain of thousands of terms would overflow a recursive walk.
fn balance(mut terms: Vec<Expr>, operator: Operator) -> Option<Expr> {
    while terms.len() > 1 {
        let mut next = Vec::with_capacity(terms.len().div_ceil(2));
        let mut iter = terms.into_iter();
        while let Some(a) = iter.next() {
            next.push(match iter.next() {
                Some(b) => binary(a, operator, b),
                None => a,
            });
        }
        terms = next;
    }
    terms.pop()
}

fn scalar(ty: ScalarType, value: &Value) -> Option<ScalarValue> {
    let integer = match value {
        Value::I64(v) => Some(i128::from(*v)),
        Value::U64(v) => Some(i128::from(*v)),
        _ => None,
    };
    match (ty, value) {
        (ScalarType::String, Value::String(s)) => Some(ScalarValue::Utf8(Some(s.clone()))),
        (ScalarType::Bool, Value::Bool(b)) => Some(ScalarValue::Boolean(Some(*b))),
        // Integer literals are widened so that a comparison with one outside the column's range is
        // simply true or false.
        (ScalarType::I32, _) => integer.map(|v| match i32::try_from(v) {
            Ok(v) => ScalarValue::Int32(Some(v)),
            Err(_) => ScalarValue::Decimal128(Some(v), 20, 0),
        }),
        (ScalarType::I64, _) => integer.map(|v| match i64::try_from(v) {
            Ok(v) => ScalarValue::Int64(Some(v)),
            Err(_) => ScalarValue::Decimal128(Some(v), 20, 0),
        }),
        (ScalarType::U32, _) => integer.map(|v| match u32::try_from(v) {
            Ok(v) => ScalarValue::UInt32(Some(v)),
            Err(_) => ScalarValue::Decimal128(Some(v), 20, 0),
        }),
        (ScalarType::U64, _) => integer.map(|v| match u64::try_from(v) {
            Ok(v) => ScalarValue::UInt64(Some(v)),
            Err(_) => ScalarValue::Decimal128(Some(v), 20, 0),
        }),
        (ScalarType::F32 | ScalarType::F64, Value::F64(v)) => Some(ScalarValue::Float64(Some(*v))),
        (ScalarType::F32 | ScalarType::F64, _) => integer.map(|v| ScalarValue::Float64(Some(v as f64))),
        (ScalarType::Date, Value::Date(d)) => Some(ScalarValue::Date32(Some(*d))),
        (ScalarType::DateTime, Value::Timestamp(t)) => {
            Some(ScalarValue::TimestampMicrosecond(Some(*t), Some("UTC".into())))
        }
        _ => None,
    }
}

fn operator(op: CompareOp) -> Operator {
    match op {
        CompareOp::Eq => Operator::Eq,
        CompareOp::Ne => Operator::NotEq,
        CompareOp::Lt => Operator::Lt,
        CompareOp::Le => Operator::LtEq,
        CompareOp::Gt => Operator::Gt,
        CompareOp::Ge => Operator::GtEq,
    }
}

fn binary(a: Expr, op: Operator, b: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr { left: Box::new(a), op, right: Box::new(b) })
}

fn name(column: &str) -> Expr {
    Expr::Column(Column::from_name(column))
}

fn literal(value: ScalarValue) -> Expr {
    Expr::Literal(value, None)
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
