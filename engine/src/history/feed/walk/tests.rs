//! What a walk takes from a lineage that others move on.

use futures::TryStreamExt;

use super::*;
use crate::model::branch::MAIN;
use crate::read::fixture::Fixture;

const SCHEMA: &str = "node P { k: String @key }";

async fn add(f: &Fixture, key: &str) {
    f.add(&[format!("{{\"type\":\"P\",\"data\":{{\"k\":\"{key}\"}}}}\n")]).await;
}

async fn walk(f: &Fixture, filter: Option<DiffFilter>) -> Walk {
    let (line, view) = f.core.heads.head(MAIN).await.unwrap();
    let text = || "x".to_string();
    let scope = Scope { graph: text(), branch: MAIN.to_string(), incarnation: text(), wants: text() };
    Walk::new(f.core.clone(), line, view, scope, filter)
}

async fn ids(f: &Fixture) -> Vec<String> {
    let (line, view) = f.core.heads.head(MAIN).await.unwrap();
    let newest_first = line.with_lineage(&view, |l| l.page(None, usize::MAX)).await.unwrap();
    newest_first.iter().rev().map(|c| c.id.clone()).collect()
}

#[tokio::test]
async fn a_page_ends_at_the_head_of_its_view() {
    let f = Fixture::new(SCHEMA).await;
    add(&f, "a").await;
    add(&f, "b").await;
    let mut walk = walk(&f, None).await;
    add(&f, "c").await;
    // The lineage now holds more than the walk's view.
    let all = ids(&f).await;
    assert_eq!(all.len(), 4);
    let page = async |walk: &mut Walk, view: &View| -> Vec<String> {
        walk.page(view).await.unwrap().iter().map(|c| c.id.clone()).collect()
    };
    let (old, new) = (walk.view.clone(), f.view().await);
    assert_eq!(page(&mut walk, &old).await, all[..1]);
    for (told, known) in all[..3].iter().enumerate().map(|(i, id)| (id, &all[i + 1..])) {
        walk.told = Some(told.clone());
        assert_eq!(page(&mut walk, &old).await, known[..known.len() - 1]);
        assert_eq!(page(&mut walk, &new).await, known);
    }
    walk.told = Some("01J00000000000000000000000".into());
    assert_eq!(walk.page(&new).await.unwrap_err().reason(), Reason::DataCorrupt);
}

#[tokio::test]
async fn messages_of_a_commit_follow_each_other_and_commits_alone_read_no_state() {
    let f = Fixture::new(SCHEMA).await;
    add(&f, "a").await;
    add(&f, "b").await;
    let all = ids(&f).await;
    for filter in [None, Some(DiffFilter::default())] {
        let has_changes = filter.is_some();
        let feed = walk(&f, filter).await.messages(Start::After(all[0].clone()));
        let mut told = Vec::new();
        let mut feed = std::pin::pin!(feed);
        while told.len() < if has_changes { 6 } else { 4 } {
            told.push(match feed.try_next().await.unwrap().unwrap() {
                FeedMessage::Begin(commit) => commit.id,
                FeedMessage::Schema(steps) => panic!("{steps:?}"),
                FeedMessage::Changes(changes) => changes.iter().map(|c| c.id.as_str()).collect(),
                FeedMessage::End { cursor } => Cursor::decode(&cursor).unwrap().told,
                FeedMessage::Idle { .. } => panic!("idle"),
            });
        }
        let (one, two) = (all[1].as_str(), all[2].as_str());
        let expected = if has_changes { vec![one, "a", one, two, "b", two] } else { vec![one, one, two, two] };
        assert_eq!(told, expected);
    }
}
