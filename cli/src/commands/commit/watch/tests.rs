//! Where following starts, and how messages become lines.

use super::*;
use omnigraph_engine::model::{Actor, Entity, TypeRef};

#[test]
fn the_start_is_a_word() {
    for (word, expected) in [
        ("now", WatchStart::Now),
        ("beginning", WatchStart::Beginning),
        ("01J9", WatchStart::After("01J9".into())),
        ("commit:01J9", WatchStart::After("01J9".into())),
        ("cursor:a:b=", WatchStart::Cursor("a:b=".into())),
    ] {
        assert_eq!(start(word).unwrap(), expected, "{word}");
    }
    for wrong in ["", "cursor:", "commit:"] {
        assert!(start(wrong).is_err(), "{wrong:?}");
    }
}

fn begin(id: &str) -> FeedMessage {
    FeedMessage::Begin(Box::new(CommitInfo {
        id: id.into(),
        parents: Vec::new(),
        branch: "main".into(),
        actor: Actor::default(),
        created_at: 0,
        message: String::new(),
        request_id: String::new(),
        operation: "load".into(),
        counts: Vec::new(),
        manifest_version: 1,
        lance_branch: None,
        merge: None,
        imported: None,
    }))
}

fn changes(n: usize) -> FeedMessage {
    let change = |n: usize| {
        let id = n.to_string();
        let entity =
            Entity { type_ref: TypeRef::node("A"), id: id.clone(), endpoints: None, properties: Default::default() };
        EntityChange { type_ref: TypeRef::node("A"), id, before: None, after: Some(entity), changed: Vec::new() }
    };
    FeedMessage::Changes((0..n).map(change).collect())
}

fn end(cursor: &str) -> FeedMessage {
    FeedMessage::End { cursor: cursor.into() }
}

/// Of each line the commit, the number of changes and the cursor.
fn lines(changes_wanted: bool, messages: Vec<FeedMessage>) -> Vec<(String, Option<usize>, Option<String>)> {
    let schema = Arc::new(omnigraph_engine::schema::parse("node A {}").unwrap());
    let mut lines = Lines { commit: None, changes: changes_wanted.then(VecDeque::new), steps: Vec::new(), schema };
    let told = messages.into_iter().flat_map(|message| lines.take(message));
    told.map(|line| {
        let text = |json: &serde_json::Value| json.as_str().map(ToString::to_string);
        let changes = line.get("changes").map(|changes| changes.as_array().unwrap().len());
        (text(&line["commit"]["id"]).unwrap(), changes, text(&line["cursor"]))
    })
    .collect()
}

fn cursor(text: &str) -> Option<String> {
    Some(text.into())
}

#[test]
fn a_commit_is_one_line_with_its_cursor() {
    let idle = FeedMessage::Idle { cursor: "0".into() };
    let told = lines(true, vec![idle, begin("a"), changes(2), changes(3), end("1"), begin("b"), end("2")]);
    assert_eq!(told, [("a".into(), Some(5), cursor("1")), ("b".into(), Some(0), cursor("2"))]);
    assert_eq!(lines(false, vec![begin("a"), end("1")]), [("a".into(), None, cursor("1"))]);
}

#[test]
fn a_large_commit_is_several_lines_and_the_last_has_the_cursor() {
    let told = lines(true, vec![begin("a"), changes(900), changes(900), changes(700), end("1")]);
    let of = |n, cursor| ("a".to_string(), Some(n), cursor);
    assert_eq!(told, [of(1000, None), of(1000, None), of(500, cursor("1"))]);
    let exact = lines(true, vec![begin("a"), changes(1000), end("1")]);
    assert_eq!(exact, [of(1000, cursor("1"))]);
}

#[test]
fn a_commit_that_begins_again_has_its_changes_once() {
    let told = lines(true, vec![begin("a"), changes(3), begin("a"), changes(3), end("1")]);
    assert_eq!(told, [("a".into(), Some(3), cursor("1"))]);
}

#[test]
fn people_see_a_commit_as_it_arrives() {
    let schema = Arc::new(omnigraph_engine::schema::parse("node A {}").unwrap());
    let teller = Teller::new(false, true, schema);
    let text: String = [begin("C"), changes(1), end("1")].iter().map(|message| teller.text(message)).collect();
    assert_eq!(text, "commit C\n1970-01-01T00:00:00Z, load by anonymous\n+ node:A/0\n\n");
}
