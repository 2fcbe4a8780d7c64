//! The schema that two sides come to, from theirs and the one they come from. By stable ids; pure.
//!
//! Every part of a declaration that one side changed is taken from that side; of sets (constraints, indexes, members of
//! enums) what either side added is there and what either side took away is not. What both changed in different ways is
//! a conflict. Two sides that declared the same under one name meant the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::{
    Annotation, Cardinality, CheckConstraint, Conflict, ConflictKind, Endpoints, EntityType, IndexDecl, InterfaceType,
    Property, PropertyType, RangeConstraint, Schema, TypeRef, Value,
};

/// What comes of it.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// The schema, if nothing stands against it.
    pub schema: Schema,
    /// Where both sides contradict each other.
    pub conflicts: Vec<Conflict>,
}

/// Joins two schemas that come from a third.
pub(super) fn merged(base: &Schema, target: &Schema, source: &Schema) -> Merged {
    if source == base || source == target {
        return Merged { schema: target.clone(), conflicts: Vec::new() };
    }
    if target == base {
        return Merged { schema: source.clone(), conflicts: Vec::new() };
    }
    let mut run = Run { conflicts: Vec::new() };
    let sides = [base, target, source].map(Side::new);
    let [b, t, s] = &sides;
    let mut types: Vec<Normal> = Vec::new();
    for ty in &t.types {
        let found = (b.by_id(&ty.id), s.by_id(&ty.id));
        types.extend(match found {
            (Some(base), Some(source)) => Some(run.ty(base, ty, source)),
            (Some(base), None) => run.gone(base, ty, "source", "target"),
            (None, Some(source)) => Some(run.ty(ty, ty, source)),
            (None, None) => match s.new_twin(b, ty) {
                Some(source) => run.twins(ty, source),
                None => Some(ty.clone()),
            },
        });
    }
    for ty in s.types.iter().filter(|ty| t.by_id(&ty.id).is_none()) {
        match b.by_id(&ty.id) {
            Some(base) => types.extend(run.gone(base, ty, "target", "source")),
            None if t.new_twin(b, ty).is_none() => types.push(ty.clone()),
            None => {}
        }
    }
    run.names(&types);
    let interfaces = run.interfaces(base, target, source);
    let names: HashMap<String, String> =
        sides.iter().flat_map(|side| &side.types).chain(&types).map(|ty| (ty.id.clone(), ty.name.clone())).collect();
    let types = types.into_iter().map(|ty| ty.named(&names)).collect();
    let schema = Schema { interfaces, types };
    if run.conflicts.is_empty() {
        for problem in crate::schema::check(&schema) {
            let what = format!("the two schemas do not go together: {}", problem.description);
            run.conflicts.push(conflict(&first_type(&schema), &[], what));
        }
    }
    Merged { schema, conflicts: run.conflicts }
}

fn first_type(schema: &Schema) -> TypeRef {
    schema.types.first().map_or_else(|| TypeRef::node(""), EntityType::type_ref)
}

/// Something that stands against the joined schema.
pub(super) fn conflict(type_ref: &TypeRef, properties: &[&str], message: String) -> Conflict {
    Conflict {
        kind: ConflictKind::Schema,
        type_ref: type_ref.clone(),
        id: String::new(),
        properties: properties.iter().map(ToString::to_string).collect(),
        base: None,
        target: None,
        source: None,
        message,
    }
}

/// A type whose constraints name properties by id, and whose ends name types by id.
#[derive(Clone, Debug, PartialEq)]
struct Normal {
    id: String,
    name: String,
    plain: EntityType,
    properties: Vec<Property>,
    key: BTreeSet<String>,
    unique: BTreeSet<Vec<String>>,
    indexes: BTreeSet<(Vec<String>, String)>,
    index_of: BTreeMap<(Vec<String>, String), IndexDecl>,
    ranges: BTreeMap<String, (Option<Value>, Option<Value>)>,
    checks: BTreeSet<(String, String)>,
    cardinality: Option<Cardinality>,
    ends: Option<(String, String)>,
    implements: Vec<String>,
}

struct Side {
    types: Vec<Normal>,
}

impl Side {
    fn new(schema: &Schema) -> Self {
        let ids: HashMap<&str, &str> =
            schema.types.iter().filter(|t| t.endpoints.is_none()).map(|t| (t.name.as_str(), t.id.as_str())).collect();
        Self { types: schema.types.iter().map(|ty| Normal::new(ty, &ids)).collect() }
    }

