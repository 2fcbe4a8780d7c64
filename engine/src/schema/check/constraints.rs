//! Rules for keys, unique tuples, ranges and checks; those for indexes are next door.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::patterns::{Patterns, Verdict};
use super::{Scope, hint, indexes, shown};
use crate::model::{
    CheckConstraint, EntityType, IndexDecl, Property, PropertyType, RangeConstraint, ScalarType, Value,
};
use crate::schema::literal::{compare_bounds, expected_bound, is_bound, write_bound};
use crate::schema::print::type_text;
use crate::schema::problem::{Part, Place, Problems};

/// Checks every constraint of a type. `inherited` indexes were checked on their interface.
pub(super) fn check<'a>(
    scope: &Scope<'_>,
    ty: &'a EntityType,
    inherited: &[&IndexDecl],
    patterns: &mut Patterns<'a>,
    problems: &mut Problems<'_>,
) {
    key(scope, &ty.key, problems);
    unique(scope, &ty.unique, problems);
    indexes::check(scope, &ty.indexes, inherited, problems);
    for (i, constraint) in ty.ranges.iter().enumerate() {
        range(scope, constraint, scope.owner.at(Part::Range(i)), problems);
    }
    for (i, constraint) in ty.checks.iter().enumerate() {
        applies_to_text(scope, i, constraint, problems);
        let verdict = patterns.judge(&constraint.pattern);
        pattern(scope, i, constraint, verdict, problems);
    }
}

fn key(scope: &Scope<'_>, key: &[String], problems: &mut Problems<'_>) {
    distinct(scope, "key", key, problems, Part::Key);
    for (i, column) in key.iter().enumerate() {
        let place = scope.owner.at(Part::Key(i));
        let Some(property) = resolve(scope, "key", column, place, problems) else {
            continue;
        };
        comparable(scope, "key", property, place, problems);
        if property.nullable {
            problems.report(place, || {
                format!(
                    "{} is part of the key of {} and may be null, expected `{}` without `?`",
                    shown(column),
                    scope.title,
                    type_text(&Property { nullable: false, ..property.clone() })
                )
            });
        }
    }
}

fn unique(scope: &Scope<'_>, tuples: &[Vec<String>], problems: &mut Problems<'_>) {
    let mut seen: HashSet<&[String]> = HashSet::new();
    for (i, tuple) in tuples.iter().enumerate() {
        let first = scope.owner.at(Part::Unique(i, 0));
        whole(scope, "unique", tuple, seen.insert(tuple), first, problems);
        distinct(scope, "unique", tuple, problems, |k| Part::Unique(i, k));
        for (k, column) in tuple.iter().enumerate() {
            let place = scope.owner.at(Part::Unique(i, k));
            if let Some(property) = resolve(scope, "unique", column, place, problems) {
                comparable(scope, "unique", property, place, problems);
            }
        }
    }
}

/// A tuple needs a column, and needs declaring only once.
pub(super) fn whole(
    scope: &Scope<'_>,
    what: &str,
    columns: &[String],
    is_new: bool,
    place: Place,
    problems: &mut Problems<'_>,
) {
    if columns.is_empty() {
        problems.report(place, || format!("`{what}` of {} names no property, expected at least one", scope.title));
    } else if !is_new {
        problems.report(place, || {
            let columns = shown(&columns.join(", "));
            format!("{} declares `{what}` on {columns} twice, expected once", scope.title)
        });
    }
}

/// No column stands in a tuple twice.
pub(super) fn distinct(
    scope: &Scope<'_>,
    what: &str,
    columns: &[String],
    problems: &mut Problems<'_>,
    part: impl Fn(usize) -> Part,
) {
    let mut seen = HashSet::new();
    for (i, column) in columns.iter().enumerate() {
        if !seen.insert(column) {
            problems.report(scope.owner.at(part(i)), || {
                format!("`{what}` of {} names {} twice, expected once", scope.title, shown(column))
            });
        }
    }
}

