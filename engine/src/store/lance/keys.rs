//! Which keys a dataset's line holds, kept warm so that a small write does not read the table.
//!
//! Keys are remembered as keyed 128-bit hashes under a secret drawn per process, so that distinct keys
//! never meet even if somebody tries; an entry gives the row's address. The index follows the table: it
//! reads the key columns of fragments it has not seen and the deletions it has not seen, nothing else.
//!
//! What this engine writes never changes a value in place nor brings a row back. Other programs may have done
//! either to a version that was published all the same, so a fragment whose files or deletions say so is read anew.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use futures::TryStreamExt;
use lance_core::utils::deletion::DeletionVector;
use lance_table::format::Fragment;
use siphasher::sip128::SipHasher24;

use super::scan::{ROW_ADDRESS, Scan};
use super::{Table, TableAt, error};
use crate::error::{Error, Result};

/// A key's hash.
pub type KeyHash = (u64, u64);

type Map = HashMap<KeyHash, u64, BuildHasherDefault<rustc_hash::FxHasher>>;

/// See the module header.
#[derive(Debug)]
pub struct KeyIndex {
    columns: Vec<String>,
    at: Option<TableAt>,
    fragments: HashMap<u64, Known>,
    map: Map,
    /// Whether two rows were met with one key, of which the map holds only one: it cannot tell any more what becomes of
    /// the key when a row goes.
    doubled: bool,
}

/// What is known of a fragment.
#[derive(Clone, Debug)]
struct Known {
    /// Tells apart the files that say what its rows have in the index's columns.
    files: u64,
    /// Tells apart its deletion files.
    deletions: Option<(u64, u64)>,
    /// Its rows that are gone. Some whose key is null may be missing: no key depends on them.
    gone: Arc<DeletionVector>,
}

/// The hash of one text key.
pub fn hash_text(key: &str) -> KeyHash {
    hash_bytes(&[b"t".as_slice(), key.as_bytes()].concat())
}

fn hash_bytes(bytes: &[u8]) -> KeyHash {
    static SECRET: OnceLock<(u64, u64)> = OnceLock::new();
    let (a, b) = *SECRET.get_or_init(|| {
        use crate::id::{IdSource, RandomIds};
        let secret = RandomIds.random();
        ((secret >> 64) as u64, secret as u64)
    });
    let hash = SipHasher24::new_with_keys(a, b).hash(bytes);
    (hash.h1, hash.h2)
}

/// The hashes of a batch's keys by row; `None` where a part is null, which never equals anything.
///
/// # Errors
/// A column that is missing or cannot be part of a key.
pub fn hash_rows(batch: &RecordBatch, columns: &[String]) -> Result<Vec<Option<KeyHash>>> {
    let arrays = columns
        .iter()
        .map(|c| {
            batch
                .column_by_name(c)
                .cloned()
                .ok_or_else(|| Error::internal(format!("the key column {c} is missing from a batch")))
        })
        .collect::<Result<Vec<ArrayRef>>>()?;
    if let [only] = arrays.as_slice()
        && let Some(texts) = only.as_string_opt::<i32>()
    {
        return Ok(texts.iter().map(|t| t.map(hash_text)).collect());
    }
    let fields = arrays.iter().map(|a| SortField::new(a.data_type().clone())).collect();
    let converter =
        RowConverter::new(fields).map_err(|e| Error::internal("a column cannot be part of a key").caused_by(e))?;
    let rows =
        converter.convert_columns(&arrays).map_err(|e| Error::internal("key columns do not convert").caused_by(e))?;
    Ok((0..batch.num_rows())
        .map(|i| arrays.iter().all(|a| a.is_valid(i)).then(|| hash_bytes(rows.row(i).as_ref())))
        .collect())
}

impl KeyIndex {
    /// An index that knows nothing yet.
    pub fn new(columns: Vec<String>) -> Self {
        Self { columns, at: None, fragments: HashMap::new(), map: Map::default(), doubled: false }
    }

    /// The address of the row with this key.
    pub fn get(&self, key: KeyHash) -> Option<u64> {
        self.map.get(&key).copied()
    }

    /// How many keys are known.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The table state the index describes; `None` if it describes none.
    pub fn at(&self) -> Option<&TableAt> {
        self.at.as_ref()
    }

