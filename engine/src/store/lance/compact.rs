//! Rewriting small fragments, and those with many deleted rows, into fewer large ones.
//!
//! Lance plans and writes; its own commit is not used, for it would reserve fragment ids in a version of its
//! own first. The new fragments get ids of our choice instead, far enough from those in use that writers who add
//! rows meanwhile do not take them, so that indexes can be built over them before any version shows them.
//! Content, row ids and the versions rows were made and changed in stay what they were.

use std::collections::{HashMap, HashSet};

use ::lance::dataset::optimize::{CompactionOptions, plan_compaction};
use ::lance::dataset::transaction::{Operation, RewriteGroup, TransactionBuilder, UpdateMap, UpdateMapEntry};
use lance_table::format::Fragment;

use super::stage::Staged;
use super::{Table, error};
use crate::error::Result;
use crate::limits;

/// Settings by which Lance would remove old versions on its own.
const AUTO_CLEANUP: &str = "lance.auto_cleanup.";

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

    /// Both in one: what `later` made of fragments that this one put in place is made of their originals.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        let mut groups = self.groups;
        for mut next in later.groups {
            let read: HashSet<u64> = next.old_fragments.iter().map(|f| f.id).collect();
            let is_read = |fragment: &Fragment| read.contains(&fragment.id);
            let (used, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|g| g.new_fragments.iter().any(is_read));
            groups = rest;
            for earlier in used {
                let (gone, stays): (Vec<_>, Vec<_>) = earlier.new_fragments.into_iter().partition(is_read);
                next.old_fragments.retain(|old| gone.iter().all(|g| g.id != old.id));
                next.old_fragments.extend(earlier.old_fragments);
                next.new_fragments.extend(stays);
            }
            groups.push(next);
        }
        Self { groups }
    }

    /// The fragments that take the others' place.
    pub(super) fn new_fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.groups.iter().flat_map(|g| &g.new_fragments)
    }
}

impl Table {
    /// Rewrites what is worth it; `None` if nothing is. Costs as much as the fragments it rewrites. Fragments
    /// that a fork shares with its origin are left alone: they are rewritten there.
    ///
    /// # Errors
    /// The store's.
    pub async fn compact(&self) -> Result<Option<Compacted>> {
        let shared = |f: &&Fragment| f.files.iter().any(|file| file.base_id.is_some());
        let options = CompactionOptions {
            excluded_fragment_ids: self
                .dataset
                .fragments()
                .iter()
                .filter(shared)
                .filter_map(|f| u32::try_from(f.id).ok())
                .collect(),
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
        let ids = self.highest_fragment_id() + limits::FRAGMENT_ID_DISTANCE..;
        for (id, fragment) in ids.zip(groups.iter_mut().flat_map(|g| &mut g.new_fragments)) {
            fragment.id = id;
        }
        Ok((!groups.is_empty()).then_some(Compacted { groups }))
    }

    /// No fragment of this version or one before it has a higher id.
    fn highest_fragment_id(&self) -> u64 {
        self.dataset.manifest().max_fragment_id.map_or(0, u64::from)
    }

    /// The transaction that puts rewritten fragments in place on top of this version, and what it puts in
    /// place: those whose originals stand there unchanged. `None` if there are none.
    pub fn stage_compacted(&self, compacted: &Compacted) -> Option<(Compacted, Staged)> {
        let present: HashMap<u64, &Fragment> = self.dataset.fragments().iter().map(|f| (f.id, f)).collect();
        let highest = self.highest_fragment_id();
        let stands = |group: &&RewriteGroup| {
            group.old_fragments.iter().all(|old| present.get(&old.id).is_some_and(|now| *now == old))
                && group.new_fragments.iter().all(|new| new.id > highest)
        };
        let groups: Vec<RewriteGroup> = compacted.groups.iter().filter(stands).cloned().collect();
        if groups.is_empty() {
            return None;
        }
        let operation =
            Operation::Rewrite { groups: groups.clone(), rewritten_indices: Vec::new(), frag_reuse_index: None };
        let transaction = TransactionBuilder::new(self.version(), operation).build();
        Some((Compacted { groups }, Staged::new(transaction, self.rows())))
    }

    /// The transaction that removes the settings by which Lance would remove old versions on its own, which no
    /// release of this program makes; `None` if there are none.
    pub fn stage_without_auto_cleanup(&self) -> Option<Staged> {
        let set = self.dataset.manifest().config.keys().filter(|key| key.starts_with(AUTO_CLEANUP));
        let update_entries: Vec<UpdateMapEntry> =
            set.map(|key| UpdateMapEntry { key: key.clone(), value: None }).collect();
        if update_entries.is_empty() {
            return None;
        }
        let operation = Operation::UpdateConfig {
            config_updates: Some(UpdateMap { update_entries, replace: false }),
            table_metadata_updates: None,
            schema_metadata_updates: None,
            field_metadata_updates: HashMap::new(),
        };
        Some(Staged::new(TransactionBuilder::new(self.version(), operation).build(), self.rows()))
    }
}
