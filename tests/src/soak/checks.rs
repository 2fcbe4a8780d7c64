//! What has to hold in the end: the graph holds what was acknowledged, once, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::{StreamExt, TryStreamExt};
use omnigraph_client::{Commit, Graph, Result, Selector, TypeRef};

use super::branches::PASSING;
use super::place::Place;
use super::settle::read;
use super::strict::{self, BANK_BRANCH};
use super::{Outcome, items};

/// Look-ups by request id under way at once.
const LOOK_UPS: usize = 8;

/// Writes once on every branch through every server: whatever was interrupted, the next writer needs no help.
pub(crate) async fn write_everywhere(place: &Place) {
    for branch in &place.lasting {
        for at in 0..place.size() {
            items::write_one(place, at, branch, &format!("last-{at}")).await;
        }
    }
}

/// Compares the graph with the ledger, through the servers.
pub(crate) async fn compare(place: &Place) {
    compare_lasting(place).await;
    check_strict(place).await;
    check_branches(place, &[]).await;
}

/// Compares rows and history of the branches that last.
pub(crate) async fn compare_lasting(place: &Place) {
    for (n, branch) in place.lasting.iter().enumerate() {
        check_items(place, n, branch).await;
        check_follows(place, n + 1, branch).await;
        check_commits(place, n, branch).await;
    }
}

async fn check_items(place: &Place, at: usize, branch: &str) {
    let all = |graph| items_of(graph, Selector::Branch(branch.to_string()));
    let Some(found) = read(place, at, "scanning all items", all).await else { return };
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    for (slug, n) in found {
        let before = seen.insert(slug.clone(), n);
        place.ledger.expect(before.is_none(), || format!("item {slug} is there twice on {branch}"));
    }
    let expected = place.ledger.book().items.get(branch).cloned().unwrap_or_default();
    for (slug, n) in &expected {
        let found = seen.get(slug);
        place.ledger.expect(found == Some(n), || format!("item {slug} on {branch} is {found:?}, acknowledged was {n}"));
    }
    for slug in seen.keys().filter(|slug| !expected.contains_key(*slug)) {
        place.ledger.violation(format!("item {slug} on {branch} was never acknowledged"));
    }
}

/// The items of one version with their numbers.
pub(crate) async fn items_of(graph: Graph, version: Selector) -> Result<Vec<(String, i64)>> {
    let batches = graph.scan("Item").columns(["slug", "n"]).at(version).send().await?.collect_all().await?;
    let rows = batches.iter().flat_map(|batch| {
        let (slugs, numbers) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
        slugs.iter().zip(numbers.iter()).map(|(slug, n)| (slug.unwrap_or_default().to_string(), n.unwrap_or(i64::MIN)))
    });
    Ok(rows.collect())
}

/// The ids of the edges of one version.
pub(crate) async fn follows_of(graph: Graph, version: Selector) -> Result<Vec<String>> {
    let scan = graph.scan(TypeRef::edge("Follows")).columns(["id"]).at(version);
    let batches = scan.send().await?.collect_all().await?;
    let ids = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
    Ok(ids.map(ToString::to_string).collect())
}

async fn check_follows(place: &Place, at: usize, branch: &str) {
    let ids = |graph| follows_of(graph, Selector::Branch(branch.to_string()));
    let Some(found) = read(place, at, "scanning all edges", ids).await else { return };
    let seen: BTreeSet<String> = found.iter().cloned().collect();
    place.ledger.expect(seen.len() == found.len(), || format!("an edge is there twice on {branch}"));
    let expected = place.ledger.book().follows.get(branch).cloned().unwrap_or_default();
    let differ: Vec<&String> = expected.symmetric_difference(&seen).take(10).collect();
    place
        .ledger
        .expect(differ.is_empty(), || format!("edges on {branch} are lost or were never acknowledged: {differ:?}"));
}

