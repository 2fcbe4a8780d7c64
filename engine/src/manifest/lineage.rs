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

/// Every commit a branch has seen, its inherited part included, oldest first.
#[derive(Debug, Default)]
pub struct Lineage {
    version: u64,
    fragments: HashSet<u64>,
    commits: Vec<Arc<CommitInfo>>,
    by_id: HashMap<String, usize>,
    by_request: HashMap<String, usize>,
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
                if row.object_type == ObjectType::GraphCommit && !self.by_id.contains_key(&row.object_id) {
                    found.push(commit_row::decode(&row)?.0);
                }
            }
            found.sort_by(|a, b| a.id.cmp(&b.id));
            for commit in found {
                self.push(commit)?;
            }
        }
        self.fragments = present.into_iter().collect();
        self.version = view.snapshot.version;
        Ok(())
    }

    fn push(&mut self, commit: CommitInfo) -> Result<()> {
        if self.commits.len() >= limits::MAX_LINEAGE_ENTRIES {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!("the branch has more than {} commits", limits::MAX_LINEAGE_ENTRIES),
            ));
        }
        let position = self.commits.len();
        self.by_id.insert(commit.id.clone(), position);
        if !commit.request_id.is_empty() {
            self.by_request.insert(commit.request_id.clone(), position);
        }
        self.commits.push(Arc::new(commit));
        Ok(())
    }

    /// The oldest commit.
    pub fn first(&self) -> Option<Arc<CommitInfo>> {
        self.commits.first().cloned()
    }

    /// A commit by its id.
    pub fn get(&self, id: &str) -> Option<Arc<CommitInfo>> {
        self.by_id.get(id).and_then(|i| self.commits.get(*i)).cloned()
    }

    /// Whether every commit after `from`, up to and including `to`, keeps the content.
    pub fn same_content(&self, from: &str, to: &str) -> bool {
        match (self.by_id.get(from), self.by_id.get(to)) {
            (Some(from), Some(to)) if from <= to => self.commits[from + 1..=*to].iter().all(|c| c.keeps_content()),
            _ => false,
        }
    }

    /// The commit a request made.
    pub fn by_request(&self, request_id: &str) -> Option<Arc<CommitInfo>> {
        self.by_request.get(request_id).and_then(|i| self.commits.get(*i)).cloned()
    }

    /// The newest commit made at or before a time.
    pub fn as_of(&self, micros: i64) -> Option<Arc<CommitInfo>> {
        self.commits.iter().rev().find(|c| c.created_at <= micros).cloned()
    }

    /// Up to `limit` commits older than `before` (or from the newest), newest first.
    pub fn page(&self, before: Option<&str>, limit: usize) -> Vec<Arc<CommitInfo>> {
        let end = before.map_or(self.commits.len(), |b| self.commits.partition_point(|c| c.id.as_str() < b));
        self.commits[..end].iter().rev().take(limit).cloned().collect()
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
