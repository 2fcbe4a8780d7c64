//! Writing an archive.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;

use super::digest::{Digest, Digests, everything};
use super::entity;
use super::line::{self, ArchiveDoc, Line, PointDoc, SchemaDoc, StateDoc, TypeDoc};
use super::plan::{Plan, line_of};
use super::sink::Sink;
use crate::data::entity_at;
use crate::error::{Error, Reason, Result};
use crate::format::commit_row::MergeDoc;
use crate::format::stamp;
use crate::history::diff::of_snapshots;
use crate::intent::Held;
use crate::manifest::Snapshot;
use crate::model::{CommitInfo, DiffFilter, EntityKind, EntityType};
use crate::read::{scan, snapshot};
use crate::txn::Core;

/// Chunks that wait for the reader.
const CHUNKS_IN_FLIGHT: usize = 1;

/// How an archive is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// Whether to compress it with Zstandard.
    pub compress: bool,
}

/// See [`crate::Graph::export_all`].
pub fn write(core: Arc<Core>, options: ArchiveOptions) -> BoxStream<'static, Result<Bytes>> {
    let begin = async move {
        let (to, from) = mpsc::channel(CHUNKS_IN_FLIGHT);
        tokio::spawn(async move {
            if let Err(e) = run(&core, options, &to).await {
                // Nobody hears of it if whoever read the stream is gone.
                let _ = to.send(Err(e)).await;
            }
        });
        futures::stream::unfold(from, |mut from| async move { from.recv().await.map(|chunk| (chunk, from)) })
    };
    futures::stream::once(begin).flatten().boxed()
}

async fn run(core: &Arc<Core>, options: ArchiveOptions, to: &mpsc::Sender<Result<Bytes>>) -> Result<()> {
    let plan = Plan::make(core).await?;
    let sink = Sink::new(to.clone(), options.compress)?;
    Writer { core, plan, sink, digests: Digests::default(), last: None }.run().await
}

struct Writer<'a> {
    core: &'a Arc<Core>,
    plan: Plan,
    sink: Sink,
    digests: Digests,
    /// The point written last: most often the base of the next one.
    last: Option<State>,
}

/// A state that is held.
struct State {
    id: String,
    snapshot: Snapshot,
    _held: Held,
}

