//! Which declared type and property is which of those that are there: by stable id, by a rename that was asked for, by
//! name, and by what it says it was called. Pure.

use std::collections::HashSet;

use crate::error::{Error, Reason, Result};
use crate::manifest::snapshot::unknown_type;
use crate::model::{Annotation, EntityKind, EntityType, Property, Rename, Schema, SchemaWish, TypeRef};
use crate::schema::default;

/// A wanted schema beside the one that is there.
#[derive(Debug)]
pub(super) struct Matched {
    /// The wanted schema, with the ids of what stays and none for what is new, in the order of what is there.
    pub after: Schema,
    /// What each of its types is now.
    pub types: Vec<TypeMatch>,
    /// Types that are not wanted any more, by position.
    pub dropped: Vec<usize>,
}

/// One wanted type.
#[derive(Debug)]
pub(super) struct TypeMatch {
    /// Its position now; `None` if it is new.
    pub before: Option<usize>,
    /// What each of its properties is now, by position; `None` for new ones.
    pub properties: Vec<Option<usize>>,
    /// Properties that are not wanted any more, by position.
    pub dropped: Vec<usize>,
    /// The property, by its name after the change, that each of its properties is filled from.
    pub backfills: Vec<Option<String>>,
}

/// Finds out which is which.
///
/// # Errors
/// [`Reason::TypeNotFound`] or [`Reason::PropertyNotFound`] for a rename of what is not there,
/// [`Reason::InvalidSchema`] for a rename to what is not declared and for two that claim to be the same.
pub(super) fn matched(before: &Schema, wish: &SchemaWish) -> Result<Matched> {
    for rename in &wish.renames {
        ensure_known(before, &wish.schema, rename)?;
    }
    let mut after = wish.schema.clone();
    for interface in &mut after.interfaces {
        interface.properties.iter_mut().for_each(|p| default::strip(&mut p.annotations));
    }
    let found: Vec<Option<usize>> = after.types.iter().map(|ty| type_before(before, wish, ty)).collect();
    ensure_distinct(&found, |at| before.types.get(at).map(|t| t.type_ref().to_string()).unwrap_or_default())?;
    let mut types = Vec::with_capacity(found.len());
    for (ty, found) in after.types.iter_mut().zip(&found) {
        let old = found.and_then(|at| before.types.get(at));
        types.push(TypeMatch { before: *found, ..properties(ty, old, &wish.renames)? });
        default::strip(&mut ty.annotations);
        if let Some(old) = old {
            ty.id.clone_from(&old.id);
        }
    }
    let mut pairs: Vec<(EntityType, TypeMatch)> = after.types.into_iter().zip(types).collect();
    pairs.sort_by_key(|(_, found)| found.before.unwrap_or(usize::MAX));
    (after.types, types) = pairs.into_iter().unzip();
    let kept: HashSet<usize> = found.into_iter().flatten().collect();
    let dropped = (0..before.types.len()).filter(|at| !kept.contains(at)).collect();
    Ok(Matched { after, types, dropped })
}

fn ensure_known(before: &Schema, wanted: &Schema, rename: &Rename) -> Result<()> {
    let old = before.get(&rename.type_ref).ok_or_else(|| unknown_type(before, &rename.type_ref))?;
    let undeclared = |what: String| Error::new(Reason::InvalidSchema, what).with("type", &rename.type_ref);
    let Some(property) = &rename.property else {
        let to = TypeRef { kind: rename.type_ref.kind, name: rename.to.clone() };
        return match wanted.get(&to) {
            Some(_) => Ok(()),
            None => {
                Err(undeclared(format!("{} is to become {to}, which the schema does not declare", rename.type_ref)))
            }
        };
    };
    if old.property(property).is_none() {
        let what = format!("{} has no property {property:?} to be renamed", rename.type_ref);
        return Err(Error::new(Reason::PropertyNotFound, what)
            .with("type", &rename.type_ref)
            .with("property", property));
    }
    match wanted.types.iter().any(|t| t.kind == old.kind && t.property(&rename.to).is_some()) {
        true => Ok(()),
        false => Err(undeclared(format!(
            "{}.{property} is to become {:?}, which the schema does not declare",
            rename.type_ref, rename.to
        ))),
    }
}

fn ensure_distinct(found: &[Option<usize>], name: impl Fn(usize) -> String) -> Result<()> {
    let mut seen = HashSet::new();
    match found.iter().flatten().find(|at| !seen.insert(**at)) {
        None => Ok(()),
        Some(twice) => Err(Error::new(
            Reason::InvalidSchema,
            format!("two declarations claim to be what {} is now; only one can be", name(*twice)),
        )),
    }
}

