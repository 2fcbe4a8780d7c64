//! Making a graph of an archive: a commit for each point, then what is named, then a look at all of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::digest::Digests;
use super::line::{BranchDoc, EndDoc, Line, MAIN_LINE, PointDoc, StateDoc, TagDoc};
use super::lines::{self, Lines, wrong};
use super::replay::Replay;
use crate::branch;
use crate::data::Source;
use crate::error::{Error, Reason, Result};
use crate::history::tags;
use crate::model::branch::MAIN;
use crate::model::commit::{
    CHERRY_PICK, FORCED_REPAIR, MERGE, OPTIMIZE, PROTECTION, RECOVERY, REPAIR, RESTORE, REVERT,
};
use crate::model::{Actor, Imported, MergeNote, ReadSelector, Schema, WriteOptions};
use crate::txn::{Core, commit};

/// What an import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// The storage stamp of the graph that the archive was made from.
    pub stamp: u32,
    /// Live branches.
    pub branches: u64,
    /// Tags.
    pub tags: u64,
    /// The commits of the archive with those made of them, ascending.
    pub commits: Vec<(String, String)>,
}

/// The first commit that the new graph needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Genesis {
    /// The schema, with its stable ids.
    pub schema: Schema,
    /// Who made it.
    pub actor: Actor,
    /// Its message.
    pub message: String,
    /// The commit it stands for; `None` if the first commit of the old graph was not retained.
    pub imported: Option<Imported>,
}

/// An archive, read up to its first point.
pub struct Import {
    lines: Lines,
    stamp: u32,
    branches: Vec<BranchDoc>,
    tags: Vec<TagDoc>,
    first: Box<PointDoc>,
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("stamp", &self.stamp).finish_non_exhaustive()
    }
}

impl Import {
    /// Begins to read an archive. Compression is told from its first bytes.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] if it is none or is damaged, with the number of the line as `line`;
    /// [`Reason::StorageStampTooNew`] for a later format.
    pub async fn open(source: Source) -> Result<Self> {
        let mut lines = Lines::open(source);
        let Line::Archive(head) = lines.next().await? else {
            return Err(lines.wrong("an archive begins with what it is"));
        };
        let (mut branches, mut tags) = (Vec::new(), Vec::new());
        loop {
            match lines.next().await? {
                Line::Branch(doc) => branches.push(doc),
                Line::Tag(doc) => tags.push(doc),
                Line::Point(first) => return Ok(Self { lines, stamp: head.stamp, branches, tags, first }),
                _ => return Err(lines.wrong("branches and tags come first, then points")),
            }
        }
    }

    /// What the new graph begins with. `actor` makes the first commit if there is none to stand for.
    ///
    /// # Errors
    /// [`Reason::InvalidRecord`] if the first point says no schema.
    pub fn genesis(&self, actor: &Actor) -> Result<Genesis> {
        let Some(doc) = &self.first.schema else {
            return Err(self.lines.wrong("the first point says no schema"));
        };
        let schema = doc.schema().map_err(|e| lines::at(self.lines.number(), &e))?;
        let first = &self.first;
        Ok(match is_genesis(first) {
            true => Genesis {
                schema,
                actor: Actor(first.actor.clone()),
                message: first.message.clone(),
                imported: Some(Imported { id: first.id.clone(), created_at: first.created_at }),
            },
            false => Genesis { schema, actor: actor.clone(), message: "import".to_string(), imported: None },
        })
    }

    /// Makes everything else, in a graph that holds nothing but its first commit, and reads all of it again.
    ///
    /// # Errors
    /// As [`Import::open`]; [`Reason::DataCorrupt`] if what was written is not what was read; those of every write. The
    /// graph is not what the archive says then, and has to go.
    pub async fn run(self, core: &Arc<Core>, actor: &Actor) -> Result<ImportReport> {
        let Self { lines, stamp, branches, tags, first } = self;
        let (_, view) = core.heads.head(MAIN).await?;
        let mut run = Run {
            core,
            lines,
            actor,
            genesis: view.snapshot.head().to_string(),
            branches,
            names: HashMap::from([(MAIN_LINE.to_string(), MAIN.to_string())]),
            made: BTreeMap::new(),
            digests: Digests::default(),
            read: Digests::default(),
            seen: HashSet::new(),
        };
        match is_genesis(&first) {
            true => run.first(&first).await?,
            false => run.point(&first).await?,
        }
        let end = run.points(&tags).await?;
        run.states(end).await?;
        let commits = run.made.into_iter().map(|(old, made)| (old, made.commit)).collect();
        let (branches, tags) = (run.branches.len() as u64, tags.len() as u64);
        Ok(ImportReport { stamp, branches, tags, commits })
    }
}

/// Whether a point is the first commit of a graph, which shows nothing.
fn is_genesis(point: &PointDoc) -> bool {
    point.parents.is_empty() && point.base.is_none() && point.line == MAIN_LINE
}