    /// Makes the index say what `table` holds. Going on to a later version reads what is new; going back
    /// to an earlier one reads the table anew, because what was deleted since is not in the index any more.
    ///
    /// # Errors
    /// The store's.
    pub async fn follow(&mut self, table: &Table) -> Result<()> {
        if self.at.as_ref() == Some(table.at()) {
            return Ok(());
        }
        if self.doubled || self.at.as_ref().is_none_or(|at| at.version > table.version()) {
            self.forget();
        }
        // Until everything below is read the index matches no version.
        self.at = None;
        let now = table.dataset.fragments().clone();
        let files = self.files(table, &now)?;
        self.keep(|id, known| files.get(&id) == Some(&known.files));
        self.reckon_with_deletions(table, &now).await?;
        let unseen: Vec<u64> = now.iter().map(|f| f.id).filter(|id| !self.fragments.contains_key(id)).collect();
        if !unseen.is_empty() {
            self.read(table, unseen).await?;
        }
        for fragment in now.iter() {
            if let (false, Some(files)) = (self.fragments.contains_key(&fragment.id), files.get(&fragment.id)) {
                let gone = deleted(table, fragment).await?;
                self.fragments.insert(fragment.id, Known { files: *files, deletions: deletions(fragment), gone });
            }
        }
        self.at = Some(table.at().clone());
        Ok(())
    }

    fn forget(&mut self) {
        *self = Self::new(std::mem::take(&mut self.columns));
    }

    /// Forgets all other fragments.
    fn keep(&mut self, stays: impl Fn(u64, &Known) -> bool) {
        let before = self.fragments.len();
        self.fragments.retain(|id, known| stays(*id, known));
        if self.fragments.len() < before {
            let fragments = &self.fragments;
            self.map.retain(|_, address| fragments.contains_key(&fragment_of(*address)));
        }
    }

    /// What tells apart, by fragment, the files with the index's columns.
    fn files(&self, table: &Table, fragments: &[Fragment]) -> Result<HashMap<u64, u64>> {
        let columns = table.dataset.schema().project(&self.columns).map_err(error::convert)?;
        let fields = columns.field_ids();
        Ok(fragments.iter().map(|fragment| (fragment.id, files_with(fragment, &fields))).collect())
    }

    /// Takes out what was deleted since, and forgets fragments of which rows came back.
    async fn reckon_with_deletions(&mut self, table: &Table, now: &[Fragment]) -> Result<()> {
        let mut gone = HashMap::new();
        let mut back = HashSet::new();
        for fragment in now {
            let Some(known) = self.fragments.get_mut(&fragment.id) else { continue };
            if known.deletions == deletions(fragment) {
                continue;
            }
            let deleted = deleted(table, fragment).await?;
            if known.gone.iter().all(|offset| deleted.contains(offset)) {
                known.deletions = deletions(fragment);
                known.gone = deleted.clone();
                gone.insert(fragment.id, deleted);
            } else {
                back.insert(fragment.id);
            }
        }
        if !gone.is_empty() {
            let stays = |address| gone.get(&fragment_of(address)).is_none_or(|gone| !gone.contains(offset_of(address)));
            self.map.retain(|_, address| stays(*address));
        }
        self.keep(|id, _| !back.contains(&id));
        Ok(())
    }

    async fn read(&mut self, table: &Table, fragments: Vec<u64>) -> Result<()> {
        let scan =
            Scan { columns: self.columns.clone(), fragments: Some(fragments), with_address: true, ..Scan::default() };
        let mut batches = table.scan(scan).await?;
        while let Some(batch) = batches.try_next().await? {
            let addresses = batch
                .column_by_name(ROW_ADDRESS)
                .and_then(|c| c.as_primitive_opt::<UInt64Type>().cloned())
                .ok_or_else(|| Error::internal("a scan returned no row addresses"))?;
            for (hash, address) in hash_rows(&batch, &self.columns)?.into_iter().zip(addresses.values()) {
                if let Some(hash) = hash {
                    self.doubled |= self.map.insert(hash, *address).is_some();
                }
            }
        }
        Ok(())
    }

    /// Moves the index on over a change of our own, without reading anything: `before` is the version it
    /// was staged on, `after` the one that holds it, `gone` the addresses taken away, `added` the new
    /// rows' keys in the order they were written. If the index was elsewhere it is left as it is.
    pub fn advance(&mut self, before: &TableAt, after: &Table, gone: &[(KeyHash, u64)], added: &[Option<KeyHash>]) {
        if self.at.as_ref() != Some(before) {
            return;
        }
        let now = after.dataset.fragments().clone();
        // More rows than keys: somebody described the change wrongly, so the index starts anew.
        if self.doubled || self.take_over(after, &now, gone, added).is_none() {
            self.forget();
        } else {
            self.at = Some(after.at().clone());
        }
    }

