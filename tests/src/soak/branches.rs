//! Branches that come and go, with writes on them, one of which races the deletion.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use omnigraph_client::{ErrorReason, Graph, node};

use super::Run;
use super::place::Place;
use super::settle::{Write, create_branch, delete_branch, read};

/// Begins the names of branches that do not last.
pub(crate) const PASSING: &str = "passing/";

/// Whoever makes and deletes branches.
#[derive(Debug)]
pub(crate) struct Brancher {
    pub(crate) run: Arc<Run>,
    pub(crate) place: Arc<Place>,
    /// The server it turns to first.
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) chance: Rng,
}

impl Brancher {
    /// Makes and deletes branches until the run is over.
    pub(crate) async fn work(mut self) {
        let mut n = 0;
        while self.run.takes_write() {
            n += 1;
            let branch = format!("{PASSING}{}-{n}", self.name);
            if create_branch(&self.place, self.at, &branch).await {
                self.use_up(&branch, n).await;
            }
            tokio::time::sleep(Duration::from_millis(self.chance.u64(200..900))).await;
        }
    }

    async fn use_up(&mut self, branch: &str, n: u64) {
        let slug = format!("{}-{n}", self.name);
        let place = &*self.place;
        let insert = |slug: String, request: String| {
            let branch = branch.to_string();
            move |graph: Graph| {
                let item = node("Item").set("slug", &slug).set("n", 0);
                let mutation = graph.mutate().insert(item).branch(&branch).request_id(&request);
                async move { mutation.send().await.map(|done| done.receipt) }
            }
        };
        let write = Write { place, branch, request: slug.clone(), refusals: &[], lasts: false };
        if write.settle(self.at, insert(slug.clone(), slug.clone())).await.is_some() {
            let look = |graph: Graph| {
                let get = graph.get("Item", [&slug]).branch(branch);
                async move { get.send().await }
            };
            // Through another server than the one that wrote.
            let found = read(place, self.at + 1, "reading from a passing branch", look).await;
            let there = found.is_none_or(|found| found.len() == 1);
            place.ledger.expect(there, || format!("item {slug} is missing on branch {branch}"));
        }
        let late = format!("{slug}-late");
        let refusals = &[ErrorReason::BranchNotFound, ErrorReason::BranchClosed];
        let race = Write { place, branch, request: late.clone(), refusals, lasts: false };
        let racing = race.settle(self.at, insert(late.clone(), late));
        if self.chance.bool() {
            tokio::join!(racing, delete_branch(place, self.at + 1, branch));
        } else {
            delete_branch(place, self.at, branch).await;
        }
    }
}
