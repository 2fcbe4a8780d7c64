//! Collects what is wrong with a schema and says where. It decides nothing about schemas.
//!
//! Problems are counted without bound and described up to the reported maximum, so that hostile input
//! costs neither memory nor the search for near misses.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::error::{Error, Reason, Result, Violation};
use crate::limits;

/// Names longer than this get no near-miss search; it is quadratic in the length.
const MAX_HINT_BYTES: usize = 64;

/// Whose part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The schema as a whole.
    Schema,
    /// The interface at this index.
    Interface(usize),
    /// The node or edge type at this index.
    Type(usize),
}

/// A part of a declaration. Indexes are those of the model's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Name,
    Implements(usize),
    Property(usize),
    PropertyType(usize),
    PropertyAnnotation(usize, usize),
    Key(usize),
    Unique(usize, usize),
    Index(usize, usize),
    Range(usize),
    Check(usize),
    CheckPattern(usize),
    Cardinality,
    From,
    To,
    Annotation(usize),
}

/// Where in a schema something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Whose part.
    pub(super) owner: Owner,
    /// Which part.
    pub(super) part: Part,
}

impl Owner {
    /// A part of this owner.
    pub(super) fn at(self, part: Part) -> Place {
        Place { owner: self, part }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner {
            Owner::Schema => return f.write_str("schema"),
            Owner::Interface(i) => write!(f, "interfaces[{i}]")?,
            Owner::Type(i) => write!(f, "types[{i}]")?,
        }
        match self.part {
            Part::Name => f.write_str(".name"),
            Part::Implements(i) => write!(f, ".implements[{i}]"),
            Part::Property(i) => write!(f, ".properties[{i}].name"),
            Part::PropertyType(i) => write!(f, ".properties[{i}].type"),
            Part::PropertyAnnotation(i, k) => write!(f, ".properties[{i}].annotations[{k}]"),
            Part::Key(i) => write!(f, ".key[{i}]"),
            Part::Unique(i, k) => write!(f, ".unique[{i}][{k}]"),
            Part::Index(i, k) => write!(f, ".indexes[{i}][{k}]"),
            Part::Range(i) => write!(f, ".ranges[{i}]"),
            Part::Check(i) => write!(f, ".checks[{i}].property"),
            Part::CheckPattern(i) => write!(f, ".checks[{i}].pattern"),
            Part::Cardinality => f.write_str(".cardinality"),
            Part::From => f.write_str(".endpoints.from"),
            Part::To => f.write_str(".endpoints.to"),
            Part::Annotation(i) => write!(f, ".annotations[{i}]"),
        }
    }
}

enum Spot {
    Offset(usize),
    Path(String),
}

struct Problem {
    spot: Spot,
    reason: Reason,
    description: String,
}

/// Everything found so far.
pub(super) struct Problems<'s> {
    source: Option<&'s str>,
    offsets: HashMap<Place, usize>,
    silenced: HashSet<Place>,
    listed: Vec<Problem>,
    total: usize,
}

impl<'s> Problems<'s> {
    /// For a schema without text: problems carry paths.
    pub(super) fn in_message() -> Self {
        Self { source: None, offsets: HashMap::new(), silenced: HashSet::new(), listed: Vec::new(), total: 0 }
    }

    /// For a schema read from `source`: problems carry lines and columns.
    pub(super) fn in_text(source: &'s str) -> Self {
        Self { source: Some(source), ..Self::in_message() }
    }

    /// Remembers where in the text `place` stands.
    pub(super) fn locate(&mut self, place: Place, offset: usize) {
        self.offsets.insert(place, offset);
    }

    /// Drops later problems at `place`: what stands there is a stand-in for text already reported.
    pub(super) fn silence(&mut self, place: Place) {
        self.silenced.insert(place);
    }

    /// Whether what stands at `place` is a stand-in.
    pub(super) fn is_silenced(&self, place: Place) -> bool {
        self.silenced.contains(&place)
    }

