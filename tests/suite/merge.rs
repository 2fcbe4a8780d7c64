//! Merges, and what is one in disguise: that both sides' changes come together or nothing changes at all, that a preview
//! says what would happen, and that histories of any shape have the right base.

mod checks;
mod diff;
mod exact;
mod matrix;
mod moving;
mod picks;
mod settled;
mod shapes;
mod upkeep;

use std::collections::BTreeMap;

use omnigraph_engine::model::{
    Actor, Change, CommitInfo, Conflict, EdgePolicy, Entity, EntityWrite, MergeHow, MergeOutcome, MergeRequest,
    MergeResult, ReadSelector, Target, TypeRef, Value, WriteOptions,
};
use omnigraph_engine::{Graph, Reason, Result};
use omnigraph_tests::{content, graph, head};

/// People with constraints of every kind, and edges of a few sorts: any number of K by ids of their own, at most two C
/// a person, known by their ends, and at least one M for every N.
pub(crate) const TEAM: &str = "
node P { slug: String @key  a: I32?  b: String?  mail: String?  x: I32?  y: I32?
         @unique(mail)  @unique(x, y)  @range(a, 0..1000) }
node N { t: String }
edge K: P -> P { w: I32? }
edge C: P -> P @card(0..2) { w: I32?  @key(src, dst) }
edge M: N -> P @card(1..*) {}
";

/// Types whose names are these are edges.
const EDGES: [&str; 3] = ["K", "C", "M"];

async fn team() -> Graph {
    graph("merge", TEAM).await.unwrap()
}

fn type_ref(name: &str) -> TypeRef {
    if EDGES.contains(&name) { TypeRef::edge(name) } else { TypeRef::node(name) }
}

fn value(name: &str, text: &str) -> Value {
    match (name, text) {
        (_, "null") => Value::Null,
        ("a" | "x" | "y" | "w", number) => Value::I64(number.parse().unwrap()),
        _ => Value::String(text.to_string()),
    }
}

/// `P ada a=1 b=null` puts a person, `K e1 ada bob w=2` an edge, `C ada bob` one whose ends are its id; with a minus
/// before it, what has that id goes, a node with its edges.
pub(crate) fn change(line: &str) -> Change {
    let gone = line.strip_prefix('-');
    let mut words = gone.unwrap_or(line).split_whitespace();
    let name = words.next().unwrap();
    let mut id = words.next().unwrap().to_string();
    let mut ends = None;
    if name == "C" {
        ends = Some((id.clone(), words.next().unwrap().to_string()));
        id = format!("[\"{}\",\"{}\"]", id, ends.as_ref().unwrap().1);
    }
    if gone.is_some() {
        return Change::Delete { type_ref: type_ref(name), target: Target::Ids(vec![id]), edges: EdgePolicy::Cascade };
    }
    if ends.is_none() && EDGES.contains(&name) {
        ends = Some((words.next().unwrap().to_string(), words.next().unwrap().to_string()));
    }
    let set = words.map(|word| word.split_once('=').unwrap()).map(|(k, v)| (k.to_string(), value(k, v)));
    let mut properties: BTreeMap<String, Value> = set.collect();
    if name == "P" {
        properties.insert("slug".into(), Value::String(id.clone()));
    }
    Change::Upsert(EntityWrite { type_ref: type_ref(name), id: Some(id), endpoints: ends, properties })
}

/// Makes one commit of all these changes.
async fn try_write(g: &Graph, branch: &str, lines: &[&str]) -> Result<CommitInfo> {
    let changes = lines.iter().map(|line| change(line)).collect();
    g.mutate(changes, &WriteOptions::on(branch)).await.map(|receipt| receipt.commit)
}

async fn write(g: &Graph, branch: &str, lines: &[&str]) -> CommitInfo {
    try_write(g, branch, lines).await.unwrap_or_else(|e| panic!("{lines:?} on {branch}: {e}"))
}

/// What a state shows, in the words of [`change`], sorted.
pub(crate) async fn at(g: &Graph, selector: &ReadSelector) -> Vec<String> {
    let mut lines: Vec<String> = content(g, selector).await.unwrap().iter().map(|line| worded(line)).collect();
    lines.sort();
    lines
}

pub(crate) async fn shown(g: &Graph, branch: &str) -> Vec<String> {
    at(g, &head(branch)).await
}

fn worded(line: &str) -> String {
    let record: serde_json::Value = serde_json::from_str(line).unwrap();
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_string();
    let data = record["data"].as_object().unwrap();
    let (name, is_edge) = match record.get("edge") {
        Some(name) => (text(name), true),
        None => (text(&record["type"]), false),
    };
    let mut words = vec![name.clone()];
    if name != "C" {
        words.push(text(data.get("slug").or_else(|| data.get("id")).unwrap()));
    }
    if is_edge {
        words.extend([text(&record["from"]), text(&record["to"])]);
    }
    let named = |k: &str| k != "slug" && k != "id";
    for (k, v) in data.iter().filter(|(k, v)| named(k) && !v.is_null()) {
        words.push(format!("{k}={}", v.as_str().map_or_else(|| v.to_string(), ToString::to_string)));
    }
    words.join(" ")
}

async fn fork(g: &Graph, name: &str, from: &str) {
    g.create_branch(name, &head(from), &Actor::default()).await.unwrap();
}

fn of(source: &str, how: &MergeHow) -> MergeRequest {
    MergeRequest { source: source.to_string(), how: how.clone(), ..MergeRequest::default() }
}

