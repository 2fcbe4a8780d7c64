//! Which keys a dataset's line holds, kept warm so that a small write does not read the table.
//!
//! Keys are remembered as keyed 128-bit hashes under a secret drawn per process, so that distinct keys
//! never meet even if somebody tries; an entry gives the row's address. The index follows the table: it
//! reads the key columns of fragments it has not seen and the deletions it has not seen, nothing else.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::OnceLock;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use futures::TryStreamExt;
use siphasher::sip128::SipHasher24;

use super::scan::{ROW_ADDRESS, Scan};
use super::{FragmentInfo, Table, TableAt, error};
use crate::error::{Error, Result};

/// A key's hash.
pub type KeyHash = (u64, u64);

type Map = HashMap<KeyHash, u64, BuildHasherDefault<rustc_hash::FxHasher>>;

/// See the module header.
#[derive(Debug)]
pub struct KeyIndex {
    columns: Vec<String>,
    at: Option<TableAt>,
    fragments: HashMap<u64, Option<String>>,
    map: Map,
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
        Self { columns, at: None, fragments: HashMap::new(), map: Map::default() }
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
        if self.at.as_ref().is_none_or(|at| at.version > table.version()) {
            *self = Self::new(std::mem::take(&mut self.columns));
        }
        let now = table.fragments();
        self.forget_missing(&now);
        // Until everything below is read the index matches no version.
        self.at = None;
        for fragment in &now {
            if let Some(known) = self.fragments.get(&fragment.id)
                && *known != fragment.deletion_tag
            {
                self.apply_deletions(table, fragment).await?;
            }
        }
        let unseen: Vec<u64> = now.iter().filter(|f| !self.fragments.contains_key(&f.id)).map(|f| f.id).collect();
        if !unseen.is_empty() {
            self.read(table, unseen).await?;
        }
        for fragment in now {
            self.fragments.insert(fragment.id, fragment.deletion_tag);
        }
        self.at = Some(table.at().clone());
        Ok(())
    }

    fn forget_missing(&mut self, now: &[FragmentInfo]) {
        let before = self.fragments.len();
        self.fragments.retain(|id, _| now.iter().any(|f| f.id == *id));
        if self.fragments.len() < before {
            let fragments = &self.fragments;
            self.map.retain(|_, address| fragments.contains_key(&(*address >> 32)));
        }
    }

    async fn apply_deletions(&mut self, table: &Table, fragment: &FragmentInfo) -> Result<()> {
        let id = usize::try_from(fragment.id).unwrap_or(usize::MAX);
        let Some(handle) = table.dataset.get_fragment(id) else {
            return Ok(());
        };
        let Some(deleted) = handle.get_deletion_vector().await.map_err(error::convert)? else {
            return Ok(());
        };
        self.map
            .retain(|_, address| *address >> 32 != fragment.id || !deleted.contains((*address & 0xffff_ffff) as u32));
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
                    self.map.insert(hash, *address);
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
        let fragments = after.fragments();
        self.at = None;
        self.forget_missing(&fragments);
        for (key, address) in gone {
            if self.map.get(key) == Some(address) {
                self.map.remove(key);
            }
        }
        let mut keys = added.iter();
        for fragment in fragments.iter().filter(|f| !self.fragments.contains_key(&f.id)) {
            for offset in 0..fragment.physical_rows {
                // More rows than keys: somebody described the change wrongly, so the index starts anew.
                let Some(key) = keys.next() else {
                    *self = Self::new(std::mem::take(&mut self.columns));
                    return;
                };
                if let Some(key) = key {
                    self.map.insert(*key, (fragment.id << 32) | offset);
                }
            }
        }
        self.fragments = fragments.into_iter().map(|f| (f.id, f.deletion_tag)).collect();
        self.at = Some(after.at().clone());
    }
}
