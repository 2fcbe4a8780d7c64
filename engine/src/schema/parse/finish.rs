//! What can only be done once every declaration is read: types take over what their interfaces
//! declare, and ranges learn the type of their property. Then the rules have the last word.

use std::collections::{HashMap, HashSet};

use super::{Bound, Parser, WrittenRange};
use crate::error::Result;
use crate::model::{EntityType, IndexDecl, PropertyType, RangeConstraint, ScalarType, Schema, Value};
use crate::schema::check::{examine, fits_inheritance};
use crate::schema::literal::{Literal, expected_bound, read_bound};
use crate::schema::problem::{Owner, Part, Problems, shown};

impl Parser<'_> {
    /// The schema, or everything that is wrong with the text.
    pub(super) fn finish(self) -> Result<Schema> {
        let Self { mut schema, mut problems, ranges, .. } = self;
        if fits_inheritance(&schema, &mut problems) {
            inherit(&mut schema, &mut problems);
            for (index, written) in ranges {
                if let Some(ty) = schema.types.get_mut(index) {
                    read_ranges(ty, Owner::Type(index), written, &mut problems);
                }
            }
            examine(&schema, &mut problems);
        }
        problems.into_result()?;
        Ok(schema)
    }
}

/// Adds to each type what its interfaces declare and it does not.
fn inherit(schema: &mut Schema, problems: &mut Problems<'_>) {
    let mut by_name = HashMap::new();
    for (index, interface) in schema.interfaces.iter().enumerate() {
        by_name.entry(interface.name.as_str()).or_insert((index, interface));
    }
    for (type_index, ty) in schema.types.iter_mut().enumerate() {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut taken: HashSet<String> = ty.properties.iter().map(|p| p.name.clone()).collect();
        let mut indexed: HashSet<IndexDecl> = ty.indexes.iter().cloned().collect();
        for name in &ty.implements {
            let Some((interface_index, interface)) = by_name.get(name.as_str()) else {
                continue;
            };
            if !seen.insert(interface.name.as_str()) {
                continue;
            }
            for (i, property) in interface.properties.iter().enumerate() {
                if !taken.insert(property.name.clone()) {
                    continue;
                }
                let original = Owner::Interface(*interface_index).at(Part::PropertyType(i));
                if problems.is_silenced(original) {
                    let copy = Part::PropertyType(ty.properties.len());
                    problems.silence(Owner::Type(type_index).at(copy));
                }
                ty.properties.push(property.clone());
            }
            for index in &interface.indexes {
                if indexed.insert(index.clone()) {
                    ty.indexes.push(index.clone());
                }
            }
        }
    }
}

fn read_ranges(ty: &mut EntityType, owner: Owner, written: Vec<WrittenRange>, problems: &mut Problems<'_>) {
    let types: HashMap<&str, &PropertyType> = ty.properties.iter().map(|p| (p.name.as_str(), &p.ty)).collect();
    let mut ranges = Vec::new();
    for WrittenRange { property, offset, min, max } in written {
        // A range that cannot apply stays without bounds; the rules say why.
        let scalar = match types.get(property.as_str()) {
            Some(PropertyType::Scalar(scalar)) => Some(*scalar),
            _ => None,
        };
        let (min, max) = match scalar.filter(|s| expected_bound(*s).is_some()) {
            None => (None, None),
            Some(scalar) => {
                let bounds = (read(scalar, &property, min, problems), read(scalar, &property, max, problems));
                let (Some(min), Some(max)) = bounds else {
                    continue;
                };
                (min, max)
            }
        };
        problems.locate(owner.at(Part::Range(ranges.len())), offset);
        ranges.push(RangeConstraint { property, min, max });
    }
    ty.ranges = ranges;
}

/// The bound's value, `Some(None)` for an open one; `None` if it was reported.
fn read(ty: ScalarType, property: &str, bound: Option<Bound>, problems: &mut Problems<'_>) -> Option<Option<Value>> {
    let Some(bound) = bound else {
        return Some(None);
    };
    let value = read_bound(ty, &bound.literal);
    if value.is_none() {
        problems.report_at(bound.offset, || {
            let found = match &bound.literal {
                Literal::Number(digits) => shown(digits),
                Literal::Text(text) => format!("the text {}", shown(text)),
            };
            let expected = expected_bound(ty).unwrap_or("no bound");
            format!("found {found} as a bound of `{property}`, expected {expected}")
        });
    }
    value.map(Some)
}
