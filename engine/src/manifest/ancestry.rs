//! How commits stand to each other in the graph of all commits. Pure.
//!
//! A commit's id is greater than its parents', so whoever goes by descending id meets every commit after all that
//! descend from it: when a commit's turn comes, everything is known that its descendants have to say about it. Walks
//! therefore end early, and their cost follows what is newer than the answer and not the length of the history.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::lineage::Lineage;
use crate::limits;
use crate::model::CommitInfo;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
/// Is an ancestor of an answer.
const PASSED: u8 = 4;

/// The best common ancestors of two commits, newest first: ancestors of both, the commits themselves included, that
/// are ancestors of no other common one. Several after criss-cross merges; none if the commits have nothing in common.
/// Each lineage must hold all ancestors of its own head, and may hold more.
pub fn nearest_common(left: &Lineage, left_head: &str, right: &Lineage, right_head: &str) -> Vec<String> {
    nearest(|id| left.get(id).or_else(|| right.get(id)), left_head, right_head)
}

/// As [`nearest_common`], among the commits that `get` knows.
fn nearest(get: impl Fn(&str) -> Option<Arc<CommitInfo>>, left_head: &str, right_head: &str) -> Vec<String> {
    let mut open = Painted::default();
    open.paint(left_head, LEFT);
    open.paint(right_head, RIGHT);
    let mut best = Vec::new();
    while let Some((id, mut paint)) = open.pop() {
        let Some(commit) = get(&id) else { continue };
        if paint == LEFT | RIGHT {
            best.push(id);
            paint |= PASSED;
        }
        commit.parents.iter().filter(|parent| **parent < commit.id).for_each(|parent| open.paint(parent, paint));
    }
    best
}

/// Commits still to be looked at, with what is known of them.
#[derive(Default)]
struct Painted {
    commits: BTreeMap<String, u8>,
    // Those among them that may be an answer or lead to one.
    hopeful: usize,
}

impl Painted {
    fn paint(&mut self, id: &str, paint: u8) {
        let before = self.commits.get(id).copied();
        let after = before.unwrap_or_default() | paint;
        let hopes = |paint: u8| usize::from(paint & PASSED == 0);
        self.hopeful = self.hopeful + hopes(after) - before.map_or(0, hopes);
        self.commits.insert(id.to_string(), after);
    }

    /// The newest; none once no other answer can come.
    fn pop(&mut self) -> Option<(String, u8)> {
        if self.hopeful == 0 {
            return None;
        }
        let (id, paint) = self.commits.pop_last()?;
        self.hopeful -= usize::from(paint & PASSED == 0);
        Some((id, paint))
    }
}

/// The ancestors of `head`, itself included, that `have` does not hold, oldest first: what a merge brings in. Stops
/// once it is clear that there are more than [`limits::MAX_BROUGHT_IN`]: then it is one more, and not the oldest.
pub fn missing(from: &Lineage, head: &str, have: &Lineage) -> Vec<Arc<CommitInfo>> {
    let mut open = BTreeSet::from([head.to_string()]);
    let mut found = Vec::new();
    while let Some(id) = open.pop_last() {
        // Who has a commit has its ancestors.
        let Some(commit) = from.get(&id).filter(|_| !have.contains(&id)) else { continue };
        open.extend(commit.parents.iter().filter(|parent| **parent < id).cloned());
        found.push(commit);
        if found.len() > limits::MAX_BROUGHT_IN {
            break;
        }
    }
    found.reverse();
    found
}

/// A commit from which some two of several heads are compared.
#[derive(Clone, Debug)]
pub struct Base {
    /// The commit.
    pub commit: Arc<CommitInfo>,
    /// Positions of two of the heads whose best common ancestor it is; the first such pair, by position.
    pub between: (usize, usize),
}

/// Every commit that is a best common ancestor of some two of `heads`, newest first, among the commits that `get`
/// knows.
///
/// One walk over what is newer than the oldest of them, for all pairs together: it carries along which heads each
/// commit is an ancestor of. Two heads are compared at a commit if both descend from it, but no child of it has both.
pub fn bases(heads: &[&str], get: impl Fn(&str) -> Option<Arc<CommitInfo>>) -> Vec<Base> {
    let mut open = Reached { heads: heads.len(), ..Reached::default() };
    for (position, head) in heads.iter().enumerate() {
        open.reach(head, &Rc::new(vec![position]));
    }
    let mut found = Vec::new();
    while let Some((id, ways)) = open.pop() {
        let Some(commit) = get(&id) else { continue };
        let all = match ways.as_slice() {
            [only] => only.clone(),
            _ => Rc::new(union(&ways)),
        };
        if let Some(between) = parted(&ways, &all) {
            found.push(Base { commit: commit.clone(), between });
        }
        commit.parents.iter().filter(|parent| **parent < id).for_each(|parent| open.reach(parent, &all));
    }
    found
}

/// Positions of heads, in order.
type Heads = Rc<Vec<usize>>;

/// Commits still to be looked at. For each, the heads that descend from its children, child by child, without what
/// another child says too; a head counts as a child of itself.
#[derive(Default)]
struct Reached {
    heads: usize,
    commits: BTreeMap<String, Vec<Heads>>,
    // Those among them of which no child has every head.
    hopeful: usize,
}

impl Reached {
    fn reach(&mut self, id: &str, way: &Heads) {
        let is_new = !self.commits.contains_key(id);
        let ways = self.commits.entry(id.to_string()).or_default();
        let before = !is_new && is_hopeful(ways, self.heads);
        if !ways.iter().any(|known| Rc::ptr_eq(known, way) || is_subset(way, known)) {
            ways.retain(|known| !is_subset(known, way));
            ways.push(way.clone());
        }
        self.hopeful = self.hopeful + usize::from(is_hopeful(ways, self.heads)) - usize::from(before);
    }

    /// The newest; none once no older commit can be where two heads part.
    fn pop(&mut self) -> Option<(String, Vec<Heads>)> {
        if self.hopeful == 0 {
            return None;
        }
        let (id, ways) = self.commits.pop_last()?;
        self.hopeful -= usize::from(is_hopeful(&ways, self.heads));
        Some((id, ways))
    }
}

fn is_hopeful(ways: &[Heads], heads: usize) -> bool {
    ways.iter().all(|way| way.len() < heads)
}

fn union(ways: &[Heads]) -> Vec<usize> {
    let all: BTreeSet<usize> = ways.iter().flat_map(|way| way.iter().copied()).collect();
    all.into_iter().collect()
}

/// Both in order.
fn is_subset(part: &[usize], whole: &[usize]) -> bool {
    part.len() <= whole.len() && part.iter().all(|head| whole.binary_search(head).is_ok())
}

/// The first two heads that no way has both of.
fn parted(ways: &[Heads], all: &[usize]) -> Option<(usize, usize)> {
    if ways.len() < 2 {
        return None;
    }
    all.iter().find_map(|head| {
        let with: Vec<Heads> = ways.iter().filter(|way| way.binary_search(head).is_ok()).cloned().collect();
        let together = union(&with);
        let other = all.iter().find(|other| together.binary_search(other).is_err())?;
        Some((*head, *other))
    })
}

#[cfg(test)]
mod tests;