    /// Records a broken rule.
    pub(super) fn report(&mut self, place: Place, describe: impl FnOnce() -> String) {
        self.record(place, Reason::InvalidSchema, describe);
    }

    /// Records an exceeded limit.
    pub(super) fn report_limit(&mut self, place: Place, describe: impl FnOnce() -> String) {
        self.record(place, Reason::LimitExceeded, describe);
    }

    /// Records a problem at a byte of the text.
    pub(super) fn report_at(&mut self, offset: usize, describe: impl FnOnce() -> String) {
        self.push(Reason::InvalidSchema, || (Spot::Offset(offset), describe()));
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    fn record(&mut self, place: Place, reason: Reason, describe: impl FnOnce() -> String) {
        if self.silenced.contains(&place) {
            return;
        }
        let spot = match self.source {
            Some(_) => Spot::Offset(self.offset_of(place)),
            None => Spot::Path(place.to_string()),
        };
        self.push(reason, || (spot, describe()));
    }

    /// What has no place of its own in the text (an inherited property) stands where its type does.
    fn offset_of(&self, place: Place) -> usize {
        let name = place.owner.at(Part::Name);
        self.offsets.get(&place).or_else(|| self.offsets.get(&name)).copied().unwrap_or(0)
    }

    fn push(&mut self, reason: Reason, problem: impl FnOnce() -> (Spot, String)) {
        self.total += 1;
        if self.listed.len() < limits::MAX_REPORTED_VIOLATIONS {
            let (spot, description) = problem();
            self.listed.push(Problem { spot, reason, description });
        }
    }

    /// What was found, in the order of the text.
    pub(super) fn into_violations(mut self) -> Vec<Violation> {
        self.listed.sort_by_key(|p| match p.spot {
            Spot::Offset(offset) => offset,
            Spot::Path(_) => 0,
        });
        let source = self.source.unwrap_or_default();
        self.listed
            .into_iter()
            .map(|p| Violation {
                field: match p.spot {
                    Spot::Offset(offset) => line_and_column(source, offset),
                    Spot::Path(path) => path,
                },
                description: p.description,
                reason: p.reason,
            })
            .collect()
    }

    /// Success if nothing was found, else the one error that lists it all.
    pub(super) fn into_result(self) -> Result<()> {
        let message = match self.total {
            0 => return Ok(()),
            1 => "the schema has 1 problem".to_string(),
            n if n > self.listed.len() => {
                format!("the schema has {n} problems, of which {} are listed", self.listed.len())
            }
            n => format!("the schema has {n} problems"),
        };
        let total = self.total;
        Err(Error::new(Reason::InvalidSchema, message).with("problems", total).with_violations(self.into_violations()))
    }
}

/// Lines and columns count from 1, columns in characters.
fn line_and_column(source: &str, offset: usize) -> String {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let column = before[start..].chars().count() + 1;
    format!("line {line}, column {column}")
}

/// `; did you mean …?` with the nearest candidate, or nothing if none is near.
pub(super) fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, candidates) {
        Some(candidate) => format!("; did you mean `{candidate}`?"),
        None => String::new(),
    }
}

/// The candidate a person most likely meant, ignoring case; `None` if nothing is close.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.is_empty() || name.len() > MAX_HINT_BYTES {
        return None;
    }
    let wanted = name.to_lowercase();
    let allowed = (name.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| *c != name && c.len().abs_diff(name.len()) <= allowed)
        .map(|c| (strsim::damerau_levenshtein(&wanted, &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= allowed && *distance < c.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// A name as shown in messages, shortened if it is absurdly long.
pub(super) fn shown(name: &str) -> String {
    match name.char_indices().nth(MAX_HINT_BYTES) {
        Some((end, _)) => format!("`{}…`", name[..end].escape_debug()),
        None => format!("`{}`", name.escape_debug()),
    }
}