impl Writer<'_> {
    async fn run(mut self) -> Result<()> {
        self.sink
            .line(&Line::Archive(ArchiveDoc {
                format: line::FORMAT,
                stamp: stamp::CURRENT,
                follows: "branches, tags, points with what they change, the states of branches, the end".to_string(),
            }))
            .await?;
        for branch in self.plan.branches.clone() {
            self.sink.line(&Line::Branch(branch)).await?;
        }
        for tag in self.plan.tags.clone() {
            self.sink.line(&Line::Tag(tag)).await?;
        }
        let mut points = 0;
        for commit in self.plan.points() {
            points += u64::from(self.point(&commit).await?);
        }
        self.states().await?;
        self.sink.finish(points).await
    }

    /// The state that a commit made, held; `None` if it is not retained.
    async fn state(&self, commit: &CommitInfo) -> Result<Option<State>> {
        let Some(view) = snapshot::of_commit(self.core, commit).await? else {
            return Ok(None);
        };
        let snapshot = view.snapshot.as_ref().clone();
        match scan::hold(self.core, &snapshot).await {
            Ok(held) => Ok(Some(State { id: commit.id.clone(), snapshot, _held: held })),
            Err(e) if e.reason() == Reason::CommitNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes a point; false if a cleanup removed it meanwhile and nothing names it.
    async fn point(&mut self, commit: &CommitInfo) -> Result<bool> {
        let Some(state) = self.state(commit).await? else {
            return match self.plan.leave_out(&commit.id) {
                true => Ok(false),
                false => Err(gone(&commit.id)),
            };
        };
        let (found, same_content) = self.plan.base(commit);
        let base = match (found.cloned(), self.last.take()) {
            (None, _) => None,
            (Some(base), Some(last)) if last.id == base.id => Some(last),
            (Some(base), _) => Some(self.state(&base).await?.ok_or_else(|| gone(&base.id))?),
        };
        let before = base.as_ref().map(|base| &base.snapshot);
        let schema = match before {
            Some(before) if before.schema == state.snapshot.schema => None,
            _ => Some(SchemaDoc::of(&state.snapshot.schema)?),
        };
        self.sink
            .line(&Line::Point(Box::new(PointDoc {
                id: commit.id.clone(),
                parents: commit.parents.clone(),
                base: base.as_ref().map(|base| base.id.clone()),
                same_content,
                line: line_of(commit),
                branch: commit.branch.clone(),
                actor: commit.actor.0.clone(),
                created_at: commit.created_at,
                operation: commit.operation.clone(),
                message: commit.message.clone(),
                request_id: commit.request_id.clone(),
                merge: commit.merge.as_deref().map(MergeDoc::of),
                schema,
            })))
            .await?;
        self.content(before, &state.snapshot).await?;
        self.last = Some(state);
        Ok(true)
    }

    /// Writes what differs from the base, type by type.
    async fn content(&mut self, before: Option<&Snapshot>, after: &Snapshot) -> Result<()> {
        let mut sums = BTreeMap::new();
        for ty in in_order(after) {
            let type_ref = ty.type_ref();
            let at = after.pin(&type_ref)?.at.clone();
            let same_type = before.filter(|before| before.ty(&type_ref).is_ok_and(|known| known == ty));
            let changed = match same_type {
                Some(before) if before.pin(&type_ref)?.at == at => None,
                Some(before) => self.changes(before, after, ty).await?,
                None => self.whole(after, ty, before.is_some()).await?,
            };
            if let Some(digest) = changed {
                sums.insert(type_ref.to_string(), digest);
            }
        }
        self.sink.line(&Line::Sum(sums)).await
    }

    /// Writes the changes of a type; its digest after them, `None` if there are none.
    async fn changes(&mut self, before: &Snapshot, after: &Snapshot, ty: &EntityType) -> Result<Option<Digest>> {
        let type_ref = ty.type_ref();
        let mut digest = self.digests.of(self.core, before, &type_ref).await?;
        let filter = DiffFilter { types: vec![type_ref.clone()], ..DiffFilter::default() };
        let mut changes = of_snapshots(self.core, Some(before), after, &filter).await?;
        let mut begun = false;
        let mut text = Vec::new();
        while let Some(change) = changes.try_next().await? {
            if !std::mem::replace(&mut begun, true) {
                self.sink.line(&Line::Type(TypeDoc { key: type_ref.to_string(), whole: false })).await?;
            }
            if let Some(entity) = &change.before {
                text.clear();
                entity::write(ty, entity, &mut text)?;
                digest.take(&text);
            }
            match &change.after {
                None => self.sink.line(&Line::Gone(change.id)).await?,
                Some(entity) => {
                    text.clear();
                    entity::write(ty, entity, &mut text)?;
                    digest.add(&text);
                    let name = if change.before.is_some() { "set" } else { "new" };
                    self.sink.row(name, &text).await?;
                }
            }
        }
        if let Some(at) = &after.pin(&type_ref)?.at {
            self.digests.note(at, digest);
        }
        Ok(begun.then_some(digest))
    }

    /// Writes all rows of a type; its digest, `None` if it has none and need not be mentioned.
    async fn whole(&mut self, after: &Snapshot, ty: &EntityType, mention: bool) -> Result<Option<Digest>> {
        let type_ref = ty.type_ref();
        let pin = after.pin(&type_ref)?;
        if pin.rows == 0 && !mention {
            return Ok(None);
        }
        self.sink.line(&Line::Type(TypeDoc { key: type_ref.to_string(), whole: true })).await?;
        let mut digest = Digest::default();
        let mut text = Vec::new();
        let mut batches = scan::scan(self.core, after, &everything(ty), None).await?.batches;
        while let Some(batch) = batches.try_next().await? {
            for row in 0..batch.num_rows() {
                text.clear();
                entity::write(ty, &entity_at(ty, &batch, row)?, &mut text)?;
                digest.add(&text);
                self.sink.row("new", &text).await?;
            }
        }
        if let Some(at) = &pin.at {
            self.digests.note(at, digest);
        }
        Ok(Some(digest))
    }

    /// Reads the head of every branch as a whole, each table state once, and holds it against what was written of it.
    async fn states(&mut self) -> Result<()> {
        let mut read = Digests::default();
        let heads = std::mem::take(&mut self.plan.heads);
        for head in &heads {
            let branch = &head.branch.name;
            let mut types = BTreeMap::new();
            for ty in in_order(head) {
                let type_ref = ty.type_ref();
                let found = read.of(self.core, head, &type_ref).await?;
                if self.digests.of(self.core, head, &type_ref).await? != found {
                    let what = format!("the changes of {type_ref} do not lead to the head of branch {branch:?}");
                    return Err(Error::new(Reason::DataCorrupt, what).with("branch", branch));
                }
                if !found.is_empty() {
                    types.insert(type_ref.to_string(), found);
                }
            }
            self.sink.line(&Line::State(StateDoc { branch: branch.clone(), types })).await?;
        }
        Ok(())
    }
}

/// Node types, then edge types, each in declaration order.
fn in_order(state: &Snapshot) -> impl Iterator<Item = &EntityType> {
    let of = |kind| state.schema.types.iter().filter(move |ty| ty.kind == kind);
    of(EntityKind::Node).chain(of(EntityKind::Edge))
}

fn gone(commit: &str) -> Error {
    Error::new(
        Reason::CommitNotFound,
        format!("a cleanup removed the state of commit {commit} while the archive was written; write it again"),
    )
    .with("commit_id", commit)
}
