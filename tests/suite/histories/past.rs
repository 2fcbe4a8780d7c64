//! The commits of a graph in memory, with what each shows. Every question is answered by looking at all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{How, Merged, Origin, State, merge};

/// One commit.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) parents: Vec<String>,
    pub(super) state: State,
    /// Whether it only rewrote how rows are stored.
    pub(super) physical: bool,
}

/// All commits by id. An id is greater than those of the parents.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) commits: BTreeMap<String, Node>,
}

/// What is to come of a merge.
#[derive(Debug)]
pub(super) struct Forecast {
    pub(super) outcome: &'static str,
    pub(super) base: String,
    pub(super) merged: Merged,
}

impl Past {
    pub(super) fn state(&self, id: &str) -> &State {
        &self.commits[id].state
    }

    /// A commit and everything before it.
    pub(super) fn ancestors(&self, id: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::from([id.to_string()]);
        let mut open = vec![id.to_string()];
        while let Some(id) = open.pop() {
            for parent in &self.commits[&id].parents {
                if found.insert(parent.clone()) {
                    open.push(parent.clone());
                }
            }
        }
        found
    }

    /// Common ancestors that no other common ancestor descends from, newest first.
    fn nearest(&self, a: &str, b: &str) -> Vec<String> {
        let common: BTreeSet<String> = self.ancestors(a).intersection(&self.ancestors(b)).cloned().collect();
        let is_behind = |id: &String| common.iter().any(|other| other != id && self.ancestors(other).contains(id));
        common.iter().filter(|id| !is_behind(id)).rev().cloned().collect()
    }

    fn origin(&self, commits: &[String]) -> Origin<'_> {
        let (newest, rest) = commits.split_first().unwrap();
        rest.iter().fold(Origin::One(self.state(newest)), |so_far, commit| {
            let below = self.origin(&self.nearest(newest, commit));
            Origin::Both(Box::new(below), Box::new(so_far), Box::new(Origin::One(self.state(commit))))
        })
    }

    /// Whether nothing but rewriting happened to a branch after a commit of its own, up to its head.
    fn is_unmoved(&self, from: &str, head: &str) -> bool {
        let mut at = head;
        while at != from {
            let node = &self.commits[at];
            match node.parents.first() {
                Some(parent) if node.physical => at = parent,
                _ => return false,
            }
        }
        true
    }

    pub(super) fn forecast(&self, source: &str, target: &str, how: How) -> Forecast {
        let up_to_date = |base: &str| {
            let merged = Merged { state: self.state(target).clone(), ..Merged::default() };
            Forecast { outcome: "already_up_to_date", base: base.to_string(), merged }
        };
        if self.ancestors(target).contains(source) {
            return up_to_date(source);
        }
        let bases = self.nearest(source, target);
        let base = bases[0].clone();
        if self.is_unmoved(&base, source) {
            return up_to_date(source);
        }
        let is_behind = bases.len() == 1 && self.is_unmoved(&base, target);
        let merged = merge(&self.origin(&bases), self.state(target), self.state(source), how);
        Forecast { outcome: if is_behind { "fast_forward" } else { "merged" }, base, merged }
    }

    /// How many bases two commits have, those of the bases included.
    pub(super) fn depth(&self, a: &str, b: &str) -> usize {
        let bases = self.nearest(a, b);
        let below = bases.iter().skip(1).map(|other| self.depth(&bases[0], other));
        bases.len() + below.sum::<usize>()
    }
}
