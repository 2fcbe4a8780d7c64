//! Archives: that a graph made of one shows the same, branch by branch and commit by commit, and goes on the same; and
//! that what is damaged makes no graph.

mod command_line;
mod damage;
mod evolved;
mod values;

use std::collections::BTreeMap;
use std::io::Cursor;

use futures::TryStreamExt;
use omnigraph_engine::archive::{ArchiveOptions, ImportReport};
use omnigraph_engine::data::Source;
use omnigraph_engine::model::{Actor, CommitInfo, MergeHow, ReadSelector};
use omnigraph_engine::{Engine, Graph, Result};
use omnigraph_tests::{content, memory_root};

use crate::merge::short;

async fn archive(graph: &Graph, compress: bool) -> Vec<u8> {
    let chunks: Vec<_> = graph.export_all(ArchiveOptions { compress }).try_collect().await.unwrap();
    chunks.concat()
}

async fn try_import(engine: &Engine, root: &str, bytes: Vec<u8>) -> Result<(Graph, ImportReport)> {
    engine.import(root, Source::stream(Cursor::new(bytes)), &Actor("mover".into())).await
}

async fn import(engine: &Engine, bytes: Vec<u8>) -> (Graph, ImportReport) {
    try_import(engine, &memory_root("archive"), bytes).await.unwrap()
}

/// What the heads of all branches come to, in the words of an archive.
fn states(archive: &[u8]) -> Vec<String> {
    let text = String::from_utf8(archive.to_vec()).unwrap();
    text.lines().filter(|line| line.starts_with("{\"state\"")).map(ToString::to_string).collect()
}

fn at(commit: &str) -> ReadSelector {
    ReadSelector::Commit(commit.to_string())
}

/// Checks everything that is said to be the same of a graph and of one made of its archive.
async fn compare(old: &Graph, new: &Graph, report: &ImportReport) {
    let verified = new.verify().await.unwrap();
    assert!(verified.is_clean() && verified.pending == 0, "{verified:#?}");
    let map: BTreeMap<String, String> = report.commits.iter().cloned().collect();
    compare_names(old, new, &map).await;
    for (from, to) in &map {
        let (before, after) = (old.commit(from).await.unwrap(), new.commit(to).await.unwrap());
        compare_commits(&before, &after, &map);
        assert_eq!(content(old, &at(from)).await.unwrap(), content(new, &at(to)).await.unwrap(), "{from} is {to}");
    }
}

async fn compare_names(old: &Graph, new: &Graph, map: &BTreeMap<String, String>) {
    let (before, after) = (old.branches().await.unwrap(), new.branches().await.unwrap());
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.name, before.protected), (&after.name, after.protected));
        assert_eq!((&map[&before.head], &before.actor), (&after.head, &after.actor), "{}", before.name);
        if let Some(origin) = map.get(&before.forked_from) {
            assert_eq!(origin, &after.forked_from, "{}", before.name);
        }
    }
    let (before, after) = (old.tags().await.unwrap(), new.tags().await.unwrap());
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.name, &map[&before.commit]), (&after.name, &after.commit));
        assert_eq!((&before.message, &before.actor, before.protected), (&after.message, &after.actor, after.protected));
    }
}

fn compare_commits(before: &CommitInfo, after: &CommitInfo, map: &BTreeMap<String, String>) {
    let from = after.imported.as_deref().unwrap();
    assert_eq!((&from.id, from.created_at), (&before.id, before.created_at));
    assert_eq!((&before.actor, &before.message), (&after.actor, &after.message));
    assert_eq!((&before.operation, &before.request_id), (&after.operation, &after.request_id), "{}", before.id);
    if let Some(parent) = before.parents.first().and_then(|parent| map.get(parent)) {
        assert_eq!(Some(parent), after.parents.first(), "{}", before.id);
    }
    if let Some(merged) = before.parents.get(1).and_then(|parent| map.get(parent)) {
        assert_eq!(Some(merged), after.parents.get(1), "{}", before.id);
    }
    assert_eq!(before.merge.is_some(), after.merge.is_some());
}

/// Checks that a graph made of the archive of another is the same.
pub(crate) async fn moved(old: &Graph) {
    let (new, report) = import(&omnigraph_tests::engine(), archive(old, true).await).await;
    compare(old, &new, &report).await;
}

/// What merging any branch into any other would come to.
async fn merges(graph: &Graph) -> Vec<String> {
    let names: Vec<String> = graph.branches().await.unwrap().into_iter().map(|branch| branch.name).collect();
    let mut told = Vec::new();
    for (source, target) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let preview = graph.preview_merge(source, target, &MergeHow::default()).await.unwrap();
        let (outcome, counts) = (preview.summary.outcome.as_str(), preview.summary.counts);
        told.push(format!("{source} {target}: {outcome} {counts:?} {:?}", short(&preview.conflicts)));
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_come_back_whole() {
    for (seed, steps) in [(7, 40), (8, 60), (9, 90)] {
        let (old, clock) = crate::histories::grown(seed, steps).await;
        let bytes = archive(&old, false).await;
        let (new, report) = import(&clock.engine(), bytes.clone()).await;
        println!("seed {seed}: {} bytes, {} commits", bytes.len(), report.commits.len());
        compare(&old, &new, &report).await;
        assert_eq!(merges(&old).await, merges(&new).await, "seed {seed}");
        assert_eq!(states(&bytes), states(&archive(&new, false).await), "seed {seed}");
    }
}