    fn by_id(&self, id: &str) -> Option<&Normal> {
        self.types.iter().find(|ty| ty.id == id)
    }

    /// A type of the same name that is new on this side, too.
    fn new_twin(&self, base: &Self, of: &Normal) -> Option<&Normal> {
        self.types
            .iter()
            .find(|ty| ty.name == of.name && ty.plain.kind == of.plain.kind && base.by_id(&ty.id).is_none())
            .filter(|_| base.by_id(&of.id).is_none())
    }
}

/// What a property is called in constraints.
fn token(ty: &EntityType, name: &str) -> String {
    ty.property(name).map_or_else(|| name.to_string(), |p| format!("#{}", p.id))
}

impl Normal {
    fn new(ty: &EntityType, ids: &HashMap<&str, &str>) -> Self {
        let tokens = |names: &[String]| names.iter().map(|name| token(ty, name)).collect::<Vec<_>>();
        let end = |name: &String| ids.get(name.as_str()).map_or_else(|| name.clone(), ToString::to_string);
        let index_of: BTreeMap<(Vec<String>, String), IndexDecl> = ty
            .indexes
            .iter()
            .map(|index| ((tokens(&index.columns), format!("{:?} {:?}", index.kind, index.metric)), index.clone()))
            .collect();
        Self {
            id: ty.id.clone(),
            name: ty.name.clone(),
            plain: ty.clone(),
            properties: ty.properties.clone(),
            key: tokens(&ty.key).into_iter().collect(),
            unique: ty.unique.iter().map(|columns| tokens(columns)).collect(),
            indexes: index_of.keys().cloned().collect(),
            index_of,
            ranges: ty.ranges.iter().map(|r| (token(ty, &r.property), (r.min.clone(), r.max.clone()))).collect(),
            checks: ty.checks.iter().map(|c| (token(ty, &c.property), c.pattern.clone())).collect(),
            cardinality: ty.cardinality,
            ends: ty.endpoints.as_ref().map(|e| (end(&e.from), end(&e.to))),
            implements: ty.implements.clone(),
        }
    }

    /// The declaration, with names.
    fn named(self, types: &HashMap<String, String>) -> EntityType {
        let Self {
            plain,
            properties,
            key,
            unique,
            indexes,
            index_of,
            ranges,
            checks,
            cardinality,
            ends,
            implements,
            ..
        } = self;
        let names: HashMap<String, String> =
            properties.iter().map(|p| (format!("#{}", p.id), p.name.clone())).collect();
        let name = |token: &String| names.get(token).cloned().unwrap_or_else(|| token.clone());
        let all = |tokens: &[String]| tokens.iter().map(name).collect::<Vec<_>>();
        let end = |id: &String| types.get(id).cloned().unwrap_or_else(|| id.clone());
        EntityType {
            name: self.name,
            key: key.iter().map(name).collect(),
            unique: unique.iter().map(|tokens| all(tokens)).collect(),
            indexes: indexes
                .iter()
                .filter_map(|index| Some(IndexDecl { columns: all(&index.0), ..index_of.get(index)?.clone() }))
                .collect(),
            ranges: ranges
                .into_iter()
                .map(|(token, (min, max))| RangeConstraint { property: name(&token), min, max })
                .collect(),
            checks: checks
                .into_iter()
                .map(|(token, pattern)| CheckConstraint { property: name(&token), pattern })
                .collect(),
            cardinality,
            endpoints: ends.map(|(from, to)| Endpoints { from: end(&from), to: end(&to) }),
            implements,
            properties,
            ..plain
        }
    }
}

struct Run {
    conflicts: Vec<Conflict>,
}

/// One of three values: what one side changed, or both in one way.
fn three<T: PartialEq + Clone>(base: &T, target: &T, source: &T) -> Option<T> {
    if target == source || source == base {
        Some(target.clone())
    } else if target == base {
        Some(source.clone())
    } else {
        None
    }
}

/// What is in a set after what both sides added and took away.
fn three_set<T: Ord + Clone>(base: &BTreeSet<T>, target: &BTreeSet<T>, source: &BTreeSet<T>) -> BTreeSet<T> {
    let kept = target.iter().filter(|item| source.contains(item) || !base.contains(item));
    let added = source.iter().filter(|item| !base.contains(item));
    kept.chain(added).cloned().collect()
}

