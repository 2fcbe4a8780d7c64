//! When leases are written, what they say, and who counts.
//!
//! Most tests move the keeper by hand: it waits for a clock that never lets it go on.

use std::sync::atomic::{AtomicI64, Ordering};

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use serde_json::json;

use super::*;
use crate::failpoint::FaultPlan;
use crate::format::snapshot_json::SnapshotDoc;
use crate::intent::LiveOperations;
use crate::manifest::BranchIdentity;
use crate::model::TypeRef;
use crate::model::branch::MAIN;
use crate::read::export::export;
use crate::read::fixture::Fixture;
use crate::read::scan::{ScanRequest, scan};
use crate::store::Stores;
use crate::store::root::Root;
use crate::txn::Core;

const LEASE: i64 = 30_000_000;

#[derive(Debug, Default)]
struct Still(AtomicI64);

impl Clock for Still {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn pace(&self, _: Duration) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

/// One process, moved by hand.
struct Process {
    readers: Readers,
    clock: Arc<Still>,
    plan: Arc<FaultPlan>,
    store: Store,
}

impl Process {
    async fn new(root: &str, id: &str, read_only: bool) -> Self {
        let plan = FaultPlan::counting();
        let root = Root::parse(&format!("shared-memory://readers-{root}/g")).unwrap();
        let store = Stores::new(Some(plan.clone())).open(root).await.unwrap();
        let clock = Arc::new(Still::default());
        let options = EngineOptions { clock: clock.clone(), ..EngineOptions::default() };
        // A renewal is due in every second round.
        let pace = Pace { after: Duration::from_secs(5), lease: Duration::from_secs(30) };
        let readers = Readers::paced(store.clone(), &options, &process::this(id), read_only, pace);
        Self { readers, clock, plan, store }
    }

    fn mark(&self) -> u64 {
        self.readers.0.mark()
    }

    /// The keeper looks as it does a pause after it took `mark`.
    async fn round(&self, mark: u64) -> bool {
        self.readers.0.round(mark).await
    }

    /// The keeper looks at what is held for long by now.
    async fn look(&self) -> bool {
        self.round(self.mark()).await
    }

    fn requests(&self) -> u64 {
        self.plan.requests().total()
    }

    /// The documents there are.
    async fn leases(&self) -> Vec<(String, ReaderDoc)> {
        list(&self.store).await.unwrap()
    }

