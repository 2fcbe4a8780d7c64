//! Committing staged work at exactly the next version, or not at all.

use ::lance::dataset::CommitBuilder;
use ::lance::dataset::transaction::Operation;

use super::stage::Staged;
use super::{Table, error};
use crate::error::Result;
use crate::store::Store;

/// What a strict commit did.
#[derive(Debug)]
pub enum Committed {
    /// The next version is ours; here it is.
    Landed(Table),
    /// The next version exists already and is not ours. Nothing was changed.
    Taken,
}

impl Table {
    /// Commits at this version plus one. A lost acknowledgement is read back by the transaction's id.
    ///
    /// # Errors
    /// The store's: whether the commit landed is then unknown until the version is read.
    pub async fn commit(&self, store: &Store, mut staged: Staged) -> Result<Committed> {
        // The second of two changes was staged before the version it goes on top of existed.
        staged.transaction.read_version = self.version();
        let result = CommitBuilder::new(self.dataset.clone())
            .with_max_retries(1)
            .with_skip_auto_cleanup(true)
            .execute(staged.transaction)
            .await;
        match result {
            Ok(dataset) => Ok(Committed::Landed(store.wrap(dataset, &self.at.location, self.at.branch.as_deref()))),
            Err(e) if error::is_taken(&e) => Ok(Committed::Taken),
            Err(e) => Err(error::convert(e)),
        }
    }
}

/// What stands at one version of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The transaction's own id.
    pub uuid: String,
    /// The properties it carries.
    pub properties: std::collections::HashMap<String, String>,
    /// Lance's name for what it did.
    pub operation: String,
    /// The Lance branch and version it is a fork of, if it is the first version of a fork.
    pub forked_from: Option<(Option<String>, u64)>,
}

impl Table {
    /// What made this version; `None` if its transaction is gone.
    ///
    /// # Errors
    /// The store's.
    pub async fn standing(&self) -> Result<Option<Standing>> {
        let transaction = self.dataset.read_transaction().await.map_err(error::convert)?;
        Ok(transaction.map(|t| Standing {
            uuid: t.uuid.clone(),
            operation: t.operation.to_string(),
            forked_from: match &t.operation {
                Operation::Clone { ref_name, ref_version, .. } => Some((ref_name.clone(), *ref_version)),
                _ => None,
            },
            properties: t.transaction_properties.map(|p| p.as_ref().clone()).unwrap_or_default(),
        }))
    }
}
