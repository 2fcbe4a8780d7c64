//! The steps from one schema to another, and what has to be done to the tables. Pure: what depends on rows is told as
//! checks to be made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::{Matched, TypeMatch};
use super::step::{StepOf, TypeSteps};
use crate::model::{
    Cardinality, Endpoints, EntityType, Property, PropertyType, RefusalCode, ScalarType, Schema, SchemaStep,
    StepAction, StepWork, Subject, TypeRef, Value,
};
use crate::schema::default;
use crate::schema::print::{index_arguments, type_text};

/// What comes of a wanted schema.
#[derive(Debug)]
pub(crate) struct Evolution {
    /// The schema as it will be. What is new has no id yet.
    pub after: Schema,
    /// The steps in order.
    pub steps: Vec<SchemaStep>,
    /// What becomes of the types that stay or come, in the order of `after`.
    pub types: Vec<TypeChange>,
    /// The types that go.
    pub dropped: Vec<TypeRef>,
    /// Whether the declarations of interfaces change.
    pub interfaces: bool,
}

/// What becomes of one type.
#[derive(Debug)]
pub(crate) struct TypeChange {
    /// The type now; `None` if it is new.
    pub before: Option<TypeRef>,
    /// Whether it is declared differently.
    pub changed: bool,
    /// Where each of its properties comes from, in the order of the type.
    pub columns: Vec<Source>,
    /// Whether its table needs other columns.
    pub physical: bool,
    /// What its rows have to satisfy, with the step that asks for it.
    pub checks: Vec<(usize, Check)>,
}

/// Where a column comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// A column that is there.
    Kept(String),
    /// A column that is there, in a wider type.
    Widened(String),
    /// Nowhere: it has no values.
    Empty,
    /// Another column that is there, and a value where that has none.
    Filled(Option<String>, Option<Value>),
}

/// What the rows of a type have to satisfy. Names are those after the change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Check {
    /// A property has a value in every row.
    Required(String),
    /// Every value of a property is a member of its enum.
    Members(String),
    /// The range of this position.
    Range(usize),
    /// The pattern of this position.
    Pattern(usize),
    /// No two rows have the same values.
    Unique(Vec<String>),
    /// Every source has as many edges as declared.
    Cardinality,
}

impl Check {
    /// Why a change is refused whose rows do not satisfy it.
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::Required(_) => RefusalCode::NullFound,
            Self::Members(_) => RefusalCode::EnumValueInUse,
            Self::Range(_) => RefusalCode::RangeViolated,
            Self::Pattern(_) => RefusalCode::CheckViolated,
            Self::Unique(_) => RefusalCode::UniqueViolated,
            Self::Cardinality => RefusalCode::CardinalityViolated,
        }
    }
}

/// Works out the steps. `rows` tells how many entities a type has.
pub(super) fn evolution(before: &Schema, matched: Matched, rows: &dyn Fn(&TypeRef) -> u64) -> Evolution {
    let Matched { after, types, dropped } = matched;
    let mut steps = interface_steps(before, &after);
    let interfaces = !steps.is_empty();
    let renamed: HashMap<&str, &str> = types
        .iter()
        .zip(&after.types)
        .filter_map(|(found, ty)| Some((before.types.get(found.before?)?, ty)))
        .filter(|(old, _)| old.kind == crate::model::EntityKind::Node)
        .map(|(old, new)| (old.name.as_str(), new.name.as_str()))
        .collect();
    let mut changes = Vec::with_capacity(types.len());
    for (ty, found) in after.types.iter().zip(&types) {
        let change = match found.before.and_then(|at| before.types.get(at)) {
            None => added(ty, &mut steps),
            Some(old) => Comparison::new(old, ty, found, rows(&old.type_ref()), &renamed).run(&mut steps),
        };
        changes.push(change);
    }
    let gone: Vec<&EntityType> = dropped.iter().filter_map(|at| before.types.get(*at)).collect();
    for ty in &gone {
        let count = rows(&ty.type_ref());
        let mut step = TypeSteps::of(ty).step(
            StepAction::Drop,
            None,
            format!("drop {} type {} with its {count} entities", ty.kind, ty.name),
        );
        step.loses_data = count > 0;
        steps.push(step);
    }
    let dropped = gone.into_iter().map(EntityType::type_ref).collect();
    Evolution { after, steps, types: changes, dropped, interfaces }
}

