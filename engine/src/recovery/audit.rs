//! The recovery log: one row per decided operation, kept in a dataset of its own.

use std::collections::{HashMap, HashSet};

use futures::StreamExt;

use crate::error::{Error, Reason, Result};
use crate::format::intent_json::IntentDoc;
use crate::format::paths;
use crate::format::recovery_row::{self, RecoveredTable, RecoveryRow};
use crate::store::lance::commit::Committed;
use crate::store::lance::open::Created;
use crate::store::lance::scan::Scan;
use crate::store::lance::stage::GoneRows;
use crate::txn::Core;

/// Appends that lose to another one are repeated at most this often.
const MAX_ATTEMPTS: usize = 32;

/// Records that `intent` was decided.
///
/// # Errors
/// The store's.
pub async fn record(
    core: &Core,
    intent: &IntentDoc,
    outcome: &str,
    decider: &str,
    tables: Vec<RecoveredTable>,
) -> Result<()> {
    let row = RecoveryRow {
        operation_id: intent.operation_id.clone(),
        base_version: intent.base.manifest_version,
        branch: intent.branch.name.clone(),
        branch_id: intent.branch.branch_id.clone(),
        label: intent.label.clone(),
        actor: intent.actor.clone(),
        outcome: outcome.to_string(),
        graph_commit_id: decider.to_string(),
        tables,
        recovered_at: core.now(),
        recovered_by: core.writer().id,
    };
    let batch = recovery_row::to_batch(std::slice::from_ref(&row))?;
    for _ in 0..MAX_ATTEMPTS {
        let Some(table) = core.store.open_newest(paths::RECOVERIES, None).await? else {
            match core.store.create_table(paths::RECOVERIES, batch.clone(), HashMap::new()).await? {
                Created::Done(_) => return Ok(()),
                Created::Exists => continue,
            }
        };
        let rows = batch.clone();
        let stream = futures::stream::once(async move { Ok(rows) }).boxed();
        let new = table.stage_rows(&core.store, recovery_row::schema(), stream).await?;
        match table.commit(&core.store, table.stage(new, GoneRows::default())).await? {
            Committed::Landed(_) => return Ok(()),
            Committed::Taken => {}
        }
    }
    Err(Error::new(Reason::TooMuchContention, "the recovery log is contended; the next recovery records this one"))
}

/// Every decided operation, oldest first. Rows written twice are returned once.
///
/// # Errors
/// The store's, or damage.
pub async fn list(core: &Core) -> Result<Vec<RecoveryRow>> {
    let Some(table) = core.store.open_newest(paths::RECOVERIES, None).await? else {
        return Ok(Vec::new());
    };
    let scan = Scan { columns: recovery_row::columns(), ordered: true, ..Scan::default() };
    let mut seen = HashSet::new();
    let mut rows = Vec::new();
    for batch in table.collect(scan).await? {
        for row in recovery_row::from_batch(&batch)? {
            if seen.insert((row.operation_id.clone(), row.base_version)) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}
