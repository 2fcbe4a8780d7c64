//! The recovery log: rows that are older than everything that can still be read, and versions nobody reads.

use std::collections::BTreeSet;

use arrow_array::{Array, Int64Array, UInt64Array};

use super::orphans::micros;
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::limits;
use crate::store::lance::Table;
use crate::store::lance::clean::Removed;
use crate::store::lance::commit::Committed;
use crate::store::lance::scan::{ROW_ADDRESS, Scan};
use crate::store::lance::stage::NewRows;
use crate::txn::Core;

/// The column that says when a row was made.
const MADE: &str = "recovered_at";

/// Removes rows made before `oldest`, the time of the oldest commit that can be read, if they are also older than
/// [`limits::RECOVERY_LOG_AGE`]. Returns how many there are. With `really` off nothing is removed.
///
/// # Errors
/// [`Reason::TooMuchContention`] if recoveries keep being recorded; the store's.
pub(super) async fn trim_rows(core: &Core, oldest: Option<i64>, really: bool) -> Result<u64> {
    let age = core.now().saturating_sub(micros(limits::RECOVERY_LOG_AGE));
    let cutoff = oldest.map_or(age, |oldest| oldest.min(age));
    for _ in 0..limits::MAX_COMMIT_ATTEMPTS {
        let Some(table) = core.store.open_newest(paths::RECOVERIES, None).await? else {
            return Ok(0);
        };
        let old = rows_before(&table, cutoff).await?;
        let count = old.len() as u64;
        if count == 0 || !really {
            return Ok(count);
        }
        let gone = table.stage_gone(old).await?;
        match table.commit(&core.store, table.stage(NewRows::default(), gone)).await? {
            Committed::Landed(_) => return Ok(count),
            Committed::Taken => {}
        }
    }
    Err(Error::new(Reason::TooMuchContention, "the recovery log is contended; the next cleanup removes its old rows"))
}

/// The addresses of rows made before a time.
async fn rows_before(table: &Table, cutoff: i64) -> Result<Vec<u64>> {
    let corrupt = || Error::new(Reason::DataCorrupt, format!("the recovery log lacks its column {MADE}"));
    let scan = Scan { columns: vec![MADE.to_string()], with_address: true, ordered: true, ..Scan::default() };
    let mut out = Vec::new();
    for batch in table.collect(scan).await? {
        let made = batch.column_by_name(MADE).and_then(|c| c.as_any().downcast_ref::<Int64Array>());
        let addresses = batch.column_by_name(ROW_ADDRESS).and_then(|c| c.as_any().downcast_ref::<UInt64Array>());
        let (made, addresses) = made.zip(addresses).ok_or_else(corrupt)?;
        out.extend(made.values().iter().zip(addresses.values()).filter(|(at, _)| **at < cutoff).map(|(_, a)| *a));
    }
    Ok(out)
}

/// Removes the versions of the log that were superseded a while ago: it is always read at its newest, but somebody may
/// just be adding a row to one that was the newest.
///
/// # Errors
/// The store's.
pub(super) async fn clean(core: &Core, really: bool) -> Result<Removed> {
    let files = core.store.version_files(paths::RECOVERIES, None).await?;
    let recent = core.now().saturating_sub(micros(limits::RETENTION_GRACE));
    let goes: BTreeSet<u64> =
        files.windows(2).filter(|pair| pair[1].stored_at <= recent).map(|pair| pair[0].version).collect();
    core.store.clean_line(paths::RECOVERIES, None, &goes, really).await
}
