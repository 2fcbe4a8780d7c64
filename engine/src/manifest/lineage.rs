//! The commits of a branch in memory: a projection of the manifest's commit rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::View;
use crate::error::{Error, Reason, Result};
use crate::format::commit_row;
use crate::format::manifest_row::{self, ManifestRow, ObjectType};
use crate::limits;
use crate::model::CommitInfo;
use crate::store::lance::scan::Scan;

/// Every ancestor of a branch's head: its own chain of first parents, the inherited part included, oldest first, and
/// what merges brought in.
#[derive(Debug, Default)]
pub struct Lineage {
    version: u64,
    fragments: HashSet<u64>,
    chain: Vec<Arc<CommitInfo>>,
    by_id: HashMap<String, usize>,
    by_request: HashMap<String, usize>,
    brought_in: HashMap<String, Arc<CommitInfo>>,
}

impl Lineage {
    /// Reads what `view` holds beyond what is known. Cost follows the fragments not seen before.
    pub(super) async fn extend(&mut self, view: &View) -> Result<()> {
        if self.version >= view.snapshot.version && self.version > 0 {
            return Ok(());
        }
        let present: Vec<u64> = view.table.fragments().iter().map(|f| f.id).collect();
        let unseen: Vec<u64> = present.iter().copied().filter(|id| !self.fragments.contains(id)).collect();
        if !unseen.is_empty() {
            let mut found = Vec::new();
            for row in rows_of(view, unseen).await? {
                if row.object_type == ObjectType::GraphCommit && !self.contains(&row.object_id) {
                    found.push(commit_row::decode(&row)?);
                }
            }
            found.sort_by(|a, b| a.0.id.cmp(&b.0.id));
            for (commit, extras) in found {
                self.push(commit, extras.brought_in)?;
            }
        }
        self.fragments = present.into_iter().collect();
        self.version = view.snapshot.version;
        Ok(())
    }

    fn push(&mut self, commit: CommitInfo, brought_in: bool) -> Result<()> {
        if self.chain.len() + self.brought_in.len() >= limits::MAX_LINEAGE_ENTRIES {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!("the branch has more than {} commits", limits::MAX_LINEAGE_ENTRIES),
            ));
        }
        if brought_in {
            self.brought_in.insert(commit.id.clone(), Arc::new(commit));
            return Ok(());
        }
        let position = self.chain.len();
        self.by_id.insert(commit.id.clone(), position);
        if !commit.request_id.is_empty() {
            self.by_request.insert(commit.request_id.clone(), position);
        }
        self.chain.push(Arc::new(commit));
        Ok(())
    }

    /// A lineage of these commits, oldest first, each with whether a merge brought it in.
    #[cfg(test)]
    pub(crate) fn of(commits: impl IntoIterator<Item = (CommitInfo, bool)>) -> Self {
        let mut lineage = Self::default();
        commits.into_iter().for_each(|(commit, brought_in)| lineage.push(commit, brought_in).unwrap());
        lineage
    }

    /// The oldest commit.
    pub fn first(&self) -> Option<Arc<CommitInfo>> {
        self.chain.first().cloned()
    }

    /// An ancestor by its id.
    pub fn get(&self, id: &str) -> Option<Arc<CommitInfo>> {
        let own = self.by_id.get(id).and_then(|i| self.chain.get(*i));
        own.or_else(|| self.brought_in.get(id)).cloned()
    }

    /// Whether a commit is an ancestor of the head, or the head.
    pub fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.brought_in.contains_key(id)
    }

    /// Whether a commit is on the branch's own chain of first parents.
    pub fn is_own(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Whether every commit after `from`, up to and including `to`, keeps the content.
    pub fn same_content(&self, from: &str, to: &str) -> bool {
        match (self.by_id.get(from), self.by_id.get(to)) {
            (Some(from), Some(to)) if from <= to => self.chain[from + 1..=*to].iter().all(|c| c.keeps_content()),
            _ => false,
        }
    }

    /// The commit a request made.
    pub fn by_request(&self, request_id: &str) -> Option<Arc<CommitInfo>> {
        self.by_request.get(request_id).and_then(|i| self.chain.get(*i)).cloned()
    }

    /// The newest commit made at or before a time.
    pub fn as_of(&self, micros: i64) -> Option<Arc<CommitInfo>> {
        self.chain.iter().rev().find(|c| c.created_at <= micros).cloned()
    }

    /// Up to `limit` commits of the chain older than `before` (or from the newest), newest first.
    pub fn page(&self, before: Option<&str>, limit: usize) -> Vec<Arc<CommitInfo>> {
        let end = before.map_or(self.chain.len(), |b| self.chain.partition_point(|c| c.id.as_str() < b));
        self.chain[..end].iter().rev().take(limit).cloned().collect()
    }

    /// Up to `limit` commits of the chain newer than `after`, oldest first; `None` if `after` is not on the chain.
    pub fn following(&self, after: &str, limit: usize) -> Option<Vec<Arc<CommitInfo>>> {
        let position = *self.by_id.get(after)?;
        Some(self.chain[position + 1..].iter().take(limit).cloned().collect())
    }

    /// Up to `limit` ancestors of the head older than `before` (or from the head), newest first, those that merges
    /// brought in among them.
    pub fn ancestors(&self, before: Option<&str>, limit: usize) -> Vec<Arc<CommitInfo>> {
        let is_older = |c: &&Arc<CommitInfo>| before.is_none_or(|b| c.id.as_str() < b);
        let mut found: Vec<_> = self.chain.iter().chain(self.brought_in.values()).filter(is_older).cloned().collect();
        found.sort_by(|a, b| b.id.cmp(&a.id));
        found.truncate(limit);
        found
    }
}

/// Rows of some fragments: a few come from memory if this process wrote them, many are read at once.
async fn rows_of(view: &View, fragments: Vec<u64>) -> Result<Vec<ManifestRow>> {
    if fragments.len() <= limits::MANIFEST_FANOUT {
        let rows = view.rows_of(&fragments).await?;
        return Ok(rows.iter().flat_map(|r| r.iter().cloned()).collect());
    }
    let scan = Scan { columns: manifest_row::columns(), fragments: Some(fragments), ordered: true, ..Scan::default() };
    let mut rows = Vec::new();
    for batch in view.table.collect(scan).await? {
        rows.extend(manifest_row::from_batch(&batch)?);
    }
    Ok(rows)
}
