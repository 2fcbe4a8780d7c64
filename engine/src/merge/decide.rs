//! What becomes of one entity in a merge, from its images on the three sides. Pure.

use crate::history::diff::same_value;
use crate::model::{ConflictKind, Entity, EntityKind, EntityType, Granularity, MergeHow, Side, Value};

/// What both sides come from. With several nearest common ancestors that disagree, parts of it are unknown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    /// It did not exist.
    Absent,
    /// It existed, and the values of these properties are unknown.
    Present(Entity, Vec<String>),
    /// Whether it existed is unknown.
    Unknown,
}

impl Base {
    /// The image of a state.
    pub fn of(entity: Option<Entity>) -> Self {
        entity.map_or(Self::Absent, |entity| Self::Present(entity, Vec::new()))
    }

    /// The image, as far as it is known.
    pub fn entity(&self) -> Option<&Entity> {
        match self {
            Self::Present(entity, _) => Some(entity),
            Self::Absent | Self::Unknown => None,
        }
    }

    fn is(&self, ty: &EntityType, other: Option<&Entity>) -> bool {
        match (self, other) {
            (Self::Absent, None) => true,
            (Self::Present(entity, unknown), Some(other)) => unknown.is_empty() && is_same(ty, entity, other),
            _ => false,
        }
    }

    /// The value of a part; `None` if it is unknown.
    fn part(&self, part: &str) -> Option<Part<'_>> {
        match self {
            Self::Present(entity, unknown) if !unknown.iter().any(|name| name == part) => Some(part_of(entity, part)),
            _ => None,
        }
    }
}

/// What the merged state shows of an entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// What the target shows, also if that is nothing.
    Keep,
    /// Nothing.
    Delete,
    /// What the source shows.
    TakeSource,
    /// This.
    Put(Box<Entity>),
}

/// See the module header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    /// What the merged state shows.
    pub act: Act,
    /// What stands against it and is not settled: the kind and the properties, none for the entity as a whole.
    pub conflict: Option<(ConflictKind, Vec<String>)>,
    /// Whether something stood against it that the strategy or a resolution settled.
    pub settled: bool,
}

impl Decision {
    fn plain(act: Act) -> Self {
        Self { act, conflict: None, settled: false }
    }
}

/// The caller's word on one entity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word<'a> {
    /// For the entity as a whole.
    pub whole: Option<Side>,
    /// For single properties.
    pub properties: &'a [(String, Side)],
}

impl Word<'_> {
    fn on(&self, property: &str, how: &MergeHow) -> Option<Side> {
        let own = self.properties.iter().find(|(name, _)| name == property).map(|(_, side)| *side);
        own.or(self.whole).or(how.strategy)
    }
}

/// Decides about one entity.
pub(super) fn decide(
    ty: &EntityType,
    base: &Base,
    target: Option<&Entity>,
    source: Option<&Entity>,
    how: &MergeHow,
    word: Word<'_>,
) -> Decision {
    let equal = match (target, source) {
        (None, None) => true,
        (Some(target), Some(source)) => is_same(ty, target, source),
        _ => false,
    };
    if equal || base.is(ty, source) {
        return Decision::plain(Act::Keep);
    }
    if base.is(ty, target) {
        return Decision::plain(if source.is_some() { Act::TakeSource } else { Act::Delete });
    }
    match (target, source) {
        (Some(target), Some(source)) => both(ty, base, target, source, how, word),
        _ => one_is_gone(base, target, source, how, word),
    }
}

fn one_is_gone(
    base: &Base,
    target: Option<&Entity>,
    source: Option<&Entity>,
    how: &MergeHow,
    word: Word<'_>,
) -> Decision {
    match word.whole.or(how.strategy) {
        None => Decision { act: Act::Keep, conflict: Some((ConflictKind::DeleteVsUpdate, Vec::new())), settled: false },
        Some(Side::Target) => settled(Act::Keep),
        Some(Side::Source) => settled(if source.is_some() { Act::TakeSource } else { Act::Delete }),
        Some(Side::Base) => settled(match (base.entity(), target) {
            (Some(entity), _) => Act::Put(Box::new(entity.clone())),
            (None, Some(_)) => Act::Delete,
            (None, None) => Act::Keep,
        }),
    }
}

fn settled(act: Act) -> Decision {
    Decision { act, conflict: None, settled: true }
}

