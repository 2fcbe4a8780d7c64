//! Predicates as typed expressions. No SQL text is ever built, so names and literals mean themselves.

use ::lance::deps::datafusion::common::{Column, ScalarValue};
use ::lance::deps::datafusion::logical_expr::{BinaryExpr, Like, Operator, expr::InList};
use ::lance::deps::datafusion::prelude::Expr;

use crate::error::Result;
use crate::limits;
use crate::model::predicate::eval::{float, not_comparable, not_text, too_large};
use crate::model::{CompareOp, EntityKind, EntityType, Predicate, PropertyType, ScalarType, Value};

pub use crate::model::predicate::eval::unknown_property;

/// Rows whose text column holds one of these values. For keys, endpoints and ids.
pub fn any_of(column: &str, values: impl IntoIterator<Item = String>) -> Expr {
    let list = values.into_iter().map(|v| literal(ScalarValue::Utf8(Some(v)))).collect();
    Expr::InList(InList { expr: Box::new(name(column)), list, negated: false })
}

/// Rows for which either holds.
pub fn either(a: Expr, b: Expr) -> Expr {
    binary(a, Operator::Or, b)
}

/// Rows for which both hold.
pub fn both(a: Expr, b: Expr) -> Expr {
    binary(a, Operator::And, b)
}

/// Rows whose text column holds a larger value. For walking a table by id.
pub fn above(column: &str, value: &str) -> Expr {
    binary(name(column), Operator::Gt, literal(ScalarValue::Utf8(Some(value.to_string()))))
}

/// Rows whose column holds nothing.
pub fn is_null(column: &str) -> Expr {
    Expr::IsNull(Box::new(name(column)))
}

/// Rows whose column holds something.
pub fn is_not_null(column: &str) -> Expr {
    Expr::IsNotNull(Box::new(name(column)))
}

/// Translates a predicate over one type's rows.
///
/// # Errors
/// [`crate::error::Reason::PropertyNotFound`], [`crate::error::Reason::InvalidPredicate`] naming the
/// offender, or [`crate::error::Reason::LimitExceeded`] for a tree too large or too deep.
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
            return Err(too_large());
        }
        match predicate {
            Predicate::And(all) => self.fold(all, Operator::And, true, depth, nodes),
            Predicate::Or(any) => self.fold(any, Operator::Or, false, depth, nodes),
            Predicate::Not(inner) => Ok(Expr::Not(Box::new(self.walk(inner, depth + 1, nodes)?))),
            Predicate::Compare { property, op, value } => self.compare(property, *op, value),
            Predicate::In { property, values } => {
                *nodes += values.len();
                if *nodes > limits::MAX_PREDICATE_NODES {
                    return Err(too_large());
                }
                self.one_of(property, values)
            }
            Predicate::IsNull { property } => {
                self.column(property)?;
                Ok(is_null(property))
            }
            Predicate::StartsWith { property, prefix } => self.like(property, format!("{}%", escape(prefix))),
            Predicate::Contains { property, substring } => self.like(property, format!("%{}%", escape(substring))),
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
            ColumnType::Property(_) => Err(not_text(property)),
        }
    }

    fn compare(&self, property: &str, op: CompareOp, value: &Value) -> Result<Expr> {
        use CompareOp as C;
        let column = || name(property);
        Ok(match self.operand(property, value)? {
            Operand::Exactly(value) => binary(column(), operator(op), literal(value)),
            // Floats are ordered with negative zero below zero, which nobody means.
            Operand::Zero(low, high) => match op {
                C::Lt => binary(column(), Operator::Lt, literal(low)),
                C::Le => binary(column(), Operator::LtEq, literal(high)),
                C::Gt => binary(column(), Operator::Gt, literal(high)),
                C::Ge => binary(column(), Operator::GtEq, literal(low)),
                C::Eq => both(
                    binary(column(), Operator::GtEq, literal(low)),
                    binary(column(), Operator::LtEq, literal(high)),
                ),
                C::Ne => {
                    either(binary(column(), Operator::Lt, literal(low)), binary(column(), Operator::Gt, literal(high)))
                }
            },
            // At and beyond the ends of the column's range some answers are the same for every value. Saying
            // so spares the planner a range of more values than it can count.
            Operand::Least(value) => match op {
                C::Lt => never(property),
                C::Ge => always(property),
                _ => binary(column(), operator(op), literal(value)),
            },
            Operand::Greatest(value) => match op {
                C::Gt => never(property),
                C::Le => always(property),
                _ => binary(column(), operator(op), literal(value)),
            },
            Operand::Above => match op {
                C::Eq | C::Gt | C::Ge => never(property),
                C::Ne | C::Lt | C::Le => always(property),
            },
            Operand::Below => match op {
                C::Eq | C::Lt | C::Le => never(property),
                C::Ne | C::Gt | C::Ge => always(property),
            },
        })
    }

    fn one_of(&self, property: &str, values: &[Value]) -> Result<Expr> {
        self.column(property)?;
        let mut list = Vec::with_capacity(values.len());
        for value in values {
            match self.operand(property, value)? {
                Operand::Exactly(value) | Operand::Least(value) | Operand::Greatest(value) => list.push(literal(value)),
                Operand::Zero(low, high) => list.extend([literal(low), literal(high)]),
                Operand::Above | Operand::Below => {}
            }
        }
        if values.is_empty() {
            return Ok(literal(ScalarValue::Boolean(Some(false))));
        }
        if list.is_empty() {
            return Ok(never(property));
        }
        Ok(Expr::InList(InList { expr: Box::new(name(property)), list, negated: false }))
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

    fn operand(&self, property: &str, value: &Value) -> Result<Operand> {
        let text = |value: &Value| match value {
            Value::String(s) => Some(Operand::Exactly(ScalarValue::Utf8(Some(s.clone())))),
            _ => None,
        };
        let operand = match self.column(property)? {
            ColumnType::System | ColumnType::Property(PropertyType::Enum(_)) => text(value),
            ColumnType::Property(PropertyType::Scalar(ty)) => operand(*ty, value),
            ColumnType::Property(PropertyType::Vector(_) | PropertyType::List(_)) => None,
        };
        operand.ok_or_else(|| not_comparable(self.ty, property, value))
    }
}

