//! Committing staged work at exactly the next version, or not at all.

use ::lance::dataset::CommitBuilder;
use ::lance::dataset::transaction::{Operation, Transaction};

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
    /// Whether it only moves rows to other fragments, or sets fragment ids aside for that: a reader sees the same.
    pub keeps_rows: bool,
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
        Ok(transaction.map(Standing::of))
    }

    /// What made another version of this line; `None` if its transaction is gone. Fills no cache, so that a long
    /// history can be looked through.
    ///
    /// # Errors
    /// The store's, also for a version that does not exist.
    pub async fn standing_at(&self, version: u64) -> Result<Option<Standing>> {
        let found = self.dataset.read_version_transaction(version).await.map_err(error::convert)?;
        Ok(found.transaction.map(Standing::of))
    }
}

impl Standing {
    fn of(transaction: Transaction) -> Self {
        Self {
            operation: transaction.operation.to_string(),
            keeps_rows: matches!(transaction.operation, Operation::ReserveFragments { .. } | Operation::Rewrite { .. }),
            forked_from: match transaction.operation {
                Operation::Clone { ref_name, ref_version, .. } => Some((ref_name, ref_version)),
                _ => None,
            },
            uuid: transaction.uuid,
            properties: transaction.transaction_properties.map(|p| p.as_ref().clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::lance::dataset::transaction::TransactionBuilder;

    #[test]
    fn only_rewrites_and_what_prepares_them_keep_the_rows() {
        for (operation, name, keeps_rows) in [
            (Operation::ReserveFragments { num_fragments: 1 }, "ReserveFragments", true),
            (
                Operation::Rewrite { groups: Vec::new(), rewritten_indices: Vec::new(), frag_reuse_index: None },
                "Rewrite",
                true,
            ),
            (Operation::Append { fragments: Vec::new() }, "Append", false),
            (Operation::Restore { version: 1 }, "Restore", false),
            (Operation::CreateIndex { new_indices: Vec::new(), removed_indices: Vec::new() }, "CreateIndex", false),
        ] {
            let transaction = TransactionBuilder::new(1, operation).build();
            let uuid = transaction.uuid.clone();
            let standing = Standing::of(transaction);
            assert_eq!((standing.operation.as_str(), standing.keeps_rows), (name, keeps_rows));
            assert_eq!((standing.uuid, standing.forked_from), (uuid, None));
        }
    }
}
