//! `--where`: simple conditions in text become typed predicates. Values are read for the declared type of
//! their property; nothing is ever passed on as text.
//!
//! ```text
//! condition  = and { "or" and }
//! and        = not { "and" not }
//! not        = [ "not" ] ( "(" condition ")" | test )
//! test       = name ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
//!            | name [ "not" ] "in" "(" value { "," value } ")"
//!            | name "is" [ "not" ] "null"
//!            | name "starts_with" value
//!            | name "contains" value
//! ```

mod lex;

use omnigraph_client::ErrorReason;
use omnigraph_engine::model::{CompareOp, Predicate, PropertyType, TypeRef, Value};

use crate::failure::{Failure, Result};
use crate::literal;
use crate::target::Reader;
use lex::{Token, lex};

/// How deep conditions may be nested; deeper ones are no longer simple.
const MAX_DEPTH: usize = 32;

/// Finds the type of a property.
type Types<'a> = &'a dyn Fn(&str) -> Option<PropertyType>;

/// Reads conditions, all of which have to hold. `None` if there are none.
pub(crate) fn read_all(conditions: &[String], reader: &Reader, type_ref: &TypeRef) -> Result<Option<Predicate>> {
    let mut read = Vec::new();
    for condition in conditions {
        read.push(read_one(condition, reader, type_ref)?);
    }
    Ok(match read.len() {
        0 => None,
        1 => read.pop(),
        _ => Some(Predicate::And(read)),
    })
}

/// Reads one condition on entities of a type.
pub(crate) fn read_one(condition: &str, reader: &Reader, type_ref: &TypeRef) -> Result<Predicate> {
    if reader.schema.get(type_ref).is_none() {
        let what = format!("the schema declares no {} type {:?}", type_ref.kind, type_ref.name);
        return Err(Failure::usage(what).because(ErrorReason::TypeNotFound));
    }
    parse(condition, type_ref, &|name| reader.property_type(type_ref, name))
}

fn parse(text: &str, type_ref: &TypeRef, types: Types<'_>) -> Result<Predicate> {
    let tokens = lex(text).map_err(|why| Failure::usage(format!("cannot read the condition {text:?}: {why}")))?;
    let mut parser = Parser { text, tokens, at: 0, type_ref, types };
    let predicate = parser.or(0)?;
    match parser.peek() {
        None => Ok(predicate),
        Some(token) => Err(parser.wrong(&format!("nothing more was expected at {token}"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    type_ref: &'a TypeRef,
    types: Types<'a>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Takes the word if it comes next, whatever its case.
    fn takes(&mut self, keyword: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(self.wrong(&format!("{symbol} is missing"))) }
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::usage(format!("cannot read the condition {:?}: {why}", self.text))
    }

    fn or(&mut self, depth: usize) -> Result<Predicate> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("it is nested too deeply"));
        }
        let mut members = vec![self.and(depth)?];
        while self.takes("or") {
            members.push(self.and(depth)?);
        }
        Ok(only_or(members, Predicate::Or))
    }

    fn and(&mut self, depth: usize) -> Result<Predicate> {
        let mut members = vec![self.not(depth)?];
        while self.takes("and") {
            members.push(self.not(depth)?);
        }
        Ok(only_or(members, Predicate::And))
    }

    fn not(&mut self, depth: usize) -> Result<Predicate> {
        let mut negated = false;
        while self.takes("not") {
            negated = !negated;
        }
        let predicate = if self.takes_symbol("(") {
            let inner = self.or(depth + 1)?;
            self.expect(")")?;
            inner
        } else {
            self.test()?
        };
        Ok(if negated { Predicate::Not(Box::new(predicate)) } else { predicate })
    }

    fn test(&mut self) -> Result<Predicate> {
        let property = match self.next() {
            Some(Token::Word(name) | Token::Name(name)) => name,
            Some(other) => return Err(self.wrong(&format!("a property was expected at {other}"))),
            None => return Err(self.wrong("it ends where a property was expected")),
        };
        let Some(ty) = (self.types)(&property) else {
            let what = format!("{} has no property {property:?}", self.type_ref.name);
            return Err(Failure::usage(what).because(ErrorReason::PropertyNotFound));
        };
        if self.takes("is") {
            let negated = self.takes("not");
            if !self.takes("null") {
                return Err(self.wrong("`is` asks for null or not null"));
            }
            return Ok(not_if(negated, Predicate::IsNull { property }));
        }
        if self.takes("starts_with") {
            let prefix = self.text_value()?;
            return Ok(Predicate::StartsWith { property, prefix });
        }
        if self.takes("contains") {
            let substring = self.text_value()?;
            return Ok(Predicate::Contains { property, substring });
        }
        let negated = self.takes("not");
        if self.takes("in") {
            let values = self.set(&property, &ty)?;
            return Ok(not_if(negated, Predicate::In { property, values }));
        }
        let op = self.operator(negated)?;
        let value = self.value(&property, &ty)?;
        Ok(Predicate::Compare { property, op, value })
    }

    fn operator(&mut self, negated: bool) -> Result<CompareOp> {
        let op = match self.next() {
            Some(Token::Symbol(symbol)) => match symbol {
                "=" | "==" => Some(CompareOp::Eq),
                "!=" | "<>" => Some(CompareOp::Ne),
                "<" => Some(CompareOp::Lt),
                "<=" => Some(CompareOp::Le),
                ">" => Some(CompareOp::Gt),
                ">=" => Some(CompareOp::Ge),
                _ => None,
            },
            _ => None,
        };
        op.filter(|_| !negated)
            .ok_or_else(|| self.wrong("after a property comes =, !=, <, <=, >, >=, in, is, starts_with or contains"))
    }

    fn set(&mut self, property: &str, ty: &PropertyType) -> Result<Vec<Value>> {
        self.expect("(")?;
        let mut values = Vec::new();
        loop {
            values.push(self.value(property, ty)?);
            if !self.takes_symbol(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(values)
    }

    fn text_value(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::Word(text) | Token::Text(text)) => Ok(text),
            _ => Err(self.wrong("a text is missing")),
        }
    }

    fn value(&mut self, property: &str, ty: &PropertyType) -> Result<Value> {
        let text = self.text_value()?;
        let value = match ty {
            PropertyType::Scalar(scalar) => literal::from_text(&text, *scalar),
            PropertyType::Enum(_) => Some(Value::String(text.clone())),
            PropertyType::Vector(_) | PropertyType::List(_) => {
                return Err(self.wrong(&format!("{property} is {} and cannot be compared", literal::type_name(ty))));
            }
        };
        value.ok_or_else(|| self.wrong(&format!("{property} is {} and {text:?} is none", literal::expected(ty))))
    }
}

fn only_or(mut members: Vec<Predicate>, several: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match members.pop() {
        Some(only) if members.is_empty() => only,
        Some(last) => {
            members.push(last);
            several(members)
        }
        None => several(members),
    }
}

fn not_if(negated: bool, predicate: Predicate) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}

#[cfg(test)]
mod tests;
