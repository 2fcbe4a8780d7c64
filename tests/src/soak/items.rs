//! Writers of rows. Each has ids of its own, so that what must be there follows from its acknowledgements.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use omnigraph_client::{Graph, LoadSource, Receipt, Result, Target, edge, node};
use serde_json::json;
use tokio::time::Instant;

use super::place::Place;
use super::settle::Write;
use super::{MAIN, Run};

/// How a change is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Insert,
    Upsert,
    Update,
    Load,
}

/// Items with their numbers, and edges with their ends, as one commit.
#[derive(Clone, Debug)]
struct Change {
    form: Form,
    items: Vec<(String, i64)>,
    follows: Vec<(String, String)>,
}

/// The id of an edge follows from its ends.
fn edge_id(from: &str, to: &str) -> String {
    format!("{from}>{to}")
}

impl Change {
    async fn write(self, graph: Graph, branch: String, request: String) -> Result<Receipt> {
        if let Form::Load = self.form {
            let load = graph.load(LoadSource::from(self.records())).branch(branch).request_id(request);
            return load.send().await.map(|done| done.receipt);
        }
        let mut mutation = graph.mutate().branch(branch).request_id(request);
        for (slug, n) in &self.items {
            let item = || node("Item").set("slug", slug).set("n", *n);
            mutation = match self.form {
                Form::Update => mutation.update(Target::ids("Item", [slug]), [("n", *n)]),
                Form::Upsert => mutation.upsert(item()),
                Form::Insert | Form::Load => mutation.insert(item()),
            };
        }
        for (from, to) in &self.follows {
            mutation = mutation.insert(edge("Follows", from, to).id(edge_id(from, to)));
        }
        mutation.send().await.map(|done| done.receipt)
    }

    /// The change as the records of a load.
    fn records(&self) -> String {
        let item = |(slug, n): &(String, i64)| json!({"type": "Item", "data": {"slug": slug, "n": n}});
        let follows = |(from, to): &(String, String)| {
            let id = edge_id(from, to);
            json!({"edge": "Follows", "from": from, "to": to, "data": {"id": id}})
        };
        let records = self.items.iter().map(item).chain(self.follows.iter().map(follows));
        records.map(|record| format!("{record}\n")).collect()
    }

    fn enter(self, place: &Place, branch: &str) {
        let mut book = place.ledger.book();
        book.items.entry(branch.to_string()).or_default().extend(self.items);
        let follows = self.follows.iter().map(|(from, to)| edge_id(from, to));
        book.follows.entry(branch.to_string()).or_default().extend(follows);
    }
}

/// Writes one item on a branch that lasts, through one server, without other writers' help.
pub(crate) async fn write_one(place: &Place, at: usize, branch: &str, slug: &str) -> bool {
    let change = Change { form: Form::Insert, items: vec![(slug.to_string(), 0)], follows: Vec::new() };
    let write = Write { place, branch, request: format!("{slug}@{branch}"), refusals: &[], lasts: true };
    settle(&write, at, change).await
}

async fn settle(write: &Write<'_>, at: usize, change: Change) -> bool {
    let attempt = |graph| change.clone().write(graph, write.branch.to_string(), write.request.clone());
    let done = write.settle(at, attempt).await.is_some();
    if done {
        change.enter(write.place, write.branch);
    }
    done
}

/// A writer of rows on main, which all share, and on a branch of its own.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) run: Arc<Run>,
    pub(crate) place: Arc<Place>,
    /// The server it turns to first.
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) branch: String,
    pub(crate) chance: Rng,
    /// From the beginning of one write to that of the next, unless it takes longer.
    pub(crate) pace: Duration,
}

impl Writer {
    /// Writes until the run is over.
    pub(crate) async fn work(mut self) {
        let mut known: [Vec<String>; 2] = Default::default();
        let (mut n, mut next) = (0, Instant::now());
        while self.run.takes_write() {
            n += 1;
            let side = usize::from(self.chance.u8(..10) < 4);
            let branch = [MAIN, &self.branch][side].to_string();
            let change = self.draw(n, side, &known[side]);
            let fresh = matches!(change.form, Form::Insert | Form::Load);
            let made: Vec<String> = change.items.iter().map(|(slug, _)| slug.clone()).collect();
            let request = format!("{}-{n}", self.name);
            let write = Write { place: &self.place, branch: &branch, request, refusals: &[], lasts: true };
            if settle(&write, self.at, change).await && fresh {
                known[side].extend(made);
            }
            next = (next + self.pace).max(Instant::now());
            tokio::time::sleep_until(next).await;
        }
    }

    /// The next change: new items that follow the last one, or another number for an old one.
    fn draw(&mut self, n: i64, side: usize, known: &[String]) -> Change {
        let form = match self.chance.u8(..10) {
            0..5 => Form::Insert,
            5..7 => Form::Load,
            7..9 => Form::Upsert,
            // On main it may meet another writer's commit, which is a conflict and no fault of the upkeep.
            _ if side == 0 && self.place.is_calm() => Form::Upsert,
            _ => Form::Update,
        };
        let (form, count) = match form {
            Form::Upsert | Form::Update if !known.is_empty() => {
                let slug = known[self.chance.usize(..known.len())].clone();
                return Change { form, items: vec![(slug, n)], follows: Vec::new() };
            }
            Form::Load => (Form::Load, 3),
            _ => (Form::Insert, 1),
        };
        let slugs: Vec<String> = (0..count).map(|part| format!("{}-{side}-{n}-{part}", self.name)).collect();
        let chain: Vec<&String> = known.last().into_iter().chain(&slugs).collect();
        let follows = chain.windows(2).map(|pair| (pair[1].clone(), pair[0].clone())).collect();
        Change { form, items: slugs.into_iter().map(|slug| (slug, n)).collect(), follows }
    }
}
