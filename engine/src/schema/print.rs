//! Writes a schema as canonical text. It trusts the schema to be valid: for a valid one, reading the
//! text gives the same schema but for its ids.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::lex::is_name;
use super::literal::{quote, write_bound};
use crate::model::{
    Annotation, Cardinality, CheckConstraint, EntityType, IndexDecl, IndexKind, InterfaceType, Property, PropertyType,
    RangeConstraint, ScalarType, Schema,
};

/// `schema` as `.pg` text: interfaces, then types, in declaration order. Constraints on one property
/// stand beside it where their order allows, and what types have from interfaces is left out.
pub fn print(schema: &Schema) -> String {
    let mut out = String::new();
    let mut interfaces = HashMap::new();
    for interface in &schema.interfaces {
        interfaces.entry(interface.name.as_str()).or_insert(interface);
        separate(&mut out);
        print_interface(&mut out, interface);
    }
    for ty in &schema.types {
        separate(&mut out);
        print_type(&mut out, ty, &interfaces);
    }
    out
}

fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

/// A property's type as written, question mark included.
pub fn type_text(property: &Property) -> String {
    let ty = match &property.ty {
        PropertyType::Scalar(scalar) => scalar_text(*scalar).to_string(),
        PropertyType::List(scalar) => format!("[{}]", scalar_text(*scalar)),
        PropertyType::Vector(dimensions) => format!("Vector({dimensions})"),
        PropertyType::Enum(members) => {
            let members: Vec<String> = members.iter().map(|m| if is_name(m) { m.clone() } else { quote(m) }).collect();
            format!("enum({})", members.join(", "))
        }
    };
    if property.nullable { format!("{ty}?") } else { ty }
}

/// What an index declaration says besides its columns, as written; empty if it says nothing.
pub(super) fn index_arguments(index: &IndexDecl) -> String {
    let mut arguments = Vec::new();
    if index.kind != IndexKind::Auto {
        arguments.push(format!("kind={}", quote(index.kind.as_str())));
    }
    if let Some(metric) = index.metric {
        arguments.push(format!("metric={}", quote(metric.as_str())));
    }
    arguments.join(", ")
}

fn scalar_text(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::String => "String",
        ScalarType::Bool => "Bool",
        ScalarType::I32 => "I32",
        ScalarType::I64 => "I64",
        ScalarType::U32 => "U32",
        ScalarType::U64 => "U64",
        ScalarType::F32 => "F32",
        ScalarType::F64 => "F64",
        ScalarType::Date => "Date",
        ScalarType::DateTime => "DateTime",
        ScalarType::Blob => "Blob",
    }
}

fn print_interface(out: &mut String, interface: &InterfaceType) {
    let _ = write!(out, "interface {}", interface.name);
    metadata(out, &interface.description, &interface.annotations);
    let mut body = Body::of(&interface.properties);
    body.indexes(&interface.indexes);
    out.push_str(&body.finish());
}

fn print_type(out: &mut String, ty: &EntityType, interfaces: &HashMap<&str, &InterfaceType>) {
    let _ = write!(out, "{} {}", ty.kind, ty.name);
    if let Some(endpoints) = &ty.endpoints {
        let _ = write!(out, ": {} -> {}", endpoints.from, endpoints.to);
    }
    if !ty.implements.is_empty() {
        let _ = write!(out, " implements {}", ty.implements.join(", "));
    }
    if let Some(cardinality) = &ty.cardinality {
        let _ = write!(out, " @card({})", cardinality_text(cardinality));
    }
    metadata(out, &ty.description, &ty.annotations);
    let implemented: Vec<&InterfaceType> =
        ty.implements.iter().filter_map(|name| interfaces.get(name.as_str()).copied()).collect();
    let mut body = Body::of(own_properties(ty, &implemented));
    body.key(&ty.key);
    body.columns("unique", &ty.unique);
    body.indexes(own_indexes(ty, &implemented));
    body.ranges(&ty.ranges);
    body.checks(&ty.checks);
    out.push_str(&body.finish());
}

/// The properties that must be written for the rest to follow from the interfaces.
fn own_properties<'a>(ty: &'a EntityType, implemented: &[&InterfaceType]) -> &'a [Property] {
    let mut order: HashMap<&str, (usize, &Property)> = HashMap::new();
    for property in implemented.iter().flat_map(|i| &i.properties) {
        let next = order.len();
        order.entry(property.name.as_str()).or_insert((next, property));
    }
    let own = own_length(&ty.properties, |p| {
        let (position, original) = order.get(p.name.as_str())?;
        (Property { id: p.id, ..(*original).clone() } == *p).then_some(*position)
    });
    ty.properties.get(..own).unwrap_or_default()
}

/// The indexes that must be written for the rest to follow from the interfaces.
fn own_indexes<'a>(ty: &'a EntityType, implemented: &[&InterfaceType]) -> &'a [IndexDecl] {
    let mut order: HashMap<&IndexDecl, usize> = HashMap::new();
    for index in implemented.iter().flat_map(|i| &i.indexes) {
        let next = order.len();
        order.entry(index).or_insert(next);
    }
    let own = own_length(&ty.indexes, |index| order.get(index).copied());
    ty.indexes.get(..own).unwrap_or_default()
}