fn added(ty: &EntityType, steps: &mut Vec<SchemaStep>) -> TypeChange {
    let step =
        TypeSteps::of(ty).step(StepAction::Add, None, format!("add {} type {}{}", ty.kind, ty.name, ends_text(ty)));
    steps.push(step);
    TypeChange {
        before: None,
        changed: true,
        columns: ty.properties.iter().map(|_| Source::Empty).collect(),
        physical: false,
        checks: Vec::new(),
    }
}

fn ends_text(ty: &EntityType) -> String {
    ty.endpoints.as_ref().map(|e| format!(" from {} to {}", e.from, e.to)).unwrap_or_default()
}

fn interface_steps(before: &Schema, after: &Schema) -> Vec<SchemaStep> {
    let step = |action, name: &str, what: &str| SchemaStep {
        action,
        subject: Subject::Interface(name.to_string()),
        description: format!("{what} interface {name}"),
        work: StepWork::Metadata,
        loses_data: false,
        refusal: None,
    };
    let plain = |interface: &crate::model::InterfaceType| {
        let mut interface = interface.clone();
        interface.properties.iter_mut().for_each(|p| p.id = 0);
        interface.properties.sort_by(|a, b| a.name.cmp(&b.name));
        interface
    };
    let mut steps = Vec::new();
    for new in &after.interfaces {
        match before.interfaces.iter().find(|old| old.name == new.name) {
            None => steps.push(step(StepAction::Add, &new.name, "add")),
            Some(old) if plain(old) != plain(new) => steps.push(step(StepAction::Alter, &new.name, "change")),
            Some(_) => {}
        }
    }
    let gone = before.interfaces.iter().filter(|old| !after.interfaces.iter().any(|new| new.name == old.name));
    steps.extend(gone.map(|old| step(StepAction::Drop, &old.name, "drop")));
    steps
}

/// One type before and after.
struct Comparison<'a> {
    old: &'a EntityType,
    new: &'a EntityType,
    found: &'a TypeMatch,
    rows: u64,
    /// Names of node types that stay, before and after.
    types: &'a HashMap<&'a str, &'a str>,
    /// Names of properties that stay, before and after.
    names: HashMap<&'a str, &'a str>,
    own: TypeSteps,
    change: TypeChange,
    steps: Vec<SchemaStep>,
}

impl<'a> Comparison<'a> {
    fn new(
        old: &'a EntityType,
        new: &'a EntityType,
        found: &'a TypeMatch,
        rows: u64,
        types: &'a HashMap<&'a str, &'a str>,
    ) -> Self {
        let kept = found.properties.iter().zip(&new.properties);
        let names = kept.filter_map(|(at, new)| Some((old.properties.get((*at)?)?.name.as_str(), new.name.as_str())));
        let change = TypeChange {
            before: Some(old.type_ref()),
            changed: false,
            columns: Vec::new(),
            physical: false,
            checks: Vec::new(),
        };
        let names = names.collect();
        Self { old, new, found, rows, types, names, own: TypeSteps::of(old), change, steps: Vec::new() }
    }

    fn run(mut self, steps: &mut Vec<SchemaStep>) -> TypeChange {
        if self.old.name != self.new.name {
            let what = format!("rename {} type {} to {}", self.old.kind, self.old.name, self.new.name);
            self.push(StepAction::Rename, None, what);
        }
        self.endpoints();
        self.key();
        for at in 0..self.new.properties.len() {
            self.property(at);
        }
        for at in &self.found.dropped {
            self.dropped(*at);
        }
        self.constraints();
        self.words();
        self.change.changed |= !self.steps.is_empty();
        let offset = steps.len();
        self.change.checks.iter_mut().for_each(|(step, _)| *step += offset);
        steps.append(&mut self.steps);
        self.change
    }