/// What was made of a point.
struct Made {
    commit: String,
    /// The branch it is on.
    branch: String,
}

struct Run<'a> {
    core: &'a Arc<Core>,
    lines: Lines,
    actor: &'a Actor,
    /// The first commit.
    genesis: String,
    branches: Vec<BranchDoc>,
    /// The branches made so far, by the lines of the archive. Some live only as long as the import.
    names: HashMap<String, String>,
    made: BTreeMap<String, Made>,
    digests: Digests,
    /// What was read again.
    read: Digests,
    /// The branches whose state was compared.
    seen: HashSet<String>,
}

impl Run<'_> {
    /// The point that the graph begins with.
    async fn first(&mut self, point: &PointDoc) -> Result<()> {
        match self.lines.next().await? {
            Line::Sum(sums) if sums.is_empty() => {}
            _ => return Err(self.lines.wrong("a graph begins without an entity")),
        }
        let made = Made { commit: self.genesis.clone(), branch: MAIN.to_string() };
        self.made.insert(point.id.clone(), made);
        Ok(())
    }

    /// Makes every other point, then branches and tags. Returns the first line after them.
    async fn points(&mut self, tags: &[TagDoc]) -> Result<Line> {
        loop {
            match self.lines.next().await? {
                Line::Point(point) => self.point(&point).await?,
                other => {
                    self.name(tags).await?;
                    return Ok(other);
                }
            }
        }
    }

    async fn point(&mut self, point: &PointDoc) -> Result<()> {
        let number = self.lines.number();
        let wrong = |what: &str| lines::at(number, &wrong(what));
        let before = match &point.base {
            None => self.genesis.clone(),
            Some(base) => self.made.get(base).ok_or_else(|| wrong("its base is no point before it"))?.commit.clone(),
        };
        if self.made.last_key_value().is_some_and(|(newest, _)| *newest >= point.id) {
            return Err(wrong("points come in the order of their ids"));
        }
        let branch = match self.names.get(&point.line) {
            Some(name) => name.clone(),
            None => self.begin_line(point, &before).await?,
        };
        let (_, view) = self.core.heads.head(&branch).await?;
        if view.snapshot.head() != before {
            return Err(wrong("it does not follow the newest point of its line"));
        }
        let merged = point.parents.get(1).and_then(|parent| self.made.get(parent));
        let merged = merged.filter(|made| made.commit != before).map(|made| (made.commit.clone(), made.branch.clone()));
        let note = match &point.merge {
            None => None,
            Some(doc) => {
                Some(self.note(doc.clone().note().ok_or_else(|| wrong("what it says of its merge is damaged"))?))
            }
        };
        let is_head = |doc: &BranchDoc| doc.line == point.line && doc.head == point.id && doc.protected;
        let protects = self.branches.iter().any(is_head);
        let options = WriteOptions {
            branch: branch.clone(),
            expected_head: before,
            request_id: point.request_id.clone(),
            actor: Actor(point.actor.clone()),
            message: point.message.clone(),
        };
        let mut replay = Replay {
            point,
            label: label(point),
            lines: Some(&mut self.lines),
            digests: &mut self.digests,
            merged,
            note,
            protects,
            sums: BTreeMap::new(),
        };
        let receipt = commit::commit(self.core, &mut replay, &options).await?.into_receipt();
        let sums = replay.sums;
        if receipt.replayed {
            return Err(wrong("two commits of one branch have one request id"));
        }
        let (_, view) = self.core.heads.head(&branch).await?;
        for (type_ref, digest) in sums {
            if let Some(at) = &view.snapshot.pin(&type_ref)?.at {
                self.digests.note(at, digest);
            }
        }
        self.made.insert(point.id.clone(), Made { commit: receipt.commit.id, branch });
        Ok(())
    }

    /// Makes the branch on which the points of a line become commits.
    async fn begin_line(&mut self, point: &PointDoc, at: &str) -> Result<String> {
        let (name, parent, actor) = match self.branches.iter().find(|doc| doc.line == point.line) {
            Some(doc) => (doc.name.clone(), doc.parent.clone(), Actor(doc.actor.clone())),
            // Its branch is deleted, and will be here, too.
            None => (self.free_name(&point.branch), String::new(), self.actor.clone()),
        };
        let from = self.origin(&parent, at).await?;
        branch::create::create(self.core, &name, &from, &actor).await?;
        self.names.insert(point.line.clone(), name.clone());
        Ok(name)
    }

    /// A name that no branch of the archive has and none made so far.
    fn free_name(&self, wanted: &str) -> String {
        let taken: HashSet<&str> =
            self.branches.iter().map(|doc| doc.name.as_str()).chain(self.names.values().map(String::as_str)).collect();
        let numbered = (2_u64..).map(|n| format!("deleted-{n}"));
        let mut names = std::iter::once(wanted.to_string()).chain(numbered);
        names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
    }

    /// A commit as the origin of a branch: the head of its parent if it is that.
    async fn origin(&self, parent: &str, commit: &str) -> Result<ReadSelector> {
        if self.names.values().any(|name| name == parent) {
            let (_, view) = self.core.heads.head(parent).await?;
            if view.snapshot.head() == commit {
                return Ok(ReadSelector::Branch(parent.to_string()));
            }
        }
        Ok(ReadSelector::Commit(commit.to_string()))
    }

    /// What a commit remembers of a merge, in the ids of this graph where it has them.
    fn note(&self, mut note: MergeNote) -> MergeNote {
        for id in [&mut note.base, &mut note.source] {
            if let Some(made) = self.made.get(id.as_str()) {
                id.clone_from(&made.commit);
            }
        }
        note
    }

    /// What was made of a commit that something names.
    fn made(&self, commit: &str, what: &str) -> Result<&Made> {
        self.made
            .get(commit)
            .ok_or_else(|| self.lines.wrong(&format!("{what} names commit {commit}, which is no point")))
    }

    /// Makes the branches that have no points of their own, and the tags; and lets go what lived no more.
    async fn name(&mut self, tags: &[TagDoc]) -> Result<()> {
        let mut branches = self.branches.clone();
        branches.sort_by_key(|doc| doc.created_at);
        for doc in &branches {
            let head = self.made(&doc.head, &format!("branch {:?}", doc.name))?.commit.clone();
            if !self.names.contains_key(&doc.line) {
                let from = self.origin(&doc.parent, &head).await?;
                branch::create::create(self.core, &doc.name, &from, &Actor(doc.actor.clone())).await?;
                self.names.insert(doc.line.clone(), doc.name.clone());
            }
            let (_, view) = self.core.heads.head(&doc.name).await?;
            if view.snapshot.head() != head {
                return Err(self.lines.wrong(&format!("branch {:?} does not end with its head", doc.name)));
            }
            if doc.protected && !view.snapshot.is_protected() {
                branch::protect::protect(self.core, &doc.name, true, self.actor).await?;
            }
        }
        for doc in tags {
            let at = ReadSelector::Commit(self.made(&doc.commit, &format!("tag {:?}", doc.name))?.commit.clone());
            tags::create(self.core, &doc.name, &at, &doc.message, &Actor(doc.actor.clone())).await?;
            if doc.protected {
                tags::protect(self.core, &doc.name, true).await?;
            }
        }
        let live: HashSet<&str> = self.branches.iter().map(|doc| doc.name.as_str()).chain([MAIN]).collect();
        for name in self.names.values().filter(|name| !live.contains(name.as_str())) {
            branch::delete::delete(self.core, name, false, self.actor).await?;
        }
        Ok(())
    }

    /// Compares the state of every branch, up to the last line.
    async fn states(&mut self, mut line: Line) -> Result<()> {
        loop {
            match line {
                Line::State(state) => self.state(state).await?,
                Line::End(end) => return self.end(&end).await,
                _ => return Err(self.lines.wrong("points are followed by the states of branches, and then the end")),
            }
            line = self.lines.next().await?;
        }
    }

    async fn state(&mut self, state: StateDoc) -> Result<()> {
        if !self.branches.iter().any(|doc| doc.name == state.branch) {
            return Err(self.lines.wrong("there is no such branch"));
        }
        let (_, view) = self.core.heads.head(&state.branch).await?;
        let mut types = BTreeMap::new();
        for ty in &view.snapshot.schema.types {
            let digest = self.read.of(self.core, &view.snapshot, &ty.type_ref()).await?;
            if !digest.is_empty() {
                types.insert(ty.type_ref().to_string(), digest);
            }
        }
        if types != state.types {
            let what = format!("branch {:?} does not show what it showed when the archive was written", state.branch);
            return Err(lines::at(self.lines.number(), &Error::new(Reason::DataCorrupt, what)));
        }
        self.seen.insert(state.branch);
        Ok(())
    }

    async fn end(&mut self, end: &EndDoc) -> Result<()> {
        if end.points != self.made.len() as u64 || self.seen.len() != self.branches.len() {
            return Err(self.lines.wrong("points or states of branches are missing"));
        }
        self.lines.finish().await
    }
}

/// The operation that the commit of a point tells. One that is said to keep the content, and does not against the
/// point before it, tells `import`.
fn label(point: &PointDoc) -> &'static str {
    let keeps = [OPTIMIZE, REPAIR, RECOVERY, PROTECTION];
    let changes = [MERGE, REVERT, CHERRY_PICK, RESTORE, FORCED_REPAIR, "load", "mutate", "schema_apply"];
    let known = keeps.into_iter().filter(|_| point.same_content).chain(changes);
    known.into_iter().find(|known| *known == point.operation).unwrap_or("import")
}
