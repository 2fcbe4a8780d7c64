//! The one place that makes anything visible: one strict commit to a branch's manifest.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;

use super::View;
use super::lineage::Lineage;
use super::snapshot::Snapshot;
use super::tail::{self, TailPlan};
use super::{invariants, resolve};
use crate::error::{Error, Result};
use crate::format::manifest_row::{self, ManifestRow};
use crate::format::{commit_row, paths, snapshot_json, stamp};
use crate::intent::retention;
use crate::store::Store;
use crate::store::lance::commit::Committed;
use crate::store::lance::open::Created;
use crate::store::lance::stage::{GoneRows, NewRows};

/// What a publish did.
#[derive(Debug)]
pub enum Published {
    /// The rows are visible; here is the new view.
    Landed(View),
    /// Another version stands where ours would have gone. Nothing was published.
    Lost,
}

/// Creates a graph's manifest, holding its first commit, in one atomic step.
///
/// # Errors
/// The store's.
pub async fn create(store: &Store, rows: &[ManifestRow]) -> Result<Published> {
    let branch = super::BranchIdentity::main();
    let snapshot = Snapshot::from_rows(branch.clone(), 1, rows)?;
    let properties = properties(&snapshot, "init", 0)?;
    let mut all = rows.to_vec();
    all.push(commit_row::head(&branch.name, snapshot.head()));
    let batch = manifest_row::to_batch(&all)?;
    match store.create_table(paths::MANIFEST, batch, properties).await? {
        Created::Done(table) => {
            stamp::check(table.schema_metadata(), store.root().uri())?;
            Ok(Published::Landed(View::new(snapshot, table, resolve::empty_cache())))
        }
        Created::Exists => Ok(Published::Lost),
    }
}

/// Publishes `rows`, which must hold exactly one commit, as the version after `base`.
///
/// # Errors
/// The store's: whether the rows are visible is then unknown until the version is read.
pub async fn publish(store: &Store, base: &View, rows: Vec<ManifestRow>, operation: &str) -> Result<Published> {
    let next = base.snapshot.advance(&rows)?;
    invariants::check_successor(base.snapshot.doc(), next.doc())?;
    let fragments = base.table.fragments();
    let counts: Vec<u64> = fragments.iter().map(|f| f.physical_rows).collect();
    let plan = tail::plan(&counts, rows.len() as u64);
    let replaced: Vec<u64> = fragments[plan.from..].iter().map(|f| f.id).collect();
    let layout = lay_out(base, &plan, &replaced, rows).await?;
    let mut new = NewRows::default();
    for rows in &layout {
        new.extend(write(store, base, rows).await?);
    }
    let mut staged = base.table.stage(new, GoneRows::whole_fragments(&base.table, &replaced));
    staged.set_properties(properties(&next, operation, base.snapshot.version)?);
    match base.table.commit(store, staged).await? {
        Committed::Landed(table) => {
            let generation = retention::generation(store).await?;
            if generation != base.generation && !stands(store, base, next.head()).await? {
                store.withdraw(&table).await;
                return Ok(Published::Lost);
            }
            let view = View::new(next, table, base.rows.clone()).known_since(generation);
            let written = view.table.fragments();
            let first = written.len().saturating_sub(layout.len());
            for (fragment, rows) in written[first..].iter().zip(layout) {
                view.remember(fragment.id, Arc::new(rows));
            }
            Ok(Published::Landed(view))
        }
        Committed::Taken => Ok(Published::Lost),
    }
}

/// Whether a commit that was just published is in the lineage. A cleanup removes old versions of the manifest, and with
/// them what tells a writer that slept for long that its base is not the newest: it then finds the next number free.
async fn stands(store: &Store, base: &View, commit: &str) -> Result<bool> {
    let Some(newest) = resolve::newest(store, &base.snapshot.branch).await? else {
        return Ok(false);
    };
    if newest.snapshot.head() == commit {
        return Ok(true);
    }
    let mut lineage = Lineage::default();
    lineage.extend(&newest).await?;
    Ok(lineage.get(commit).is_some())
}

/// The rows of each new fragment. They get fresh row ids: keeping the old ones would make every manifest
/// list them one by one, for ever, and nothing refers to them.
async fn lay_out(
    base: &View,
    plan: &TailPlan,
    replaced: &[u64],
    new: Vec<ManifestRow>,
) -> Result<Vec<Vec<ManifestRow>>> {
    let branch = &base.snapshot.branch.name;
    let mut old: Vec<ManifestRow> = Vec::new();
    for rows in base.rows_of(replaced).await? {
        // Also one that the branch inherited: were it sealed, a later branch of that name would have two.
        old.extend(rows.iter().filter(|row| row.object_type != manifest_row::ObjectType::GraphHead).cloned());
    }
    let newest = new
        .iter()
        .rev()
        .find(|r| r.object_type == manifest_row::ObjectType::GraphCommit)
        .ok_or_else(|| Error::internal("a publish without a commit"))?;
    let head = commit_row::head(branch, &newest.object_id);
    let mut parts = Vec::new();
    let mut last = if plan.seal {
        if !old.is_empty() {
            parts.push(old);
        }
        Vec::new()
    } else {
        old
    };
    last.extend(new);
    // Always in the last fragment, which every publish rewrites, so that moving it deletes nothing.
    last.push(head);
    parts.push(last);
    Ok(parts)
}

async fn write(store: &Store, base: &View, rows: &[ManifestRow]) -> Result<NewRows> {
    let batch = manifest_row::to_batch(rows)?;
    let stream = futures::stream::once(async move { Ok(batch) }).boxed();
    base.table.stage_rows(store, manifest_row::schema(), stream).await
}

fn properties(snapshot: &Snapshot, operation: &str, base: u64) -> Result<HashMap<String, String>> {
    Ok(HashMap::from([
        (snapshot_json::KEY.to_string(), snapshot_json::encode(snapshot.doc())?),
        (snapshot_json::OPERATION.to_string(), operation.to_string()),
        (snapshot_json::COMMIT.to_string(), snapshot.head().to_string()),
        (snapshot_json::BASE.to_string(), base.to_string()),
    ]))
}
