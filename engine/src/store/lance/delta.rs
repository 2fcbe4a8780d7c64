//! In which rows two versions of one dataset may differ, told from what their manifests say about rows.
//!
//! Every row has a stable id and the version that wrote it last, both kept by rewrites. Two versions share a history up
//! to some version number: a row that neither side wrote after that is the same on both, wherever it is stored. So no
//! data is read, only deletion files of fragments that differ; memory follows the rows in fragments that differ.

use std::collections::HashMap;
use std::sync::Arc;

use lance_core::utils::deletion::DeletionVector;
use lance_table::format::{Fragment, RowDatasetVersionMeta, RowIdMeta};
use lance_table::rowids::{RowIdSequence, read_row_ids};

use super::{Table, error};
use crate::error::{Error, Result};

/// Rows of one version: whole fragments, and single rows by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SomeRows {
    /// Fragments all of whose live rows are meant.
    pub fragments: Vec<u64>,
    /// Addresses of single rows in other fragments, ascending.
    pub addresses: Vec<u64>,
}

/// Rows in which two versions may differ; all others are the same on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Rows of the one version.
    pub left: SomeRows,
    /// Rows of the other.
    pub right: SomeRows,
}

/// Where a line was forked, from the main line on: the version of the parent and a name for the fork.
pub type Forks = Vec<(u64, String)>;

/// A row that was written before two versions parted: its id, the version that wrote it, its address.
type Old = (u64, u64, u64);

impl Table {
    /// Where the line of this version was forked; nothing for a main line. One request for a fork.
    ///
    /// # Errors
    /// The store's, also if the fork is not registered any more.
    pub async fn forks(&self) -> Result<Forks> {
        let identifier = self.dataset.branch_identifier().await.map_err(error::convert)?;
        Ok(identifier.version_mapping)
    }

    /// The last version number up to which this version and another of the same dataset share their history; `None`
    /// for different datasets.
    pub fn shared_with(&self, forks: &Forks, other: &Self, other_forks: &Forks) -> Option<u64> {
        if self.at.location != other.at.location {
            return None;
        }
        let common = forks.iter().zip(other_forks).take_while(|(a, b)| a == b).count();
        let end = |forks: &Forks, version: u64| forks.get(common).map_or(version, |(at, _)| *at);
        Some(end(forks, self.version()).min(end(other_forks, other.version())))
    }

    /// The rows in which this version (left) and another (right) may differ. `shared` is the last version of their
    /// common history, `None` if they have none.
    ///
    /// # Errors
    /// The store's, or damage.
    pub async fn delta(&self, other: &Self, shared: Option<u64>) -> Result<Delta> {
        let Some(shared) = shared else {
            let all = |table: &Self| SomeRows {
                fragments: table.dataset.fragments().iter().map(|f| f.id).collect(),
                addresses: Vec::new(),
            };
            return Ok(Delta { left: all(self), right: all(other) });
        };
        let mut there: HashMap<Vec<&str>, &Fragment> =
            other.dataset.fragments().iter().map(|f| (files_of(f), f)).collect();
        let mut delta = Delta::default();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for fragment in self.dataset.fragments().iter() {
            match there.remove(&files_of(fragment)) {
                Some(twin) if is_same(fragment, twin) => {}
                Some(twin) if fragment.overlays.is_empty() && twin.overlays.is_empty() => {
                    let (here, there) = (self.deleted(fragment).await?, other.deleted(twin).await?);
                    delta.left.addresses.extend(only_in(&there, &here, fragment.id));
                    delta.right.addresses.extend(only_in(&here, &there, twin.id));
                }
                Some(twin) => {
                    left.extend(self.sort_out(fragment, shared, &mut delta.left).await?);
                    right.extend(other.sort_out(twin, shared, &mut delta.right).await?);
                }
                None => left.extend(self.sort_out(fragment, shared, &mut delta.left).await?),
            }
        }
        let mut rest: Vec<&Fragment> = there.into_values().collect();
        rest.sort_by_key(|f| f.id);
        for fragment in rest {
            right.extend(other.sort_out(fragment, shared, &mut delta.right).await?);
        }
        drop_common(left, right, &mut delta);
        for side in [&mut delta.left, &mut delta.right] {
            side.addresses.sort_unstable();
            side.fragments.sort_unstable();
        }
        Ok(delta)
    }