/// Every request id is in the branch's history once, with the commit that was acknowledged, and can be found
/// by it. A refused one is not.
async fn check_commits(place: &Place, at: usize, branch: &str) {
    let listed = |graph: Graph| graph.list_commits(branch).try_collect::<Vec<Commit>>();
    let Some(listed) = read(place, at, "listing commits", listed).await else { return };
    let expected = place.ledger.book().commits.get(branch).cloned().unwrap_or_default();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for commit in listed.iter().filter(|commit| commit.branch == branch && !commit.request_id.is_empty()) {
        let before = seen.insert(&commit.request_id, &commit.id);
        place.ledger.expect(before.is_none(), || {
            format!("request {} made two commits on {branch}: {before:?} and {}", commit.request_id, commit.id)
        });
        place.ledger.expect(expected.contains_key(&commit.request_id), || {
            format!("request {} has commit {} on {branch} and was refused", commit.request_id, commit.id)
        });
    }
    for (request, commit) in &expected {
        let found = seen.get(request.as_str());
        place.ledger.expect(found == Some(&commit.as_str()), || {
            format!("request {request} on {branch} is in history as {found:?}, acknowledged was {commit}")
        });
    }
    place.ledger.book().counts.commits += seen.len() as u64;
    let look_ups = futures::stream::iter(expected).for_each_concurrent(LOOK_UPS, |(request, commit)| async move {
        let find = |graph: Graph| {
            let request = request.clone();
            async move { graph.commit_by_request(branch, request).await }
        };
        let found = read(place, at, &format!("finding request {request}"), find).await.map(|found| found.id);
        place.ledger.expect(found.is_none() || found.as_ref() == Some(&commit), || {
            format!("request {request} on {branch} is found as {found:?}, acknowledged was {commit}")
        });
    });
    look_ups.await;
}

async fn check_strict(place: &Place) {
    if let Some((_, value)) = read(place, 0, "reading the counter", strict::counter).await {
        let wins = place.ledger.book().wins.len();
        let right = usize::try_from(value) == Ok(wins);
        place.ledger.expect(right, || format!("the counter is {value} after {wins} acknowledged steps"));
    }
    let accounts = |graph| strict::accounts_at(graph, Selector::Branch(BANK_BRANCH.to_string()));
    if let Some(found) = read(place, 1, "reading the bank", accounts).await {
        let expected = place.ledger.book().balances.clone();
        place.ledger.expect(found == expected, || format!("the bank is {found:?}, acknowledged was {expected:?}"));
    }
}

/// The branches are those that last and `more`.
pub(crate) async fn check_branches(place: &Place, more: &[String]) {
    let names = |graph: Graph| async move {
        let branches: Vec<omnigraph_client::Branch> = graph.list_branches().try_collect().await?;
        Ok(branches.into_iter().map(|branch| branch.name).collect::<BTreeSet<String>>())
    };
    let Some(mut found) = read(place, 2, "listing branches", names).await else { return };
    let strays = place.ledger.book().strays.clone();
    found.retain(|name| !(name.starts_with(PASSING) && strays.contains(name)));
    let expected: BTreeSet<String> = place.lasting.iter().chain(more).cloned().collect();
    place.ledger.expect(found == expected, || format!("the branches are {found:?}, and should be {expected:?}"));
}

/// Checks every invariant over the files, with no server running, and counts what was recovered.
///
/// # Errors
/// The command line answers nothing that can be read.
pub(crate) async fn verify(place: &Place) -> Outcome {
    let (code, report) = place.command(&["verify"]).await?;
    let clean = code == Some(0) && report["clean"] == true && report["pending"] == 0;
    place.ledger.expect(clean, || format!("verify is not clean: {report}"));
    let (_, recoveries) = place.command(&["recoveries", "list", "--limit", "1000000"]).await?;
    place.ledger.book().counts.recoveries = recoveries.as_array().map_or(0, Vec::len) as u64;
    Ok(())
}
