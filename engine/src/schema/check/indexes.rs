//! Rules for indexes: each declaration asks for something that can be built, and no two contradict each other.

use std::collections::{HashMap, HashSet};

use super::constraints::{distinct, resolve, whole};
use super::{Scope, shown};
use crate::model::index::method;
use crate::model::{IndexDecl, IndexKind, Metric, Property, PropertyType};
use crate::schema::print::type_text;
use crate::schema::problem::{Part, Place, Problems};

/// Checks indexes that are not among the `inherited` ones, and that all of them agree on metrics.
pub(super) fn check(scope: &Scope<'_>, indexes: &[IndexDecl], inherited: &[&IndexDecl], problems: &mut Problems<'_>) {
    let inherited: HashSet<&IndexDecl> = inherited.iter().copied().collect();
    let mut seen: HashSet<&IndexDecl> = HashSet::new();
    for (i, index) in indexes.iter().enumerate() {
        let first = scope.owner.at(Part::Index(i, 0));
        whole(scope, "index", &index.columns, seen.insert(index), first, problems);
        if inherited.contains(index) {
            continue;
        }
        distinct(scope, "index", &index.columns, problems, |k| Part::Index(i, k));
        let contradicts = index.kind != IndexKind::Auto && index.metric.is_some();
        if contradicts {
            problems.report(first, || {
                format!(
                    "`index` of {} has a kind and a metric, expected a kind for a String or a metric for a Vector",
                    scope.title
                )
            });
        }
        for (k, column) in index.columns.iter().enumerate() {
            let place = scope.owner.at(Part::Index(i, k));
            match resolve(scope, "index", column, place, problems) {
                Some(property) if !contradicts => suits(scope, index, property, place, problems),
                None if !contradicts => suits_end(scope, index, column, place, problems),
                _ => {}
            }
        }
    }
    one_metric(scope, indexes, problems);
}

/// An index must be possible on the property's type.
fn suits(scope: &Scope<'_>, index: &IndexDecl, property: &Property, place: Place, problems: &mut Problems<'_>) {
    let named =
        || format!("`index` of {} names {} of type {}", scope.title, shown(&property.name), type_text(property));
    let possible = method(index.kind, &property.ty).is_some();
    match (index.kind, index.metric) {
        (IndexKind::Auto, Some(_)) if !matches!(property.ty, PropertyType::Vector(_)) => {
            problems.report(place, || format!("{}, but a metric needs a Vector", named()));
        }
        (IndexKind::Auto, _) if !possible => problems.report(place, || {
            format!(
                "{}, which cannot be indexed; expected any scalar but Blob, an enum, a Vector, or a list of anything \
                 but floats",
                named()
            )
        }),
        (kind, _) if !possible => {
            problems.report(place, || format!("{}, but kind \"{}\" needs a String", named(), kind.as_str()));
        }
        _ => {}
    }
}

/// The ends of edges are indexed as ids, whatever is declared; they can be nothing else.
fn suits_end(scope: &Scope<'_>, index: &IndexDecl, column: &str, place: Place, problems: &mut Problems<'_>) {
    let is_end = scope.is_edge && matches!(column, "src" | "dst") && !scope.by_name.contains_key(column);
    if is_end && (index.kind != IndexKind::Auto || index.metric.is_some()) {
        problems.report(place, || {
            format!(
                "`index` of {} names {}, an end of its edges, which is indexed already and has no kind and no metric",
                scope.title,
                shown(column)
            )
        });
    }
}

/// A vector has one index, so it can be compared one way only.
fn one_metric(scope: &Scope<'_>, indexes: &[IndexDecl], problems: &mut Problems<'_>) {
    let mut metrics: HashMap<&str, Metric> = HashMap::new();
    for (i, index) in indexes.iter().enumerate() {
        let Some(metric) = index.metric else { continue };
        for (k, column) in index.columns.iter().enumerate() {
            let first = *metrics.entry(column).or_insert(metric);
            if first != metric {
                problems.report(scope.owner.at(Part::Index(i, k)), || {
                    format!(
                        "`index` of {} compares {} by \"{}\" and by \"{}\", expected one metric",
                        scope.title,
                        shown(column),
                        first.as_str(),
                        metric.as_str()
                    )
                });
            }
        }
    }
}
