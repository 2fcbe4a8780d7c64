//! Every rule a schema must satisfy, however it arrived. It reports and changes nothing.
//!
//! What is refused here would otherwise fail at the first write or be enforced by nobody: a declared
//! constraint is either enforced or impossible to declare.

mod constraints;
mod edges;
mod indexes;
mod patterns;
mod properties;

use std::collections::HashMap;

use super::lex::is_name;
use super::problem::{Owner, Part, Place, Problems, hint, shown};
use crate::error::{Result, Violation};
use crate::limits;
use crate::model::{Annotation, EntityKind, EntityType, IndexDecl, InterfaceType, Property, PropertyType, Schema};

/// Bytes that all types together may take over from interfaces. A short text could otherwise declare
/// a schema that fits no memory: many types implementing many large interfaces.
const MAX_INHERITED_BYTES: usize = 64 * 1024 * 1024;

/// What a property costs besides its texts, roughly.
const PROPERTY_BYTES: usize = 64;

/// Everything wrong with `schema`, up to [`limits::MAX_REPORTED_VIOLATIONS`]; empty if it is valid. Each
/// violation's field is a path such as `types[2].properties[0].name`.
///
/// A valid type has the properties and indexes of its interfaces among its own.
pub fn check(schema: &Schema) -> Vec<Violation> {
    found(schema).into_violations()
}

/// Success if `schema` is valid.
///
/// # Errors
/// [`crate::error::Reason::InvalidSchema`] with what [`check`] returns.
pub fn ensure_valid(schema: &Schema) -> Result<()> {
    found(schema).into_result()
}

fn found(schema: &Schema) -> Problems<'static> {
    let mut problems = Problems::in_message();
    if fits_inheritance(schema, &mut problems) {
        examine(schema, &mut problems);
    }
    problems
}

/// The declared names, for look-ups and near misses.
struct Names<'a> {
    interfaces: HashMap<&'a str, &'a InterfaceType>,
    nodes: HashMap<&'a str, &'a EntityType>,
    /// By lower-case name.
    edges: HashMap<String, &'a EntityType>,
}

/// Whether what types take over from interfaces stays within bounds; if not, that is reported. Must be
/// asked before anything whose cost grows with it.
pub(super) fn fits_inheritance(schema: &Schema, problems: &mut Problems<'_>) -> bool {
    let mut weights: HashMap<&str, usize> = HashMap::new();
    for interface in &schema.interfaces {
        weights.entry(interface.name.as_str()).or_insert_with(|| weight(interface));
    }
    let inherited = schema
        .types
        .iter()
        .flat_map(|t| &t.implements)
        .map(|name| weights.get(name.as_str()).copied().unwrap_or(0))
        .fold(0_usize, usize::saturating_add);
    let fits = inherited <= MAX_INHERITED_BYTES;
    if !fits {
        problems.report_limit(Owner::Schema.at(Part::Name), || {
            format!(
                "the types take over {inherited} bytes of declarations from their interfaces, more \
                 than the {MAX_INHERITED_BYTES} allowed"
            )
        });
    }
    fits
}

fn weight(interface: &InterfaceType) -> usize {
    let annotations =
        |list: &[Annotation]| -> usize { list.iter().map(|a| PROPERTY_BYTES + a.name.len() + a.arguments.len()).sum() };
    let property = |p: &Property| {
        let members = match &p.ty {
            PropertyType::Enum(members) => members.iter().map(|m| PROPERTY_BYTES + m.len()).sum(),
            _ => 0,
        };
        PROPERTY_BYTES + p.name.len() + p.description.len() + members + annotations(&p.annotations)
    };
    let index = |index: &IndexDecl| -> usize { index.columns.iter().map(|c| PROPERTY_BYTES + c.len()).sum() };
    interface.properties.iter().map(property).sum::<usize>() + interface.indexes.iter().map(index).sum::<usize>()
}

/// Reports everything wrong with `schema`.
pub(super) fn examine(schema: &Schema, problems: &mut Problems<'_>) {
    let declared = schema.types.len() + schema.interfaces.len();
    if declared > limits::MAX_TYPES {
        problems.report_limit(Owner::Schema.at(Part::Name), || {
            let limit = limits::MAX_TYPES;
            format!("the schema declares {declared} types, more than the {limit} allowed")
        });
    }
    // Text that could not be read says nothing about what it meant to declare.
    if schema.types.is_empty() && problems.is_empty() {
        problems.report(Owner::Schema.at(Part::Name), || {
            "the schema declares no types, expected at least one node type".to_string()
        });
    }
    let names = type_names(schema, problems);
    let mut patterns = patterns::Patterns::default();
    for (i, interface) in schema.interfaces.iter().enumerate() {
        let scope = Scope::of_interface(Owner::Interface(i), interface);
        properties::check(&scope, None, problems);
        annotations(&interface.annotations, problems, |k| scope.owner.at(Part::Annotation(k)));
        indexes::check(&scope, &interface.indexes, &[], problems);
    }
    for (i, ty) in schema.types.iter().enumerate() {
        let scope = Scope::of_type(Owner::Type(i), ty);
        let inherited = properties::Inherited::of(&scope, ty, &names, problems);
        properties::check(&scope, Some(&inherited), problems);
        annotations(&ty.annotations, problems, |k| scope.owner.at(Part::Annotation(k)));
        constraints::check(&scope, ty, &inherited.indexes, &mut patterns, problems);
        edges::check(scope.owner, ty, &names, problems);
    }
}

