//! Rules for properties on their own, and for what a type must have from its interfaces.

use std::collections::{HashMap, HashSet};

use super::{Names, Scope, annotations, spelling};
use crate::limits;
use crate::model::{EntityKind, EntityType, IndexDecl, Property, PropertyType, ScalarType};
use crate::schema::default::default_of;
use crate::schema::print::{index_arguments, type_text};
use crate::schema::problem::{Part, Problems, hint, shown};

/// Columns of every table, words with a meaning in records, and columns the storage adds to reads.
const RESERVED: [&str; 12] = [
    "id",
    "src",
    "dst",
    "from",
    "to",
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_row_created_at_version",
    "_row_last_updated_at_version",
    "_distance",
    "_score",
];

/// What a type has from its interfaces, and need not be checked again.
pub(super) struct Inherited<'a> {
    properties: HashMap<&'a str, &'a Property>,
    /// The interfaces' indexes.
    pub(super) indexes: Vec<&'a IndexDecl>,
}

impl<'a> Inherited<'a> {
    /// Collects it, and reports what the type contradicts or lacks.
    pub(super) fn of(scope: &Scope<'_>, ty: &'a EntityType, names: &Names<'a>, problems: &mut Problems<'_>) -> Self {
        let mut inherited = Self { properties: HashMap::new(), indexes: Vec::new() };
        let mut seen = HashSet::new();
        let own_indexes: HashSet<&IndexDecl> = ty.indexes.iter().collect();
        for (i, name) in ty.implements.iter().enumerate() {
            let place = scope.owner.at(Part::Implements(i));
            if ty.kind == EntityKind::Edge {
                problems
                    .report(place, || format!("{} implements {}, but only node types can", scope.title, shown(name)));
                continue;
            }
            if !seen.insert(name.as_str()) {
                problems.report(place, || format!("{} implements {} twice, expected once", scope.title, shown(name)));
                continue;
            }
            let Some(interface) = names.interfaces.get(name.as_str()) else {
                problems.report(place, || unknown_interface(name, names));
                continue;
            };
            for property in &interface.properties {
                require_property(scope, name, property, place, problems);
                inherited.properties.entry(property.name.as_str()).or_insert(property);
            }
            for index in &interface.indexes {
                inherited.indexes.push(index);
                if !own_indexes.contains(index) {
                    problems.report(place, || {
                        let how = match index_arguments(index) {
                            arguments if arguments.is_empty() => arguments,
                            arguments => format!(" with {arguments}"),
                        };
                        format!(
                            "{} implements {}, expected its index on {}{how} too",
                            scope.title,
                            shown(name),
                            shown(&index.columns.join(", "))
                        )
                    });
                }
            }
        }
        inherited
    }
}

fn unknown_interface(name: &str, names: &Names<'_>) -> String {
    if names.nodes.contains_key(name) {
        return format!("{} is a node type, expected an interface", shown(name));
    }
    let meant = hint(name, names.interfaces.keys().copied());
    format!("found unknown interface {}, expected a declared one{meant}", shown(name))
}

/// The type must have the interface's property as declared.
fn require_property(
    scope: &Scope<'_>,
    interface: &str,
    wanted: &Property,
    place: crate::schema::problem::Place,
    problems: &mut Problems<'_>,
) {
    let Some(index) = scope.by_name.get(wanted.name.as_str()) else {
        return problems.report(place, || {
            format!(
                "{} implements {}, expected its property {} too",
                scope.title,
                shown(interface),
                shown(&wanted.name)
            )
        });
    };
    let Some(found) = scope.properties.get(*index) else {
        return;
    };
    let is_standin = problems.is_silenced(scope.owner.at(Part::PropertyType(*index)));
    if (found.ty != wanted.ty || found.nullable != wanted.nullable) && !is_standin {
        problems.report(place, || {
            format!(
                "found {} as {} in {}, expected {} as in the interface {}",
                shown(&wanted.name),
                type_text(found),
                scope.title,
                type_text(wanted),
                shown(interface)
            )
        });
    }
}

/// Checks each property that `scope` does not merely repeat from an interface.
pub(super) fn check(scope: &Scope<'_>, inherited: Option<&Inherited<'_>>, problems: &mut Problems<'_>) {
    let count = scope.properties.len();
    if count > limits::MAX_PROPERTIES {
        problems.report_limit(scope.owner.at(Part::Name), || {
            let limit = limits::MAX_PROPERTIES;
            format!("{} has {count} properties, more than the {limit} allowed", scope.title)
        });
    }
    let mut folded: HashMap<String, &str> = HashMap::new();
    for (i, property) in scope.properties.iter().enumerate() {
        let place = scope.owner.at(Part::Property(i));
        match folded.entry(property.name.to_ascii_lowercase()) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(&property.name);
            }
            std::collections::hash_map::Entry::Occupied(first) => problems.report(place, || {
                let (first, name) = (first.get(), &property.name);
                let how = if first == name { "twice" } else { "in two spellings of one name" };
                format!("{} declares {} {how}; the first is {}", scope.title, shown(name), shown(first))
            }),
        }
        let repeated = inherited
            .and_then(|inherited| inherited.properties.get(property.name.as_str()))
            .is_some_and(|original| Property { id: property.id, ..(*original).clone() } == *property);
        if !repeated {
            own_property(scope, i, property, problems);
        }
    }
}

fn own_property(scope: &Scope<'_>, index: usize, property: &Property, problems: &mut Problems<'_>) {
    let name = &property.name;
    let place = scope.owner.at(Part::Property(index));
    if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        problems.report(place, || {
            format!(
                "the property name {} of {} is reserved, expected none of {} in any case",
                shown(name),
                scope.title,
                RESERVED.join(", ")
            )
        });
    } else {
        spelling(&format!("the property name of {}", scope.title), name, place, problems);
    }
    annotations(&property.annotations, problems, |k| scope.owner.at(Part::PropertyAnnotation(index, k)));
    property_type(scope, index, property, problems);
    if let Some(Err(what)) = default_of(property) {
        problems.report(scope.owner.at(Part::PropertyType(index)), || format!("{}: {what}", shown(name)));
    }
}

fn property_type(scope: &Scope<'_>, index: usize, property: &Property, problems: &mut Problems<'_>) {
    let place = scope.owner.at(Part::PropertyType(index));
    let name = shown(&property.name);
    match &property.ty {
        PropertyType::Scalar(_) => {}
        PropertyType::List(ScalarType::Blob) => problems
            .report(place, || format!("{name} is a list of Blob, expected a list of another scalar or one Blob")),
        PropertyType::List(_) => {}
        PropertyType::Vector(dimensions) => {
            let limit = limits::MAX_VECTOR_DIMENSIONS;
            if !(1..=limit).contains(dimensions) {
                problems
                    .report(place, || format!("{name} is a vector of {dimensions} dimensions, expected 1 to {limit}"));
            }
        }
        PropertyType::Enum(members) => {
            if members.is_empty() {
                problems.report(place, || format!("{name} is an enum without members, expected at least one"));
            }
            let mut seen = HashSet::new();
            for member in members.iter().filter(|m| !seen.insert(m.as_str())) {
                problems.report(place, || format!("{name} is an enum with the member {} twice", shown(member)));
            }
        }
    }
}
