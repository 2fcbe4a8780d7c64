//! Streams that break off, and blocks put together of messages.

use std::sync::Mutex;
use std::time::Duration;

use tonic::{Code, Status};

use super::*;

fn begin(id: &str) -> FeedMessage {
    FeedMessage::Begin(Box::new(wire::Commit { id: id.into(), ..wire::Commit::default() }.into()))
}

fn end(cursor: &str) -> FeedMessage {
    FeedMessage::End { cursor: cursor.into() }
}

fn changes(n: usize) -> FeedMessage {
    let node = wire::Entity { kind: wire::EntityKind::Node.into(), ..wire::Entity::default() };
    let change = EntityChange::read(wire::Change { after: Some(node), ..wire::Change::default() }).unwrap();
    FeedMessage::Changes(vec![change; n])
}

fn down() -> Error {
    Status::new(Code::Unavailable, "down").into()
}

fn policy(max_attempts: u32) -> RetryPolicy {
    let delay = Duration::from_millis(1);
    RetryPolicy { max_attempts, first_delay: delay, max_delay: delay }
}

/// Follows a server that answers one of these streams after the other, and returns what was read and where each stream
/// was asked to start.
async fn follow(attempts: u32, answers: Vec<Vec<Result<FeedMessage>>>) -> (Vec<Result<FeedMessage>>, Vec<Start>) {
    let answers = Mutex::new(answers.into_iter());
    let starts = Mutex::new(Vec::new());
    let open = |start: Start| {
        starts.lock().unwrap().push(start);
        let next = answers.lock().unwrap().next();
        async move { next.map(|messages| stream::iter(messages).boxed()).ok_or_else(|| Error::invalid("no more")) }
    };
    let read = resuming(policy(attempts), Start::Beginning, open).collect().await;
    (read, starts.into_inner().unwrap())
}

fn told(read: &[Result<FeedMessage>]) -> Vec<&FeedMessage> {
    read.iter().filter_map(|message| message.as_ref().ok()).collect()
}

#[tokio::test]
async fn what_breaks_off_is_taken_up_after_the_last_complete_commit() {
    let (read, starts) = follow(
        3,
        vec![
            vec![Ok(begin("a")), Ok(end("1")), Ok(begin("b")), Err(down())],
            vec![Ok(begin("b")), Ok(changes(1)), Ok(end("2")), Ok(FeedMessage::Idle { cursor: "3".into() })],
        ],
    )
    .await;
    let cursor = |text: &str| Start::Cursor(text.into());
    assert_eq!(starts, [Start::Beginning, cursor("1"), cursor("3")]);
    let seen = told(&read);
    assert_eq!(seen.len(), 7);
    assert_eq!((seen[2], seen[3], seen[5]), (&begin("b"), &begin("b"), &end("2")));
    assert_eq!(read.last().unwrap().as_ref().unwrap_err().message(), "no more");
}

#[tokio::test]
async fn attempts_without_progress_are_bounded_and_progress_grants_new_ones() {
    let (read, starts) = follow(3, (0..9).map(|_| vec![Ok(begin("a")), Err(down())]).collect()).await;
    assert_eq!((starts.len(), told(&read).len()), (3, 3));
    assert_eq!(read.last().unwrap().as_ref().unwrap_err().code(), Code::Unavailable);
    let going_on = (0..9).map(|n| vec![Ok(begin("a")), Ok(end(&n.to_string())), Err(down())]).collect();
    let (_, starts) = follow(3, going_on).await;
    assert_eq!(starts.len(), 10, "every stream got further");
}

#[tokio::test]
async fn what_another_attempt_does_not_mend_ends_the_stream() {
    let refused = Status::new(Code::FailedPrecondition, "closed");
    let (read, starts) = follow(5, vec![vec![Ok(begin("a")), Err(refused.into())], vec![Ok(end("never"))]]).await;
    assert_eq!((starts.len(), read.len()), (1, 2));
    assert_eq!(read[1].as_ref().unwrap_err().code(), Code::FailedPrecondition);
}

fn blocks(messages: Vec<FeedMessage>, limit: usize) -> CommitFeed {
    let messages = stream::iter(messages.into_iter().map(Ok)).boxed();
    CommitFeed { feed: Feed { messages, cursor: None }, block: None, limit, ended: false }
}

#[tokio::test]
async fn a_commit_is_told_when_it_is_complete() {
    let idle = FeedMessage::Idle { cursor: "0".into() };
    let mut feed =
        blocks(vec![idle, begin("a"), changes(2), begin("a"), changes(1), changes(2), end("1"), begin("b")], 9);
    assert_eq!(feed.cursor(), None);
    let block = feed.try_next().await.unwrap().unwrap();
    assert_eq!((block.commit.id.as_str(), block.changes.len(), block.cursor.as_str()), ("a", 3, "1"));
    assert_eq!(feed.cursor(), Some("1"));
    assert!(feed.next().await.is_none(), "a commit without an end is none");
}

#[tokio::test]
async fn a_commit_that_is_too_large_is_refused_and_not_cut() {
    let mut feed = blocks(vec![begin("a"), changes(3), end("1"), begin("b"), changes(2), changes(2), end("2")], 3);
    assert_eq!(feed.try_next().await.unwrap().unwrap().changes.len(), 3);
    assert_eq!(feed.try_next().await.unwrap_err().code(), Code::ResourceExhausted);
    assert!(feed.next().await.is_none());
    assert_eq!(feed.cursor(), Some("1"), "the next start tells it again");
}

#[tokio::test]
async fn messages_outside_of_a_commit_break_the_contract() {
    assert_eq!(blocks(vec![end("1")], 9).try_next().await.unwrap_err().code(), Code::Internal);
    assert_eq!(blocks(vec![changes(1)], 9).try_next().await.unwrap_err().code(), Code::Internal);
}