    fn push(&mut self, action: StepAction, property: Option<&str>, what: String) -> &mut SchemaStep {
        let at = self.steps.len();
        self.steps.push(self.own.step(action, property, what));
        &mut self.steps[at]
    }

    /// A step that the rows have to allow.
    fn checked(&mut self, property: Option<&str>, what: String, check: Check) {
        let rows = self.rows;
        let at = self.steps.len();
        let step = self.push(StepAction::Alter, property, what);
        if rows > 0 {
            step.work = StepWork::Check { rows };
            self.change.checks.push((at, check));
        }
    }

    fn endpoints(&mut self) {
        let (Some(old), Some(new)) = (&self.old.endpoints, &self.new.endpoints) else { return };
        let to = |name: &String| self.types.get(name.as_str()).map_or_else(|| name.clone(), ToString::to_string);
        let moved = Endpoints { from: to(&old.from), to: to(&old.to) };
        if moved == *new {
            // The declaration names the types anew.
            self.change.changed |= moved != *old;
            return;
        }
        let what = format!("let {} go from {} to {}", self.old.name, new.from, new.to);
        if self.rows == 0 {
            self.push(StepAction::Alter, None, what);
            return;
        }
        let remedy = format!(
            "its {} edges go from {} to {}; declare an edge type of another name, load the edges into it and drop this \
             one",
            self.rows, old.from, old.to
        );
        self.push(StepAction::Alter, None, what).refuse(RefusalCode::EndpointsChanged, remedy);
    }

    fn key(&mut self) {
        let old: BTreeSet<String> = self.old.key.iter().map(|name| self.now(name)).collect();
        let new: BTreeSet<String> = self.new.key.iter().cloned().collect();
        if old == new {
            return;
        }
        let shown = |key: &[String]| match key {
            [] => "no key".to_string(),
            key => format!("the key ({})", key.join(", ")),
        };
        let what = format!("give {} {} instead of {}", self.old.name, shown(&self.new.key), shown(&self.old.key));
        if self.rows == 0 {
            self.push(StepAction::Alter, None, what);
            return;
        }
        let remedy = format!(
            "the ids of its {} entities follow from its key; declare a type of another name with the new key, load an \
             export into it and drop this one",
            self.rows
        );
        self.push(StepAction::Alter, None, what).refuse(RefusalCode::KeyChanged, remedy);
    }

    /// A property's name after the change.
    fn now(&self, name: &str) -> String {
        self.names.get(name).map_or_else(|| name.to_string(), ToString::to_string)
    }

    fn property(&mut self, at: usize) {
        let new = &self.new.properties[at];
        let old = self.found.properties.get(at).copied().flatten().and_then(|at| self.old.properties.get(at));
        let Some(old) = old else {
            let source = self.added(at);
            self.change.physical = true;
            return self.change.columns.push(source);
        };
        if old.name != new.name {
            self.change.physical = true;
            let what = format!("rename {}.{} to {}", self.old.name, old.name, new.name);
            self.push(StepAction::Rename, Some(&old.name), what);
        }
        let source = self.typed(old, new);
        self.change.physical |= !matches!(source, Source::Kept(_));
        self.change.columns.push(source);
        match (old.nullable, new.nullable) {
            (false, true) => {
                self.push(StepAction::Alter, Some(&old.name), format!("let {}.{} be null", self.old.name, old.name));
            }
            (true, false) => {
                let what = format!("require a value of {}.{}", self.old.name, old.name);
                self.checked(Some(&old.name), what, Check::Required(new.name.clone()));
            }
            _ => {}
        }
        if (&old.description, &old.annotations) != (&new.description, &new.annotations) {
            let what = format!("change the description or annotations of {}.{}", self.old.name, old.name);
            self.push(StepAction::Alter, Some(&old.name), what);
        }
    }

