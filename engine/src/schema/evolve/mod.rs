//! From one schema to another: the steps, what stands against them, and their effects on the tables.
//!
//! What is which is found by stable ids and names ([`names`]), the steps follow from that alone ([`steps`]), rows are
//! only read where a new rule asks something of them ([`check`]), and a column is only written where it gets values.
//! Everything takes effect in one commit. What goes stays readable at older commits.

mod check;
pub(crate) mod effects;
mod image;
mod names;
mod step;
pub(crate) mod steps;

use std::sync::Arc;

use async_trait::async_trait;

use self::steps::Evolution;
use crate::error::{Error, Reason, Result, Violation};
use crate::limits;
use crate::manifest::{Snapshot, View};
use crate::model::{
    ReadSelector, Receipt, Refusal, SchemaApply, SchemaPlan, SchemaStep, SchemaWish, StepWork, TypeRef, WriteOptions,
};
use crate::read::snapshot;
use crate::txn::commit::commit;
use crate::txn::{Action, Core, OnChange, Prepared};
use crate::write::target;

pub(crate) use check::{Overlay, Rows};
pub use names::strip;
pub(crate) use steps::Source;

/// See [`crate::Graph::plan_schema`].
///
/// # Errors
/// See there.
pub async fn plan(core: &Arc<Core>, branch: &str, wish: &SchemaWish) -> Result<SchemaPlan> {
    super::ensure_valid(&wish.schema)?;
    let branch = if branch.is_empty() { crate::model::branch::MAIN } else { branch };
    let (_, view) = core.heads.head(branch).await?;
    let _held = core.readers.hold(&view.snapshot);
    let mut evolution = evolution(&view.snapshot, wish)?;
    check_rows(core, &view.snapshot, &mut evolution).await?;
    Ok(SchemaPlan { head: view.snapshot.head().to_string(), schema: evolution.after, steps: evolution.steps })
}

/// See [`crate::Graph::apply_schema`].
///
/// # Errors
/// See there.
pub async fn apply(
    core: &Arc<Core>,
    apply: &SchemaApply,
    options: &WriteOptions,
) -> Result<(Receipt, Vec<SchemaStep>)> {
    core.ensure_writable()?;
    super::ensure_valid(&apply.wish.schema)?;
    let mut action = Apply { apply, done: Vec::new() };
    let receipt = commit(core, &mut action, options).await?.into_receipt();
    let steps = if receipt.replayed || !receipt.changed { Vec::new() } else { action.done };
    Ok((receipt, steps))
}

/// See [`crate::Graph::schema_changes`].
///
/// # Errors
/// See there.
pub async fn between(core: &Arc<Core>, before: &ReadSelector, after: &ReadSelector) -> Result<Vec<SchemaStep>> {
    let before = snapshot::resolve(core, before).await?;
    let after = snapshot::resolve(core, after).await?;
    changes(&before, &after)
}

/// How the schema of one state differs from that of another, without what it costs or whether it could be done.
///
/// # Errors
/// None in practice.
pub(crate) fn changes(before: &Snapshot, after: &Snapshot) -> Result<Vec<SchemaStep>> {
    if Arc::ptr_eq(&before.schema, &after.schema) {
        return Ok(Vec::new());
    }
    let mut steps = evolution(before, &SchemaWish::from(after.schema.as_ref().clone()))?.steps;
    for step in &mut steps {
        (step.work, step.refusal) = (StepWork::Metadata, None);
    }
    Ok(steps)
}

/// A wanted schema with the ids of what is in another already, and none for what is new.
///
/// # Errors
/// As [`plan`].
pub fn joined(before: &crate::model::Schema, wish: &SchemaWish) -> Result<crate::model::Schema> {
    names::matched(before, wish).map(|matched| matched.after)
}

/// The steps from the schema of a state to a wanted one.
pub(crate) fn evolution(state: &Snapshot, wish: &SchemaWish) -> Result<Evolution> {
    let rows = |type_ref: &TypeRef| state.pin(type_ref).map_or(0, |pin| pin.rows);
    let matched = names::matched(&state.schema, wish)?;
    Ok(steps::evolution(&state.schema, matched, &rows))
}

