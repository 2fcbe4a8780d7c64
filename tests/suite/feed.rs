//! The feed of a branch: that every commit is told once, whole and in order, wherever one starts, resumes or waits, and
//! that it says so when it cannot go on.

mod cursors;
mod ends;
mod merging;
mod telling;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::BoxStream;
use omnigraph_engine::clock::{Clock, SystemClock};
use omnigraph_engine::failpoint::FaultPlan;
use omnigraph_engine::model::{
    Actor, Change, ChangeKind, CommitInfo, EdgePolicy, Entity, EntityChange, FeedMessage, LoadMode, ReadSelector,
    Target, TypeRef, Value, WatchRequest, WatchStart, WriteOptions,
};
use omnigraph_engine::{Access, Engine, EngineOptions, Error, Graph, Reason, Result};
use omnigraph_tests::{SOCIAL, create, engine, graph, head, knows, load, memory_root, person};

type Feed = BoxStream<'static, Result<FeedMessage>>;

/// What a branch holds, by type and id.
type Content = BTreeMap<(TypeRef, String), Entity>;

/// A clock on which waiting takes no time; it shows what tests and waiting make of it.
#[derive(Debug)]
struct Brisk(AtomicI64);

impl Clock for Brisk {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.later(duration);
        tokio::task::yield_now().boxed()
    }
}

impl Brisk {
    fn new() -> Arc<Self> {
        Arc::new(Self(SystemClock.now_micros().into()))
    }

    fn later(&self, duration: Duration) {
        self.0.fetch_add(i64::try_from(duration.as_micros()).unwrap(), Ordering::SeqCst);
    }

    fn engine(self: &Arc<Self>) -> Engine {
        self.engine_with(&FaultPlan::counting())
    }

    fn engine_with(self: &Arc<Self>, plan: &Arc<FaultPlan>) -> Engine {
        let (clock, faults) = (self.clone(), Some(plan.clone()));
        Engine::new(EngineOptions { clock, faults, ..EngineOptions::default() })
    }
}

/// One commit as it was told.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    commit: CommitInfo,
    messages: Vec<Vec<EntityChange>>,
    cursor: String,
}

impl Told {
    fn changes(&self) -> Vec<EntityChange> {
        self.messages.concat()
    }

    /// In short: what happened to whom.
    fn short(&self) -> Vec<String> {
        let line = |c: &EntityChange| format!("{} {} {}", c.kind().as_str(), c.type_ref.name, c.id);
        self.changes().iter().map(line).collect()
    }
}

fn request(branch: &str, start: WatchStart) -> WatchRequest {
    WatchRequest { branch: branch.to_string(), start, changes: true, ..WatchRequest::default() }
}

async fn watch(graph: &Graph, branch: &str, start: WatchStart) -> Feed {
    graph.watch(&request(branch, start)).await.unwrap()
}

/// The next message or error. A feed that says nothing at all is a failure.
async fn next(feed: &mut Feed) -> Result<FeedMessage> {
    let next = tokio::time::timeout(Duration::from_secs(30), feed.next()).await;
    next.expect("the feed is silent").expect("the feed is over")
}

async fn idle(feed: &mut Feed) -> String {
    match next(feed).await.unwrap() {
        FeedMessage::Idle { cursor } => cursor,
        other => panic!("{other:?}"),
    }
}

/// The next block, which must be whole.
async fn block(feed: &mut Feed) -> Told {
    let commit = match next(feed).await.unwrap() {
        FeedMessage::Begin(commit) => *commit,
        other => panic!("{other:?}"),
    };
    let mut messages = Vec::new();
    loop {
        match next(feed).await.unwrap() {
            FeedMessage::Changes(changes) => {
                assert!(!changes.is_empty());
                messages.push(changes);
            }
            FeedMessage::End { cursor } => return Told { commit, messages, cursor },
            other => panic!("{other:?}"),
        }
    }
}

async fn blocks(feed: &mut Feed, count: usize) -> Vec<Told> {
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(block(feed).await);
    }
    told
}

/// The error a feed ends with.
async fn end(mut feed: Feed) -> Error {
    let error = next(&mut feed).await.unwrap_err();
    assert!(feed.next().await.is_none());
    error
}

/// Every commit of a branch, oldest first.
async fn history(graph: &Graph, branch: &str) -> Vec<CommitInfo> {
    let mut commits = graph.commits(branch, None, 10_000).await.unwrap();
    commits.reverse();
    commits
}

fn commits(told: &[Told]) -> Vec<CommitInfo> {
    told.iter().map(|t| t.commit.clone()).collect()
}

fn at(commit: &CommitInfo) -> ReadSelector {
    ReadSelector::Commit(commit.id.clone())
}

async fn shown(graph: &Graph, selector: &ReadSelector) -> Content {
    let snapshot = graph.snapshot(selector).await.unwrap();
    let mut content = Content::new();
    for ty in &snapshot.schema.types {
        let found = graph.find(&snapshot, &ty.type_ref(), None, None, 10_000).await.unwrap();
        content.extend(found.into_iter().map(|e| ((e.type_ref.clone(), e.id.clone()), e)));
    }
    content
}

/// Applies changes, checking that each fits what is there and that they come in order.
fn apply(content: &mut Content, changes: &[EntityChange]) {
    let key = |c: &EntityChange| (c.type_ref.clone(), c.id.clone());
    assert!(changes.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "out of order: {changes:?}");
    for change in changes {
        assert_eq!(content.get(&key(change)), change.before.as_ref(), "{change:?}");
        assert_ne!(change.before, change.after);
        match &change.after {
            Some(after) => content.insert(key(change), after.clone()),
            None => content.remove(&key(change)),
        };
    }
}

/// Adds a person in a commit of its own.
async fn add(graph: &Graph, branch: &str, slug: &str) -> CommitInfo {
    load(graph, branch, LoadMode::Append, &person(slug, 1)).await.unwrap().commit
}

/// Commits of every kind of write, one after the other, and a compaction among them.
async fn busy(graph: &Graph, branch: &str) {
    let p = TypeRef::node("Person");
    let people: String = ["ada", "bob", "cy", "dan"].iter().map(|slug| person(slug, 30)).collect();
    load(graph, branch, LoadMode::Append, &(people + &knows("ada", "bob") + &knows("bob", "cy"))).await.unwrap();
    load(graph, branch, LoadMode::Merge, &(person("bob", 31) + &person("eve", 5))).await.unwrap();
    let options = WriteOptions::on(branch);
    let set = BTreeMap::from([("role".to_string(), Value::String("staff".into()))]);
    let target = Target::Ids(vec!["ada".into(), "eve".into()]);
    graph.mutate(vec![Change::Update { type_ref: p.clone(), target, set }], &options).await.unwrap();
    let target = Target::Ids(vec!["bob".into()]);
    graph.mutate(vec![Change::Delete { type_ref: p, target, edges: EdgePolicy::Cascade }], &options).await.unwrap();
    graph.optimize(branch, 2).await.unwrap();
    load(graph, branch, LoadMode::Merge, &(person("bob", 31) + &person("cy", 30))).await.unwrap();
    load(graph, branch, LoadMode::Overwrite, &(person("bob", 8) + &person("cy", 30) + &person("fay", 1)))
        .await
        .unwrap();
}
