//! Following a branch: every commit as it is published, resumed where it broke off.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::watch_commits_request::Start as WireStart;
use omnigraph_proto::v1::watch_commits_response::Part;

use crate::changes::{EntityChange, Wanted, choose_changes};
use crate::client::Graph;
use crate::commits::Commit;
use crate::error::{Error, Result};
use crate::retry::{Resumption, RetryPolicy};
use crate::step::SchemaStep;

/// Changes of one commit that [`CommitFeed`] keeps in memory. A larger commit is for [`Watch::messages`].
const MAX_BLOCK_CHANGES: usize = 100_000;

/// One message to a follower. Those of one commit follow each other: its begin, its changes, its end. A begin that
/// comes without the end of the commit before means that the connection broke off: that commit is told again.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedMessage {
    /// A commit begins.
    Begin(Box<Commit>),
    /// How it changed the schema. What went with a type or a property is not told entity by entity.
    Schema(Vec<SchemaStep>),
    /// Some of its changes, nodes before edges, by type and id.
    Changes(Vec<EntityChange>),
    /// The commit is complete.
    End {
        /// Resumes after it: at any server, at any time, with the same filter and choice of changes.
        cursor: String,
    },
    /// Nothing new for a while.
    Idle {
        /// Resumes here.
        cursor: String,
    },
}

impl FeedMessage {
    fn read(answer: wire::WatchCommitsResponse) -> Result<Self> {
        Ok(match answer.part {
            Some(Part::Begin(commit)) => Self::Begin(Box::new(commit.into())),
            Some(Part::Changes(batch)) => {
                Self::Changes(batch.changes.into_iter().map(EntityChange::read).collect::<Result<_>>()?)
            }
            Some(Part::Schema(steps)) => Self::Schema(steps.changes.into_iter().map(SchemaStep::from).collect()),
            Some(Part::End(position)) => Self::End { cursor: position.cursor },
            Some(Part::Idle(position)) => Self::Idle { cursor: position.cursor },
            None => return Err(Error::malformed("a follower is told nothing")),
        })
    }

    /// Where to resume after this message; `None` in the middle of a commit.
    pub fn cursor(&self) -> Option<&str> {
        match self {
            Self::End { cursor } | Self::Idle { cursor } => Some(cursor),
            Self::Begin(_) | Self::Schema(_) | Self::Changes(_) => None,
        }
    }
}

/// A complete commit with its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitBlock {
    /// The commit.
    pub commit: Commit,
    /// How it changed the schema; empty if only commits were asked for.
    pub schema: Vec<SchemaStep>,
    /// What it changed, as far as it was wanted; empty if only commits were asked for.
    pub changes: Vec<EntityChange>,
    /// Resumes after it: at any server, at any time, with the same filter and choice of changes.
    pub cursor: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    Now,
    Beginning,
    After(String),
    Cursor(String),
}

/// A question for the commits of a branch, from [`Graph::watch`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `commits` or `messages`"]
pub struct Watch {
    graph: Graph,
    branch: String,
    start: Start,
    wanted: Wanted,
    with_changes: bool,
}

impl Watch {
    choose_changes!();

    /// Starts with the first commit of the branch's history. Without a choice it is the next one.
    pub fn from_beginning(mut self) -> Self {
        self.start = Start::Beginning;
        self
    }

    /// Starts after this commit, which has to be on the branch's own chain of first parents.
    pub fn after(mut self, commit: impl Into<String>) -> Self {
        self.start = Start::After(commit.into());
        self
    }