fn both(ty: &EntityType, base: &Base, target: &Entity, source: &Entity, how: &MergeHow, word: Word<'_>) -> Decision {
    let kind = match base {
        Base::Absent => ConflictKind::DivergentInsert,
        Base::Present(..) | Base::Unknown => ConflictKind::DivergentUpdate,
    };
    if *base == Base::Absent && word.whole == Some(Side::Base) && word.properties.is_empty() {
        return settled(Act::Delete);
    }
    let mut merged = target.clone();
    let mut against = Vec::new();
    let mut any_settled = false;
    let (mut as_target, mut as_source) = (true, true);
    for part in parts_of(ty) {
        let (ours, theirs) = (part_of(target, part), part_of(source, part));
        if ours.is(&theirs) {
            continue;
        }
        let before = base.part(part);
        let unchanged = |side: &Part<'_>| before.as_ref().is_some_and(|before| before.is(side));
        let free = how.granularity == Granularity::Property;
        let side = if free && unchanged(&ours) {
            Side::Source
        } else if free && unchanged(&theirs) {
            Side::Target
        } else {
            match word.on(part, how) {
                Some(side) => {
                    any_settled = true;
                    side
                }
                None => {
                    against.push(part.to_string());
                    continue;
                }
            }
        };
        match side {
            Side::Target => as_source = false,
            Side::Source => {
                as_target = false;
                put(&mut merged, part, source);
            }
            Side::Base => {
                (as_target, as_source) = (false, false);
                // What did not exist has no value to go back to.
                match base.entity() {
                    Some(before) => put(&mut merged, part, before),
                    None => clear(&mut merged, part),
                }
            }
        }
    }
    if !against.is_empty() {
        return Decision { act: Act::Keep, conflict: Some((kind, against)), settled: false };
    }
    let act = match (as_target, as_source) {
        (true, _) => Act::Keep,
        (false, true) => Act::TakeSource,
        (false, false) if is_same(ty, &merged, target) => Act::Keep,
        (false, false) => Act::Put(Box::new(merged)),
    };
    Decision { act, conflict: None, settled: any_settled }
}

/// What two states that both sides come from have in common, if they come from `base` themselves: their own merge,
/// unknown where they disagree.
pub(super) fn agree(ty: &EntityType, base: &Base, left: &Base, right: &Base) -> Base {
    let (a, b) = match (left, right) {
        (Base::Unknown, _) | (_, Base::Unknown) => return Base::Unknown,
        (Base::Absent, Base::Absent) => return Base::Absent,
        (Base::Present(a, x), Base::Present(b, y)) if x.is_empty() && y.is_empty() && is_same(ty, a, b) => {
            return left.clone();
        }
        (a, b) => (a, b),
    };
    if base == b {
        return a.clone();
    }
    if base == a {
        return b.clone();
    }
    let (Base::Present(entity, _), Base::Present(other, _)) = (a, b) else {
        return Base::Unknown;
    };
    let mut merged = entity.clone();
    let mut unknown = Vec::new();
    for part in parts_of(ty) {
        match (base.part(part), a.part(part), b.part(part)) {
            (_, Some(a), Some(b)) if a.is(&b) => {}
            (Some(before), Some(a), Some(_)) if before.is(&a) => put(&mut merged, part, other),
            (Some(before), Some(_), Some(b)) if before.is(&b) => {}
            _ => unknown.push(part.to_string()),
        }
    }
    Base::Present(merged, unknown)
}

/// The parts that are merged each by itself: an edge's ends, then every property.
fn parts_of(ty: &EntityType) -> impl Iterator<Item = &str> {
    let ends: &[&str] = if ty.kind == EntityKind::Edge { &["src", "dst"] } else { &[] };
    ends.iter().copied().chain(ty.properties.iter().map(|p| p.name.as_str()))
}

enum Part<'a> {
    End(&'a str),
    Value(Option<&'a Value>),
}

impl Part<'_> {
    fn is(&self, other: &Part<'_>) -> bool {
        match (self, other) {
            (Part::End(a), Part::End(b)) => a == b,
            (Part::Value(Some(a)), Part::Value(Some(b))) => same_value(a, b),
            (Part::Value(a), Part::Value(b)) => a.or(*b).is_none_or(Value::is_null),
            _ => false,
        }
    }
}

fn part_of<'a>(entity: &'a Entity, part: &str) -> Part<'a> {
    match (part, &entity.endpoints) {
        ("src", Some((src, _))) => Part::End(src),
        ("dst", Some((_, dst))) => Part::End(dst),
        (name, _) => Part::Value(entity.properties.get(name)),
    }
}

fn put(entity: &mut Entity, part: &str, from: &Entity) {
    match (part, &mut entity.endpoints, &from.endpoints) {
        ("src", Some((src, _)), Some((other, _))) | ("dst", Some((_, src)), Some((_, other))) => src.clone_from(other),
        (name, ..) => {
            let value = from.properties.get(name).cloned().unwrap_or(Value::Null);
            entity.properties.insert(name.to_string(), value);
        }
    }
}

fn clear(entity: &mut Entity, part: &str) {
    if !(entity.endpoints.is_some() && (part == "src" || part == "dst")) {
        entity.properties.insert(part.to_string(), Value::Null);
    }
}

/// Whether two images of one entity are the same.
pub(super) fn is_same(ty: &EntityType, a: &Entity, b: &Entity) -> bool {
    parts_of(ty).all(|part| part_of(a, part).is(&part_of(b, part)))
}

#[cfg(test)]
mod tests;
