//! Rewriting small fragments, and those with many deleted rows, into fewer large ones.
//!
//! Lance plans and writes; its own commit is not used, for it would reserve fragment ids in a version of its
//! own first. With stable row ids nothing refers to fragment ids, so one version replaces the fragments.
//! Content, row ids and the versions rows were made and changed in stay what they were.

use std::collections::HashMap;

use ::lance::dataset::optimize::{CompactionOptions, plan_compaction};
use ::lance::dataset::transaction::{Operation, RewriteGroup, TransactionBuilder};
use lance_table::format::Fragment;

use super::stage::Staged;
use super::{Table, error};
use crate::error::Result;
use crate::limits;

/// Rewritten fragments that no version shows yet. They replace others of the version they were made from, and
/// of any later version that still has those unchanged.
#[derive(Clone, Debug)]
pub struct Compacted {
    groups: Vec<RewriteGroup>,
}

impl Compacted {
    /// How many fragments go.
    pub fn removed(&self) -> usize {
        self.groups.iter().map(|g| g.old_fragments.len()).sum()
    }

    /// How many take their place.
    pub fn added(&self) -> usize {
        self.groups.iter().map(|g| g.new_fragments.len()).sum()
    }
}

impl Table {
    /// Rewrites what is worth it; `None` if nothing is. Costs as much as the fragments it rewrites.
    ///
    /// # Errors
    /// The store's.
    pub async fn compact(&self) -> Result<Option<Compacted>> {
        let options = CompactionOptions {
            num_threads: Some(1),
            batch_size: Some(limits::BATCH_ROWS),
            max_bytes_per_file: Some(limits::MAX_FRAGMENT_BYTES),
            ..CompactionOptions::default()
        };
        let plan = plan_compaction(&self.dataset, &options).await.map_err(error::convert)?;
        let mut groups = Vec::with_capacity(plan.num_tasks());
        for task in plan.compaction_tasks() {
            let done = task.execute(&self.dataset).await.map_err(error::convert)?;
            groups.push(RewriteGroup { old_fragments: done.original_fragments, new_fragments: done.new_fragments });
        }
        groups.retain(|g| !g.old_fragments.is_empty());
        Ok((!groups.is_empty()).then_some(Compacted { groups }))
    }

    /// The transaction that puts rewritten fragments in place on top of this version; `None` if it does not
    /// have those they replace, or rows of them were deleted since.
    pub fn stage_compacted(&self, compacted: &Compacted) -> Option<Staged> {
        let present: HashMap<u64, &Fragment> = self.dataset.fragments().iter().map(|f| (f.id, f)).collect();
        let mut old = compacted.groups.iter().flat_map(|g| &g.old_fragments);
        if !old.all(|fragment| present.get(&fragment.id).is_some_and(|f| *f == fragment)) {
            return None;
        }
        let operation = Operation::Rewrite {
            groups: compacted.groups.clone(),
            rewritten_indices: Vec::new(),
            frag_reuse_index: None,
        };
        Some(Staged::new(TransactionBuilder::new(self.version(), operation).build(), self.rows()))
    }
}
