//! One point of an archive as a commit: its rows staged on the state before, and held against what they come to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::digest::{Digest, Digests};
use super::entity;
use super::evolved::{Evolved, Kind};
use super::line::{Line, PointDoc, TypeDoc};
use super::lines::{self, Lines, wrong};
use crate::error::{Error, Reason, Result};
use crate::format::commit_row::{self, CommitExtras};
use crate::format::manifest_row::ManifestRow;
use crate::limits;
use crate::manifest::heads::with_both;
use crate::manifest::{View, ancestry};
use crate::model::{Entity, EntityType, Imported, MergeNote, TypeCounts, TypeRef};
use crate::read::delta::chunk_of;
use crate::read::get;
use crate::store::lance::keys::{KeyHash, hash_text};
use crate::txn::{Action, Core, Effect, OnChange, Prepared};
use crate::write::apply::Applier;

/// See the module header.
pub(super) struct Replay<'a> {
    pub point: &'a PointDoc,
    pub label: &'static str,
    /// Where the rows come from. They come once.
    pub lines: Option<&'a mut Lines>,
    pub digests: &'a mut Digests,
    /// The second parent, and a branch that holds it.
    pub merged: Option<(String, String)>,
    pub note: Option<MergeNote>,
    /// Whether the branch is protected from here on.
    pub protects: bool,
    /// What the types come to that it changes.
    pub sums: BTreeMap<TypeRef, Digest>,
}

#[async_trait]
impl Action for Replay<'_> {
    fn label(&self) -> &'static str {
        self.label
    }

    fn on_change(&self) -> OnChange {
        OnChange::Refuse
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let Some(lines) = self.lines.take() else {
            return Err(Error::new(
                Reason::TooMuchContention,
                "somebody else writes to the graph that is being imported; import into a root of its own",
            ));
        };
        let evolved = match &self.point.schema {
            Some(doc) => Evolved::new(&view.snapshot, doc).map_err(|e| lines::at(lines.number(), &e))?,
            None => Evolved::unchanged(&view.snapshot),
        };
        let protects = self.protects.then(|| view.snapshot.branch.branch_id.clone());
        let mut prepared = Prepared {
            exact: true,
            note: self.note.clone(),
            imported: Some(Imported { id: self.point.id.clone(), created_at: self.point.created_at }),
            declarations: evolved.declarations(core, &view.snapshot)?,
            extras: CommitExtras { protects, interfaces: evolved.interfaces(), ..CommitExtras::default() },
            ..Prepared::default()
        };
        self.rows(core, view, &evolved, lines, &mut prepared).await?;
        if evolved.replaced().any(|type_ref| !self.sums.contains_key(type_ref)) {
            return Err(lines.wrong("a type is declared differently, and its rows are missing"));
        }
        if let Some((commit, branch)) = &self.merged {
            prepared.rows = new_ancestors(core, view, commit, branch).await?;
            prepared.merged = Some(commit.clone());
        }
        Ok(Some(prepared))
    }
}

impl Replay<'_> {
    /// Stages every row of the point.
    async fn rows(
        &mut self,
        core: &Arc<Core>,
        view: &View,
        evolved: &Evolved,
        lines: &mut Lines,
        prepared: &mut Prepared,
    ) -> Result<()> {
        let mut current: Option<Staging> = None;
        loop {
            let line = lines.next().await?;
            if let (Some(staging), true) = (&mut current, line.is_row()) {
                let row = Row::of(&staging.ty, line).map_err(|e| lines::at(lines.number(), &e))?;
                staging.push(core, view, lines.number(), row).await?;
                continue;
            }
            if let Some(staging) = current.take() {
                let type_ref = staging.ty.type_ref();
                let (digest, done) = staging.finish(core, view).await?;
                let before = evolved.before(&type_ref);
                self.sums.insert(type_ref, digest);
                if let Some((effect, counts)) = done {
                    prepared.effects.push(Effect { type_ref: before, ..effect });
                    prepared.counts.push(counts);
                }
            }
            match line {
                Line::Type(doc) => current = Some(self.begin(core, view, evolved, lines, &doc).await?),
                Line::Sum(sums) => return self.compare(lines, &sums),
                _ => return Err(lines.wrong("a point has rows below the name of their type, and then their sum")),
            }
        }
    }

    async fn begin(
        &mut self,
        core: &Arc<Core>,
        view: &View,
        evolved: &Evolved,
        lines: &Lines,
        doc: &TypeDoc,
    ) -> Result<Staging> {
        let type_ref = TypeRef::parse(&doc.key).ok_or_else(|| lines.wrong("it names no type"))?;
        let Some(ty) = evolved.schema.get(&type_ref).filter(|ty| ty.type_ref() == type_ref) else {
            return Err(lines.wrong(&format!("the schema declares no type {type_ref}")));
        };
        if self.sums.contains_key(&type_ref) {
            return Err(lines.wrong("a type comes twice"));
        }
        let kind = evolved.kind(&type_ref);
        let is_full = kind == Kind::Unchanged && view.snapshot.pin(&type_ref)?.rows > 0;
        if self.point.same_content || doc.whole && is_full || !doc.whole && kind != Kind::Unchanged {
            return Err(lines.wrong("these rows contradict what the point says of itself"));
        }
        let (digest, applier) = match kind {
            Kind::Unchanged => (self.digests.of(core, &view.snapshot, &type_ref).await?, None),
            Kind::New => (Digest::default(), None),
            // Also without a row: what it had must not show.
            Kind::Changed => (Digest::default(), Some(Applier::anew(core, ty).await?)),
        };
        let anew = kind != Kind::Unchanged;
        Ok(Staging { ty: ty.clone(), digest, anew, applier, rows: Vec::new(), seen: HashSet::new() })
    }

    fn compare(&self, lines: &Lines, sums: &BTreeMap<String, Digest>) -> Result<()> {
        let found: BTreeMap<String, Digest> = self.sums.iter().map(|(ty, sum)| (ty.to_string(), *sum)).collect();
        match found == *sums {
            true => Ok(()),
            false => Err(lines.wrong("the rows do not come to what they came to when the archive was written")),
        }
    }
}