    /// Starts after the message or commit that carried this cursor. The filter and the choice of changes have to be the
    /// same.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.start = Start::Cursor(cursor.into());
        self
    }

    /// Asks for the changes of each commit, too.
    pub fn with_changes(mut self) -> Self {
        self.with_changes = true;
        self
    }

    /// Follows, message by message. Whenever the connection breaks off or the server goes away, it is taken up again
    /// after the last cursor, as often without progress and after such pauses as the client's [`RetryPolicy`] says.
    /// Nothing is asked before the stream is read; dropping it stops the work.
    ///
    /// # Errors
    /// In the stream, which ends then: `BRANCH_NOT_FOUND`; `BRANCH_CLOSED` once the branch is deleted;
    /// `INVALID_PAGE_TOKEN` for a cursor of another graph, branch incarnation, filter or choice of changes;
    /// `HISTORY_GAP` if commits in between are no longer kept: export the branch at a commit, and start after that.
    pub fn messages(self) -> Feed {
        let cursor = match &self.start {
            Start::Cursor(cursor) => Some(cursor.clone()),
            _ => None,
        };
        let begun = async move {
            let start = self.fixed_start().await?;
            let policy = self.graph.core.settings.retry;
            Ok::<_, Error>(resuming(policy, start, move |start| self.clone().open(start)))
        };
        Feed { messages: stream::once(begun).try_flatten().boxed(), cursor }
    }

    /// Follows, commit by commit, each complete. See [`Watch::messages`], which a commit of more than 100,000 wanted
    /// changes needs.
    ///
    /// # Errors
    /// As [`Watch::messages`]; `RESOURCE_EXHAUSTED` of the client itself for a commit that is too large.
    pub fn commits(self) -> CommitFeed {
        CommitFeed { feed: self.messages(), block: None, limit: MAX_BLOCK_CHANGES, ended: false }
    }

    /// The start, where now is the head of this moment, so that nothing is missed if the first connection breaks off.
    async fn fixed_start(&self) -> Result<Start> {
        Ok(match &self.start {
            Start::Now => Start::After(self.graph.branch(&self.branch).await?.head.id),
            start => start.clone(),
        })
    }

    async fn open(self, start: Start) -> Result<BoxStream<'static, Result<FeedMessage>>> {
        let ask = wire::WatchCommitsRequest {
            graph: self.graph.id,
            branch: self.branch,
            start: Some(match start {
                Start::Now => WireStart::Now(()),
                Start::Beginning => WireStart::Beginning(()),
                Start::After(commit) => WireStart::AfterCommitId(commit),
                Start::Cursor(cursor) => WireStart::Cursor(cursor),
            }),
            filter: Some(self.wanted.into_wire()),
            with_changes: self.with_changes,
        };
        let core = self.graph.core;
        let call = |ask| {
            let mut stub = core.commit();
            async move { stub.watch_commits(ask).await }
        };
        let answers = core.streaming(ask, call).await?;
        Ok(answers.map(|answer| FeedMessage::read(answer.map_err(Error::from_status)?)).boxed())
    }
}

/// A stream that is opened again where it was when it breaks off.
struct Resuming<Open> {
    open: Open,
    messages: Option<BoxStream<'static, Result<FeedMessage>>>,
    start: Start,
    resumption: Resumption,
}

