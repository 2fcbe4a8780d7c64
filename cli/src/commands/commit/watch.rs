//! `commit watch`.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;

use clap::Args;
use futures::StreamExt as _;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{
    CommitInfo, EntityChange, FeedMessage, ReadSelector, Schema, SchemaStep, WatchRequest, WatchStart,
};

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::commands::wanted::WantedArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::colour::Paint;
use crate::output::{Answer, diff, evolve, log, unwritten};

/// Changes in one line of JSON. A commit of more has several lines.
const LINE_CHANGES: usize = 1000;

const CURSORS: &str = "A cursor stands for a place in the history of the branch. It stays valid, at any server, for \
                       the same branch and the same --changes, --type, --kind and --id. As JSON a line with a cursor \
                       completes its commit; lines of the same commit before it have null. Ctrl-C ends it and tells \
                       the last cursor.";

/// Follow a branch: show each commit as it is published, by whatever process, until it is interrupted.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit watch TARGET [OPTIONS]\n       omnigraph commit watch --server URL --graph ID [OPTIONS]",
    after_help = CURSORS
)]
pub(crate) struct Watch {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The branch
    #[arg(long, value_name = "NAME", default_value = MAIN)]
    branch: String,
    /// Where to start: now, beginning, after a commit, or after what carried a cursor
    #[arg(long, value_name = "now|beginning|COMMIT|cursor:CURSOR", default_value = "now")]
    from: String,
    /// Show what each commit changed, too
    #[arg(long)]
    changes: bool,
    /// End after so many commits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    wanted: WantedArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Watch {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if !self.changes && !self.wanted.is_all() {
            return Err(Failure::usage("--type, --kind and --id choose changes; they mean nothing without --changes"));
        }
        let start = start(&self.from)?;
        let (target, _) = context.target(&self.scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let schema = target.read(&ReadSelector::Branch(self.branch.clone())).await?.schema;
        let filter = self.wanted.filter(&schema)?;
        let mut cursor = match &start {
            WatchStart::Cursor(cursor) => Some(cursor.clone()),
            _ => None,
        };
        let request = WatchRequest { branch: self.branch, start, filter, changes: self.changes };
        context.announce(&format!("watching branch {} of {}", request.branch, target.place()));
        let mut feed = target.watch(&request).await?;
        let mut teller = Teller::new(context.json, request.changes, schema);
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut ended = Ok(());
        while left > 0 {
            let message = tokio::select! {
                message = feed.next() => message,
                _ = &mut interrupted => break,
            };
            match message {
                None => break,
                Some(Err(failure)) => {
                    ended = Err(failure);
                    break;
                }
                Some(Ok(message)) => {
                    left -= u64::from(matches!(message, FeedMessage::End { .. }));
                    cursor = teller.tell(message)?.or(cursor);
                }
            }
        }
        if let Some(cursor) = cursor {
            context.announce(&format!("--from cursor:{cursor} goes on from here"));
        }
        ended
    }
}

/// Reads where to start.
fn start(from: &str) -> Result<WatchStart> {
    let named = |name: &str, what: &str| match name {
        "" => Err(Failure::usage(format!("--from {from:?} names no {what}"))),
        name => Ok(name.to_string()),
    };
    Ok(match (from, from.split_once(':')) {
        ("now", _) => WatchStart::Now,
        ("beginning", _) => WatchStart::Beginning,
        (_, Some(("cursor", cursor))) => WatchStart::Cursor(named(cursor, "cursor")?),
        (_, Some(("commit", commit))) => WatchStart::After(named(commit, "commit")?),
        (commit, _) => WatchStart::After(named(commit, "commit")?),
    })
}

/// Tells messages as they come.
struct Teller {
    answer: Answer,
    lines: Lines,
    json: bool,
    paint: Paint,
}

impl Teller {
    fn new(json: bool, changes: bool, schema: Arc<Schema>) -> Self {
        let lines = Lines { commit: None, changes: changes.then(VecDeque::new), steps: Vec::new(), schema };
        Self { answer: Answer::new(), lines, json, paint: Paint::stdout() }
    }

    /// Returns the cursor that a message carries.
    fn tell(&mut self, message: FeedMessage) -> Result<Option<String>> {
        let cursor = match &message {
            FeedMessage::End { cursor } | FeedMessage::Idle { cursor } => Some(cursor.clone()),
            FeedMessage::Begin(_) | FeedMessage::Schema(_) | FeedMessage::Changes(_) => None,
        };
        if self.json {
            for line in self.lines.take(message) {
                self.answer.json(&line)?;
            }
        } else {
            self.answer.bytes(self.text(&message).as_bytes())?;
        }
        self.answer.flush().map_err(unwritten)?;
        Ok(cursor)
    }

    fn text(&self, message: &FeedMessage) -> String {
        match message {
            FeedMessage::Begin(commit) => log::block(commit, self.paint),
            FeedMessage::Schema(steps) => evolve::steps_text(steps, false, self.paint),
            FeedMessage::Changes(changes) => {
                changes.iter().map(|change| diff::text(change, &self.lines.schema, self.paint)).collect()
            }
            FeedMessage::End { .. } => "\n".to_string(),
            FeedMessage::Idle { .. } => String::new(),
        }
    }
}

/// Puts messages together to lines of JSON.
struct Lines {
    commit: Option<Box<CommitInfo>>,
    /// Those that no line has yet; `None` where only commits were asked for.
    changes: Option<VecDeque<EntityChange>>,
    /// How the commit changed the schema, for its first line.
    steps: Vec<SchemaStep>,
    schema: Arc<Schema>,
}

impl Lines {
    /// Takes a message in, and answers the lines that it fills.
    fn take(&mut self, message: FeedMessage) -> Vec<serde_json::Value> {
        match message {
            FeedMessage::Begin(commit) => {
                // What there was of a commit before is told again.
                self.changes.iter_mut().for_each(VecDeque::clear);
                self.steps.clear();
                self.commit = Some(commit);
                Vec::new()
            }
            FeedMessage::Schema(steps) => {
                self.steps = steps;
                Vec::new()
            }
            FeedMessage::Changes(more) => {
                let mut lines = Vec::new();
                self.changes.iter_mut().for_each(|changes| changes.extend(more.iter().cloned()));
                while self.changes.as_ref().is_some_and(|changes| changes.len() > LINE_CHANGES) {
                    lines.extend(self.line(None));
                }
                lines
            }
            FeedMessage::End { cursor } => {
                let line = self.line(Some(&cursor));
                self.commit = None;
                line.into_iter().collect()
            }
            FeedMessage::Idle { .. } => Vec::new(),
        }
    }

    fn line(&mut self, cursor: Option<&str>) -> Option<serde_json::Value> {
        let commit = self.commit.as_ref()?;
        let changes: Option<Vec<EntityChange>> =
            self.changes.as_mut().map(|changes| changes.drain(..changes.len().min(LINE_CHANGES)).collect());
        let mut line = log::block_json(commit, changes.as_deref(), &self.schema, cursor);
        if !self.steps.is_empty() {
            line["schema"] = evolve::steps_json(&std::mem::take(&mut self.steps), false).into();
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests;
