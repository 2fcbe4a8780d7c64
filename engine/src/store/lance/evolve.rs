//! Giving a table other columns: renamed, dropped and empty ones without touching a row, computed ones by writing that
//! column alone. One transaction, whatever changes.

use std::collections::HashSet;
use std::sync::Arc;

use ::lance::dataset::transaction::{Operation, TransactionBuilder};
use ::lance::dataset::{BatchUDF, NewColumnTransform};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use futures::{StreamExt, TryStreamExt};
use lance_core::datatypes::{Field, Schema};
use lance_table::format::Fragment;

use super::stage::Staged;
use super::{Table, error};
use crate::error::{Error, Result};
use crate::limits;

/// Computes a column from the columns it reads, row by row.
pub type Make = Arc<dyn Fn(&RecordBatch) -> Result<ArrayRef> + Send + Sync>;

/// One column of a table as it will be.
#[derive(Clone)]
pub enum NewColumn {
    /// A column that is there, under this name from now on.
    Kept {
        /// Its name now.
        from: String,
        /// The field it becomes: name, type as stored, metadata.
        to: ArrowField,
    },
    /// A column without values.
    Empty(ArrowField),
    /// A column computed from others. Blobs can be neither read nor made.
    Made {
        /// What it becomes.
        to: ArrowField,
        /// Names of the columns it is made from; with none, the id is read.
        reads: Vec<String>,
        /// How.
        make: Make,
    },
}

impl std::fmt::Debug for NewColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kept { from, to } => write!(f, "Kept({from} as {})", to.name()),
            Self::Empty(to) => write!(f, "Empty({})", to.name()),
            Self::Made { to, reads, .. } => write!(f, "Made({} from {reads:?})", to.name()),
        }
    }
}

impl Table {
    /// The transaction that gives the table exactly these columns, in this order. Without computed ones it costs the
    /// same at any number of rows; each of those is written for every row.
    ///
    /// # Errors
    /// [`crate::error::Reason::Internal`] for a column that is not there; what computing answers; the store's.
    pub async fn stage_columns(&self, columns: &[NewColumn]) -> Result<Staged> {
        let (fragments, made) = self.make_columns(columns).await?;
        let made = made.as_ref().unwrap_or_else(|| self.dataset.schema());
        let mut fields = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            let (from, to) = match column {
                NewColumn::Kept { from, to } => (Some(from.clone()), to),
                NewColumn::Empty(to) => (None, to),
                NewColumn::Made { to, .. } => (Some(scratch(at)), to),
            };
            let found = from.as_ref().map(|from| made.field(from));
            fields.push(match (found, column) {
                (Some(Some(field)), _) => renamed(field.clone(), to),
                // A table without rows has nothing to compute.
                (Some(None), NewColumn::Made { .. }) | (None, _) => Field::try_from(to).map_err(error::convert)?,
                (Some(None), _) => {
                    return Err(Error::internal(format!("the table has no column {:?}", from.unwrap_or_default())));
                }
            });
        }
        let mut schema = Schema { fields, metadata: self.dataset.schema().metadata.clone() };
        let highest = made.max_field_id().unwrap_or(0).max(self.dataset.manifest().max_field_id());
        schema.try_set_field_id(Some(highest)).map_err(error::convert)?;
        schema.validate().map_err(error::convert)?;
        let operation = Operation::Merge {
            fragments: without_dropped(fragments, &schema),
            schema,
            // Rows staged before do not fit, and are never committed after: every commit names its version.
            preserves_nullability: false,
        };
        Ok(Staged::new(TransactionBuilder::new(self.version(), operation).build(), self.rows()))
    }

    /// Writes the computed columns, each under a name nobody else has. The fragments with them, and their schema;
    /// no schema if there was nothing to write.
    async fn make_columns(&self, columns: &[NewColumn]) -> Result<(Vec<Fragment>, Option<Schema>)> {
        let fragments: Vec<Fragment> = self.dataset.fragments().as_ref().clone();
        let wanted: Vec<(ArrowField, Vec<String>, Make)> = columns
            .iter()
            .enumerate()
            .filter_map(|(at, column)| match column {
                NewColumn::Made { to, reads, make } => {
                    Some((to.clone().with_name(scratch(at)), reads.clone(), make.clone()))
                }
                _ => None,
            })
            .collect();
        if wanted.is_empty() || fragments.is_empty() {
            return Ok((fragments, None));
        }
        let output = Arc::new(ArrowSchema::new(wanted.iter().map(|(field, ..)| field.clone()).collect::<Vec<_>>()));
        let mut reads: Vec<String> = wanted.iter().flat_map(|(_, reads, _)| reads.clone()).collect();
        reads.push(crate::format::arrow::ID.to_string());
        reads.sort();
        reads.dedup();
        let makers: Arc<[Make]> = wanted.into_iter().map(|(.., make)| make).collect();
        let work: Vec<_> = self
            .dataset
            .get_fragments()
            .into_iter()
            .map(|fragment| {
                let transform = NewColumnTransform::BatchUDF(BatchUDF {
                    mapper: mapper(makers.clone(), output.clone()),
                    output_schema: output.clone(),
                    result_checkpoint: None,
                });
                let reads = reads.clone();
                async move {
                    let rows = u32::try_from(limits::BATCH_ROWS).ok();
                    fragment.add_columns(transform, Some(reads), rows).await.map_err(error::convert)
                }
            })
            .collect();
        let made: Vec<(Fragment, Schema)> =
            futures::stream::iter(work).buffered(limits::STAGE_PARALLELISM).try_collect().await?;
        let schema = made.first().map(|(_, schema)| schema.clone());
        Ok((made.into_iter().map(|(fragment, _)| fragment).collect(), schema))
    }
}

type Mapper = Box<dyn Fn(&RecordBatch) -> ::lance::Result<RecordBatch> + Send + Sync>;

fn mapper(makers: Arc<[Make]>, schema: Arc<ArrowSchema>) -> Mapper {
    Box::new(move |batch| {
        let columns = makers.iter().map(|make| make(batch)).collect::<Result<Vec<_>>>();
        let columns = columns.map_err(|e| ::lance::Error::wrapped(Box::new(e)))?;
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    })
}

/// A name that no property can have.
fn scratch(at: usize) -> String {
    format!("__made_{at}")
}

fn renamed(mut field: Field, to: &ArrowField) -> Field {
    field.name.clone_from(to.name());
    let of_ours = |key: &String| key.starts_with("omnigraph:");
    field.metadata.retain(|key, _| !of_ours(key));
    field.metadata.extend(to.metadata().iter().filter(|(key, _)| of_ours(key)).map(|(k, v)| (k.clone(), v.clone())));
    field
}

/// Without files that hold nothing any more.
fn without_dropped(mut fragments: Vec<Fragment>, schema: &Schema) -> Vec<Fragment> {
    let left: HashSet<i32> = schema.fields_pre_order().map(|field| field.id).collect();
    for fragment in &mut fragments {
        let spilled = fragment.spilled_row_lineage_field_ids();
        fragment.files.retain(|file| file.fields.iter().any(|id| left.contains(id) || spilled.contains(id)));
    }
    fragments
}