/// Opens a stream, and again after its last cursor whenever it breaks off. Ends after the first error that another
/// attempt does not mend.
fn resuming<Open, Fut>(policy: RetryPolicy, start: Start, open: Open) -> impl Stream<Item = Result<FeedMessage>>
where
    Open: Fn(Start) -> Fut,
    Fut: Future<Output = Result<BoxStream<'static, Result<FeedMessage>>>>,
{
    let state = Resuming { open, messages: None, start, resumption: Resumption::new(policy) };
    stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        match state.next().await {
            Ok(message) => Some((Ok(message), Some(state))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl<Open, Fut> Resuming<Open>
where
    Open: Fn(Start) -> Fut,
    Fut: Future<Output = Result<BoxStream<'static, Result<FeedMessage>>>>,
{
    async fn next(&mut self) -> Result<FeedMessage> {
        loop {
            let messages = match &mut self.messages {
                Some(messages) => messages,
                none => none.insert((self.open)(self.start.clone()).await?),
            };
            let error = match messages.next().await {
                Some(Ok(message)) => {
                    if let Some(cursor) = message.cursor() {
                        self.start = Start::Cursor(cursor.to_string());
                        self.resumption.progress();
                    }
                    return Ok(message);
                }
                Some(Err(error)) => error,
                None => Error::broken_off("the server ended a stream that goes on for ever"),
            };
            self.messages = None;
            let Some(pause) = self.resumption.after(&error) else {
                return Err(error);
            };
            tracing::debug!(error = %error, pause_ms = pause.as_millis() as u64, "resuming a watch");
            tokio::time::sleep(pause).await;
        }
    }
}

/// Messages to a follower as they arrive, from [`Watch::messages`]. Ends after the first error.
pub struct Feed {
    messages: BoxStream<'static, Result<FeedMessage>>,
    cursor: Option<String>,
}

impl Feed {
    /// Resumes after the last complete commit that was read. `None` before there is one, unless the feed was started
    /// with a cursor.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

impl Stream for Feed {
    type Item = Result<FeedMessage>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let message = ready!(self.messages.poll_next_unpin(cx));
        if let Some(cursor) = message.as_ref().and_then(|message| message.as_ref().ok()?.cursor()) {
            self.cursor = Some(cursor.to_string());
        }
        Poll::Ready(message)
    }
}

/// Complete commits as they arrive, from [`Watch::commits`]. Ends after the first error.
pub struct CommitFeed {
    feed: Feed,
    block: Option<(Box<Commit>, Vec<SchemaStep>, Vec<EntityChange>)>,
    limit: usize,
    ended: bool,
}

impl CommitFeed {
    /// Resumes after the last commit that was read; see [`Feed::cursor`].
    pub fn cursor(&self) -> Option<&str> {
        self.feed.cursor()
    }

    /// Takes a message in, and answers the commit that it completes.
    fn take(&mut self, message: FeedMessage) -> Result<Option<CommitBlock>> {
        match message {
            // What there was of the commit before is told again.
            FeedMessage::Begin(commit) => self.block = Some((commit, Vec::new(), Vec::new())),
            FeedMessage::Schema(steps) => {
                let (_, schema, _) = self.block.as_mut().ok_or_else(|| Error::malformed(OUTSIDE))?;
                schema.extend(steps);
            }
            FeedMessage::Changes(more) => {
                let (commit, _, changes) = self.block.as_mut().ok_or_else(|| Error::malformed(OUTSIDE))?;
                if changes.len() + more.len() > self.limit {
                    return Err(Error::too_large(format!(
                        "commit {} has more than {} wanted changes; read its messages one by one",
                        commit.id, self.limit
                    )));
                }
                changes.extend(more);
            }
            FeedMessage::End { cursor } => {
                let (commit, schema, changes) = self.block.take().ok_or_else(|| Error::malformed(OUTSIDE))?;
                return Ok(Some(CommitBlock { commit: *commit, schema, changes, cursor }));
            }
            FeedMessage::Idle { .. } => {}
        }
        Ok(None)
    }
}

const OUTSIDE: &str = "a follower is told of a commit that did not begin";

impl Stream for CommitFeed {
    type Item = Result<CommitBlock>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            let taken = match ready!(self.feed.poll_next_unpin(cx)) {
                Some(message) => message.and_then(|message| CommitFeed::take(&mut self, message)),
                None => {
                    self.ended = true;
                    continue;
                }
            };
            match taken {
                Ok(None) => {}
                Ok(Some(block)) => return Poll::Ready(Some(Ok(block))),
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl Graph {
    /// Asks to follow a branch (empty: main): every commit of its chain of first parents, by whatever server it was
    /// made, oldest first and without gaps, each at least once. Keep the cursor together with what was made of the
    /// commit, and start from it the next time.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, known: String) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut commits = graph.watch("main").cursor(known).with_changes().of_type("Person").commits();
    /// while let Some(block) = commits.try_next().await? {
    ///     println!("{}: {} changes, next from {}", block.commit.id, block.changes.len(), block.cursor);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(&self, branch: impl Into<String>) -> Watch {
        Watch {
            graph: self.clone(),
            branch: branch.into(),
            start: Start::Now,
            wanted: Wanted::default(),
            with_changes: false,
        }
    }
}

#[cfg(test)]
mod tests;