impl Run {
    fn against(&mut self, ty: &Normal, property: Option<&str>, what: &str) {
        let named = property.map_or_else(|| ty.name.clone(), |property| format!("{}.{property}", ty.name));
        let properties: Vec<&str> = property.into_iter().collect();
        let message = format!("both sides changed {what} of {named} in different ways");
        self.conflicts.push(conflict(&ty.plain.type_ref(), &properties, message));
    }

    /// One value of a type; the target's if both sides changed it in different ways, which is noted.
    fn pick<T: PartialEq + Clone>(&mut self, ty: &Normal, property: Option<&str>, what: &str, of: [&T; 3]) -> T {
        let [base, target, source] = of;
        three(base, target, source).unwrap_or_else(|| {
            self.against(ty, property, what);
            target.clone()
        })
    }

    fn ty(&mut self, b: &Normal, t: &Normal, s: &Normal) -> Normal {
        let mut merged = t.clone();
        merged.name = self.pick(t, None, "the name", [&b.name, &t.name, &s.name]);
        merged.key = self.pick(t, None, "the key", [&b.key, &t.key, &s.key]);
        merged.ends = self.pick(t, None, "the ends", [&b.ends, &t.ends, &s.ends]);
        merged.cardinality =
            self.pick(t, None, "the number of edges", [&b.cardinality, &t.cardinality, &s.cardinality]);
        merged.implements = self.pick(t, None, "the interfaces", [&b.implements, &t.implements, &s.implements]);
        let words = |ty: &Normal| (ty.plain.description.clone(), ty.plain.annotations.clone());
        let (description, annotations) =
            self.pick(t, None, "the description or annotations", [&words(b), &words(t), &words(s)]);
        merged.plain.description = description;
        merged.plain.annotations = annotations;
        merged.properties = self.properties(b, t, s);
        merged.unique = three_set(&b.unique, &t.unique, &s.unique);
        merged.indexes = three_set(&b.indexes, &t.indexes, &s.indexes);
        merged.index_of.extend(s.index_of.clone());
        merged.checks = three_set(&b.checks, &t.checks, &s.checks);
        let tokens: BTreeSet<&String> = t.ranges.keys().chain(s.ranges.keys()).collect();
        let mut ranges = BTreeMap::new();
        for token in tokens {
            let of = [b, t, s].map(|ty| ty.ranges.get(token).cloned());
            if let Some(range) = self.pick(t, None, "a range", [&of[0], &of[1], &of[2]]) {
                ranges.insert(token.clone(), range);
            }
        }
        merged.ranges = ranges;
        merged
    }

    fn properties(&mut self, b: &Normal, t: &Normal, s: &Normal) -> Vec<Property> {
        let by_id = |ty: &Normal, id: u32| ty.properties.iter().find(|p| p.id == id).cloned();
        let mut merged = Vec::new();
        for ours in &t.properties {
            match (by_id(b, ours.id), by_id(s, ours.id)) {
                (Some(base), Some(theirs)) => merged.push(self.property(t, &base, ours, &theirs)),
                (Some(base), None) => {
                    if base != *ours {
                        self.against(t, Some(&ours.name), "the source dropped and the target changed: the declaration");
                    }
                }
                (None, Some(theirs)) => merged.push(self.property(t, ours, ours, &theirs)),
                (None, None) => {
                    let theirs = s.properties.iter().find(|p| p.name == ours.name && by_id(b, p.id).is_none());
                    if let Some(theirs) = theirs.filter(|p| Property { id: ours.id, ..(*p).clone() } != *ours) {
                        let message = format!(
                            "both sides added {}.{}, as {} and as {}",
                            t.name,
                            ours.name,
                            crate::schema::property_type_text(ours),
                            crate::schema::property_type_text(theirs)
                        );
                        self.conflicts.push(conflict(&t.plain.type_ref(), &[&ours.name], message));
                    }
                    merged.push(ours.clone());
                }
            }
        }
        for theirs in &s.properties {
            let both_added = |p: &Property| p.name == theirs.name && by_id(b, p.id).is_none();
            match by_id(b, theirs.id) {
                Some(_) if by_id(t, theirs.id).is_some() => {}
                Some(base) => {
                    if base != *theirs {
                        self.against(
                            t,
                            Some(&theirs.name),
                            "the target dropped and the source changed: the declaration",
                        );
                    }
                }
                None if by_id(t, theirs.id).is_some() || t.properties.iter().any(both_added) => {}
                None => merged.push(theirs.clone()),
            }
        }
        merged
    }

