//! What is told: every commit, in order, with what it changed.

use std::collections::BTreeSet;

use omnigraph_engine::limits;
use omnigraph_engine::model::DiffFilter;
use omnigraph_engine::model::commit::{OPTIMIZE, PROTECTION};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_beginning_the_changes_of_all_commits_add_up_to_every_state() {
    let g = graph("feed", SOCIAL).await.unwrap();
    busy(&g, "main").await;
    let history = history(&g, "main").await;
    assert!(history.iter().any(|c| c.operation == OPTIMIZE), "{history:?}");
    let told = blocks(&mut watch(&g, "", WatchStart::Beginning).await, history.len()).await;
    assert_eq!(commits(&told), history);
    assert!(told[0].messages.is_empty());
    let mut content = Content::new();
    for block in &told {
        apply(&mut content, &block.changes());
        assert_eq!(content, shown(&g, &at(&block.commit)).await, "{:?}", block.commit);
    }
    assert_eq!(content, shown(&g, &head("main")).await);
    let with_edges = told[4].short();
    assert_eq!((with_edges.len(), with_edges[0].as_str()), (3, "delete Person bob"));
    assert!(with_edges[1..].iter().all(|line| line.starts_with("delete Knows ")), "{with_edges:?}");
    let physical = told.iter().find(|t| t.commit.operation == OPTIMIZE).unwrap();
    assert!(physical.messages.is_empty());
    g.protect_branch("main", true, &Actor::default()).await.unwrap();
    g.protect_branch("main", false, &Actor::default()).await.unwrap();
    let start = WatchStart::Cursor(told.last().unwrap().cursor.clone());
    let protection = blocks(&mut watch(&g, "main", start).await, 2).await;
    assert!(protection.iter().all(|t| t.commit.operation == PROTECTION && t.messages.is_empty()), "{protection:?}");
    // What stayed as it was is not told, although its row was written again.
    assert_eq!(told.last().unwrap().short()[..2], ["delete Person ada", "update Person bob"]);
    assert!(!told.last().unwrap().short().iter().any(|line| line.contains("cy")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_part_that_a_branch_inherited_belongs_to_its_history() {
    let g = graph("feed", SOCIAL).await.unwrap();
    let early = add(&g, "main", "a").await;
    add(&g, "main", "b").await;
    g.create_branch("early", &at(&early), &Actor::default()).await.unwrap();
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    add(&g, "main", "elsewhere").await;
    busy(&g, "b").await;
    g.create_branch("c", &head("b"), &Actor::default()).await.unwrap();
    add(&g, "b", "elsewhere").await;
    add(&g, "c", "z").await;
    add(&g, "early", "e").await;
    for branch in ["main", "early", "b", "c"] {
        let history = history(&g, branch).await;
        let told = blocks(&mut watch(&g, branch, WatchStart::Beginning).await, history.len()).await;
        assert_eq!(commits(&told), history, "{branch}");
        let mut content = Content::new();
        told.iter().for_each(|block| apply(&mut content, &block.changes()));
        assert_eq!(content, shown(&g, &head(branch)).await, "{branch}");
    }
    // From another commit than the first, the state before may be on another line than the branch's own.
    let told = block(&mut watch(&g, "early", WatchStart::After(early.id)).await).await;
    assert_eq!(told.short(), ["insert Person e"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_wanted_is_told_of_each_commit() {
    let g = graph("feed", SOCIAL).await.unwrap();
    busy(&g, "main").await;
    let history = history(&g, "main").await;
    let everything = blocks(&mut watch(&g, "", WatchStart::Beginning).await, history.len()).await;
    let (person, knows) = (TypeRef::node("Person"), TypeRef::edge("Knows"));
    let filters = [
        DiffFilter { types: vec![knows.clone()], ..DiffFilter::default() },
        DiffFilter { types: vec![knows, person.clone()], ..DiffFilter::default() },
        DiffFilter { types: vec![TypeRef::node("Note")], ..DiffFilter::default() },
        DiffFilter { kinds: BTreeSet::from([ChangeKind::Update, ChangeKind::Delete]), ..DiffFilter::default() },
        DiffFilter { ids: BTreeSet::from(["bob".to_string(), "nobody".to_string()]), ..DiffFilter::default() },
        DiffFilter {
            types: vec![person],
            kinds: BTreeSet::from([ChangeKind::Insert]),
            ids: BTreeSet::from(["bob".to_string()]),
        },
    ];
    for filter in filters {
        let wanted =
            |c: &EntityChange| filter.wants_type(&c.type_ref) && filter.wants_kind(c.kind()) && filter.wants_id(&c.id);
        let request = WatchRequest { filter: filter.clone(), ..request("main", WatchStart::Beginning) };
        let told = blocks(&mut g.watch(&request).await.unwrap(), history.len()).await;
        assert_eq!(commits(&told), history);
        for (part, whole) in told.iter().zip(&everything) {
            let expected: Vec<EntityChange> = whole.changes().into_iter().filter(wanted).collect();
            assert_eq!(part.changes(), expected, "{filter:?} {:?}", whole.commit.id);
        }
    }
    let commits_only = WatchRequest { changes: false, ..request("main", WatchStart::Beginning) };
    let told = blocks(&mut g.watch(&commits_only).await.unwrap(), history.len()).await;
    assert_eq!(commits(&told), history);
    assert!(told.iter().all(|block| block.messages.is_empty()));
    let misspelt = DiffFilter { types: vec![TypeRef::node("Persn")], ..DiffFilter::default() };
    let error = g.watch(&WatchRequest { filter: misspelt, ..commits_only }).await.err().unwrap();
    assert_eq!(error.reason(), Reason::TypeNotFound, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_commit_comes_in_messages_of_bounded_size() {
    let g = graph("feed", SOCIAL).await.unwrap();
    let many: String = (0..2_500).map(|i| person(&format!("p{i:04}"), 1)).collect();
    load(&g, "main", LoadMode::Append, &many).await.unwrap();
    let note = |size: usize| format!("{{\"type\":\"Note\",\"data\":{{\"text\":\"{}\"}}}}\n", "x".repeat(size));
    let wide: String = [500_000, 300_000, 400_000, 3_000_000, 10, 10].map(note).concat();
    load(&g, "main", LoadMode::Append, &wide).await.unwrap();
    let told = blocks(&mut watch(&g, "main", WatchStart::Beginning).await, 3).await;
    assert_eq!(told[1].messages.iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    assert_eq!(told[2].changes().len(), 6);
    assert!(told[2].messages.len() > 1);
    for message in &told[2].messages {
        let size = |c: &EntityChange| match &c.after.as_ref().unwrap().properties["text"] {
            Value::String(text) => text.len(),
            other => panic!("{other:?}"),
        };
        let but_the_last: usize = message[..message.len() - 1].iter().map(size).sum();
        assert!(but_the_last < limits::FEED_BATCH_BYTES);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_of_many_pages_is_told_to_its_end() {
    let g = graph("feed", SOCIAL).await.unwrap();
    let many = limits::FEED_PAGE + 5;
    for i in 0..many {
        add(&g, "main", &format!("p{i}")).await;
    }
    let history = history(&g, "main").await;
    let commits_only = WatchRequest { changes: false, ..request("main", WatchStart::Beginning) };
    let mut feed = g.watch(&commits_only).await.unwrap();
    assert_eq!(commits(&blocks(&mut feed, many + 1).await), history);
    let last = add(&g, "main", "last").await;
    assert_eq!(block(&mut feed).await.commit, last);
}
