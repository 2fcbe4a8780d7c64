//! Opening and creating datasets.

use std::collections::HashMap;
use std::sync::Arc;

use ::lance::Dataset;
use ::lance::dataset::builder::DatasetBuilder;
use ::lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use arrow_array::RecordBatch;
use lance_core::Error as LanceError;
use lance_file::version::LanceFileVersion;

use super::handler::StrictHandler;
use super::{Table, TableAt, error};
use crate::error::Result;
use crate::store::Store;

/// What a create did.
#[derive(Debug)]
pub enum Created {
    /// The dataset is there with our first version.
    Done(Table),
    /// A dataset stands at the location already; nothing was changed.
    Exists,
}

impl Store {
    fn builder(&self, uri: &str) -> DatasetBuilder {
        DatasetBuilder::from_uri(uri)
            .with_store_params(self.params().clone())
            .with_session(self.session())
            .with_commit_handler(StrictHandler::shared())
    }

    /// Opens one table state; `None` if the dataset or the version does not exist.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_table(&self, at: &TableAt) -> Result<Option<Table>> {
        let uri = self.root().dataset(&at.location, at.branch.as_deref());
        match self.builder(&uri).with_version(at.version).load().await {
            Ok(dataset) => Ok(Some(Table { dataset: Arc::new(dataset), at: at.clone() })),
            Err(e) if error::is_missing(&e) => Ok(None),
            Err(e) => Err(error::convert(e)),
        }
    }

    /// Opens the newest version; `None` if the dataset does not exist.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_newest(&self, location: &str, branch: Option<&str>) -> Result<Option<Table>> {
        let uri = self.root().dataset(location, branch);
        match self.builder(&uri).load().await {
            Ok(dataset) => Ok(Some(self.wrap(dataset, location, branch))),
            Err(e) if error::is_missing(&e) => Ok(None),
            Err(e) => Err(error::convert(e)),
        }
    }

    pub(super) fn wrap(&self, dataset: Dataset, location: &str, branch: Option<&str>) -> Table {
        let at = TableAt {
            location: location.to_string(),
            branch: branch.map(ToString::to_string),
            version: dataset.version_id(),
        };
        Table { dataset: Arc::new(dataset), at }
    }

    /// Creates a dataset holding `batch` as its version 1, in one atomic step. The schema of the batch,
    /// its metadata included, becomes the dataset's.
    ///
    /// # Errors
    /// The store's.
    pub async fn create_table(
        &self,
        location: &str,
        batch: RecordBatch,
        properties: HashMap<String, String>,
    ) -> Result<Created> {
        let params = WriteParams {
            mode: WriteMode::Create,
            enable_stable_row_ids: true,
            data_storage_version: Some(LanceFileVersion::V2_2),
            transaction_properties: Some(Arc::new(properties)),
            commit_handler: Some(StrictHandler::creating()),
            ..self.write_params()
        };
        let uri = self.root().dataset(location, None);
        match InsertBuilder::new(uri.as_str()).with_params(&params).execute(vec![batch]).await {
            Ok(dataset) => {
                drop(dataset);
                let at = TableAt { location: location.to_string(), branch: None, version: 1 };
                match self.open_table(&at).await? {
                    Some(table) => Ok(Created::Done(table)),
                    None => Ok(Created::Exists),
                }
            }
            Err(LanceError::DatasetAlreadyExists { .. }) => Ok(Created::Exists),
            Err(e) if error::is_taken(&e) => Ok(Created::Exists),
            Err(e) => Err(error::convert(e)),
        }
    }

    pub(super) fn write_params(&self) -> WriteParams {
        WriteParams {
            mode: WriteMode::Append,
            store_params: Some(self.params().clone()),
            session: Some(self.session()),
            commit_handler: Some(StrictHandler::shared()),
            auto_cleanup: None,
            skip_auto_cleanup: true,
            ..WriteParams::default()
        }
    }
}

impl Table {
    /// Whether the version after this one exists. One request.
    ///
    /// # Errors
    /// The store's.
    pub async fn has_successor(&self) -> Result<bool> {
        self.dataset.has_successor_version().await.map_err(error::convert)
    }
}
