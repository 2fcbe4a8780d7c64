//! The graph and its merges in memory, as plainly as can be: whole states, compared entity by entity.

use std::collections::{BTreeMap, BTreeSet};

/// Parts of an entity in the order in which they are told; one that is not there is null.
const PARTS: [&str; 9] = ["src", "dst", "a", "b", "mail", "x", "y", "t", "w"];

/// The edge types, with the node types at their ends and how many of them a source has.
const EDGES: [(&str, &str, &str, u64, u64); 3] =
    [("C", "P", "P", 0, 2), ("K", "P", "P", 0, u64::MAX), ("M", "N", "P", 1, u64::MAX)];

/// Tuples that no two people share.
const UNIQUE: [&[&str]; 2] = [&["mail"], &["x", "y"]];

/// A type and an id; nodes come before edges.
pub(super) type Key = (bool, String, String);
pub(super) type Image = BTreeMap<&'static str, String>;
pub(super) type State = BTreeMap<Key, Image>;

fn edge(name: &str) -> Option<&'static (&'static str, &'static str, &'static str, u64, u64)> {
    EDGES.iter().find(|edge| edge.0 == name)
}

fn key(name: &str, id: &str) -> Key {
    (edge(name).is_some(), name.to_string(), id.to_string())
}

fn part(name: &str) -> &'static str {
    PARTS.into_iter().find(|part| *part == name).unwrap()
}

/// A state in the words of [`crate::merge::shown`].
pub(super) fn lines(state: &State) -> Vec<String> {
    let mut lines: Vec<String> = state.iter().map(|(key, image)| line(key, image)).collect();
    lines.sort();
    lines
}

pub(super) fn line((_, name, id): &Key, image: &Image) -> String {
    let mut words = vec![name.clone()];
    if name != "C" {
        words.push(id.clone());
    }
    let ends = ["src", "dst"];
    words.extend(ends.iter().filter_map(|end| image.get(end).cloned()));
    let mut rest: Vec<(&&str, &String)> = image.iter().filter(|(part, _)| !ends.contains(part)).collect();
    rest.sort();
    words.extend(rest.into_iter().map(|(part, value)| format!("{part}={value}")));
    words.join(" ")
}

/// Does what a line says, in the words of [`crate::merge::change`].
pub(super) fn apply(state: &mut State, line: &str) {
    let gone = line.strip_prefix('-');
    let mut words = gone.unwrap_or(line).split_whitespace();
    let name = words.next().unwrap();
    let mut ends = Vec::new();
    let mut id = words.next().unwrap().to_string();
    if name == "C" {
        ends = vec![id.clone(), words.next().unwrap().to_string()];
        id = format!("[\"{}\",\"{}\"]", ends[0], ends[1]);
    } else if edge(name).is_some() && gone.is_none() {
        ends = words.by_ref().take(2).map(ToString::to_string).collect();
    }
    let key = key(name, &id);
    if gone.is_some() {
        state.remove(&key);
        if !key.0 {
            state.retain(|other, image| !touches(other, image, name, &id));
        }
        return;
    }
    let image = state.entry(key).or_default();
    image.extend(["src", "dst"].into_iter().zip(ends));
    for (name, value) in words.map(|word| word.split_once('=').unwrap()) {
        match value {
            "null" => drop(image.remove(name)),
            value => drop(image.insert(part(name), value.to_string())),
        }
    }
}

fn touches((_, name, _): &Key, image: &Image, node: &str, id: &str) -> bool {
    edge(name).is_some_and(|(_, from, to, ..)| *from == node && image["src"] == id || *to == node && image["dst"] == id)
}

/// Edges without an end: the edge, the end and the node it lacks.
fn orphans(state: &State) -> Vec<(Key, &'static str, Key)> {
    let mut found = Vec::new();
    for (at, image) in state {
        let Some((_, from, to, ..)) = edge(&at.1) else { continue };
        for (end, node) in [("src", from), ("dst", to)] {
            let node = key(node, &image[end]);
            if !state.contains_key(&node) {
                found.push((at.clone(), end, node));
            }
        }
    }
    found
}

