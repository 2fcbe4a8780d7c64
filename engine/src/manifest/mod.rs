//! What is visible: the catalogue, the published table versions and the lineage of every branch.
//!
//! A [`View`] is one version of a branch's manifest with the snapshot it shows. Only [`publish`] makes
//! anything visible. Nothing here decides who may publish, or why.

pub mod ancestry;
pub mod branches;
pub mod heads;
pub mod invariants;
pub mod lineage;
pub mod publish;
pub mod resolve;
pub mod snapshot;
pub mod tags;
pub mod tail;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use snapshot::{BranchIdentity, Snapshot, TablePin};

use crate::error::Result;
use crate::format::manifest_row::{self, ManifestRow};
use crate::store::lance::Table;
use crate::store::lance::scan::Scan;

/// One version of a branch's manifest.
#[derive(Clone, Debug)]
pub struct View {
    /// What it shows.
    pub snapshot: Arc<Snapshot>,
    table: Table,
    rows: RowCache,
    // What the retention marker was before this was found to be the newest version.
    generation: u64,
}

/// Rows by fragment. Fragments never change, so an entry is right for ever.
type RowCache = Arc<Mutex<HashMap<u64, Arc<Vec<ManifestRow>>>>>;

impl View {
    fn new(snapshot: Snapshot, table: Table, rows: RowCache) -> Self {
        Self { snapshot: Arc::new(snapshot), table, rows, generation: 0 }
    }

    fn known_since(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    /// Whether another version follows this one. One request.
    ///
    /// # Errors
    /// The store's.
    pub async fn has_successor(&self) -> Result<bool> {
        self.table.has_successor().await
    }

    /// The dataset version behind it.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Rows of some fragments, in order. Fragments read before cost nothing.
    async fn rows_of(&self, fragments: &[u64]) -> Result<Vec<Arc<Vec<ManifestRow>>>> {
        let known = |id: &u64| self.rows.lock().ok().and_then(|c| c.get(id).cloned());
        let mut out = Vec::with_capacity(fragments.len());
        for id in fragments {
            if let Some(rows) = known(id) {
                out.push(rows);
                continue;
            }
            let scan =
                Scan { columns: manifest_row::columns(), fragments: Some(vec![*id]), ordered: true, ..Scan::default() };
            let mut rows = Vec::new();
            for batch in self.table.collect(scan).await? {
                rows.extend(manifest_row::from_batch(&batch)?);
            }
            let rows = Arc::new(rows);
            self.remember(*id, rows.clone());
            out.push(rows);
        }
        Ok(out)
    }

    /// Keeps the rows of a fragment that a later publish will rewrite.
    fn remember(&self, fragment: u64, rows: Arc<Vec<ManifestRow>>) {
        if let Ok(mut cache) = self.rows.lock() {
            if cache.len() >= crate::limits::MANIFEST_FANOUT * 4 {
                cache.clear();
            }
            cache.insert(fragment, rows);
        }
    }

    /// Every row this version holds, in the order they were published.
    ///
    /// # Errors
    /// The store's, or damage.
    pub async fn all_rows(&self) -> Result<Vec<ManifestRow>> {
        let scan = Scan { columns: manifest_row::columns(), ordered: true, ..Scan::default() };
        let mut rows = Vec::new();
        for batch in self.table.collect(scan).await? {
            rows.extend(manifest_row::from_batch(&batch)?);
        }
        Ok(rows)
    }
}

/// What follows the error for a name that does not exist: the nearest one that does, if any is near.
fn hint<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> String {
    let near = names.map(|name| (strsim::damerau_levenshtein(name, wanted), name));
    let near = near.filter(|(distance, name)| *distance <= 2.max(name.len() / 3)).min();
    near.map(|(_, name)| format!("; did you mean {name:?}?")).unwrap_or_default()
}
