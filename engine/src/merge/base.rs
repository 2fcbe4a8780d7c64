//! What both sides of a merge come from: one state, or several nearest common ones, which then have to agree.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::intent::Held;
use crate::limits;
use crate::manifest::Snapshot;
use crate::manifest::ancestry::nearest_common;
use crate::manifest::lineage::Lineage;
use crate::model::{EntityType, ReadSelector, Schema};
use crate::read::{scan, snapshot};
use crate::txn::Core;

use super::decide::{self, Base};

/// The commits a merge starts from, newest first where several are equally near, with what those come from in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// One commit.
    Commit(String),
    /// What two have in common: their own merge.
    Both(Box<Tree>, Box<Tree>, Box<Tree>),
}

impl Tree {
    /// The nearest common ancestors of two commits whose ancestors are known.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] if the history is too entangled, [`Reason::DataCorrupt`] if nothing is common.
    pub fn of(target: &Lineage, target_head: &str, source: &Lineage, source_head: &str) -> Result<Self> {
        let found = nearest_common(target, target_head, source, source_head);
        let mut left = limits::MAX_MERGE_BASES;
        // Every common ancestor is an ancestor of the target.
        Self::join(target, found, &mut left)
    }

    fn join(lineage: &Lineage, commits: Vec<String>, left: &mut usize) -> Result<Self> {
        let mut tree: Option<(Self, String)> = None;
        for commit in commits {
            if *left == 0 {
                return Err(Error::new(
                    Reason::LimitExceeded,
                    format!(
                        "the two branches have more than {} nearest common ancestors; merge one of them into the other \
                         in steps, oldest first",
                        limits::MAX_MERGE_BASES
                    ),
                ));
            }
            *left -= 1;
            tree = Some(match tree {
                None => (Self::Commit(commit.clone()), commit),
                Some((so_far, newest)) => {
                    let below = nearest_common(lineage, &newest, lineage, &commit);
                    let below = Self::join(lineage, below, left)?;
                    (Self::Both(Box::new(below), Box::new(so_far), Box::new(Self::Commit(commit))), newest)
                }
            });
        }
        let none = || Error::new(Reason::DataCorrupt, "the two commits have no common ancestor");
        tree.map(|(tree, _)| tree).ok_or_else(none)
    }

    /// The newest of the nearest.
    pub fn newest(&self) -> &str {
        match self {
            Self::Commit(commit) => commit,
            Self::Both(_, left, _) => left.newest(),
        }
    }

    /// Those that the sides themselves have in common, without what these come from in turn.
    fn nearest(&self) -> Vec<&str> {
        match self {
            Self::Commit(commit) => vec![commit],
            Self::Both(_, left, right) => left.nearest().into_iter().chain(right.nearest()).collect(),
        }
    }

    fn leaves(&self, into: &mut Vec<String>) {
        match self {
            Self::Commit(commit) if !into.contains(commit) => into.push(commit.clone()),
            Self::Commit(_) => {}
            Self::Both(below, left, right) => {
                for tree in [left, right, below] {
                    tree.leaves(into);
                }
            }
        }
    }
}

/// The states of a tree, opened and held.
#[derive(Debug)]
pub(super) struct Bases {
    tree: Tree,
    commits: Vec<String>,
    /// The states, the newest of the nearest first.
    pub states: Vec<Snapshot>,
    _held: Vec<Held>,
}

impl Bases {
    /// Opens every state of a tree. What several nearest ones come from in turn may be gone: then it is unknown what they
    /// have in common where they disagree.
    ///
    /// # Errors
    /// [`Reason::CommitNotFound`] if a nearest one is not retained; the store's.
    pub async fn open(core: &Arc<Core>, tree: Tree) -> Result<Self> {
        let mut wanted = Vec::new();
        tree.leaves(&mut wanted);
        let (mut commits, mut states, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for commit in wanted {
            match Self::state(core, &commit).await {
                Ok((state, hold)) => {
                    commits.push(commit);
                    states.push(state);
                    held.push(hold);
                }
                Err(e) if e.reason() == Reason::CommitNotFound && !tree.nearest().contains(&commit.as_str()) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Self { tree, commits, states, _held: held })
    }

    async fn state(core: &Arc<Core>, commit: &str) -> Result<(Snapshot, Held)> {
        let state = snapshot::resolve(core, &ReadSelector::Commit(commit.to_string())).await?;
        let held = scan::hold(core, &state).await?;
        Ok((state, held))
    }

    /// The same states as another schema has them.
    #[must_use]
    pub fn seen_as(mut self, schema: &Arc<Schema>) -> Self {
        self.states = self.states.iter().map(|state| state.seen_as(schema, &HashMap::new())).collect();
        self
    }

    /// One state that is open already.
    pub fn single(state: Snapshot) -> Self {
        let commit = state.head().to_string();
        Self { tree: Tree::Commit(commit.clone()), commits: vec![commit], states: vec![state], _held: Vec::new() }
    }

    /// The newest of the nearest.
    pub fn newest(&self) -> &str {
        self.tree.newest()
    }

    /// What the states have in common of one entity, from its image in each, in the order of the states.
    pub fn image(&self, ty: &EntityType, images: &[Base]) -> Base {
        self.fold(ty, &self.tree, images)
    }

    fn fold(&self, ty: &EntityType, tree: &Tree, images: &[Base]) -> Base {
        match tree {
            Tree::Commit(commit) => {
                let position = self.commits.iter().position(|c| c == commit);
                position.and_then(|at| images.get(at)).cloned().unwrap_or(Base::Unknown)
            }
            Tree::Both(below, left, right) => decide::agree(
                ty,
                &self.fold(ty, below, images),
                &self.fold(ty, left, images),
                &self.fold(ty, right, images),
            ),
        }
    }
}