/// A row of the archive.
enum Row {
    New(Entity),
    Set(Entity),
    Gone(String),
}

impl Row {
    /// The row that a line of this type says.
    fn of(ty: &EntityType, line: Line) -> Result<Self> {
        match line {
            Line::New(row) => entity::read(ty, row).map(Self::New),
            Line::Set(row) => entity::read(ty, row).map(Self::Set),
            Line::Gone(id) => Ok(Self::Gone(id)),
            _ => Err(wrong("it is no row")),
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::New(entity) | Self::Set(entity) => &entity.id,
            Self::Gone(id) => id,
        }
    }
}

/// The rows of one type on their way into a table.
struct Staging {
    ty: EntityType,
    /// What the type comes to with the rows staged so far.
    digest: Digest,
    /// Whether the type gets a table of its own.
    anew: bool,
    applier: Option<Applier>,
    /// Those that wait, with the numbers of their lines.
    rows: Vec<(u64, Row)>,
    seen: HashSet<KeyHash>,
}

impl Staging {
    async fn push(&mut self, core: &Core, view: &View, number: u64, row: Row) -> Result<()> {
        if !self.seen.insert(hash_text(row.id())) {
            return Err(lines::at(number, &wrong("an id comes twice")));
        }
        self.rows.push((number, row));
        match self.rows.len() >= chunk_of(&self.ty) {
            true => self.flush(core, view).await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self, core: &Core, view: &View) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let applier = match &mut self.applier {
            Some(applier) => applier,
            none if self.anew => none.insert(Applier::anew(core, &self.ty).await?),
            none => none.insert(Applier::open(core, &view.snapshot, &self.ty).await?),
        };
        let ids: Vec<&str> = rows.iter().map(|(_, row)| row.id()).collect();
        let places = applier.find(core, &ids).await?;
        let before = stored(applier, &self.ty, &places).await?;
        let (mut updates, mut inserts) = (Vec::new(), Vec::new());
        let mut text = Vec::new();
        for (number, row) in &rows {
            let known = places.get(row.id()).copied().zip(before.get(row.id()));
            if let Some((_, entity)) = known {
                text.clear();
                entity::write(&self.ty, entity, &mut text)?;
                self.digest.take(&text);
            }
            let after = match (row, known) {
                (Row::New(entity), None) => {
                    inserts.push(entity);
                    entity
                }
                (Row::Set(entity), Some((address, _))) => {
                    updates.push((address, entity));
                    entity
                }
                (Row::Gone(_), Some((address, _))) => {
                    applier.delete(address);
                    continue;
                }
                (_, Some(_)) => return Err(lines::at(*number, &wrong("it is new and there already"))),
                (_, None) => return Err(lines::at(*number, &wrong("it changes and is not there"))),
            };
            text.clear();
            entity::write(&self.ty, after, &mut text)?;
            self.digest.add(&text);
        }
        if !updates.is_empty() {
            applier.update(core, &updates).await?;
        }
        if !inserts.is_empty() {
            applier.insert(core, &inserts).await?;
        }
        Ok(())
    }

    async fn finish(mut self, core: &Core, view: &View) -> Result<(Digest, Option<(Effect, TypeCounts)>)> {
        self.flush(core, view).await?;
        match self.applier {
            Some(applier) => Ok((self.digest, Some(applier.finish().await?))),
            None => Ok((self.digest, None)),
        }
    }
}

/// The entities at some places, as they are before the change.
async fn stored(applier: &Applier, ty: &EntityType, places: &HashMap<String, u64>) -> Result<HashMap<String, Entity>> {
    let (Some(table), false) = (applier.pinned(), places.is_empty()) else {
        return Ok(HashMap::new());
    };
    let found = get::fetch(ty, table, places.values().copied().collect()).await?;
    Ok(found.into_iter().map(|entity| (entity.id.clone(), entity)).collect())
}

/// The rows of the commits that a merge brings in.
async fn new_ancestors(core: &Core, view: &View, commit: &str, branch: &str) -> Result<Vec<ManifestRow>> {
    let (target, _) = core.heads.head(&view.snapshot.branch.name).await?;
    let (source, head) = core.heads.head(branch).await?;
    let missing =
        with_both((&target, view), (&source, &head), |have, from| ancestry::missing(from, commit, have)).await?;
    if missing.len() > limits::MAX_BROUGHT_IN {
        let most = limits::MAX_BROUGHT_IN;
        return Err(Error::new(Reason::LimitExceeded, format!("a merge brings in more than {most} commits")));
    }
    let extras = CommitExtras { brought_in: true, ..CommitExtras::default() };
    missing.iter().map(|commit| commit_row::encode(commit, &extras)).collect()
}