/// A literal as its column can hold it.
enum Operand {
    /// It can.
    Exactly(ScalarValue),
    /// It is the smallest value the column can hold.
    Least(ScalarValue),
    /// It is the largest value the column can hold.
    Greatest(ScalarValue),
    /// Zero of a float, which has two forms.
    Zero(ScalarValue, ScalarValue),
    /// It is more than the column can hold.
    Above,
    /// It is less than the column can hold.
    Below,
}

/// True for every value, unknown for null.
fn always(column: &str) -> Expr {
    either(Expr::IsNotNull(Box::new(name(column))), literal(ScalarValue::Boolean(None)))
}

/// False for every value, unknown for null.
fn never(column: &str) -> Expr {
    both(is_null(column), literal(ScalarValue::Boolean(None)))
}

enum ColumnType<'a> {
    System,
    Property(&'a PropertyType),
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

fn operand(ty: ScalarType, value: &Value) -> Option<Operand> {
    use ScalarType as S;
    use ScalarValue as V;
    let exactly = |value| Some(Operand::Exactly(value));
    match (ty, value) {
        (S::String, Value::String(s)) => exactly(V::Utf8(Some(s.clone()))),
        (S::Bool, Value::Bool(b)) => exactly(V::Boolean(Some(*b))),
        (S::I32, _) => integer(value, i32::MIN, i32::MAX, |v| V::Int32(Some(v))),
        (S::I64, _) => integer(value, i64::MIN, i64::MAX, |v| V::Int64(Some(v))),
        (S::U32, _) => integer(value, u32::MIN, u32::MAX, |v| V::UInt32(Some(v))),
        (S::U64, _) => integer(value, u64::MIN, u64::MAX, |v| V::UInt64(Some(v))),
        (S::F32 | S::F64, _) => {
            let wide = float(ty, value)?;
            let form = |f: f64| {
                if ty == S::F32 { V::Float32(Some(f as f32)) } else { V::Float64(Some(f)) }
            };
            Some(if wide == 0.0 { Operand::Zero(form(-0.0), form(0.0)) } else { Operand::Exactly(form(wide)) })
        }
        (S::Date, Value::Date(d)) => exactly(V::Date32(Some(*d))),
        (S::DateTime, Value::Timestamp(t)) => {
            integer(&Value::I64(*t), i64::MIN, i64::MAX, |t| V::TimestampMicrosecond(Some(t), Some("UTC".into())))
        }
        _ => None,
    }
}

fn integer<T: TryFrom<i128> + PartialEq>(
    value: &Value,
    min: T,
    max: T,
    form: impl Fn(T) -> ScalarValue,
) -> Option<Operand> {
    let wide = match value {
        Value::I64(v) => i128::from(*v),
        Value::U64(v) => i128::from(*v),
        _ => return None,
    };
    Some(match T::try_from(wide) {
        Ok(least) if least == min => Operand::Least(form(least)),
        Ok(greatest) if greatest == max => Operand::Greatest(form(greatest)),
        Ok(fits) => Operand::Exactly(form(fits)),
        Err(_) if wide < 0 => Operand::Below,
        Err(_) => Operand::Above,
    })
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