/// The property a constraint names. `None` if it is an edge's end, which suits every column constraint;
/// if it is unknown, which is reported; or if its type could not be read.
pub(super) fn resolve<'a>(
    scope: &Scope<'a>,
    what: &str,
    column: &str,
    place: Place,
    problems: &mut Problems<'_>,
) -> Option<&'a Property> {
    let Some(index) = scope.by_name.get(column) else {
        let is_column = matches!(what, "key" | "unique" | "index");
        if !(scope.is_edge && is_column && matches!(column, "src" | "dst")) {
            problems.report(place, || {
                let ends: &[&str] = if scope.is_edge && is_column { &["src", "dst"] } else { &[] };
                let meant = hint(column, scope.names().chain(ends.iter().copied()));
                let why = if column == "id" && is_column { " (`id` is unique and indexed already)" } else { "" };
                format!(
                    "`{what}` of {} names {}, expected one of its properties{why}{meant}",
                    scope.title,
                    shown(column)
                )
            });
        }
        return None;
    };
    if problems.is_silenced(scope.owner.at(Part::PropertyType(*index))) {
        return None;
    }
    scope.properties.get(*index)
}

/// Keys and unique tuples need values with one canonical form.
fn comparable(scope: &Scope<'_>, what: &str, property: &Property, place: Place, problems: &mut Problems<'_>) {
    let legal = match &property.ty {
        PropertyType::Scalar(scalar) => *scalar != ScalarType::Blob,
        PropertyType::Enum(_) => true,
        PropertyType::Vector(_) | PropertyType::List(_) => false,
    };
    if !legal {
        problems.report(place, || {
            format!(
                "`{what}` of {} names {} of type {}, expected a property that is no Blob, Vector or list",
                scope.title,
                shown(&property.name),
                type_text(property)
            )
        });
    }
}

fn range(scope: &Scope<'_>, constraint: &RangeConstraint, place: Place, problems: &mut Problems<'_>) {
    let name = &constraint.property;
    let Some(property) = resolve(scope, "range", name, place, problems) else {
        return;
    };
    let scalar = match &property.ty {
        PropertyType::Scalar(scalar) => *scalar,
        // Any type without ranges will do; the message shows the real one.
        _ => ScalarType::Blob,
    };
    let Some(expected) = expected_bound(scalar) else {
        return problems.report(place, || {
            format!(
                "`range` of {} names {} of type {}, expected I32, I64, U32, U64, F32, F64, Date or \
                 DateTime",
                scope.title,
                shown(name),
                type_text(property)
            )
        });
    };
    let bounds: Vec<&Value> = constraint.min.iter().chain(&constraint.max).collect();
    if bounds.is_empty() {
        return problems.report(place, || format!("the range of {} has no bounds, expected at least one", shown(name)));
    }
    let mut fits = true;
    for bound in bounds.iter().filter(|b| !is_bound(scalar, b)) {
        fits = false;
        problems.report(place, || {
            let found = shown(&write_bound(bound));
            format!("found {found} as a bound of {}, expected {expected}", shown(name))
        });
    }
    if let [min, max] = bounds.as_slice()
        && fits
        && compare_bounds(min, max) == Some(Ordering::Greater)
    {
        problems.report(place, || {
            format!("the range of {} is empty: {} is more than {}", shown(name), write_bound(min), write_bound(max))
        });
    }
}

fn applies_to_text(scope: &Scope<'_>, index: usize, constraint: &CheckConstraint, problems: &mut Problems<'_>) {
    let place = scope.owner.at(Part::Check(index));
    let Some(property) = resolve(scope, "check", &constraint.property, place, problems) else {
        return;
    };
    let is_text = matches!(property.ty, PropertyType::Scalar(ScalarType::String) | PropertyType::Enum(_));
    if !is_text {
        problems.report(place, || {
            format!(
                "`check` of {} names {} of type {}, expected String or enum",
                scope.title,
                shown(&property.name),
                type_text(property)
            )
        });
    }
}

fn pattern(
    scope: &Scope<'_>,
    index: usize,
    constraint: &CheckConstraint,
    verdict: Verdict,
    problems: &mut Problems<'_>,
) {
    let place = scope.owner.at(Part::CheckPattern(index));
    let pattern = &constraint.pattern;
    match verdict {
        Verdict::Good => {}
        Verdict::Wrong(why) => {
            problems.report(place, || format!("{} is not a usable regular expression: {why}", shown(pattern)))
        }
        Verdict::Over(limit) => {
            problems.report_limit(place, || format!("the pattern {} {limit}", shown(pattern)));
        }
    }
}