/// What shares its unique values with others, with the names of those.
fn shared(state: &State) -> Vec<(Key, Vec<&'static str>)> {
    let mut found = Vec::new();
    for columns in UNIQUE {
        let mut holders: BTreeMap<Vec<&String>, Vec<&Key>> = BTreeMap::new();
        for (key, image) in state.iter().filter(|(key, _)| key.1 == "P") {
            let tuple: Vec<&String> = columns.iter().filter_map(|column| image.get(column)).collect();
            if tuple.len() == columns.len() {
                holders.entry(tuple).or_default().push(key);
            }
        }
        let clashes = holders.into_values().filter(|keys| keys.len() > 1).flatten();
        found.extend(clashes.map(|key| (key.clone(), columns.to_vec())));
    }
    found
}

/// Sources with too few or too many edges: the edge type and the source's id.
fn miscounted(state: &State) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, from, _, least, most) in EDGES {
        for (node, _) in state.iter().filter(|(key, _)| key.1 == from) {
            let leaves = |(key, image): &(&Key, &Image)| key.1 == name && image["src"] == node.2;
            let count = state.iter().filter(leaves).count() as u64;
            if count < least || count > most {
                found.push((name.to_string(), node.2.clone()));
            }
        }
    }
    found
}

/// Whether a state obeys every constraint.
pub(super) fn is_sound(state: &State) -> bool {
    orphans(state).is_empty() && shared(state).is_empty() && miscounted(state).is_empty()
}

/// What is known of an entity in the past that two sides share.
#[derive(Clone, Debug, PartialEq)]
enum Past {
    Nothing,
    /// Each part's value; none where nobody can tell.
    Something(BTreeMap<&'static str, Option<Option<String>>>),
    Unclear,
}

impl Past {
    fn of(image: Option<&Image>) -> Self {
        image.map_or(Self::Nothing, |image| {
            Self::Something(PARTS.into_iter().map(|part| (part, Some(image.get(part).cloned()))).collect())
        })
    }

    fn part(&self, part: &str) -> Option<Option<&String>> {
        match self {
            Self::Something(parts) => parts[part].as_ref().map(Option::as_ref),
            _ => None,
        }
    }

    /// The past of two pasts that share one themselves: what one of them changed, and nothing where both did.
    fn join(below: &Self, left: &Self, right: &Self) -> Self {
        if *left == Self::Unclear || *right == Self::Unclear {
            return Self::Unclear;
        }
        if left == right || below == right {
            return left.clone();
        }
        if below == left {
            return right.clone();
        }
        let (Self::Something(a), Self::Something(b)) = (left, right) else { return Self::Unclear };
        let told = |part: &'static str| {
            let old = below.part(part);
            match (&a[part], &b[part]) {
                (Some(a), Some(b)) if a == b || old == Some(b.as_ref()) => Some(a.clone()),
                (Some(a), Some(b)) if old == Some(a.as_ref()) => Some(b.clone()),
                _ => None,
            }
        };
        Self::Something(PARTS.into_iter().map(|part| (part, told(part))).collect())
    }
}

/// The states two sides come from: one, or several that came from others in turn.
pub(super) enum Origin<'a> {
    One(&'a State),
    Both(Box<Origin<'a>>, Box<Origin<'a>>, Box<Origin<'a>>),
}

impl Origin<'_> {
    fn past(&self, key: &Key) -> Past {
        match self {
            Self::One(state) => Past::of(state.get(key)),
            Self::Both(below, left, right) => Past::join(&below.past(key), &left.past(key), &right.past(key)),
        }
    }

    fn keys(&self) -> BTreeSet<Key> {
        match self {
            Self::One(state) => state.keys().cloned().collect(),
            Self::Both(below, left, right) => [below, left, right].iter().flat_map(|o| o.keys()).collect(),
        }
    }
}

/// How a merge is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct How {
    /// Whether conflicts are settled, and for the source.
    pub(super) theirs: Option<bool>,
    /// Whether entities are compared as wholes.
    pub(super) whole: bool,
}

/// `kind name/id parts`.
pub(super) type Clash = String;

/// The kind of what stands against an entity, and its parts.
type Against = (&'static str, Vec<&'static str>);