    /// `None` if the change is not what it is said to be.
    fn take_over(
        &mut self,
        after: &Table,
        now: &[Fragment],
        gone: &[(KeyHash, u64)],
        added: &[Option<KeyHash>],
    ) -> Option<()> {
        let files = self.files(after, now).ok()?;
        self.keep(|id, _| files.contains_key(&id));
        for (key, address) in gone {
            if self.map.get(key) == Some(address) {
                self.map.remove(key);
            }
            if let Some(known) = self.fragments.get_mut(&fragment_of(*address)) {
                Arc::make_mut(&mut known.gone).extend([offset_of(*address)]);
            }
        }
        let mut keys = added.iter();
        for fragment in now {
            let files = *files.get(&fragment.id)?;
            let deletions = deletions(fragment);
            if let Some(known) = self.fragments.get_mut(&fragment.id) {
                known.deletions = deletions;
                if known.files != files {
                    return None;
                }
                continue;
            }
            for offset in 0..fragment.physical_rows.unwrap_or(0) as u64 {
                if let Some(key) = keys.next()? {
                    self.map.insert(*key, (fragment.id << 32) | offset);
                }
            }
            self.fragments.insert(fragment.id, Known { files, deletions, gone: Arc::default() });
        }
        Some(())
    }
}

fn fragment_of(address: u64) -> u64 {
    address >> 32
}

fn offset_of(address: u64) -> u32 {
    (address & 0xffff_ffff) as u32
}

/// Tells apart the files of a fragment, overlays included, that hold any of these fields.
fn files_with(fragment: &Fragment, fields: &[i32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let overlays = fragment.overlays.iter().map(|overlay| (&overlay.data_file, overlay.committed_version));
    for (file, since) in fragment.files.iter().map(|file| (file, 0)).chain(overlays) {
        for (position, field) in file.fields.iter().enumerate().filter(|(_, field)| fields.contains(field)) {
            (&file.path, file.base_id, field, file.column_indices.get(position), since).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Tells apart the deletion files of a fragment.
fn deletions(fragment: &Fragment) -> Option<(u64, u64)> {
    fragment.deletion_file.as_ref().map(|file| (file.read_version, file.id))
}

/// The rows of a fragment that are gone.
async fn deleted(table: &Table, fragment: &Fragment) -> Result<Arc<DeletionVector>> {
    let handle = usize::try_from(fragment.id).ok().and_then(|id| table.dataset.get_fragment(id));
    let Some(handle) = handle.filter(|_| fragment.deletion_file.is_some()) else {
        return Ok(Arc::default());
    };
    Ok(handle.get_deletion_vector().await.map_err(error::convert)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lance_table::format::overlay::{DataOverlayFile, OverlayCoverage};
    use lance_table::format::{DataFile, DeletionFile, DeletionFileType};

    fn file(path: &str, fields: &[i32]) -> DataFile {
        DataFile::new_legacy_from_fields(path, fields.to_vec(), None)
    }

    fn fragment(files: Vec<DataFile>) -> Fragment {
        Fragment { files, ..Fragment::new(0) }
    }

    #[test]
    fn files_are_told_apart_by_the_columns_of_the_index() {
        let key = |fragment: &Fragment| files_with(fragment, &[0, 3]);
        let before = fragment(vec![file("a", &[0, 1, 3])]);
        // Another column elsewhere or beside, and other deletions, change no key.
        let beside = fragment(vec![file("a", &[0, -2, 3]), file("b", &[1])]);
        let mut deleted = before.clone();
        deleted.deletion_file = Some(DeletionFile {
            read_version: 1,
            id: 2,
            file_type: DeletionFileType::Array,
            num_deleted_rows: Some(1),
            base_id: None,
        });
        for same in [&beside, &deleted] {
            assert_eq!(key(same), key(&before), "{same:?}");
        }
        let elsewhere = DataFile { base_id: Some(1), ..file("a", &[0, 1, 3]) };
        let overlay = DataOverlayFile {
            data_file: file("o", &[3]),
            coverage: OverlayCoverage::Shared(Arc::default()),
            committed_version: 4,
        };
        let others = [
            fragment(vec![file("b", &[0, 1, 3])]),
            fragment(vec![file("a", &[-2, 1, 3]), file("b", &[0])]),
            fragment(vec![elsewhere]),
            Fragment { overlays: vec![overlay], ..before.clone() },
        ];
        for other in others {
            assert_ne!(key(&other), key(&before), "{other:?}");
        }
        assert_eq!(deletions(&deleted), Some((1, 2)));
        assert_eq!(deletions(&before), None);
    }
}
