//! Bringing tables that stand ahead of their published version back to it.
//!
//! After a roll back, a stalled writer's late effect or a lost intent, a table may be followed by versions
//! that are in no lineage. They carry an operation of ours, so they are known to be abandoned: the
//! published content is restored on top of them and pinned there by a commit that changes nothing else.
//! Versions that carry none are somebody else's and are never touched.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{Error, Reason, Result};
use crate::format::snapshot_json;
use crate::manifest::View;
use crate::manifest::heads::Line;
use crate::model::commit::RECOVERY;
use crate::model::{Actor, TypeRef, WriteOptions};
use crate::store::lance::{Table, TableAt};
use crate::txn::{Action, Core, Effect, Prepared, commit};

/// More abandoned versions than this on one table are not examined one by one.
const MAX_ABANDONED: u64 = 1_000;

/// Restores those of the tables that need it, in a turn of its own.
///
/// # Errors
/// [`Reason::Drift`] if versions stand there that are not ours; the store's.
pub async fn restore(core: &Arc<Core>, line: &Arc<Line>, types: &[TypeRef]) -> Result<()> {
    let mut action = Restore { types: types.to_vec() };
    let options = WriteOptions {
        branch: line.identity.name.clone(),
        message: "restored the published content of tables left ahead by interrupted operations".to_string(),
        actor: Actor::recovery(),
        ..WriteOptions::default()
    };
    commit::commit(core, &mut action, &options).await.map(|_| ())
}

struct Restore {
    types: Vec<TypeRef>,
}

#[async_trait]
impl Action for Restore {
    fn label(&self) -> &'static str {
        RECOVERY
    }

    fn restores(&self) -> bool {
        true
    }

    fn actor(&self) -> Option<Actor> {
        Some(Actor::recovery())
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let mut prepared = Prepared::default();
        for type_ref in &self.types {
            let Ok(pin) = view.snapshot.pin(type_ref) else {
                continue;
            };
            // An inherited state's line goes on elsewhere; only what this branch made can be ahead of it.
            let Some(at) = pin.at.as_ref().filter(|_| pin.owned) else { continue };
            let Some(newest) = core.store.open_newest(&at.location, at.branch.as_deref()).await? else {
                continue;
            };
            if newest.version() <= at.version {
                continue;
            }
            ensure_abandoned(core, type_ref, at, &newest).await?;
            let staged = newest.stage_restore(at.version, pin.rows);
            prepared.effects.push(Effect::in_place(type_ref.clone(), newest, staged));
        }
        Ok((!prepared.effects.is_empty()).then_some(prepared))
    }
}

/// Checks that everything above a pin is ours.
///
/// # Errors
/// [`Reason::Drift`] if it is not; the store's.
pub async fn ensure_abandoned(core: &Core, type_ref: &TypeRef, pin: &TableAt, newest: &Table) -> Result<()> {
    let drift = |version: u64| {
        Error::new(
            Reason::Drift,
            format!(
                "{type_ref} is published at version {} but stands at {}, and version {version} was not made by \
                 omnigraph; run `omnigraph repair` to see what it is. Other types are not affected",
                pin.version,
                newest.version()
            ),
        )
        .with("type", type_ref)
        .with("manifest_version", pin.version)
        .with("lance_head_version", newest.version())
    };
    if newest.version() - pin.version > MAX_ABANDONED {
        return Err(drift(pin.version + 1));
    }
    for version in pin.version + 1..=newest.version() {
        let at = TableAt { version, ..pin.clone() };
        let standing = match core.store.open_table(&at).await? {
            Some(table) => table.standing().await?,
            None => None,
        };
        if standing.as_ref().is_none_or(|s| !s.properties.contains_key(snapshot_json::OPERATION)) {
            return Err(drift(version));
        }
    }
    Ok(())
}