/// What a type takes over is appended in the interfaces' order. So the longest tail of items that have
/// a place in that order, in that order, need not be written; this is the length of the rest.
fn own_length<T>(items: &[T], position: impl Fn(&T) -> Option<usize>) -> usize {
    let mut bound = usize::MAX;
    let mut own = items.len();
    for item in items.iter().rev() {
        match position(item) {
            Some(position) if position < bound => {
                bound = position;
                own -= 1;
            }
            _ => break,
        }
    }
    own
}

fn cardinality_text(cardinality: &Cardinality) -> String {
    match cardinality.max {
        Some(max) => format!("{}..{max}", cardinality.min),
        None => format!("{}..*", cardinality.min),
    }
}

fn metadata(out: &mut String, description: &str, annotations: &[Annotation]) {
    if !description.is_empty() {
        let _ = write!(out, " @description({})", quote(description));
    }
    for annotation in annotations {
        let _ = write!(out, " @{}", annotation.name);
        if !annotation.arguments.is_empty() {
            let _ = write!(out, "({})", annotation.arguments);
        }
    }
}

/// The lines between the braces. A property's line gathers its own annotations, what spans properties
/// gets a line behind them.
struct Body<'a> {
    properties: &'a [Property],
    positions: HashMap<&'a str, usize>,
    beside: Vec<String>,
    behind: Vec<String>,
}

impl<'a> Body<'a> {
    fn of(properties: &'a [Property]) -> Self {
        let positions = properties.iter().enumerate().map(|(i, p)| (p.name.as_str(), i)).collect();
        Self { properties, positions, beside: vec![String::new(); properties.len()], behind: Vec::new() }
    }

    fn key(&mut self, key: &[String]) {
        match key {
            [] => {}
            [one] => self.place("key", [(Some(one.as_str()), one.clone(), String::new())]),
            many => self.behind.push(format!("@key({})", many.join(", "))),
        }
    }

    fn columns(&mut self, name: &str, tuples: &[Vec<String>]) {
        self.place(
            name,
            tuples.iter().map(|tuple| {
                let single = match tuple.as_slice() {
                    [one] => Some(one.as_str()),
                    _ => None,
                };
                (single, tuple.join(", "), String::new())
            }),
        );
    }

    fn indexes(&mut self, indexes: &[IndexDecl]) {
        self.place(
            "index",
            indexes.iter().map(|index| {
                let columns = index.columns.join(", ");
                let single = match index.columns.as_slice() {
                    [one] => Some(one.as_str()),
                    _ => None,
                };
                match index_arguments(index) {
                    arguments if arguments.is_empty() => (single, columns, arguments),
                    arguments => (single, format!("{columns}, {arguments}"), arguments),
                }
            }),
        );
    }

    fn ranges(&mut self, ranges: &[RangeConstraint]) {
        let bound = |value: &Option<_>| value.as_ref().map(write_bound).unwrap_or_default();
        self.place(
            "range",
            ranges.iter().map(|range| {
                let bounds = format!("{}..{}", bound(&range.min), bound(&range.max));
                (Some(range.property.as_str()), format!("{}, {bounds}", range.property), bounds)
            }),
        );
    }

    fn checks(&mut self, checks: &[CheckConstraint]) {
        self.place(
            "check",
            checks.iter().map(|check| {
                let pattern = quote(&check.pattern);
                (Some(check.property.as_str()), format!("{}, {pattern}", check.property), pattern)
            }),
        );
    }

    /// Writes constraints of one kind: the property if there is only one, the arguments for a line of
    /// its own, the arguments beside the property. Reading collects them in the order of the text, so
    /// only leading ones whose properties come in order may stand beside them.
    fn place<'b>(&mut self, name: &str, constraints: impl IntoIterator<Item = (Option<&'b str>, String, String)>) {
        let mut reached = Some(0);
        for (property, full, short) in constraints {
            let position = property.and_then(|p| self.positions.get(p)).copied();
            reached = position.filter(|p| reached.is_some_and(|reached| reached <= *p));
            match reached.and_then(|at| self.beside.get_mut(at)) {
                Some(line) => {
                    let _ = write!(line, " @{name}");
                    if !short.is_empty() {
                        let _ = write!(line, "({short})");
                    }
                }
                None => self.behind.push(format!("@{name}({full})")),
            }
        }
    }

    fn finish(self) -> String {
        if self.properties.is_empty() && self.behind.is_empty() {
            return " {}\n".to_string();
        }
        let mut out = " {\n".to_string();
        for (property, beside) in self.properties.iter().zip(self.beside) {
            let _ = write!(out, "  {}: {}{beside}", property.name, type_text(property));
            metadata(&mut out, &property.description, &property.annotations);
            out.push('\n');
        }
        for line in self.behind {
            let _ = writeln!(out, "  {line}");
        }
        out.push_str("}\n");
        out
    }
}

#[cfg(test)]
mod tests;
