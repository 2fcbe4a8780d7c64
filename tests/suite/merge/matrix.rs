//! Every pair of what two sides can do to one entity, all pairs in one merge: nodes and edges, keyed and not. What is
//! to come out is computed by a rule that knows nothing of how the engine decides.

use std::collections::BTreeSet;

use omnigraph_engine::model::{ConflictKind, Granularity, LoadMode, Resolution, Side};
use omnigraph_tests::load;

use super::*;

const SCHEMA: &str = "
node Hub { slug: String @key }
node Kn { key: String @key  a: I32?  b: String? }
node Un { a: I32?  b: String? }
edge Ke: Hub -> Hub { key: String @key  a: I32?  b: String? }
edge Ue: Hub -> Hub { a: I32?  b: String? }
";

/// The types in the order in which they are told.
const TYPES: [&str; 4] = ["Kn", "Un", "Ke", "Ue"];

/// An entity without its id, a value a part; a part that is not there is null, or is an end of what is no edge.
type Image = BTreeMap<&'static str, String>;

const PARTS: [&str; 4] = ["src", "dst", "a", "b"];

/// What a side does to something that is there.
const TO_OLD: [&str; 12] =
    ["nothing", "touch", "a1", "a2", "b1", "a1b1", "a-null", "dst1", "dst2-a1", "delete", "remake", "remake-a1"];

/// And to something that is not.
const TO_NEW: [&str; 5] = ["nothing", "make", "make-a1", "make-dst1", "make-and-delete"];

fn is_edge(name: &str) -> bool {
    name.ends_with('e')
}

fn plain(name: &str) -> Image {
    let ends: &[(&str, &str)] = if is_edge(name) { &[("src", "h0"), ("dst", "h0")] } else { &[] };
    ends.iter().chain(&[("a", "0"), ("b", "old")]).map(|(k, v)| (*k, (*v).to_string())).collect()
}

/// What an entity is after a side did that to it.
fn after(name: &str, deed: &str, before: Option<&Image>) -> Option<Image> {
    let mut image = match deed {
        "nothing" | "touch" => return before.cloned(),
        "delete" | "make-and-delete" => return None,
        _ => plain(name),
    };
    for word in deed.split('-') {
        match word {
            "a1" | "a1b1" => drop(image.insert("a", "1".into())),
            "a2" => drop(image.insert("a", "2".into())),
            "null" => drop(image.remove("a")),
            "dst1" => drop(image.insert("dst", "h1".into())),
            "dst2" => drop(image.insert("dst", "h2".into())),
            _ => {}
        }
        if matches!(word, "b1" | "a1b1") {
            image.insert("b", "new".into());
        }
    }
    Some(image)
}

/// One entity of the test.
#[derive(Clone, Debug)]
struct Pair {
    name: &'static str,
    is_old: bool,
    target: &'static str,
    source: &'static str,
}

impl Pair {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for name in TYPES {
            for (is_old, deeds) in [(true, &TO_OLD[..]), (false, &TO_NEW[..])] {
                let possible = |deed: &&&'static str| is_edge(name) || !deed.contains("dst");
                for target in deeds.iter().filter(possible) {
                    all.extend(deeds.iter().filter(possible).map(|source| Self { name, is_old, target, source }));
                }
            }
        }
        all
    }

    fn id(&self) -> String {
        format!("{}.{}.{}", if self.is_old { "old" } else { "new" }, self.target, self.source)
    }

    fn base(&self) -> Option<Image> {
        self.is_old.then(|| plain(self.name))
    }

    fn sides(&self) -> [Option<Image>; 2] {
        [self.target, self.source].map(|deed| after(self.name, deed, self.base().as_ref()))
    }

    fn key(&self) -> (&'static str, String) {
        (self.name, self.id())
    }
}

/// What is to come of one entity.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Shown(Option<Image>),
    Clash(ConflictKind, Vec<&'static str>),
}

/// What the caller says about one part in conflict, or about the whole of an entity.
type Say<'a> = &'a dyn Fn(Option<&str>) -> Option<Side>;

