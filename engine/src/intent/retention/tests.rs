//! The marker: moved, announced in, taken back.

use super::*;
use crate::store::Stores;
use crate::store::root::Root;

#[tokio::test]
async fn the_marker_counts_every_cleanup_once() {
    let root = Root::parse("shared-memory://retention-counts/g").unwrap();
    let store = Stores::new(None).open(root).await.unwrap();
    assert_eq!(read(&store).await.unwrap(), None);
    let first = bump(&store, "A", 5, 3).await.unwrap();
    assert_eq!((first.generation, first.started_at_micros, first.cutoff_micros), (1, 5, 3));
    let (b, c) = tokio::join!(bump(&store, "B", 6, 4), bump(&store, "C", 6, 4));
    let mut generations = [b.unwrap().generation, c.unwrap().generation];
    generations.sort_unstable();
    assert_eq!(generations, [2, 3]);
    assert_eq!(read(&store).await.unwrap().unwrap().generation, 3);
}

#[tokio::test]
async fn a_damaged_marker_is_reported_and_left_alone() {
    let root = Root::parse("shared-memory://retention-damaged/g").unwrap();
    let store = Stores::new(None).open(root).await.unwrap();
    store.log().create_if_absent(paths::RETENTION, "{".into()).await.unwrap();
    for error in [read(&store).await.unwrap_err(), bump(&store, "A", 1, 1).await.unwrap_err()] {
        assert_eq!(error.reason(), Reason::DataCorrupt);
        assert!(error.message().contains(paths::RETENTION));
    }
    assert_eq!(store.log().read(paths::RETENTION).await.unwrap().unwrap().bytes, "{");
}

fn going(line: Option<&str>, versions: &[(u64, u64)]) -> Vec<GoingLine> {
    vec![GoingLine { lance_branch: line.map(ToString::to_string), versions: versions.to_vec() }]
}

async fn removing(store: &Store) -> Vec<(String, bool)> {
    let doc = read(store).await.unwrap().unwrap();
    doc.removing.into_iter().map(|removing| (removing.operation_id, removing.begun)).collect()
}

#[tokio::test]
async fn what_is_announced_is_not_kept_until_it_is_taken_back_forgotten_or_over() {
    let root = Root::parse("shared-memory://retention-announced/g").unwrap();
    let store = Stores::new(None).open(root).await.unwrap();
    let late = i64::try_from(limits::ANNOUNCEMENT.as_micros()).unwrap() + 1;
    assert!(keeps(&store, None, 3, 0).await.unwrap());
    bump(&store, "A", 0, 0).await.unwrap();
    announce(&store, "A", 0, going(Some("b"), &[(1, 2), (4, 4)])).await.unwrap();
    assert!(!keeps(&store, Some("b"), 4, late - 1).await.unwrap());
    assert_eq!(removing(&store).await, [("A".to_string(), false)]);
    take_back(&store, "A").await.unwrap();
    assert_eq!(removing(&store).await, []);
    assert_eq!(begin(&store, "A").await.unwrap_err().reason(), Reason::TooMuchContention);
    // Whoever meets one that is too old takes it back; what has begun stays.
    announce(&store, "B", 0, going(None, &[(1, 9)])).await.unwrap();
    announce(&store, "C", 0, going(None, &[(3, 3)])).await.unwrap();
    begin(&store, "C").await.unwrap();
    bump(&store, "D", 5, 5).await.unwrap();
    assert!(!keeps(&store, None, 4, late).await.unwrap());
    assert_eq!(removing(&store).await, [("C".to_string(), true)]);
    assert_eq!(begin(&store, "B").await.unwrap_err().reason(), Reason::TooMuchContention);
    assert!(!keeps(&store, None, 3, late).await.unwrap());
    finish(&store, |line| line.versions == [(3, 3)]).await.unwrap();
    assert_eq!(removing(&store).await, [("C".to_string(), true)]);
    finish(&store, |_| false).await.unwrap();
    assert_eq!(removing(&store).await, []);
}

#[tokio::test]
async fn the_cleanups_that_are_not_over_are_bounded() {
    let root = Root::parse("shared-memory://retention-bounded/g").unwrap();
    let store = Stores::new(None).open(root).await.unwrap();
    bump(&store, "A", 0, 0).await.unwrap();
    for n in 0..limits::MAX_REMOVALS {
        announce(&store, &n.to_string(), 0, going(None, &[(1, 1)])).await.unwrap();
    }
    let refused = announce(&store, "one more", 0, Vec::new()).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::LimitExceeded);
    let late = i64::try_from(limits::ANNOUNCEMENT.as_micros()).unwrap() + 1;
    announce(&store, "one more", late, Vec::new()).await.unwrap();
    assert_eq!(removing(&store).await, [("one more".to_string(), false)]);
}
