//! Which states an archive holds: every ancestor of a live branch's head, or of what a tag names, that is retained.
//! Commits that keep the content are left out unless something names them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::line::{BranchDoc, MAIN_LINE, TagDoc};
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::intent::Held;
use crate::manifest::heads::Line;
use crate::manifest::{Snapshot, branches, resolve, tags};
use crate::model::CommitInfo;
use crate::model::branch::MAIN;
use crate::read::scan;
use crate::txn::Core;

/// What is to be written.
pub(super) struct Plan {
    pub branches: Vec<BranchDoc>,
    pub tags: Vec<TagDoc>,
    /// The states of the live heads, in the order of the branches.
    pub heads: Vec<Snapshot>,
    /// Every commit that leads to a point, by id.
    commits: BTreeMap<String, Arc<CommitInfo>>,
    /// Commits that are points.
    points: BTreeSet<String>,
    /// Points that something names, so that they have to be there.
    named: HashSet<String>,
    _held: Vec<Held>,
}

impl Plan {
    /// Looks at every branch and tag. The heads are held from here on.
    ///
    /// # Errors
    /// [`Reason::CommitNotFound`] if what a tag names is gone; the store's.
    pub(super) async fn make(core: &Arc<Core>) -> Result<Self> {
        let mut plan = Self {
            branches: Vec::new(),
            tags: Vec::new(),
            heads: Vec::new(),
            commits: BTreeMap::new(),
            points: BTreeSet::new(),
            named: HashSet::new(),
            _held: Vec::new(),
        };
        plan.add_branch(core, MAIN).await?;
        for entry in branches::list(&core.store).await? {
            match plan.add_branch(core, &entry.name).await {
                // Deleted meanwhile.
                Err(e) if e.reason() == Reason::BranchNotFound => {}
                done => done?,
            }
        }
        plan.add_tags(core).await?;
        plan.choose(core).await?;
        Ok(plan)
    }

    async fn add_branch(&mut self, core: &Arc<Core>, name: &str) -> Result<()> {
        let (line, view) = core.heads.head(name).await?;
        self._held.push(scan::hold(core, &view.snapshot).await?);
        let all = line.with_lineage(&view, |l| l.ancestors(None, usize::MAX)).await?;
        let oldest = all.last();
        let doc = match &line.doc {
            Some(doc) => BranchDoc {
                name: name.to_string(),
                line: doc.lance_branch.clone(),
                head: view.snapshot.head().to_string(),
                parent: doc.parent.clone(),
                forked_from: doc.forked_from.commit.clone(),
                created_at: doc.created_at,
                actor: doc.actor.clone(),
                protected: view.snapshot.is_protected(),
            },
            None => BranchDoc {
                name: name.to_string(),
                line: MAIN_LINE.to_string(),
                head: view.snapshot.head().to_string(),
                parent: String::new(),
                forked_from: String::new(),
                created_at: oldest.map_or(0, |c| c.created_at),
                actor: oldest.map_or_else(String::new, |c| c.actor.0.clone()),
                protected: view.snapshot.is_protected(),
            },
        };
        self.commits.extend(all.into_iter().map(|commit| (commit.id.clone(), commit)));
        self.named.extend([doc.head.clone(), doc.forked_from.clone()]);
        self.branches.push(doc);
        self.heads.push(view.snapshot.as_ref().clone());
        Ok(())
    }

    async fn add_tags(&mut self, core: &Arc<Core>) -> Result<()> {
        for tag in tags::list(&core.store).await? {
            let identity = tag.identity();
            let Some(view) = resolve::at(&core.store, &identity, tag.doc.manifest_version).await? else {
                let what = format!("the state of commit {}, which tag {:?} names, is gone", tag.doc.commit, tag.name);
                return Err(Error::new(Reason::CommitNotFound, what).with("tag", &tag.name));
            };
            if !self.commits.contains_key(&tag.doc.commit) {
                let line = Line::detached(core.store.clone(), identity);
                let all = line.with_lineage(&view, |l| l.ancestors(None, usize::MAX)).await?;
                self.commits.extend(all.into_iter().map(|commit| (commit.id.clone(), commit)));
            }
            self.named.insert(tag.doc.commit.clone());
            self.tags.push(TagDoc {
                name: tag.name,
                commit: tag.doc.commit,
                created_at: tag.doc.created_at,
                actor: tag.doc.actor,
                message: tag.doc.message,
                protected: tag.doc.protected,
            });
        }
        Ok(())
    }

    /// Finds out which states are there: one listing for each line.
    async fn choose(&mut self, core: &Arc<Core>) -> Result<()> {
        let mut there: HashMap<Option<String>, HashSet<u64>> = HashMap::new();
        for commit in self.commits.values() {
            if !there.contains_key(&commit.lance_branch) {
                let files = core.store.version_files(paths::MANIFEST, commit.lance_branch.as_deref()).await?;
                there.insert(commit.lance_branch.clone(), files.iter().map(|file| file.version).collect());
            }
            let is_there = there.get(&commit.lance_branch).is_some_and(|of| of.contains(&commit.manifest_version));
            if is_there && (self.named.contains(&commit.id) || !commit.keeps_content()) {
                self.points.insert(commit.id.clone());
            }
        }
        Ok(())
    }

    /// The commits that are points, oldest first.
    pub(super) fn points(&self) -> Vec<Arc<CommitInfo>> {
        self.points.iter().filter_map(|id| self.commits.get(id).cloned()).collect()
    }

    /// Whether the state of a point that turns out to be gone can be left out: a cleanup removed it meanwhile, and
    /// nothing names it.
    pub(super) fn leave_out(&mut self, id: &str) -> bool {
        !self.named.contains(id) && self.points.remove(id)
    }

    /// The nearest point that a commit descends from by first parents, and whether only commits that keep the content
    /// lie between, the commit itself included.
    pub(super) fn base(&self, commit: &CommitInfo) -> (Option<&Arc<CommitInfo>>, bool) {
        let mut same = commit.keeps_content();
        let mut parent = commit.parents.first();
        while let Some(before) = parent.and_then(|id| self.commits.get(id)) {
            if self.points.contains(&before.id) {
                return (Some(before), same);
            }
            same &= before.keeps_content();
            parent = before.parents.first();
        }
        (None, false)
    }
}

/// The line of a commit in the words of an archive.
pub(super) fn line_of(commit: &CommitInfo) -> String {
    commit.lance_branch.clone().unwrap_or_else(|| MAIN_LINE.to_string())
}