/// The rule, and whether the caller's word was needed.
fn fate(pair: &Pair, granularity: Granularity, say: Say<'_>) -> (Fate, bool) {
    let base = pair.base();
    let [target, source] = pair.sides();
    if source == base || source == target {
        return (Fate::Shown(target), false);
    }
    if target == base {
        return (Fate::Shown(source), false);
    }
    let (Some(ours), Some(theirs)) = (&target, &source) else {
        let shown = match say(None) {
            None => return (Fate::Clash(ConflictKind::DeleteVsUpdate, Vec::new()), false),
            Some(Side::Base) => base,
            Some(Side::Target) => target,
            Some(Side::Source) => source,
        };
        return (Fate::Shown(shown), true);
    };
    let mut merged = ours.clone();
    let mut clashing = Vec::new();
    for part in PARTS.into_iter().filter(|part| ours.get(part) != theirs.get(part)) {
        let old = base.as_ref().map(|base| base.get(part));
        let is_free = granularity == Granularity::Property;
        if is_free && old == Some(theirs.get(part)) {
            continue;
        }
        if is_free && old == Some(ours.get(part)) {
            set(&mut merged, part, theirs.get(part));
            continue;
        }
        clashing.push(part);
        match say(Some(part)) {
            Some(Side::Source) => set(&mut merged, part, theirs.get(part)),
            Some(Side::Base) => set(&mut merged, part, old.flatten()),
            _ => {}
        }
    }
    let kind = if pair.is_old { ConflictKind::DivergentUpdate } else { ConflictKind::DivergentInsert };
    if clashing.iter().any(|part| say(Some(part)).is_none()) {
        return (Fate::Clash(kind, clashing), false);
    }
    // What did not exist goes back to not existing.
    let is_undone = !pair.is_old && say(None) == Some(Side::Base);
    (Fate::Shown((!is_undone).then_some(merged)), !clashing.is_empty())
}

fn set(image: &mut Image, part: &'static str, value: Option<&String>) {
    match value {
        Some(value) => drop(image.insert(part, value.clone())),
        None => drop(image.remove(part)),
    }
}

/// A record that puts an entity.
fn record(name: &str, id: &str, image: &Image) -> String {
    let mut data = serde_json::Map::new();
    data.insert(if name.starts_with('K') { "key" } else { "id" }.into(), id.into());
    data.insert("a".into(), image.get("a").map_or(serde_json::Value::Null, |a| a.parse::<i64>().unwrap().into()));
    data.insert("b".into(), image.get("b").map_or(serde_json::Value::Null, |b| b.clone().into()));
    let mut record = serde_json::json!({ "data": data });
    record[if is_edge(name) { "edge" } else { "type" }] = name.into();
    if is_edge(name) {
        record["from"] = image["src"].clone().into();
        record["to"] = image["dst"].clone().into();
    }
    format!("{record}\n")
}

