//! Rules for what only edge types have: endpoints and cardinality.

use super::{Names, hint, shown};
use crate::model::{EntityKind, EntityType};
use crate::schema::problem::{Owner, Part, Problems};

/// Checks that an edge type has endpoints and sensible bounds, and that a node type has neither.
pub(super) fn check(owner: Owner, ty: &EntityType, names: &Names<'_>, problems: &mut Problems<'_>) {
    let name = shown(&ty.name);
    if let Some(cardinality) = ty.cardinality {
        let place = owner.at(Part::Cardinality);
        if ty.kind == EntityKind::Node {
            problems.report(place, || format!("node {name} has a cardinality, expected it on edge types only"));
        }
        if let Some(max) = cardinality.max.filter(|max| *max < cardinality.min) {
            problems.report(place, || {
                let min = cardinality.min;
                format!("the cardinality of {name} is empty: at least {min} and at most {max}")
            });
        }
    }
    match (ty.kind, &ty.endpoints) {
        (EntityKind::Edge, Some(endpoints)) => {
            endpoint(owner, &name, (Part::From, "from"), &endpoints.from, names, problems);
            endpoint(owner, &name, (Part::To, "to"), &endpoints.to, names, problems);
        }
        (EntityKind::Edge, None) => problems.report(owner.at(Part::From), || {
            format!("edge {name} has no endpoints, expected a source and a destination node type")
        }),
        (EntityKind::Node, Some(_)) => problems
            .report(owner.at(Part::From), || format!("node {name} has endpoints, expected them on edge types only")),
        (EntityKind::Node, None) => {}
    }
}

fn endpoint(
    owner: Owner,
    edge: &str,
    (part, direction): (Part, &str),
    node: &str,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) {
    if names.nodes.contains_key(node) {
        return;
    }
    problems.report(owner.at(part), || {
        let found = if names.interfaces.contains_key(node) {
            "the interface"
        } else if names.edges.contains_key(&node.to_ascii_lowercase()) {
            "the edge type"
        } else {
            "unknown type"
        };
        let meant = hint(node, names.nodes.keys().copied());
        format!("edge {edge} leads {direction} {found} {}, expected a declared node type{meant}", shown(node))
    });
}