async fn sound(g: &Graph) {
    let report = g.verify().await.unwrap();
    assert!(report.is_clean() && report.pending == 0, "{report:#?}");
}

/// `divergent_update P/ada a,b` for each conflict.
pub(crate) fn short(conflicts: &[Conflict]) -> Vec<String> {
    let line = |c: &Conflict| {
        format!("{} {}/{} {}", c.kind.as_str(), c.type_ref.name, c.id, c.properties.join(",")).trim_end().to_string()
    };
    conflicts.iter().map(line).collect()
}

/// Merges and checks everything that holds of a merge that has something to do: it does what the preview said, as a
/// commit with two parents, nothing is left to merge after it, and the graph is whole.
async fn merge_how(g: &Graph, source: &str, target: &str, how: &MergeHow) -> MergeResult {
    let before = [g.branch(target).await.unwrap().head, g.branch(source).await.unwrap().head];
    let preview = g.preview_merge(source, target, how).await.unwrap();
    assert_eq!(short(&preview.conflicts), Vec::<String>::new(), "{source} into {target}");
    assert_eq!([g.branch(target).await.unwrap().head, g.branch(source).await.unwrap().head], before);
    let done = g.merge(&of(source, how), &WriteOptions::on(target)).await.unwrap();
    let summary = preview.summary;
    assert_eq!((done.outcome, &done.base, &done.source), (summary.outcome, &summary.base, &before[1]));
    assert_eq!((&summary.target, &summary.source), (&before[0], &before[1]));
    assert_eq!((&done.receipt.commit.counts, done.settled), (&summary.counts, summary.settled));
    assert!(done.receipt.changed && !done.receipt.replayed && done.source_deleted.is_none());
    let commit = g.commit(&done.receipt.commit.id).await.unwrap();
    assert_eq!((&commit, &commit.parents), (&done.receipt.commit, &before.to_vec()));
    assert_eq!(commit.operation, "merge");
    let note = commit.merge.as_ref().unwrap();
    assert_eq!((note.outcome, &note.base, &note.source), (done.outcome, &done.base, &done.source));
    assert_eq!((note.source_branch.as_str(), note.strategy, note.settled), (source, how.strategy, done.settled));
    up_to_date(g, source, target).await;
    sound(g).await;
    done
}

async fn merge(g: &Graph, source: &str, target: &str) -> MergeResult {
    merge_how(g, source, target, &MergeHow::default()).await
}

/// Checks that there is nothing to merge, and that merging does nothing.
async fn up_to_date(g: &Graph, source: &str, target: &str) {
    let before = g.branch(target).await.unwrap().head;
    let how = MergeHow::default();
    let preview = g.preview_merge(source, target, &how).await.unwrap();
    assert_eq!((preview.summary.outcome, preview.conflicts.len()), (MergeOutcome::AlreadyUpToDate, 0));
    assert!(preview.summary.counts.is_empty());
    let again = g.merge(&of(source, &how), &WriteOptions::on(target)).await.unwrap();
    assert_eq!((again.outcome, again.settled), (MergeOutcome::AlreadyUpToDate, 0));
    assert!(!again.receipt.changed);
    assert_eq!((&again.receipt.commit.id, &g.branch(target).await.unwrap().head), (&before, &before));
}

/// Checks that a merge is refused, with what the preview lists, and changes nothing. Returns the list.
async fn refused_how(g: &Graph, source: &str, target: &str, how: &MergeHow) -> Vec<Conflict> {
    let state = async || (g.branch(target).await.unwrap().head, content(g, &head(target)).await.unwrap());
    let before = state().await;
    let preview = g.preview_merge(source, target, how).await.unwrap();
    assert!(!preview.conflicts.is_empty(), "nothing stands against {source} into {target}");
    let error = g.merge(&of(source, how), &WriteOptions::on(target)).await.unwrap_err();
    expect_told(&error, &preview.conflicts);
    assert_eq!(state().await, before);
    sound(g).await;
    preview.conflicts
}

async fn refused(g: &Graph, source: &str, target: &str) -> Vec<String> {
    short(&refused_how(g, source, target, &MergeHow::default()).await)
}

/// Checks that an error names exactly these conflicts.
fn expect_told(error: &omnigraph_engine::Error, conflicts: &[Conflict]) {
    assert_eq!(error.reason(), Reason::MergeConflict, "{error}");
    assert_eq!(error.metadata()["conflicts"], conflicts.len().to_string());
    let told: Vec<String> = error.violations().iter().map(|v| format!("{} {}", v.field, v.description)).collect();
    for (conflict, told) in conflicts.iter().zip(&told) {
        let named = format!("{}/{}", conflict.type_ref, conflict.id);
        assert!(told.starts_with(&named) && told.contains(conflict.kind.as_str()), "{told}");
    }
    assert_eq!(told.len(), conflicts.len().min(100));
}

/// `a=1 b=x` of an entity, without what is null.
pub(crate) fn brief(entity: Option<&Entity>) -> String {
    let Some(entity) = entity else { return "none".to_string() };
    let ends = entity.endpoints.iter().map(|(src, dst)| format!("{src}->{dst}"));
    let told = |(k, v): (&String, &Value)| match v {
        Value::Null => None,
        Value::I64(number) => Some(format!("{k}={number}")),
        Value::String(text) => Some(format!("{k}={text}")),
        other => Some(format!("{k}={other:?}")),
    };
    ends.chain(entity.properties.iter().filter(|(k, _)| *k != "slug").filter_map(told)).collect::<Vec<_>>().join(" ")
}
