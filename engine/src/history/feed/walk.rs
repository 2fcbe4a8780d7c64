//! Walking a branch's chain of first parents, oldest first, and waiting at its head.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use futures::stream::BoxStream;
use tokio::sync::watch;

use super::block::Block;
use super::cursor::{Cursor, Scope};
use super::end;
use crate::error::{Error, Kind, Reason, Result};
use crate::id;
use crate::limits;
use crate::manifest::heads::Line;
use crate::manifest::{Snapshot, View};
use crate::model::{CommitInfo, DiffFilter, FeedMessage};
use crate::read::snapshot;
use crate::txn::Core;

/// Where a walk begins.
pub(super) enum Start {
    /// With the first commit.
    First,
    /// After a commit.
    After(String),
    /// After a commit of which the follower does not know: it is told so first.
    At(String),
}

/// One follower. Does nothing until it is polled, and keeps no more than the page and the block it is in.
pub(super) struct Walk {
    core: Arc<Core>,
    line: Arc<Line>,
    scope: Scope,
    /// What is wanted of the changes; `None` if only the commits are.
    filter: Option<DiffFilter>,
    /// The newest version known.
    view: View,
    moved: watch::Receiver<u64>,
    /// The last commit that was told whole, and its state if it is at hand.
    told: Option<String>,
    state: Option<Arc<Snapshot>>,
    greets: bool,
    next: VecDeque<Arc<CommitInfo>>,
    block: Option<Block>,
    /// The commits whose states the block compares.
    compared: Vec<Arc<CommitInfo>>,
}

impl Walk {
    pub fn new(core: Arc<Core>, line: Arc<Line>, view: View, scope: Scope, filter: Option<DiffFilter>) -> Self {
        Self {
            core,
            moved: line.moves(),
            line,
            scope,
            filter,
            view,
            told: None,
            state: None,
            greets: false,
            next: VecDeque::new(),
            block: None,
            compared: Vec::new(),
        }
    }