    /// Notes the rows of a fragment that were written after the common history, and returns the others.
    async fn sort_out(&self, fragment: &Fragment, shared: u64, new: &mut SomeRows) -> Result<Vec<Old>> {
        let physical = fragment.physical_rows.unwrap_or(0);
        // Without its own account, anything may have happened to the fragment.
        let Some(versions) = &fragment.last_updated_at_version_meta else {
            new.fragments.push(fragment.id);
            return Ok(Vec::new());
        };
        let RowDatasetVersionMeta::Inline(_) = versions else {
            new.fragments.push(fragment.id);
            return Ok(Vec::new());
        };
        let versions = versions.load_sequence().map_err(error::convert)?;
        if versions.len() != physical as u64 {
            new.fragments.push(fragment.id);
            return Ok(Vec::new());
        }
        if versions.runs.iter().all(|run| run.version() > shared) {
            new.fragments.push(fragment.id);
            return Ok(Vec::new());
        }
        let deleted = self.deleted(fragment).await?;
        let ids = row_ids(fragment)?;
        let mut old = Vec::new();
        for (offset, (id, version)) in ids.iter().zip(versions.versions()).enumerate() {
            let offset = u32::try_from(offset).map_err(|_| malformed())?;
            if deleted.contains(offset) {
                continue;
            }
            let address = (fragment.id << 32) | u64::from(offset);
            match version > shared {
                true => new.addresses.push(address),
                false => old.push((id, version, address)),
            }
        }
        Ok(old)
    }

    async fn deleted(&self, fragment: &Fragment) -> Result<Arc<DeletionVector>> {
        if fragment.deletion_file.is_none() {
            return Ok(Arc::default());
        }
        let id = usize::try_from(fragment.id).map_err(|_| malformed())?;
        let handle = self.dataset.get_fragment(id).ok_or_else(malformed)?;
        Ok(handle.get_deletion_vector().await.map_err(error::convert)?.unwrap_or_default())
    }

    /// The addresses of the live rows with these stable ids; `None` where there is none. Reads no data, only deletion
    /// files of fragments that hold one of the ids.
    ///
    /// # Errors
    /// The store's, or damage.
    pub async fn locate(&self, row_ids_wanted: &[u64]) -> Result<Vec<Option<u64>>> {
        let mut found = vec![None; row_ids_wanted.len()];
        if row_ids_wanted.is_empty() {
            return Ok(found);
        }
        let mut wanted: Vec<(u64, usize)> = row_ids_wanted.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        for fragment in self.dataset.fragments().iter() {
            let ids = row_ids(fragment)?;
            let Some(range) = ids.row_id_range() else {
                continue;
            };
            let from = wanted.partition_point(|(id, _)| id < range.start());
            let to = wanted.partition_point(|(id, _)| id <= range.end());
            let mut hits = Vec::new();
            for (id, slot) in wanted.get(from..to).unwrap_or_default() {
                if let Some(offset) = position(&ids, *id) {
                    hits.push((*slot, u32::try_from(offset).map_err(|_| malformed())?));
                }
            }
            if hits.is_empty() {
                continue;
            }
            let deleted = self.deleted(fragment).await?;
            for (slot, offset) in hits.into_iter().filter(|(_, offset)| !deleted.contains(*offset)) {
                found[slot] = Some((fragment.id << 32) | u64::from(offset));
            }
        }
        Ok(found)
    }
}

/// What a fragment is made of: names of files are never given twice.
fn files_of(fragment: &Fragment) -> Vec<&str> {
    fragment.files.iter().map(|file| file.path.as_str()).collect()
}

/// Whether two fragments of the same files show the same rows.
fn is_same(a: &Fragment, b: &Fragment) -> bool {
    let tag = |f: &Fragment| f.deletion_file.as_ref().map(|d| (d.read_version, d.id));
    tag(a) == tag(b) && a.overlays.is_empty() && b.overlays.is_empty()
}

/// Addresses in a fragment of what is deleted in the one vector and not in the other.
fn only_in(these: &DeletionVector, others: &DeletionVector, fragment: u64) -> Vec<u64> {
    let mut offsets: Vec<u32> = these.iter().filter(|offset| !others.contains(*offset)).collect();
    offsets.sort_unstable();
    offsets.into_iter().map(|offset| (fragment << 32) | u64::from(offset)).collect()
}

/// Rows that were written before the versions parted differ only if one side lacks them.
fn drop_common(mut left: Vec<Old>, mut right: Vec<Old>, delta: &mut Delta) {
    left.sort_unstable();
    right.sort_unstable();
    let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
    loop {
        match (l.peek(), r.peek()) {
            (Some(a), Some(b)) if (a.0, a.1) == (b.0, b.1) => {
                l.next();
                r.next();
            }
            (Some(a), b) if b.is_none_or(|b| (a.0, a.1) < (b.0, b.1)) => {
                delta.left.addresses.push(a.2);
                l.next();
            }
            (_, Some(b)) => {
                delta.right.addresses.push(b.2);
                r.next();
            }
            (_, None) => return,
        }
    }
}

fn row_ids(fragment: &Fragment) -> Result<RowIdSequence> {
    match &fragment.row_id_meta {
        Some(RowIdMeta::Inline(bytes)) => read_row_ids(bytes).map_err(error::convert),
        _ => Err(malformed()),
    }
}

fn position(ids: &RowIdSequence, wanted: u64) -> Option<usize> {
    let mut before = 0;
    for segment in ids.segments() {
        if let Some(position) = segment.position(wanted) {
            return Some(before + position);
        }
        before += segment.len();
    }
    None
}

fn malformed() -> Error {
    Error::internal("a table's account of its rows is malformed")
}