type Shown = BTreeMap<(&'static str, String), Image>;

/// What a branch shows, the hubs left out.
async fn images(g: &Graph, branch: &str) -> Shown {
    let mut out = Shown::new();
    for line in content(g, &head(branch)).await.unwrap() {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        let said = record.get("edge").or_else(|| record.get("type")).unwrap().as_str().unwrap();
        let Some(name) = TYPES.into_iter().find(|name| *name == said) else { continue };
        let data = &record["data"];
        let id = data.get("key").or_else(|| data.get("id")).unwrap().as_str().unwrap().to_string();
        let mut image = Image::new();
        for (part, value) in [("src", &record["from"]), ("dst", &record["to"]), ("a", &data["a"]), ("b", &data["b"])] {
            if !value.is_null() {
                image.insert(part, value.as_str().map_or_else(|| value.to_string(), ToString::to_string));
            }
        }
        assert!(out.insert((name, id), image).is_none(), "twice: {line}");
    }
    out
}

async fn put(g: &Graph, branch: &str, text: &str) {
    load(g, branch, LoadMode::Merge, text).await.unwrap();
}

async fn remove(g: &Graph, branch: &str, name: &str, ids: Vec<String>) {
    let type_ref = if is_edge(name) { TypeRef::edge(name) } else { TypeRef::node(name) };
    let change = Change::Delete { type_ref, target: Target::Ids(ids), edges: EdgePolicy::Restrict };
    g.mutate(vec![change], &WriteOptions::on(branch)).await.unwrap();
}

/// Does to every entity what a side does, in three commits: first something else, then deletions, then the rest.
async fn act(g: &Graph, branch: &str, pairs: &[Pair], deed: fn(&Pair) -> &'static str) {
    let mut other = String::new();
    let mut rest = String::new();
    for pair in pairs {
        let mut odd = plain(pair.name);
        odd.insert("a", "9".into());
        if matches!(deed(pair), "touch" | "make-and-delete") {
            other += &record(pair.name, &pair.id(), &odd);
        }
        let done = after(pair.name, deed(pair), pair.base().as_ref());
        if let (false, Some(image)) = (deed(pair) == "nothing", done) {
            rest += &record(pair.name, &pair.id(), &image);
        }
    }
    put(g, branch, &other).await;
    for name in TYPES {
        let goes = |pair: &&Pair| {
            let deed = deed(pair);
            pair.name == name && (deed.contains("delete") || deed.starts_with("remake"))
        };
        remove(g, branch, name, pairs.iter().filter(goes).map(Pair::id).collect()).await;
    }
    put(g, branch, &rest).await;
}

/// A graph in which both sides did what these pairs say.
async fn played(pairs: &[Pair]) -> Graph {
    let g = graph("matrix", SCHEMA).await.unwrap();
    let hub = |slug: &str| format!("{{\"type\":\"Hub\",\"data\":{{\"slug\":\"{slug}\"}}}}\n");
    let old = pairs.iter().filter(|pair| pair.is_old).map(|pair| record(pair.name, &pair.id(), &plain(pair.name)));
    put(&g, "main", &["h0", "h1", "h2"].map(hub).into_iter().chain(old).collect::<String>()).await;
    fork(&g, "b", "main").await;
    act(&g, "main", pairs, |pair| pair.target).await;
    act(&g, "b", pairs, |pair| pair.source).await;
    let sides = |i: usize| pairs.iter().filter_map(move |p| Some((p.key(), p.sides()[i].clone()?))).collect::<Shown>();
    assert_eq!(images(&g, "main").await, sides(0));
    assert_eq!(images(&g, "b").await, sides(1));
    g
}

fn told(conflicts: &[Conflict]) -> Vec<(ConflictKind, String, String, Vec<String>)> {
    conflicts.iter().map(|c| (c.kind, c.type_ref.name.clone(), c.id.clone(), c.properties.clone())).collect()
}

/// What of an entity a conflict shows.
fn seen(entity: Option<&Entity>) -> Option<Image> {
    let entity = entity?;
    let mut image = Image::new();
    if let Some((src, dst)) = &entity.endpoints {
        image.extend([("src", src.clone()), ("dst", dst.clone())]);
    }
    if let Value::I64(a) = &entity.properties["a"] {
        image.insert("a", a.to_string());
    }
    if let Value::String(b) = &entity.properties["b"] {
        image.insert("b", b.clone());
    }
    Some(image)
}

/// Checks that the merge makes of every entity what the rule says, and counts what it changes.
async fn expect_fates(g: &Graph, pairs: &[Pair], how: &MergeHow, say: impl Fn(&Pair, Option<&str>) -> Option<Side>) {
    let fates = pairs.iter().map(|pair| (pair, fate(pair, how.granularity, &|part| say(pair, part))));
    let (mut expected, mut settled) = (Shown::new(), 0);
    let mut counts: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for (pair, (fate, was_settled)) in fates {
        let Fate::Shown(image) = fate else { panic!("{pair:?}: {fate:?}") };
        settled += u64::from(was_settled);
        let count = counts.entry(pair.name).or_default();
        match (&pair.sides()[0], &image) {
            (None, Some(_)) => count[0] += 1,
            (Some(before), Some(now)) if before != now => count[1] += 1,
            (Some(_), None) => count[2] += 1,
            _ => {}
        }
        expected.extend(image.map(|image| (pair.key(), image)));
    }
    let done = merge_how(g, "b", "main", how).await;
    assert_eq!(done.outcome, MergeOutcome::Merged);
    assert_eq!(done.settled, settled);
    let found = images(g, "main").await;
    for key in found.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
        assert_eq!(found.get(key), expected.get(key), "{key:?}");
    }
    let commit = &done.receipt.commit;
    let counted = commit.counts.iter().map(|c| (c.type_ref.name.as_str(), [c.inserted, c.updated, c.deleted]));
    let counts: BTreeMap<&str, [u64; 3]> = counts.into_iter().filter(|(_, count)| *count != [0; 3]).collect();
    assert_eq!(counted.collect::<BTreeMap<_, _>>(), counts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pair_of_changes_comes_together_or_is_told() {
    for granularity in [Granularity::Property, Granularity::Entity] {
        let how = MergeHow { granularity, ..MergeHow::default() };
        let (mut clean, mut clashes) = (Vec::new(), Vec::new());
        for pair in Pair::all() {
            match fate(&pair, granularity, &|_| None).0 {
                Fate::Shown(_) => clean.push(pair),
                Fate::Clash(kind, parts) => clashes.push((pair, kind, parts)),
            }
        }
        assert!(clean.len() > 100 && clashes.len() > 100, "{} {}", clean.len(), clashes.len());
        let g = played(&Pair::all()).await;
        let found = refused_how(&g, "b", "main", &how).await;
        let mut expected = Vec::new();
        for name in TYPES {
            let mut of_type: Vec<_> = clashes.iter().filter(|(pair, ..)| pair.name == name).collect();
            of_type.sort_by_key(|(pair, ..)| pair.id());
            expected.extend(of_type);
        }
        let line = |(pair, kind, parts): &&(Pair, ConflictKind, Vec<&str>)| {
            (*kind, pair.name.to_string(), pair.id(), parts.iter().map(ToString::to_string).collect())
        };
        assert_eq!(told(&found), expected.iter().map(line).collect::<Vec<_>>());
        for (conflict, (pair, ..)) in found.iter().zip(&expected) {
            let sides = [&conflict.base, &conflict.target, &conflict.source].map(|side| seen(side.as_ref()));
            let [target, source] = pair.sides();
            assert_eq!(sides, [pair.base(), target, source], "{pair:?}");
        }
        let g = played(&clean).await;
        expect_fates(&g, &clean, &how, |_, _| None).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strategy_settles_every_pair_for_its_side() {
    for granularity in [Granularity::Property, Granularity::Entity] {
        for side in [Side::Target, Side::Source] {
            let how = MergeHow { granularity, strategy: Some(side), ..MergeHow::default() };
            let all = Pair::all();
            let g = played(&all).await;
            expect_fates(&g, &all, &how, |_, _| Some(side)).await;
        }
    }
}

/// What the caller decides about a pair: by its number, about the entity as a whole, or part by part.
fn decided(pair: &Pair, number: usize, part: Option<&str>) -> Option<Side> {
    const SIDES: [Side; 3] = [Side::Target, Side::Source, Side::Base];
    let by_part = pair.sides().iter().all(Option::is_some) && number % 4 == 3;
    match (by_part, part) {
        (false, _) => Some(SIDES[number % 3]),
        (true, None) => None,
        // An end of an edge that did not exist has nothing to go back to.
        (true, Some("src" | "dst")) => Some(SIDES[number % 2]),
        (true, Some(part)) => Some(SIDES[(number + part.len() + usize::from(part == "b")) % 3]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolutions_settle_every_pair_one_by_one() {
    let all = Pair::all();
    let number: BTreeMap<_, usize> = all.iter().map(Pair::key).zip(0..).collect();
    for granularity in [Granularity::Property, Granularity::Entity] {
        let mut resolutions = Vec::new();
        for pair in &all {
            let Fate::Clash(_, parts) = fate(pair, granularity, &|_| None).0 else { continue };
            let type_ref = if is_edge(pair.name) { TypeRef::edge(pair.name) } else { TypeRef::node(pair.name) };
            let say = |part: Option<&str>| decided(pair, number[&pair.key()], part);
            let mut resolve = |property: Option<&str>, take: Side| {
                let (type_ref, property) = (type_ref.clone(), property.map(ToString::to_string));
                resolutions.push(Resolution { type_ref, id: pair.id(), property, take });
            };
            match say(None) {
                Some(take) => resolve(None, take),
                None => parts.iter().for_each(|part| resolve(Some(part), say(Some(part)).unwrap())),
            }
        }
        let how = MergeHow { granularity, resolutions, ..MergeHow::default() };
        let g = played(&all).await;
        expect_fates(&g, &all, &how, |pair, part| decided(pair, number[&pair.key()], part)).await;
        let note = g.commits("main", None, 1).await.unwrap().remove(0).merge.unwrap();
        assert_eq!(note.resolutions, how.resolutions[..100]);
    }
}