    /// A property that is new.
    fn added(&mut self, at: usize) -> Source {
        let new = &self.new.properties[at];
        let what = format!("add {}.{}: {}", self.old.name, new.name, type_text(new));
        let from = self.found.backfills.get(at).cloned().flatten();
        let rows = self.rows;
        let (source, refusal) = self.filling(new, from.as_deref());
        let bytes = rows.saturating_mul(width(&new.ty));
        let step = self.push(StepAction::Add, Some(&new.name), what);
        if matches!(source, Source::Filled(..)) && rows > 0 {
            step.work = StepWork::Rewrite { rows, bytes };
        }
        if let Some((code, remedy)) = refusal {
            step.refuse(code, remedy);
        }
        source
    }

    /// What a new property of entities that are there comes from, or what stands against it.
    fn filling(&self, new: &Property, from: Option<&str>) -> (Source, Option<(RefusalCode, String)>) {
        let wrong = |what: String| (Source::Empty, Some((RefusalCode::BadDefault, what)));
        let value = match default::default_of(new).transpose() {
            Ok(value) => value,
            Err(what) => return wrong(what),
        };
        let mut is_sure = value.is_some();
        let source = match from {
            None => None,
            Some(from) => match self.found.properties.iter().zip(&self.new.properties).find(|(_, p)| p.name == from) {
                Some((Some(at), now)) => match self.old.properties.get(*at) {
                    Some(old) if old.ty == new.ty || widens(&old.ty, &new.ty) => {
                        is_sure |= !old.nullable;
                        Some(old.name.clone())
                    }
                    _ => {
                        return wrong(format!(
                            "@backfill({from}) is {}, which does not go into {}; take a property of the same type",
                            type_text(now),
                            type_text(new)
                        ));
                    }
                },
                _ => {
                    return wrong(format!(
                        "@backfill({from}) names no property that {} has already; name one that stays",
                        self.old.name
                    ));
                }
            },
        };
        let is_blob = new.ty == PropertyType::Scalar(ScalarType::Blob);
        if is_blob && source.is_some() {
            return wrong("a Blob is not filled from another property; load its values".to_string());
        }
        if !new.nullable && !is_sure && self.rows > 0 {
            let remedy = format!(
                "{} has {} entities, which would have no value; add @default(value), @backfill(property) with a default, \
                 or declare it nullable",
                self.old.name, self.rows
            );
            return (Source::Empty, Some((RefusalCode::RequiredWithoutDefault, remedy)));
        }
        match source.is_none() && value.is_none() {
            true => (Source::Empty, None),
            false => (Source::Filled(source, value), None),
        }
    }

    /// Where the column of a property that stays comes from.
    fn typed(&mut self, old: &Property, new: &Property) -> Source {
        let kept = Source::Kept(old.name.clone());
        if old.ty == new.ty {
            return kept;
        }
        let name = format!("{}.{}", self.old.name, old.name);
        let what = format!("change {name} from {} to {}", type_text(old), type_text(new));
        let is_key = self.old.key.contains(&old.name);
        match (&old.ty, &new.ty) {
            (PropertyType::Enum(before), PropertyType::Enum(after)) => {
                let gone: Vec<&String> = before.iter().filter(|m| !after.contains(m)).collect();
                if gone.is_empty() {
                    // An order of members means nothing.
                    if before.len() < after.len() {
                        self.push(StepAction::Alter, Some(&old.name), what);
                    }
                } else {
                    self.checked(Some(&old.name), what, Check::Members(new.name.clone()));
                }
                kept
            }
            (PropertyType::Enum(_), PropertyType::Scalar(ScalarType::String)) => {
                self.push(StepAction::Alter, Some(&old.name), what);
                kept
            }
            (PropertyType::Scalar(ScalarType::String), PropertyType::Enum(_)) => {
                self.checked(Some(&old.name), what, Check::Members(new.name.clone()));
                kept
            }
            (from, to) if widens(from, to) && !(is_key && is_float(from)) => {
                let (rows, bytes) = (self.rows, self.rows.saturating_mul(width(to)));
                let step = self.push(StepAction::Alter, Some(&old.name), what);
                if rows > 0 {
                    step.work = StepWork::Rewrite { rows, bytes };
                }
                Source::Widened(old.name.clone())
            }
            _ if self.rows == 0 => {
                self.push(StepAction::Alter, Some(&old.name), what);
                Source::Empty
            }
            (from, _) => {
                let (code, why) = match is_key && is_float(from) {
                    true => (RefusalCode::KeyChanged, "the ids of its entities would change"),
                    false => (RefusalCode::TypeChanged, "not every value goes over into the new type"),
                };
                let remedy =
                    format!("{why}; add a property of another name with the new type, fill it and drop this one");
                self.push(StepAction::Alter, Some(&old.name), what).refuse(code, remedy);
                kept
            }
        }
    }