/// Reads the rows that new rules ask something of, and notes what stands against a step.
async fn check_rows(core: &Core, state: &Snapshot, evolution: &mut Evolution) -> Result<()> {
    let tables: Vec<Option<TypeRef>> = evolution.types.iter().map(|change| change.before.clone()).collect();
    for (change, ty) in evolution.types.iter().zip(&evolution.after.types) {
        let Some(before) = change.before.as_ref().filter(|_| !change.checks.is_empty()) else { continue };
        let table = target::pinned(core, state, before).await?;
        let start = ty.endpoints.as_ref().map(|ends| TypeRef::node(&ends.from));
        let named = evolution.after.types.iter().zip(&tables).find(|(ty, _)| Some(ty.type_ref()) == start);
        let sources = match named.and_then(|(_, before)| before.as_ref()) {
            Some(before) => target::pinned(core, state, before).await?,
            None => None,
        };
        let rows = Rows {
            ty,
            columns: &change.columns,
            table: table.as_ref(),
            changed: Overlay::default(),
            sources: sources.as_ref(),
            changed_sources: Overlay::default(),
        };
        for (at, check) in &change.checks {
            let offenders = rows.offenders(check).await?;
            if let (Some(remedy), Some(step)) = (offenders.sentence(ty), evolution.steps.get_mut(*at)) {
                step.refusal.get_or_insert(Refusal { code: check.code(), remedy });
            }
        }
    }
    Ok(())
}

/// Fails if the graph cannot take a step, or may not.
fn refuse(steps: &[SchemaStep], consent: bool) -> Result<()> {
    let refused: Vec<(&SchemaStep, &Refusal)> =
        steps.iter().filter_map(|step| Some((step, step.refusal.as_ref()?))).collect();
    if let Some((first, refusal)) = refused.first() {
        let what = format!(
            "the graph cannot take {} of {} steps, the first: {} [{}]: {}; nothing was changed",
            refused.len(),
            steps.len(),
            first.description,
            refusal.code.as_str(),
            refusal.remedy
        );
        let listed = refused.iter().take(limits::MAX_REPORTED_VIOLATIONS).map(|(step, refusal)| Violation {
            field: step.subject.to_string(),
            description: format!("{}: {}", refusal.code.as_str(), refusal.remedy),
            reason: Reason::SchemaRefused,
        });
        return Err(Error::new(Reason::SchemaRefused, what)
            .with("steps", refused.len())
            .with("code", refusal.code.as_str())
            .with("subject", &first.subject)
            .with_violations(listed.collect()));
    }
    let lossy: Vec<&SchemaStep> = steps.iter().filter(|step| step.loses_data).collect();
    if consent || lossy.is_empty() {
        return Ok(());
    }
    let listed = lossy.iter().take(limits::MAX_REPORTED_VIOLATIONS).map(|step| Violation {
        field: step.subject.to_string(),
        description: step.description.clone(),
        reason: Reason::ConfirmationRequired,
    });
    Err(Error::new(
        Reason::ConfirmationRequired,
        format!(
            "{} steps take data away, the first: {}; older commits go on showing it until a cleanup. Nothing was \
             changed; allow it to go on",
            lossy.len(),
            lossy.first().map_or("", |step| step.description.as_str())
        ),
    )
    .with("steps", lossy.len())
    .with_violations(listed.collect()))
}

struct Apply<'a> {
    apply: &'a SchemaApply,
    // Of the attempt prepared last.
    done: Vec<SchemaStep>,
}

#[async_trait]
impl Action for Apply<'_> {
    fn label(&self) -> &'static str {
        "schema_apply"
    }

    fn on_change(&self) -> OnChange {
        OnChange::Prepare
    }

    fn queues_first(&self) -> bool {
        false
    }

    fn writes_directly(&self) -> bool {
        true
    }

    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>> {
        let _held = core.readers.hold(&view.snapshot);
        let mut evolution = evolution(&view.snapshot, &self.apply.wish)?;
        if evolution.steps.is_empty() && !evolution.types.iter().any(|change| change.changed) {
            return Ok(None);
        }
        check_rows(core, &view.snapshot, &mut evolution).await?;
        refuse(&evolution.steps, self.apply.consent)?;
        self.done.clone_from(&evolution.steps);
        effects::prepared(core, view, evolution).await.map(Some)
    }
}