    fn property(&mut self, ty: &Normal, b: &Property, t: &Property, s: &Property) -> Property {
        let name = Some(t.name.as_str());
        let ty_of = match (&b.ty, &t.ty, &s.ty) {
            (PropertyType::Enum(b), PropertyType::Enum(t), PropertyType::Enum(s)) => {
                PropertyType::Enum(members(b, t, s))
            }
            of => self.pick(ty, name, "the type", [of.0, of.1, of.2]),
        };
        let words = |p: &Property| -> (String, Vec<Annotation>) { (p.description.clone(), p.annotations.clone()) };
        let (description, annotations) =
            self.pick(ty, name, "the description or annotations", [&words(b), &words(t), &words(s)]);
        Property {
            id: t.id,
            name: self.pick(ty, name, "the name", [&b.name, &t.name, &s.name]),
            ty: ty_of,
            nullable: self.pick(ty, name, "whether there must be a value", [&b.nullable, &t.nullable, &s.nullable]),
            description,
            annotations,
        }
    }

    /// A type that one side dropped.
    fn gone(&mut self, base: &Normal, left: &Normal, by: &str, kept: &str) -> Option<Normal> {
        if base == left {
            return None;
        }
        let message = format!("the {by} dropped {}, whose declaration the {kept} changed", left.name);
        self.conflicts.push(conflict(&left.plain.type_ref(), &[], message));
        Some(left.clone())
    }

    /// Two types of one name that both sides made: one, if they are declared alike.
    fn twins(&mut self, ours: &Normal, theirs: &Normal) -> Option<Normal> {
        let bare = |ty: &Normal| {
            let mut plain = ty.plain.clone();
            plain.id.clear();
            plain.properties.iter_mut().for_each(|p| p.id = 0);
            plain.properties.sort_by(|a, b| a.name.cmp(&b.name));
            plain
        };
        if bare(ours) != bare(theirs) {
            let message = format!("both sides added {} {}, declared in different ways", ours.plain.kind, ours.name);
            self.conflicts.push(conflict(&ours.plain.type_ref(), &[], message));
        }
        Some(ours.clone())
    }

    /// Different things must not have one name.
    fn names(&mut self, types: &[Normal]) {
        let mut seen = BTreeSet::new();
        for ty in types {
            let folded = match ty.plain.kind {
                crate::model::EntityKind::Node => ty.name.clone(),
                crate::model::EntityKind::Edge => ty.name.to_ascii_lowercase(),
            };
            if !seen.insert((ty.plain.kind, folded)) {
                let message = format!("two different {} types would be called {}", ty.plain.kind, ty.name);
                self.conflicts.push(conflict(&ty.plain.type_ref(), &[], message));
            }
            let mut names = BTreeSet::new();
            for property in &ty.properties {
                if !names.insert(property.name.to_ascii_lowercase()) {
                    let message = format!("two different properties of {} would be called {}", ty.name, property.name);
                    self.conflicts.push(conflict(&ty.plain.type_ref(), &[&property.name], message));
                }
            }
        }
    }

    fn interfaces(&mut self, base: &Schema, target: &Schema, source: &Schema) -> Vec<InterfaceType> {
        let of = |schema: &Schema, name: &str| schema.interfaces.iter().find(|i| i.name == name).cloned();
        let names = target.interfaces.iter().chain(&source.interfaces).map(|i| i.name.clone());
        let mut seen = BTreeSet::new();
        let mut merged = Vec::new();
        for name in names.filter(|name| seen.insert(name.clone())).collect::<Vec<_>>() {
            let (b, t, s) = (of(base, &name), of(target, &name), of(source, &name));
            match three(&b, &t, &s) {
                Some(interface) => merged.extend(interface),
                None => {
                    let message = format!("both sides changed the interface {name} in different ways");
                    self.conflicts.push(conflict(&TypeRef::node(&name), &[], message));
                    merged.extend(t);
                }
            }
        }
        merged
    }
}

/// The members of an enum: those of the target in its order, then what the source added.
fn members(base: &[String], target: &[String], source: &[String]) -> Vec<String> {
    let kept = target.iter().filter(|m| source.contains(m) || !base.contains(m));
    let added = source.iter().filter(|m| !base.contains(m) && !target.contains(m));
    kept.chain(added).cloned().collect()
}

#[cfg(test)]
mod tests;
