//! Tags made while a cleanup is at work, each held up at one place.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::failpoint::{FaultPlan, Gate};
use omnigraph_engine::model::CommitInfo;
use tokio::sync::Semaphore;

use super::*;

/// Holds the first write of a path that contains a text back until it is let go.
#[derive(Debug)]
struct Held {
    part: &'static str,
    first: Semaphore,
    reached: Semaphore,
    go: Semaphore,
}

#[derive(Debug)]
struct HoldGate(Arc<Held>);

impl Gate for HoldGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        let held = self.0.clone();
        let is_meant = verb == "PUT" && path.contains(held.part);
        if !is_meant || held.first.try_acquire().map(|permit| permit.forget()).is_err() {
            return futures::future::ready(()).boxed();
        }
        async move {
            held.reached.add_permits(1);
            let _permit = held.go.acquire().await;
        }
        .boxed()
    }
}

impl Held {
    fn at(part: &'static str, plan: &FaultPlan) -> Arc<Self> {
        let closed = || Semaphore::new(0);
        let held = Arc::new(Self { part, first: Semaphore::new(1), reached: closed(), go: closed() });
        plan.set_gate(Some(Arc::new(HoldGate(held.clone()))));
        held
    }

    async fn reached(&self) {
        let _permit = self.reached.acquire().await.unwrap();
    }

    fn go(&self) {
        self.go.add_permits(1);
    }
}

/// A graph that has something to clean up, a process that can be held up, and the commits, all old.
async fn grown(name: &str) -> (Place, Graph, Graph, Arc<FaultPlan>, Vec<CommitInfo>) {
    let place = Place::memory(name);
    let g = place.create().await;
    people(&g, "main", 0..4).await;
    // So that there is a marker.
    assert_eq!(g.cleanup(&keep(100)).await.unwrap().errors(), 0);
    place.later(2 * HOUR);
    let plan = FaultPlan::counting();
    let slow = place.engine_with(&plan).open(&place.root, Access::ReadWrite).await.unwrap();
    let commits = history(&g, "main").await;
    (place, g, slow, plan, commits)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_made_between_two_looks_is_seen_by_the_second() {
    let (place, g, cleaner, plan, commits) = grown("between").await;
    let seen = content(&g, &at(&commits[2])).await.unwrap();
    place.forget_reads();
    let held = Held::at("_refs/retention.json", &plan);
    let cleaning = tokio::spawn(async move { cleaner.cleanup(&keep(1)).await });
    held.reached().await;
    tag(&g, "v1", &at(&commits[2])).await;
    held.go();
    let report = cleaning.await.unwrap().unwrap();
    assert_eq!((report.errors(), report.commits_kept, report.commits_removed), (0, 2, 3), "{report:?}");
    assert_eq!(row(&report, "node:Person").versions_kept["tag v1"], 1, "{report:?}");
    assert_eq!(content(&g, &tagged("v1")).await.unwrap(), seen);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_just_being_tagged_stays() {
    let (place, g, slow, plan, commits) = grown("being").await;
    let seen = content(&g, &at(&commits[2])).await.unwrap();
    place.forget_reads();
    let held = Held::at("_refs/tags/", &plan);
    let selector = at(&commits[2]);
    let tagging = tokio::spawn(async move { slow.create_tag("v1", &selector, "", &Actor::default()).await });
    held.reached().await;
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_kept, report.commits_removed), (0, 2, 3), "{report:?}");
    assert_eq!(row(&report, "__manifest").versions_kept["reader"], 1, "{report:?}");
    held.go();
    assert_eq!(tagging.await.unwrap().unwrap().commit, commits[2].id);
    place.later(2 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_removed), (0, 0), "{report:?}");
    assert_eq!(content(&g, &tagged("v1")).await.unwrap(), seen);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_too_late_makes_no_tag() {
    let (place, g, slow, plan, commits) = grown("late").await;
    let held = Held::at("_refs/readers/", &plan);
    let selector = at(&commits[2]);
    let tagging = tokio::spawn(async move { slow.create_tag("v1", &selector, "", &Actor::default()).await });
    held.reached().await;
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_removed), (0, 4), "{report:?}");
    held.go();
    let error = tagging.await.unwrap().unwrap_err();
    assert_eq!(error.reason(), Reason::CommitNotFound, "{error}");
    assert!(names(&g).await.is_empty());
    place.later(2 * HOUR);
    expect_settled(&place, &keep(1)).await;
}