    /// The versions others see held at a time.
    async fn seen(&self, now: i64) -> Vec<u64> {
        held_by_others(&self.store, now).await.unwrap().iter().map(|s| s.manifest_version).collect()
    }
}

fn at(version: u64) -> Snapshot {
    let doc = SnapshotDoc::new("C".into(), Vec::new(), Vec::new());
    Snapshot::from_doc(BranchIdentity::main(), version, doc).unwrap()
}

#[tokio::test]
async fn short_reads_write_nothing_however_many_there_are() {
    let p = Process::new("short", "E", false).await;
    let mut held = p.readers.hold(&at(1));
    for version in 2..6 {
        let mark = p.mark();
        // There is always one, but none that was there a pause before.
        held = {
            let next = p.readers.hold(&at(version));
            drop(held);
            next
        };
        assert!(!p.round(mark).await);
    }
    drop(held);
    assert!(p.look().await, "nothing is held, so nobody has to look again");
    assert_eq!(p.requests(), 0);
}

#[tokio::test]
async fn a_long_read_gets_a_lease_that_follows_what_is_held_and_goes_away() {
    let p = Process::new("long", "E", false).await;
    let (first, mark) = (p.readers.hold(&at(1)), p.mark());
    let short = p.readers.hold(&at(2));
    assert!(!p.round(mark).await);
    let leases = p.leases().await;
    assert_eq!((leases.len(), leases[0].1.lease_until_micros), (1, LEASE));
    assert_eq!((leases[0].1.reader.id.as_str(), leases[0].1.reader.pid), ("E", std::process::id()));
    // It says what else is held as well.
    assert_eq!(p.seen(0).await, [1, 2]);
    drop(short);
    p.clock.0.store(10_000_000, Ordering::SeqCst);
    let before = p.requests();
    assert!(!p.look().await);
    assert_eq!(p.requests(), before, "it is young enough");
    assert!(!p.look().await);
    let leases = p.leases().await;
    assert_eq!((leases.len(), leases[0].1.lease_until_micros), (1, 10_000_000 + LEASE));
    assert_eq!(p.seen(0).await, [1]);
    // Another one that is long by now does not wait for the next renewal.
    let second = p.readers.hold(&at(3));
    assert!(!p.look().await);
    assert_eq!(p.seen(0).await, [1, 3]);
    drop((first, second));
    assert!(p.look().await);
    assert!(p.leases().await.is_empty());
}

#[tokio::test]
async fn a_lease_is_dropped_once_only_short_reads_are_left() {
    let p = Process::new("rest", "E", false).await;
    let long = p.readers.hold(&at(1));
    assert!(!p.look().await);
    assert_eq!(p.leases().await.len(), 1);
    drop(long);
    let mark = p.mark();
    let _short = p.readers.hold(&at(2));
    assert!(!p.round(mark).await, "something is held");
    assert!(p.leases().await.is_empty());
}

#[tokio::test]
async fn a_pin_is_there_at_once_and_the_next_ones_of_the_state_cost_nothing() {
    let p = Process::new("pin", "E", false).await;
    let other = Process::new("pin", "F", false).await;
    let first = p.readers.pin(&at(1)).await.unwrap();
    assert_eq!(p.seen(0).await, [1]);
    let before = p.requests();
    let second = p.readers.pin(&at(1)).await.unwrap();
    assert_eq!(p.requests(), before);
    // Another state is added to the one document; another process has its own.
    let third = p.readers.pin(&at(2)).await.unwrap();
    let _theirs = other.readers.pin(&at(2)).await.unwrap();
    let theirs = other.readers.pin(&at(3)).await.unwrap();
    assert_eq!(p.leases().await.len(), 2);
    assert_eq!(p.seen(0).await, [1, 2, 3]);
    drop((first, third, theirs));
    // Once the lease is over a pin is not taken for granted any more.
    p.clock.0.store(LEASE, Ordering::SeqCst);
    let before = p.requests();
    let again = p.readers.pin(&at(1)).await.unwrap();
    assert!(p.requests() > before);
    drop((second, again));
    assert!(p.look().await);
    assert_eq!(p.leases().await.len(), 1);
}

#[tokio::test]
async fn a_lease_that_a_cleanup_took_away_comes_back() {
    let p = Process::new("back", "E", false).await;
    let _held = p.readers.hold(&at(1));
    p.look().await;
    let first = p.leases().await[0].0.clone();
    p.store.log().delete(&first).await.unwrap();
    p.look().await;
    p.look().await;
    let leases = p.leases().await;
    assert_eq!(leases.len(), 1);
    assert_ne!(leases[0].0, first);
}

#[tokio::test]
async fn a_store_that_fails_ends_no_read_but_refuses_a_pin() {
    let p = Process::new("fails", "E", false).await;
    let held = p.readers.hold(&at(1));
    p.plan.fail_once_at(0, false);
    assert!(!p.look().await);
    assert!(p.leases().await.is_empty());
    assert!(!p.look().await);
    assert_eq!(p.seen(0).await, [1]);
    drop(held);
    assert!(p.look().await);
    assert!(p.leases().await.is_empty());
    let p = Process::new("fails", "F", false).await;
    p.plan.die_at(0, false);
    assert_eq!(p.readers.pin(&at(2)).await.unwrap_err().reason(), Reason::StoreUnavailable);
    assert!(p.readers.0.held().holds.is_empty(), "what failed is held no longer");
}

#[tokio::test]
async fn a_read_only_graph_writes_nothing() {
    let p = Process::new("read-only", "E", true).await;
    let _held = p.readers.hold(&at(1));
    let _pinned = p.readers.pin(&at(2)).await.unwrap();
    assert!(p.look().await);
    assert_eq!(p.requests(), 0);
}

#[tokio::test]
async fn leases_that_are_over_or_whose_process_is_gone_do_not_count() {
    let p = Process::new("gone", "E", false).await;
    let me = process::this("E");
    let write = |id: &str, version: u64, until: i64, started: u64, host: &str| {
        let (file, log) = (paths::reader(id), p.store.log().clone());
        let doc = ReaderDoc {
            format: ReaderDoc::FORMAT,
            reader: ProcessDoc { id: id.into(), host: host.into(), pid: me.pid, started },
            lease_until_micros: until,
            held: vec![state_of(&at(version))],
        };
        async move { log.create_if_absent(&file, reader_json::encode(&doc).unwrap()).await.unwrap() }
    };
    write("running", 1, 100, me.started, &me.host).await;
    write("elsewhere", 2, 100, me.started + 1, "elsewhere").await;
    write("over", 3, 100 - LEASE, me.started, &me.host).await;
    write("twice", 1, 50, me.started, &me.host).await;
    assert_eq!(p.seen(99).await, [1, 2, 3]);
    assert_eq!(p.seen(100).await, [1, 2]);
    let mut expired = 1;
    // Where there is no process table, only the time tells.
    if me.started > 0 && !me.host.is_empty() {
        write("dead", 4, 100, me.started + 1, &me.host).await;
        assert_eq!(p.seen(100).await, [1, 2]);
        expired += 1;
    }
    assert_eq!(remove_expired(&p.store, 100).await.unwrap(), expired);
    let left: Vec<String> = p.leases().await.into_iter().map(|l| l.1.reader.id).collect();
    assert_eq!(left, ["elsewhere", "running", "twice"]);
    assert_eq!(p.seen(100 + LEASE).await, Vec::<u64>::new());
}

#[tokio::test]
async fn an_unreadable_lease_is_refused_by_name() {
    let p = Process::new("unreadable", "E", false).await;
    let file = paths::reader("X");
    p.store.log().create_if_absent(&file, "no lease at all".into()).await.unwrap();
    for error in [held_by_others(&p.store, 0).await.unwrap_err(), remove_expired(&p.store, 0).await.unwrap_err()] {
        assert_eq!(error.reason(), Reason::DataCorrupt);
        assert!(error.message().contains(&file), "{error}");
    }
    assert!(p.store.log().read(&file).await.unwrap().is_some());
}

#[tokio::test]
async fn the_keeper_writes_renews_removes_and_ends() {
    const AFTER: Duration = Duration::from_millis(20);
    let root = Root::parse("shared-memory://readers-keeper/g").unwrap();
    let store = Stores::new(None).open(root).await.unwrap();
    let clock = crate::clock::ManualClock::at(1_000);
    let options = EngineOptions { clock: clock.clone(), ..EngineOptions::default() };
    let pace = Pace { after: AFTER, lease: AFTER * 6 };
    let readers = Readers::paced(store.clone(), &options, &process::this("E"), false, pace);
    let until = || async {
        let leases = list(&store).await.unwrap();
        leases.first().map(|l| l.1.lease_until_micros)
    };
    for _ in 0..2 {
        let held = readers.hold(&at(1));
        while until().await.is_none() {
            tokio::time::sleep(AFTER / 4).await;
        }
        let first = until().await;
        clock.advance(1);
        while until().await == first {
            tokio::time::sleep(AFTER / 4).await;
        }
        drop(held);
        while until().await.is_some() || readers.0.held().keeper.is_some() {
            tokio::time::sleep(AFTER / 4).await;
        }
    }
}

/// A graph of two commits, the state before the newest, and another process on it, whose keeper stands still.
async fn history() -> (Fixture, Snapshot, Arc<Core>) {
    let fixture = Fixture::new("node P { k: String @key }").await;
    let row = |k: &str| format!("{}\n", json!({"type": "P", "data": {"k": k}}));
    fixture.add(&[row("a")]).await;
    let old = fixture.snapshot().await;
    fixture.add(&[row("b")]).await;
    let store = fixture.core.store.clone();
    let options = EngineOptions { clock: Arc::new(Still::default()), ..EngineOptions::default() };
    let other = Core::new(store, options, LiveOperations::default(), "F", false);
    (fixture, old, other)
}

/// What a cleanup does to one state: the marker, then the version of the manifest.
async fn clean_up(core: &Core, snapshot: &Snapshot) {
    retention::bump(&core.store, "O", 1, 1).await.unwrap();
    let manifest = format!("{}/_versions/{:020}.manifest", paths::MANIFEST, u64::MAX - snapshot.version);
    assert!(core.store.log().read(&manifest).await.unwrap().is_some(), "{manifest}");
    core.store.log().delete(&manifest).await.unwrap();
}

async fn held(core: &Core) -> Vec<u64> {
    held_by_others(&core.store, core.now()).await.unwrap().iter().map(|s| s.manifest_version).collect()
}

#[tokio::test]
async fn a_pin_after_a_cleanup_tells_what_is_gone_from_what_is_kept() {
    let (fixture, old, other) = history().await;
    let before = fixture.core.readers.pin(&old).await.unwrap();
    clean_up(&fixture.core, &old).await;
    let gone = other.readers.pin(&old).await.unwrap_err();
    assert_eq!(gone.reason(), Reason::CommitNotFound);
    assert!(gone.message().contains(old.head()));
    let kept = fixture.snapshot().await;
    let _held = other.readers.pin(&kept).await.unwrap();
    drop(before);
}

#[tokio::test]
async fn scans_and_exports_of_old_states_are_known_while_they_last_and_of_heads_are_not() {
    let (_, old, core) = history().await;
    let core = &core;
    let head = core.heads.head(MAIN).await.unwrap().1.snapshot.as_ref().clone();
    let request = ScanRequest {
        type_ref: TypeRef::node("P"),
        columns: Vec::new(),
        predicate: None,
        order: Vec::new(),
        limit: None,
    };
    let rows = scan(core, &head, &request, None).await.unwrap();
    let mut text = export(core.clone(), head.clone());
    assert!(text.try_next().await.unwrap().is_some());
    assert!(held(core).await.is_empty());
    assert_eq!(core.readers.0.states(0).0.into_iter().collect::<Vec<_>>(), [state_of(&head)]);
    drop((rows, text));
    let nothing = ScanRequest { limit: Some(0), ..request.clone() };
    let _none = scan(core, &old, &nothing, None).await.unwrap();
    assert!(held(core).await.is_empty());
    let mut rows = scan(core, &old, &request, None).await.unwrap();
    assert_eq!(held(core).await, [old.version]);
    assert_eq!(rows.batches.next().await.unwrap().unwrap().num_rows(), 1);
    let mut text = export(core.clone(), old.clone());
    assert!(text.try_next().await.unwrap().is_some());
    assert_eq!(core.readers.0.held().holds.len(), 2);
    drop((rows, text));
    assert!(core.readers.0.held().holds.is_empty());
    // A state that is gone is told before the first byte.
    let mut late = export(core.clone(), old.clone());
    core.readers.0.round(0).await;
    clean_up(core, &old).await;
    assert_eq!(late.try_next().await.unwrap_err().reason(), Reason::CommitNotFound);
    assert_eq!(scan(core, &old, &request, None).await.err().unwrap().reason(), Reason::CommitNotFound);
}