fn type_before(before: &Schema, wish: &SchemaWish, ty: &EntityType) -> Option<usize> {
    let of = |name: &str| position(before, ty.kind, name);
    if !ty.id.is_empty()
        && let Some(at) = before.types.iter().position(|old| old.id == ty.id)
    {
        return Some(at);
    }
    let renames = || wish.renames.iter().filter(|r| r.property.is_none() && r.type_ref.kind == ty.kind);
    if let Some(rename) = renames().find(|r| is_name(ty.kind, &r.to, &ty.name)) {
        return of(&rename.type_ref.name);
    }
    let moved = |at: &usize| {
        let old = before.types.get(*at);
        old.is_some_and(|old| renames().any(|r| is_name(ty.kind, &r.type_ref.name, &old.name)))
    };
    let by_name = of(&ty.name).filter(|at| !moved(at));
    // One that has another id is another type of the same name.
    let by_name = by_name.filter(|_| ty.id.is_empty());
    by_name.or_else(|| default::was(&ty.annotations).and_then(|old| of(&old)).filter(|at| !moved(at)))
}

fn is_name(kind: EntityKind, a: &str, b: &str) -> bool {
    match kind {
        EntityKind::Node => a == b,
        EntityKind::Edge => a.eq_ignore_ascii_case(b),
    }
}

fn position(schema: &Schema, kind: EntityKind, name: &str) -> Option<usize> {
    schema.types.iter().position(|t| t.kind == kind && is_name(kind, &t.name, name))
}

/// Matches the properties of a type, gives them their ids and puts them in the order of what is there.
fn properties(ty: &mut EntityType, old: Option<&EntityType>, renames: &[Rename]) -> Result<TypeMatch> {
    let empty = Vec::new();
    let before = old.map_or(&empty, |old| &old.properties);
    let renames: Vec<&Rename> = match old {
        Some(old) => renames.iter().filter(|r| r.type_ref == old.type_ref()).collect(),
        None => Vec::new(),
    };
    let found: Vec<Option<usize>> = ty.properties.iter().map(|p| property_before(before, &renames, p)).collect();
    ensure_distinct(&found, |at| {
        let name = before.get(at).map(|p| p.name.clone()).unwrap_or_default();
        format!("{}.{name}", ty.type_ref())
    })?;
    let mut rows: Vec<(Property, Option<usize>, Option<String>)> = Vec::with_capacity(found.len());
    for (mut property, found) in std::mem::take(&mut ty.properties).into_iter().zip(found) {
        if let Some(old) = found.and_then(|at| before.get(at)) {
            property.id = old.id;
        }
        let backfill = default::backfill_of(&property.annotations);
        default::strip(&mut property.annotations);
        rows.push((property, found, backfill));
    }
    rows.sort_by_key(|(_, found, _)| found.unwrap_or(usize::MAX));
    let kept: HashSet<usize> = rows.iter().filter_map(|(_, found, _)| *found).collect();
    let dropped = (0..before.len()).filter(|at| !kept.contains(at)).collect();
    let (mut matched, mut backfills) = (Vec::new(), Vec::new());
    for (property, found, backfill) in rows {
        ty.properties.push(property);
        matched.push(found);
        backfills.push(backfill);
    }
    Ok(TypeMatch { before: None, properties: matched, dropped, backfills })
}

fn property_before(before: &[Property], renames: &[&Rename], wanted: &Property) -> Option<usize> {
    let of = |name: &str| before.iter().position(|p| p.name == name);
    if wanted.id != 0
        && let Some(at) = before.iter().position(|p| p.id == wanted.id)
    {
        return Some(at);
    }
    if let Some(old) = renames.iter().filter(|r| r.to == wanted.name).find_map(|r| r.property.as_deref()) {
        return of(old);
    }
    let moved = |at: &usize| {
        let old = before.get(*at).map(|p| p.name.as_str());
        renames.iter().any(|r| r.property.as_deref() == old && old.is_some())
    };
    let by_name = of(&wanted.name).filter(|at| !moved(at)).filter(|_| wanted.id == 0);
    by_name.or_else(|| was(&wanted.annotations).and_then(|old| of(&old)).filter(|at| !moved(at)))
}

fn was(annotations: &[Annotation]) -> Option<String> {
    default::was(annotations)
}

/// Drops what only speaks of a change from a schema that has nothing before it.
pub fn strip(schema: &mut Schema) {
    let of_types = schema.types.iter_mut().flat_map(|t| t.properties.iter_mut());
    let of_interfaces = schema.interfaces.iter_mut().flat_map(|i| i.properties.iter_mut());
    of_types.chain(of_interfaces).for_each(|p| default::strip(&mut p.annotations));
    schema.types.iter_mut().for_each(|t| default::strip(&mut t.annotations));
}
