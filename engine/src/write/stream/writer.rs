//! One stream of rows on its way to data files.

use arrow_array::RecordBatch;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::{Error, Result};
use crate::format::arrow;
use crate::model::EntityType;
use crate::store::lance::Table;
use crate::store::lance::stage::NewRows;
use crate::txn::Core;

/// Batches waiting for the store.
const BATCHES_IN_FLIGHT: usize = 2;

type Running = (mpsc::Sender<Result<RecordBatch>>, JoinHandle<Result<NewRows>>);

/// Starts with its first batch; one that never gets one writes nothing.
#[derive(Default)]
pub(in crate::write) struct Writer {
    running: Option<Running>,
}

impl Writer {
    /// Hands a batch of the logical schema on. Waits while the store is behind.
    pub async fn send(&mut self, core: &Core, base: &Table, ty: &EntityType, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let stored = arrow::to_storage(ty, &batch)?;
        if self.running.is_none() {
            let (sender, receiver) = mpsc::channel(BATCHES_IN_FLIGHT);
            let (base, store, schema) = (base.clone(), core.store.clone(), stored.schema());
            let batches = futures::stream::unfold(receiver, |mut receiver: mpsc::Receiver<_>| async move {
                receiver.recv().await.map(|batch| (batch, receiver))
            });
            let task = tokio::spawn(async move { base.stage_rows(&store, schema, batches).await });
            self.running = Some((sender, task));
        }
        let Some((sender, _)) = &self.running else {
            return Ok(());
        };
        if sender.send(Ok(stored)).await.is_err() {
            // The task ended early: its own error says why.
            return std::mem::take(self).finish().await.map(|_| ());
        }
        Ok(())
    }

    /// Waits for everything to be written.
    pub async fn finish(mut self) -> Result<NewRows> {
        match self.running.take() {
            None => Ok(NewRows::default()),
            Some((sender, task)) => {
                drop(sender);
                task.await.map_err(|e| Error::internal("a writer was torn down").caused_by(e))?
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Given up: stop writing instead of finishing files nobody will use.
        if let Some((_, task)) = &self.running {
            task.abort();
        }
    }
}