/// What becomes of one entity: what is shown, what stands against it, and whether it was settled.
fn one(past: &Past, ours: Option<&Image>, theirs: Option<&Image>, how: How) -> (Option<Image>, Option<Against>, bool) {
    if ours == theirs || *past == Past::of(theirs) {
        return (ours.cloned(), None, false);
    }
    if *past == Past::of(ours) {
        return (theirs.cloned(), None, false);
    }
    let (Some(a), Some(b)) = (ours, theirs) else {
        return match how.theirs {
            None => (ours.cloned(), Some(("delete_vs_update", Vec::new())), false),
            Some(true) => (theirs.cloned(), None, true),
            Some(false) => (ours.cloned(), None, true),
        };
    };
    let (mut merged, mut clashing) = (a.clone(), Vec::new());
    for part in PARTS.into_iter().filter(|part| a.get(part) != b.get(part)) {
        let old = past.part(part).filter(|_| !how.whole);
        let takes_theirs = match old {
            Some(old) if old == a.get(part) => true,
            Some(old) if old == b.get(part) => false,
            _ => {
                clashing.push(part);
                how.theirs == Some(true)
            }
        };
        match b.get(part).filter(|_| takes_theirs) {
            Some(value) => drop(merged.insert(part, value.clone())),
            None if takes_theirs => drop(merged.remove(part)),
            None => {}
        }
    }
    if !clashing.is_empty() && how.theirs.is_none() {
        let kind = if *past == Past::Nothing { "divergent_insert" } else { "divergent_update" };
        return (Some(a.clone()), Some((kind, clashing)), false);
    }
    (Some(merged), None, !clashing.is_empty())
}

/// What a merge comes to.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) state: State,
    pub(super) clashes: Vec<Clash>,
    pub(super) settled: u64,
}

/// Merges two states.
pub(super) fn merge(origin: &Origin<'_>, ours: &State, theirs: &State, how: How) -> Merged {
    let mut merged = Merged::default();
    let mut in_conflict = BTreeSet::new();
    let keys: BTreeSet<Key> =
        origin.keys().into_iter().chain(ours.keys().cloned()).chain(theirs.keys().cloned()).collect();
    for key in keys {
        let (shown, clash, settled) = one(&origin.past(&key), ours.get(&key), theirs.get(&key), how);
        merged.settled += u64::from(settled);
        if let Some((kind, parts)) = clash {
            merged.clashes.push(told(kind, &key, &parts));
            in_conflict.insert(key.clone());
        }
        merged.state.extend(shown.map(|image| (key, image)));
    }
    for (edge, end, node) in orphans(&merged.state) {
        if !merged.state.contains_key(&edge) || merged.state.contains_key(&node) {
            continue;
        }
        if in_conflict.contains(&edge) || in_conflict.contains(&node) {
            continue;
        }
        let Some(for_source) = how.theirs else {
            merged.clashes.push(told("orphan_edge", &edge, &[end]));
            continue;
        };
        merged.settled += 1;
        // Who deleted the node wins, or who has the edge and so still has the node.
        let has_node = if for_source { theirs.get(&node) } else { ours.get(&node) };
        match has_node {
            Some(image) => drop(merged.state.insert(node, image.clone())),
            None => drop(merged.state.remove(&edge)),
        }
    }
    for (key, columns) in shared(&merged.state) {
        if merged.state.get(&key) != ours.get(&key) {
            merged.clashes.push(told("unique_violation", &key, &columns));
        }
    }
    for (name, id) in miscounted(&merged.state) {
        merged.clashes.push(told("cardinality_violation", &key(&name, &id), &[]));
    }
    merged.clashes.sort();
    merged
}

fn told(kind: &str, key: &Key, parts: &[&str]) -> Clash {
    format!("{kind} {}/{} {}", key.1, key.2, parts.join(",")).trim_end().to_string()
}

/// Entities inserted, updated and deleted from one state to another.
pub(super) fn counts(before: &State, after: &State) -> BTreeMap<String, [u64; 3]> {
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let slot = match (before.get(key), after.get(key)) {
            (None, Some(_)) => 0,
            (Some(_), None) => 2,
            (before, after) if before != after => 1,
            _ => continue,
        };
        counts.entry(key.1.clone()).or_default()[slot] += 1;
    }
    counts
}
