//! Lance datasets as this engine uses them: open at a version, stage, commit strictly, scan, fork.
//!
//! A [`Table`] is one immutable version of one dataset on one Lance branch. It is never moved to a newer
//! version: whoever wants one opens it. What Lance would do on its own (rebase a commit on a newer
//! version, clean up, list for newer versions) is switched off here.

mod blob;
pub mod clean;
pub mod commit;
pub mod compact;
pub mod delta;
pub mod error;
pub mod evolve;
pub mod filter;
mod handler;
pub mod index;
pub mod keys;
pub mod open;
pub mod refs;
pub mod scan;
pub mod search;
mod shadow;
mod sort;
pub mod space;
pub mod stage;
pub mod take;

use std::collections::HashMap;
use std::sync::Arc;

use ::lance::Dataset;
use lance_table::format::{Fragment, RowIdMeta};

use crate::error::{Error, Result};

/// Identifies one table state. Versions of different Lance branches are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableAt {
    /// The dataset's path below the root.
    pub location: String,
    /// The Lance branch; `None` for its main line.
    pub branch: Option<String>,
    /// The version on that branch.
    pub version: u64,
}

/// One immutable version of one dataset.
#[derive(Clone, Debug)]
pub struct Table {
    dataset: Arc<Dataset>,
    at: TableAt,
}

/// One fragment of a table, as far as the layers above may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Its id, unique along one lineage and never reused.
    pub id: u64,
    /// Rows written, deleted ones included.
    pub physical_rows: u64,
    /// Rows that are not deleted.
    pub live_rows: u64,
    /// Changes whenever rows of it are deleted.
    pub deletion_tag: Option<String>,
}

impl Table {
    /// Which state this is.
    pub fn at(&self) -> &TableAt {
        &self.at
    }

    /// Its version on its Lance branch.
    pub fn version(&self) -> u64 {
        self.at.version
    }

    /// Rows, by the fragments' own counts. Makes no request.
    pub fn rows(&self) -> u64 {
        self.fragments().iter().map(|f| f.live_rows).sum()
    }

    /// Its fragments in order. Makes no request.
    pub fn fragments(&self) -> Vec<FragmentInfo> {
        self.dataset.fragments().iter().map(describe).collect()
    }

    /// The stable ids of the rows at these addresses, from the manifest. Makes no request.
    ///
    /// # Errors
    /// An address outside the table, or a malformed sequence.
    pub fn row_ids_at(&self, addresses: &[u64]) -> Result<Vec<u64>> {
        let mut sequences = HashMap::new();
        let missing = || Error::internal("a row address is outside the table");
        addresses
            .iter()
            .map(|address| {
                let fragment = address >> 32;
                if let std::collections::hash_map::Entry::Vacant(slot) = sequences.entry(fragment) {
                    let found = self.dataset.fragments().iter().find(|f| f.id == fragment).ok_or_else(missing)?;
                    let Some(RowIdMeta::Inline(bytes)) = &found.row_id_meta else {
                        return Err(missing());
                    };
                    slot.insert(lance_table::rowids::read_row_ids(bytes).map_err(error::convert)?);
                }
                let offset = usize::try_from(address & 0xffff_ffff).map_err(|_| missing())?;
                sequences.get(&fragment).and_then(|s| s.get(offset)).ok_or_else(missing)
            })
            .collect()
    }

    /// The properties of the transaction that made this version.
    ///
    /// # Errors
    /// The store's.
    pub async fn properties(&self) -> Result<HashMap<String, String>> {
        let transaction = self.dataset.read_transaction().await.map_err(error::convert)?;
        Ok(transaction.and_then(|t| t.transaction_properties).map(|p| p.as_ref().clone()).unwrap_or_default())
    }

    /// The schema-level metadata of the dataset.
    pub fn schema_metadata(&self) -> &HashMap<String, String> {
        &self.dataset.schema().metadata
    }

    /// Whether the dataset has exactly the columns of `schema`: names, and the property each holds.
    pub fn has_fields_of(&self, schema: &arrow_schema::Schema) -> bool {
        let mine = self.arrow_schema();
        let property = |f: &arrow_schema::Field| f.metadata().get("omnigraph:property_id").cloned();
        mine.fields().len() == schema.fields().len()
            && mine
                .fields()
                .iter()
                .zip(schema.fields())
                .all(|(a, b)| a.name() == b.name() && property(a) == property(b))
    }

    /// The Arrow schema as stored.
    pub fn arrow_schema(&self) -> arrow_schema::Schema {
        self.dataset.schema().into()
    }
}

fn describe(fragment: &Fragment) -> FragmentInfo {
    let physical = fragment.physical_rows.unwrap_or(0) as u64;
    let deleted = fragment.deletion_file.as_ref().and_then(|d| d.num_deleted_rows).unwrap_or(0) as u64;
    FragmentInfo {
        id: fragment.id,
        physical_rows: physical,
        live_rows: physical.saturating_sub(deleted),
        deletion_tag: fragment.deletion_file.as_ref().map(|d| format!("{}-{}", d.read_version, d.id)),
    }
}