    fn dropped(&mut self, at: usize) {
        let Some(old) = self.old.properties.get(at) else { return };
        let rows = self.rows;
        self.change.physical = true;
        let step = self.push(StepAction::Drop, Some(&old.name), format!("drop {}.{}", self.old.name, old.name));
        step.loses_data = rows > 0;
    }

    fn constraints(&mut self) {
        let tuple = |columns: &[String]| columns.iter().map(|c| self.now(c)).collect::<Vec<_>>();
        let unique: BTreeSet<BTreeSet<String>> =
            self.old.unique.iter().map(|columns| tuple(columns).into_iter().collect()).collect();
        let wanted: BTreeSet<BTreeSet<String>> =
            self.new.unique.iter().map(|columns| columns.iter().cloned().collect()).collect();
        for columns in &self.new.unique {
            if !unique.contains(&columns.iter().cloned().collect::<BTreeSet<_>>()) {
                let what = format!("require ({}) to be unique among {}", columns.join(", "), self.old.name);
                self.checked(None, what, Check::Unique(columns.clone()));
            }
        }
        for columns in unique.difference(&wanted) {
            let shown: Vec<&str> = columns.iter().map(String::as_str).collect();
            let what = format!("let ({}) repeat among {}", shown.join(", "), self.old.name);
            self.push(StepAction::Alter, None, what);
        }
        self.ranges();
        self.patterns();
        self.cardinality();
    }

    fn ranges(&mut self) {
        let old: Vec<(String, Option<Value>, Option<Value>)> =
            self.old.ranges.iter().map(|r| (self.now(&r.property), r.min.clone(), r.max.clone())).collect();
        let new: Vec<(String, Option<Value>, Option<Value>)> =
            self.new.ranges.iter().map(|r| (r.property.clone(), r.min.clone(), r.max.clone())).collect();
        for (at, range) in new.iter().enumerate().filter(|(_, range)| !old.contains(range)) {
            let what = format!("limit {}.{} to a range", self.old.name, range.0);
            self.checked(Some(&self.before(&range.0)), what, Check::Range(at));
        }
        for range in old.iter().filter(|range| !new.contains(range)) {
            let what = format!("lift a range of {}.{}", self.old.name, range.0);
            self.push(StepAction::Alter, Some(&self.before(&range.0)), what);
        }
    }

    fn patterns(&mut self) {
        let old: Vec<(String, String)> =
            self.old.checks.iter().map(|c| (self.now(&c.property), c.pattern.clone())).collect();
        let new: Vec<(String, String)> =
            self.new.checks.iter().map(|c| (c.property.clone(), c.pattern.clone())).collect();
        for (at, check) in new.iter().enumerate().filter(|(_, check)| !old.contains(check)) {
            let what = format!("require {}.{} to match {}", self.old.name, check.0, check.1);
            self.checked(Some(&self.before(&check.0)), what, Check::Pattern(at));
        }
        for check in old.iter().filter(|check| !new.contains(check)) {
            let what = format!("lift the pattern {} of {}.{}", check.1, self.old.name, check.0);
            self.push(StepAction::Alter, Some(&self.before(&check.0)), what);
        }
    }

