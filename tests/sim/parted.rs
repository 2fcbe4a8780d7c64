//! Branches that parted, what a graph shows of them, and what is to be said of every lineage.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::model::{Actor, CommitInfo, LoadMode, MergeRequest, MergeResult, ReadSelector, WriteOptions};
use omnigraph_engine::{Error, Graph, Result};
use omnigraph_tests::{SOCIAL, content, create, head, jsonl, knows, person};

use crate::states::note;
use crate::stock::{Place, Stock};

/// Makes a graph what it is to be.
pub(crate) type Setup = for<'a> fn(&'a Graph) -> BoxFuture<'a, Result<()>>;

/// A graph with this made of it.
pub(crate) async fn made(name: &str, setup: Setup) -> Stock {
    let place = Place::new(name);
    let graph = create(&place.engine(), &place.root, SOCIAL).await.unwrap();
    setup(&graph).await.unwrap();
    Stock::of(&place.root).await
}

/// Writes records as a commit that can be found by its request.
pub(crate) async fn write(graph: &Graph, branch: &str, request: &str, text: &str) -> Result<()> {
    let options = WriteOptions { request_id: request.into(), ..WriteOptions::on(branch) };
    graph.load(jsonl(text), LoadMode::Merge, &options).await.map(|_| ())
}

/// Merges a branch, as a commit that can be found by its request if it has one.
pub(crate) async fn merge(graph: &Graph, source: &str, target: &str, request: &str) -> Result<MergeResult> {
    let of = MergeRequest { source: source.into(), ..MergeRequest::default() };
    let options = WriteOptions { request_id: request.into(), ..WriteOptions::on(target) };
    graph.merge(&of, &options).await
}

/// The commit that a request made.
pub(crate) async fn requested(graph: &Graph, branch: &str, request: &str) -> String {
    graph.commit_by_request(branch, request).await.unwrap().unwrap().id
}

async fn fork(graph: &Graph, name: &str) -> Result<()> {
    graph.create_branch(name, &head("main"), &Actor::default()).await.map(|_| ())
}

/// Branch b is ahead of main.
pub(crate) fn ahead(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        write(g, "main", "first", &(person("a", 1) + &person("c", 1))).await?;
        fork(g, "b").await?;
        write(g, "b", "theirs", &(person("a", 5) + &person("x", 1))).await
    }
    .boxed()
}

/// Branches b and t, which has never written the people, both changed what they come from, in two tables.
pub(crate) fn apart(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        write(g, "main", "first", &(person("a", 1) + &note("n"))).await?;
        fork(g, "b").await?;
        fork(g, "t").await?;
        write(g, "b", "theirs", &(person("a", 5) + &note("m"))).await?;
        write(g, "t", "ours", &note("k")).await
    }
    .boxed()
}

/// Branch b has edges; main, which went on, never had any.
pub(crate) fn without_edges(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        write(g, "main", "first", &(person("a", 1) + &person("c", 1))).await?;
        fork(g, "b").await?;
        write(g, "b", "theirs", &knows("a", "c")).await?;
        write(g, "main", "ours", &person("o", 1)).await
    }
    .boxed()
}

/// Main and the branches b and c have changes of their own.
pub(crate) fn three(g: &Graph) -> BoxFuture<'_, Result<()>> {
    async move {
        write(g, "main", "first", &(person("a", 1) + &person("o", 1))).await?;
        fork(g, "b").await?;
        fork(g, "c").await?;
        write(g, "b", "theirs", &person("a", 5)).await?;
        write(g, "c", "others", &person("y", 1)).await?;
        write(g, "main", "ours", &person("o", 2)).await
    }
    .boxed()
}

/// What a graph shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The lines of each live branch, and whether it is protected.
    pub(crate) branches: BTreeMap<String, (bool, Vec<String>)>,
    /// The lines of each tag.
    pub(crate) tags: BTreeMap<String, Vec<String>>,
}

/// What a reader finds.
pub(crate) async fn seen(graph: &Graph) -> Result<Seen> {
    let (mut branches, mut tags) = (BTreeMap::new(), BTreeMap::new());
    for branch in graph.branches().await? {
        let lines = content(graph, &head(&branch.name)).await?;
        branches.insert(branch.name, (branch.protected, lines));
    }
    for tag in graph.tags().await? {
        let lines = content(graph, &ReadSelector::Tag(tag.name.clone())).await?;
        tags.insert(tag.name, lines);
    }
    Ok(Seen { branches, tags })
}

/// Every ancestor of a branch's head, newest first, after a check that each is there once, with all its parents, and
/// that the branch's own commits follow each other.
pub(crate) async fn lineage(graph: &Graph, branch: &str) -> std::result::Result<Vec<CommitInfo>, String> {
    let failed = |e: Error| format!("the lineage of {branch}: {e}");
    let all = graph.ancestors(branch, None, 1_000).await.map_err(failed)?;
    let own = graph.commits(branch, None, 1_000).await.map_err(failed)?;
    let ids: BTreeSet<&str> = all.iter().map(|commit| commit.id.as_str()).collect();
    if !all.is_sorted_by(|newer, older| newer.id > older.id) {
        return Err(format!("{branch} has a commit twice: {all:#?}"));
    }
    if let Some(odd) = all.iter().find(|commit| !commit.parents.iter().all(|parent| ids.contains(parent.as_str()))) {
        return Err(format!("{branch} misses a parent of {odd:#?}"));
    }
    let parents = |commit: &CommitInfo| usize::from(commit.operation == "merge") + 1;
    let (genesis, rest) = all.split_last().ok_or("no commit")?;
    if let Some(odd) = rest.iter().find(|commit| commit.parents.len() != parents(commit)) {
        return Err(format!("{branch} has a commit with other parents: {odd:#?}"));
    }
    let follows = |pair: &[CommitInfo]| pair[0].parents.first() == Some(&pair[1].id);
    if !genesis.parents.is_empty() || !own.windows(2).all(follows) || own.first() != all.first() {
        return Err(format!("the commits of {branch} do not follow each other: {own:#?}"));
    }
    Ok(all)
}
