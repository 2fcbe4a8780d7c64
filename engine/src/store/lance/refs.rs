//! Lance branches: forks of one dataset. Names are fresh ids, flat, never reused.

use ::lance::dataset::refs::check_valid_branch;

use super::{Table, TableAt, error};
use crate::error::{Error, Result};
use crate::store::Store;

impl Store {
    /// Forks `table` under a fresh name. The fork starts at the table's version number and content.
    /// Until something refers to the name, an abandoned fork is only space.
    ///
    /// # Errors
    /// The store's.
    pub async fn fork_table(&self, table: &Table, name: &str) -> Result<Table> {
        self.fork_only(table, name).await?;
        let at =
            TableAt { location: table.at.location.clone(), branch: Some(name.to_string()), version: table.version() };
        self.open_table(&at)
            .await?
            .ok_or_else(|| Error::internal(format!("the fork {name} of {} vanished", at.location)))
    }

    /// As [`Store::fork_table`], without opening the fork.
    ///
    /// # Errors
    /// The store's.
    pub async fn fork_only(&self, table: &Table, name: &str) -> Result<()> {
        check_valid_branch(name).map_err(error::convert)?;
        let mut handle = table.dataset.as_ref().clone();
        // The handle Lance returns carries caches of its own and is not used.
        handle
            .create_branch(name, table.version(), Some(self.params().clone()))
            .await
            .map(|_| ())
            .map_err(error::convert)
    }
}