    /// A property's name before the change; the one after it if it is new.
    fn before(&self, name: &str) -> String {
        self.names.iter().find(|(_, new)| **new == name).map_or_else(|| name.to_string(), |(old, _)| old.to_string())
    }

    fn cardinality(&mut self) {
        if self.old.cardinality == self.new.cardinality {
            return;
        }
        let any = Cardinality { min: 0, max: None };
        let (old, new) = (self.old.cardinality.unwrap_or(any), self.new.cardinality.unwrap_or(any));
        let most = new.max.map_or_else(|| "*".to_string(), |max| max.to_string());
        let what = format!("let each source have {}..{most} edges {}", new.min, self.old.name);
        let looser = new.min <= old.min && new.max.is_none_or(|max| old.max.is_some_and(|old| old <= max));
        // Sources without an edge count too, so it is also checked where there is none.
        if looser {
            self.push(StepAction::Alter, None, what);
        } else {
            let (at, rows) = (self.steps.len(), self.rows);
            self.push(StepAction::Alter, None, what).work = StepWork::Check { rows };
            self.change.checks.push((at, Check::Cardinality));
        }
    }

    /// Indexes, interfaces, descriptions.
    fn words(&mut self) {
        let shown = |index: &crate::model::IndexDecl, columns: String| match index_arguments(index) {
            arguments if arguments.is_empty() => columns,
            arguments => format!("{columns}; {arguments}"),
        };
        let old: BTreeMap<String, ()> = self
            .old
            .indexes
            .iter()
            .map(|i| (shown(i, i.columns.iter().map(|c| self.now(c)).collect::<Vec<_>>().join(", ")), ()))
            .collect();
        let new: BTreeMap<String, ()> = self.new.indexes.iter().map(|i| (shown(i, i.columns.join(", ")), ())).collect();
        for index in new.keys().filter(|index| !old.contains_key(*index)) {
            let what = format!("declare an index of {} on ({index}), for `optimize` to build", self.old.name);
            self.push(StepAction::Alter, None, what);
        }
        for index in old.keys().filter(|index| !new.contains_key(*index)) {
            let what = format!("declare no index of {} on ({index})", self.old.name);
            self.push(StepAction::Alter, None, what);
        }
        if self.old.implements != self.new.implements {
            self.push(StepAction::Alter, None, format!("change the interfaces of {}", self.old.name));
        }
        if (&self.old.description, &self.old.annotations) != (&self.new.description, &self.new.annotations) {
            let what = format!("change the description or annotations of {}", self.old.name);
            self.push(StepAction::Alter, None, what);
        }
    }
}

/// Whether every value of a type is one of another, wider type.
pub(crate) fn widens(from: &PropertyType, to: &PropertyType) -> bool {
    let (PropertyType::Scalar(from), PropertyType::Scalar(to)) = (from, to) else { return false };
    matches!(
        (from, to),
        (ScalarType::I32, ScalarType::I64)
            | (ScalarType::U32, ScalarType::U64 | ScalarType::I64)
            | (ScalarType::F32, ScalarType::F64)
    )
}

fn is_float(ty: &PropertyType) -> bool {
    matches!(ty, PropertyType::Scalar(ScalarType::F32 | ScalarType::F64))
}

/// Bytes of one value, roughly.
fn width(ty: &PropertyType) -> u64 {
    match ty {
        PropertyType::Scalar(ScalarType::Bool) => 1,
        PropertyType::Scalar(ScalarType::I32 | ScalarType::U32 | ScalarType::F32 | ScalarType::Date) => 4,
        PropertyType::Scalar(ScalarType::String | ScalarType::Blob) | PropertyType::List(_) => 24,
        PropertyType::Vector(dimensions) => u64::from(*dimensions) * 4,
        PropertyType::Enum(_) | PropertyType::Scalar(_) => 8,
    }
}