/// One declaration, with its properties by name.
struct Scope<'a> {
    owner: Owner,
    /// `node`, `edge` or `interface` with the name, for messages.
    title: String,
    is_edge: bool,
    properties: &'a [Property],
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Scope<'a> {
    fn of_interface(owner: Owner, interface: &'a InterfaceType) -> Self {
        Self::new(owner, "interface", &interface.name, false, &interface.properties)
    }

    fn of_type(owner: Owner, ty: &'a EntityType) -> Self {
        let is_edge = ty.kind == EntityKind::Edge;
        Self::new(owner, ty.kind.as_str(), &ty.name, is_edge, &ty.properties)
    }

    fn new(owner: Owner, keyword: &str, name: &str, is_edge: bool, properties: &'a [Property]) -> Self {
        let mut by_name = HashMap::new();
        for (i, property) in properties.iter().enumerate() {
            by_name.entry(property.name.as_str()).or_insert(i);
        }
        Self { owner, title: format!("{keyword} {}", shown(name)), is_edge, properties, by_name }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.properties.iter().map(|p| p.name.as_str())
    }
}

/// Checks the names of all types and collects them. The first of two equal names counts.
fn type_names<'a>(schema: &'a Schema, problems: &mut Problems<'_>) -> Names<'a> {
    let mut names = Names { interfaces: HashMap::new(), nodes: HashMap::new(), edges: HashMap::new() };
    for (i, interface) in schema.interfaces.iter().enumerate() {
        let place = Owner::Interface(i).at(Part::Name);
        spelling("the interface name", &interface.name, place, problems);
        if names.interfaces.contains_key(interface.name.as_str()) {
            declared_twice(&interface.name, "an interface", place, problems);
        } else {
            names.interfaces.insert(&interface.name, interface);
        }
    }
    for (i, ty) in schema.types.iter().enumerate() {
        let place = Owner::Type(i).at(Part::Name);
        spelling(&format!("the {} name", ty.kind), &ty.name, place, problems);
        match ty.kind {
            EntityKind::Node if names.interfaces.contains_key(ty.name.as_str()) => {
                declared_twice(&ty.name, "an interface", place, problems);
            }
            EntityKind::Node if names.nodes.contains_key(ty.name.as_str()) => {
                declared_twice(&ty.name, "a node type", place, problems);
            }
            EntityKind::Node => {
                names.nodes.insert(&ty.name, ty);
            }
            EntityKind::Edge => {
                let lower = ty.name.to_ascii_lowercase();
                match names.edges.get(&lower) {
                    Some(first) if first.name == ty.name => {
                        declared_twice(&ty.name, "an edge type", place, problems);
                    }
                    Some(first) => problems.report(place, || {
                        format!(
                            "edge names must differ in more than case; {} is declared as {} already",
                            shown(&ty.name),
                            shown(&first.name)
                        )
                    }),
                    None => {
                        names.edges.insert(lower, ty);
                    }
                }
            }
        }
    }
    names
}

fn declared_twice(name: &str, what: &str, place: Place, problems: &mut Problems<'_>) {
    problems.report(place, || format!("{} is declared as {what} already, expected another name", shown(name)));
}

/// A name must be an identifier of bounded length outside the reserved prefix.
fn spelling(what: &str, name: &str, place: Place, problems: &mut Problems<'_>) {
    if name.len() > limits::MAX_NAME_BYTES {
        problems.report_limit(place, || {
            let limit = limits::MAX_NAME_BYTES;
            format!("{what} {} has {} bytes, more than the {limit} allowed", shown(name), name.len())
        });
    } else if !is_name(name) {
        problems.report(place, || {
            format!("{what} {} is not a name, expected letters, digits and `_`, not starting with a digit", shown(name))
        });
    } else if name.starts_with("__") {
        problems.report(place, || {
            format!("{what} {} is reserved, expected one that does not start with `__`", shown(name))
        });
    }
}

/// Annotations must survive being written down and read back as annotations without a meaning.
fn annotations(annotations: &[Annotation], problems: &mut Problems<'_>, place: impl Fn(usize) -> Place) {
    const INTERPRETED: [&str; 7] = ["key", "unique", "index", "range", "check", "card", "description"];
    for (i, annotation) in annotations.iter().enumerate() {
        let name = &annotation.name;
        if !is_name(name) {
            problems.report(place(i), || format!("the annotation name {} is not a name", shown(name)));
        } else if INTERPRETED.contains(&name.as_str()) {
            problems.report(place(i), || format!("`@{name}` has a meaning, expected it in the field of that meaning"));
        }
        if !super::lex::is_closed(&annotation.arguments) {
            problems.report(place(i), || {
                format!(
                    "the arguments of `@{}` do not end where they should, expected every \
                     parenthesis, quote and comment closed",
                    name.escape_debug()
                )
            });
        }
    }
}

#[cfg(test)]
mod tests;
