//! What is under way: the claims on branches' turns and the intents they carry.
//!
//! The only place that writes intents, and the leases of long reads. A claim's name follows from the branch
//! incarnation and the manifest version, so at most one writer can hold the turn after a version.

mod lease;
pub mod process;
pub mod readers;
pub mod retention;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::format::intent_json::{self, IntentDoc};
use crate::format::paths;
use crate::store::Store;
use crate::store::object_log::Put;

pub use lease::KeepAlive;
pub use readers::{Held, Readers};

/// The intents of one graph.
#[derive(Clone, Debug)]
pub struct IntentLog {
    store: Store,
}

impl IntentLog {
    /// The intents below a root.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Takes the turn the intent names, unless somebody holds it.
    ///
    /// # Errors
    /// The store's: the claim may then stand.
    pub async fn claim(&self, intent: &IntentDoc) -> Result<Put> {
        let name = paths::intent(&intent.claim_id());
        self.store.log().create_if_absent(&name, intent_json::encode(intent)?).await
    }

    /// The intent that holds a claim; `None` if nobody does.
    ///
    /// # Errors
    /// The store's, damage, or a later shape.
    pub async fn read(&self, claim_id: &str) -> Result<Option<IntentDoc>> {
        match self.store.log().read(&paths::intent(claim_id)).await? {
            Some(document) => intent_json::decode(claim_id, &document.bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Gives a claim up. Only its holder, or whoever decided its operation, may call this.
    ///
    /// # Errors
    /// The store's; the claim then stands until the next sweep, which hurts nobody.
    pub async fn clear(&self, claim_id: &str) -> Result<()> {
        self.store.log().delete(&paths::intent(claim_id)).await
    }

    /// The claims that stand, in order.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<Vec<String>> {
        let files = self.store.log().list(paths::INTENTS).await?;
        Ok(files.iter().filter_map(|f| f.strip_suffix(".json").map(ToString::to_string)).collect())
    }
}

/// The operations this engine is carrying out right now.
#[derive(Clone, Debug, Default)]
pub struct LiveOperations(Arc<Mutex<HashSet<String>>>);

/// Marks an operation as running until dropped.
#[derive(Debug)]
pub struct Running {
    operations: LiveOperations,
    id: String,
}

impl LiveOperations {
    /// Marks `id` as running.
    pub fn start(&self, id: &str) -> Running {
        if let Ok(mut live) = self.0.lock() {
            live.insert(id.to_string());
        }
        Running { operations: self.clone(), id: id.to_string() }
    }

    /// Whether `id` is running.
    pub fn contains(&self, id: &str) -> bool {
        self.0.lock().is_ok_and(|live| live.contains(id))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(mut live) = self.operations.0.lock() {
            live.remove(&self.id);
        }
    }
}