    /// The messages from there on. They end only with an error.
    pub fn messages(mut self, start: Start) -> BoxStream<'static, Result<FeedMessage>> {
        self.greets = matches!(start, Start::At(_));
        self.told = match start {
            Start::First => None,
            Start::After(commit) | Start::At(commit) => Some(commit),
        };
        let messages = futures::stream::try_unfold(self, |mut walk| async move {
            let message = walk.message().await?;
            Ok(Some((message, walk)))
        });
        messages.boxed()
    }

    async fn message(&mut self) -> Result<FeedMessage> {
        if std::mem::take(&mut self.greets) {
            return self.idle();
        }
        loop {
            if let Some(block) = &mut self.block {
                if let Some(steps) = block.schema() {
                    return Ok(FeedMessage::Schema(steps));
                }
                return match block.batch().await {
                    Ok(Some(changes)) => Ok(FeedMessage::Changes(changes)),
                    Ok(None) => self.end_block(),
                    Err(e) => Err(self.explained(e).await),
                };
            }
            if let Some(commit) = self.next.pop_front() {
                self.open(commit.clone()).await?;
                return Ok(FeedMessage::Begin(Box::new(commit.as_ref().clone())));
            }
            let view = self.view.clone();
            self.next = self.page(&view).await?;
            if self.next.is_empty() {
                if self.view.snapshot.is_closed() {
                    return Err(end::closed(&self.line.identity.name));
                }
                if !self.wait().await? {
                    return self.idle();
                }
            }
        }
    }

    fn idle(&self) -> Result<FeedMessage> {
        Ok(FeedMessage::Idle { cursor: self.cursor()? })
    }

    fn cursor(&self) -> Result<String> {
        let told = self.told.as_deref().ok_or_else(|| Error::internal("a feed waits before the first commit"))?;
        Cursor::after(&self.scope, told).encode()
    }

    /// The commits after the last one told, up to the head of a view. The end of a branch is not among them.
    async fn page(&mut self, view: &View) -> Result<VecDeque<Arc<CommitInfo>>> {
        let (head, is_closed) = (view.snapshot.head(), view.snapshot.is_closed());
        let page = self.line.with_lineage(view, |lineage| match &self.told {
            None => lineage.first().map(|first| vec![first]),
            Some(told) => lineage.following(told, limits::FEED_PAGE),
        });
        let page = page.await?.ok_or_else(|| lost(&self.line, self.told.as_deref().unwrap_or_default()))?;
        // The lineage may hold more than this view shows.
        let is_shown = |commit: &Arc<CommitInfo>| commit.id.as_str() < head || (commit.id == head && !is_closed);
        Ok(page.into_iter().filter(is_shown).collect())
    }

    /// Begins the block of a commit. From here to its end, both states that are compared are held.
    async fn open(&mut self, commit: Arc<CommitInfo>) -> Result<()> {
        let known = self.state.take();
        let filter = self.filter.clone();
        let (Some(filter), Some(parent), false) = (&filter, commit.parents.first(), commit.keeps_content()) else {
            self.block = Some(Block::empty(commit));
            return Ok(());
        };
        let parent = self.line.with_lineage(&self.view, |lineage| lineage.get(parent)).await?;
        let parent = parent.ok_or_else(|| lost(&self.line, &commit.id))?;
        let before = match known.filter(|state| state.head() == parent.id) {
            Some(state) => state,
            None => self.state_at(&parent).await?,
        };
        let after = self.state_at(&commit).await?;
        let block = Block::comparing(&self.core, commit.clone(), &before, after, filter).await;
        self.compared = vec![parent, commit];
        match block {
            Ok(block) => self.block = Some(block),
            Err(e) => return Err(self.explained(e).await),
        }
        Ok(())
    }

    async fn state_at(&mut self, commit: &CommitInfo) -> Result<Arc<Snapshot>> {
        if self.view.snapshot.head() == commit.id {
            return Ok(self.view.snapshot.clone());
        }
        match snapshot::of_commit(&self.core, commit).await? {
            Some(view) => Ok(view.snapshot),
            None => Err(self.gap(commit).await),
        }
    }

    fn end_block(&mut self) -> Result<FeedMessage> {
        if let Some(block) = self.block.take() {
            self.told = Some(block.commit.id.clone());
            self.state = block.state;
        }
        Ok(FeedMessage::End { cursor: self.cursor()? })
    }

    async fn gap(&mut self, missing: &CommitInfo) -> Error {
        end::gap(&self.core, &self.line, self.told.as_deref(), missing).await
    }

    /// A follower that announces nothing, since its graph was opened read-only, may find what it compares removed.
    async fn explained(&mut self, error: Error) -> Error {
        for commit in self.compared.clone() {
            if matches!(snapshot::of_commit(&self.core, &commit).await, Ok(None)) {
                return self.gap(&commit).await;
            }
        }
        error
    }

    /// Waits for news; false if there was none for a while.
    async fn wait(&mut self) -> Result<bool> {
        let mut silence = Duration::ZERO;
        loop {
            // Before the look, so that whatever comes after it ends the pause.
            self.moved.mark_unchanged();
            if self.look().await? {
                return Ok(true);
            }
            if !self.pause(&mut silence).await {
                // The end of a branch that was removed by force does not say so.
                return match end::is_removed(&self.core, &self.line).await {
                    Ok(true) => Err(end::closed(&self.line.identity.name)),
                    _ => Ok(false),
                };
            }
        }
    }

    /// Waits until it is time to look again; false if there was silence for a while. Many followers of a branch need not
    /// look more often than one: who finds something wakes the others.
    async fn pause(&mut self, silence: &mut Duration) -> bool {
        while *silence < limits::FEED_IDLE {
            let since = self.core.now();
            let pause = id::jitter(self.core.options.ids.as_ref(), limits::FEED_POLL);
            let news = std::pin::pin!(self.moved.changed());
            if let Either::Right(_) = select(self.core.options.clock.sleep(pause), news).await {
                return true;
            }
            *silence += pause;
            if !self.line.is_confirmed_after(since) {
                return true;
            }
        }
        false
    }

    /// Looks whether there are newer commits and, if so, at the first of them.
    async fn look(&mut self) -> Result<bool> {
        let mut failures = 0;
        loop {
            match self.try_look().await {
                Err(e) if e.kind() == Kind::Unavailable && failures < limits::FEED_RETRIES => {
                    tracing::debug!(branch = self.line.identity.name, error = %e, "a feed waits for the store");
                    let pause = limits::FEED_POLL.saturating_mul(1 << failures).min(limits::FEED_RETRY_MAX);
                    failures += 1;
                    self.core.options.clock.sleep(id::jitter(self.core.options.ids.as_ref(), pause)).await;
                }
                looked => return looked,
            }
        }
    }

    async fn try_look(&mut self) -> Result<bool> {
        let view = match self.line.newest().await {
            Ok(view) => view,
            Err(e) if e.reason() == Reason::BranchNotFound => return Err(end::closed(&self.line.identity.name)),
            Err(e) => return Err(e),
        };
        if view.snapshot.version <= self.view.snapshot.version {
            return Ok(false);
        }
        self.next = self.page(&view).await?;
        self.view = view;
        Ok(true)
    }
}

fn lost(line: &Line, commit: &str) -> Error {
    let branch = &line.identity.name;
    Error::new(Reason::DataCorrupt, format!("the history of branch {branch:?} lacks a commit before or at {commit}"))
        .with("branch", branch)
        .with("commit_id", commit)
}

#[cfg(test)]
mod tests;
