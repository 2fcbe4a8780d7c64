//! The filter tree. Its size and depth are bounded here, before anything walks it.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::limits::{MAX_PREDICATE_DEPTH, MAX_PREDICATE_NODES};
use omnigraph_engine::model::{CompareOp, Predicate, Value};
use omnigraph_proto::v1;
use omnigraph_proto::v1::predicate::{Kind, Operator};

use super::value;

/// A filter of the engine.
///
/// # Errors
/// [`Reason::InvalidPredicate`] for a part that is missing or makes no sense,
/// [`Reason::LimitExceeded`] for a tree that is too deep or too large.
pub fn to_engine(predicate: v1::Predicate) -> Result<Predicate> {
    let mut nodes = 0;
    convert(predicate, 1, &mut nodes)
}

fn convert(predicate: v1::Predicate, depth: usize, nodes: &mut usize) -> Result<Predicate> {
    if depth > MAX_PREDICATE_DEPTH {
        return Err(too_much("predicate_depth", depth, MAX_PREDICATE_DEPTH));
    }
    count(nodes, 1)?;
    let kind = predicate.kind.ok_or_else(|| wrong("", "a condition says nothing"))?;
    Ok(match kind {
        Kind::Conjunction(and) => Predicate::And(members(and.predicates, depth, nodes)?),
        Kind::Disjunction(or) => Predicate::Or(members(or.predicates, depth, nodes)?),
        Kind::Negation(not) => {
            let inner = not.predicate.ok_or_else(|| wrong("", "a negation negates nothing"))?;
            Predicate::Not(Box::new(convert(*inner, depth + 1, nodes)?))
        }
        Kind::Compare(v) => Predicate::Compare {
            op: operator(&v.property, v.operator)?,
            value: operand(&v.property, v.value)?,
            property: named(v.property)?,
        },
        Kind::InSet(v) => {
            count(nodes, v.values.len())?;
            let values = v.values.into_iter().map(|value| operand(&v.property, Some(value)));
            Predicate::In { values: values.collect::<Result<_>>()?, property: named(v.property)? }
        }
        Kind::IsNull(v) => Predicate::IsNull { property: named(v.property)? },
        Kind::StartsWith(v) => Predicate::StartsWith { property: named(v.property)?, prefix: v.prefix },
        Kind::Contains(v) => match operand(&v.property, v.value)? {
            Value::String(substring) => Predicate::Contains { property: named(v.property)?, substring },
            _ => {
                return Err(wrong(&v.property, "only a text can be looked for inside a value"));
            }
        },
    })
}

fn members(predicates: Vec<v1::Predicate>, depth: usize, nodes: &mut usize) -> Result<Vec<Predicate>> {
    predicates.into_iter().map(|p| convert(p, depth + 1, nodes)).collect()
}

fn named(property: String) -> Result<String> {
    if property.is_empty() {
        return Err(wrong("", "a condition names no property"));
    }
    Ok(property)
}

fn operand(property: &str, operand: Option<v1::Value>) -> Result<Value> {
    let operand = operand.ok_or_else(|| wrong(property, "the value to compare with is missing"))?;
    match value::to_engine(operand) {
        Ok(Value::Null) => Err(wrong(property, "nothing compares with null; ask whether it is null")),
        Ok(value) => Ok(value),
        Err(e) => Err(wrong(property, e.message())),
    }
}

fn operator(property: &str, operator: i32) -> Result<CompareOp> {
    Ok(match Operator::try_from(operator) {
        Ok(Operator::Eq) => CompareOp::Eq,
        Ok(Operator::Ne) => CompareOp::Ne,
        Ok(Operator::Lt) => CompareOp::Lt,
        Ok(Operator::Le) => CompareOp::Le,
        Ok(Operator::Gt) => CompareOp::Gt,
        Ok(Operator::Ge) => CompareOp::Ge,
        Ok(Operator::Unspecified) => return Err(wrong(property, "the comparison is missing")),
        Err(_) => {
            return Err(wrong(property, &format!("{operator} is no comparison this server knows")));
        }
    })
}

fn count(nodes: &mut usize, more: usize) -> Result<()> {
    *nodes += more;
    if *nodes > MAX_PREDICATE_NODES {
        return Err(too_much("predicate_nodes", *nodes, MAX_PREDICATE_NODES));
    }
    Ok(())
}

fn too_much(limit: &'static str, value: usize, max: usize) -> Error {
    let what = format!("the filter exceeds {limit}: {value}, and {max} at most; ask for ids instead");
    Error::new(Reason::LimitExceeded, what).with("limit", limit).with("value", value).with("max", max)
}

fn wrong(property: &str, problem: &str) -> Error {
    let place = if property.is_empty() { String::new() } else { format!(" on {property:?}") };
    Error::new(Reason::InvalidPredicate, format!("the filter{place} is wrong: {problem}"))
        .with("property", property)
        .with("problem", problem)
}

/// A filter as a message.
pub fn to_proto(predicate: Predicate) -> v1::Predicate {
    let members = |list: Vec<Predicate>| list.into_iter().map(to_proto).collect();
    let kind = match predicate {
        Predicate::And(list) => Kind::Conjunction(v1::predicate::And { predicates: members(list) }),
        Predicate::Or(list) => Kind::Disjunction(v1::predicate::Or { predicates: members(list) }),
        Predicate::Not(inner) => {
            Kind::Negation(Box::new(v1::predicate::Not { predicate: Some(Box::new(to_proto(*inner))) }))
        }
        Predicate::Compare { property, op, value } => Kind::Compare(v1::predicate::Compare {
            property,
            operator: operator_to_proto(op).into(),
            value: Some(value::to_proto(value)),
        }),
        Predicate::In { property, values } => {
            Kind::InSet(v1::predicate::In { property, values: values.into_iter().map(value::to_proto).collect() })
        }
        Predicate::IsNull { property } => Kind::IsNull(v1::predicate::IsNull { property }),
        Predicate::StartsWith { property, prefix } => Kind::StartsWith(v1::predicate::StartsWith { property, prefix }),
        Predicate::Contains { property, substring } => {
            Kind::Contains(v1::predicate::Contains { property, value: Some(value::to_proto(Value::String(substring))) })
        }
    };
    v1::Predicate { kind: Some(kind) }
}

fn operator_to_proto(op: CompareOp) -> Operator {
    match op {
        CompareOp::Eq => Operator::Eq,
        CompareOp::Ne => Operator::Ne,
        CompareOp::Lt => Operator::Lt,
        CompareOp::Le => Operator::Le,
        CompareOp::Gt => Operator::Gt,
        CompareOp::Ge => Operator::Ge,
    }
}

#[cfg(test)]
mod tests;
