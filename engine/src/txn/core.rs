//! What every operation on one open graph shares: the store, the warm heads, open tables, the intents.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;

use crate::error::{Error, Reason, Result};
use crate::format::intent_json::WriterDoc;
use crate::id;
use crate::intent::{IntentLog, LiveOperations, Readers, process};
use crate::limits;
use crate::manifest::heads::Heads;
use crate::options::EngineOptions;
use crate::store::Store;
use crate::store::lance::keys::KeyIndex;
use crate::store::lance::search::inverted::TextIndexes;
use crate::store::lance::{Table, TableAt};

/// Open tables kept. One is a few kilobytes plus its manifest.
const MAX_OPEN_TABLES: u64 = 1_024;

/// See the module header.
#[derive(Debug)]
pub struct Core {
    /// The store under the graph's root.
    pub store: Store,
    /// The branches.
    pub heads: Heads,
    /// The intents.
    pub intents: IntentLog,
    /// What running reads hold.
    pub readers: Readers,
    /// What this engine is doing.
    pub live: LiveOperations,
    /// Time, ids, leases.
    pub options: EngineOptions,
    /// Whether writes are refused.
    pub read_only: bool,
    /// What was read of text indexes.
    pub texts: TextIndexes,
    writer: WriterDoc,
    tables: moka::future::Cache<TableAt, Table>,
    keys: std::sync::Mutex<HashMap<KeyIndexName, Arc<AsyncMutex<KeyIndex>>>>,
}

/// Which index: a dataset's line and the columns.
type KeyIndexName = (String, Option<String>, Vec<String>);

impl Core {
    /// Nothing open yet.
    pub fn new(
        store: Store,
        options: EngineOptions,
        live: LiveOperations,
        engine_id: &str,
        read_only: bool,
    ) -> Arc<Self> {
        let writer = process::this(engine_id);
        Arc::new(Self {
            heads: Heads::new(store.clone(), options.clock.clone()),
            intents: IntentLog::new(store.clone()),
            readers: Readers::new(store.clone(), &options, &writer, read_only),
            live,
            writer,
            tables: moka::future::Cache::new(MAX_OPEN_TABLES),
            keys: std::sync::Mutex::default(),
            store,
            options,
            read_only,
            texts: TextIndexes::default(),
        })
    }

    /// Now, microseconds since the epoch.
    pub fn now(&self) -> i64 {
        self.options.clock.now_micros()
    }

    /// A fresh id.
    pub fn fresh_id(&self) -> String {
        id::fresh(self.options.ids.as_ref(), self.now())
    }

    /// This engine, as the holder of a claim from now on.
    pub fn writer(&self) -> WriterDoc {
        let lease = i64::try_from(self.options.claim_lease.as_micros()).unwrap_or(i64::MAX);
        WriterDoc { lease_until: self.now().saturating_add(lease), ..self.writer.clone() }
    }

    /// Refuses on a graph that was opened for reading.
    ///
    /// # Errors
    /// [`Reason::ReadOnly`].
    pub fn ensure_writable(&self) -> Result<()> {
        if self.read_only {
            return Err(Error::new(Reason::ReadOnly, "the graph was opened read-only; open it for writing"));
        }
        Ok(())
    }

    /// Opens a published table state.
    ///
    /// # Errors
    /// [`Reason::DataCorrupt`] if it is gone, or the store's.
    pub async fn table(&self, at: &TableAt) -> Result<Table> {
        if let Some(table) = self.tables.get(at).await {
            return Ok(table);
        }
        let table = self.store.open_table(at).await?.ok_or_else(|| {
            Error::new(
                Reason::DataCorrupt,
                format!("version {} of the dataset {} is published but gone", at.version, at.location),
            )
            .with("location", &at.location)
            .with("version", at.version)
        })?;
        self.tables.insert(at.clone(), table.clone()).await;
        Ok(table)
    }

    /// Keeps a table that was just opened or made.
    pub async fn keep_table(&self, table: &Table) {
        self.tables.insert(table.at().clone(), table.clone()).await;
    }

    /// The warm index of which keys a dataset's line holds.
    pub fn key_index(&self, table: &Table, columns: &[String]) -> Arc<AsyncMutex<KeyIndex>> {
        let at = table.at();
        let name = (at.location.clone(), at.branch.clone(), columns.to_vec());
        match self.keys.lock() {
            Ok(mut keys) => {
                if keys.len() >= limits::MAX_KEY_INDEXES && !keys.contains_key(&name) {
                    keys.retain(|_, index| Arc::strong_count(index) > 1);
                }
                keys.entry(name).or_insert_with(|| Arc::new(AsyncMutex::new(KeyIndex::new(columns.to_vec())))).clone()
            }
            Err(_) => Arc::new(AsyncMutex::new(KeyIndex::new(columns.to_vec()))),
        }
    }
}
