//! Changes of schema of a graph, wherever it is.

use omnigraph_engine::model::{ReadSelector, Rename, SchemaApply, SchemaStep, SchemaWish, StepWork, WriteOptions};
use omnigraph_engine::schema;

use super::convert::{self, evolve as into};
use super::embedded::Embedded;
use super::remote::Remote;
use super::{Outcome, Target, either};
use crate::failure::Result;

/// A schema that a branch should have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wish {
    /// As `.pg` text.
    pub(crate) source: String,
    /// Changes of name besides those the text tells.
    pub(crate) renames: Vec<Rename>,
}

impl Wish {
    fn read(&self) -> Result<SchemaWish> {
        Ok(SchemaWish { schema: schema::parse(&self.source)?, renames: self.renames.clone() })
    }
}

/// What a change of schema would come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The commit that was compared.
    pub(crate) head: String,
    pub(crate) steps: Vec<SchemaStep>,
    /// The schema as it would be.
    pub(crate) source: String,
}

impl Plan {
    /// How many steps the graph cannot take.
    pub(crate) fn refused(&self) -> usize {
        self.steps.iter().filter(|step| step.refusal.is_some()).count()
    }

    /// The steps that need consent.
    pub(crate) fn losing(&self) -> impl Iterator<Item = &SchemaStep> {
        self.steps.iter().filter(|step| step.loses_data)
    }
}

/// What a change of schema did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evolved {
    pub(crate) write: Outcome,
    /// The steps that were taken.
    pub(crate) steps: Vec<SchemaStep>,
}

/// How the schemas of two versions differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SchemaDiff {
    /// The commit before.
    pub(crate) before: String,
    /// The commit after.
    pub(crate) after: String,
    /// Their costs are not known.
    pub(crate) steps: Vec<SchemaStep>,
}

impl Target {
    /// What it would take to give a branch a schema.
    pub(crate) async fn plan_schema(&self, branch: &str, wish: &Wish) -> Result<Plan> {
        either!(self, target => target.plan_schema(branch, wish).await)
    }

    /// Gives the branch that the options name a schema. `consent` is to steps that lose data.
    pub(crate) async fn apply_schema(&self, wish: &Wish, consent: bool, options: &WriteOptions) -> Result<Evolved> {
        either!(self, target => target.apply_schema(wish, consent, options).await)
    }

    /// How the schema of one version differs from that of another.
    pub(crate) async fn diff_schemas(&self, before: &ReadSelector, after: &ReadSelector) -> Result<SchemaDiff> {
        either!(self, target => target.diff_schemas(before, after).await)
    }
}

impl Embedded {
    async fn plan_schema(&self, branch: &str, wish: &Wish) -> Result<Plan> {
        let plan = self.graph().plan_schema(branch, &wish.read()?).await?;
        Ok(Plan { head: plan.head, steps: plan.steps, source: schema::print(&plan.schema) })
    }

    async fn apply_schema(&self, wish: &Wish, consent: bool, options: &WriteOptions) -> Result<Evolved> {
        let apply = SchemaApply { wish: wish.read()?, consent };
        let (receipt, steps) = self.graph().apply_schema(&apply, options).await?;
        Ok(Evolved { write: Outcome::of(receipt, options.branch_name()), steps })
    }

    async fn diff_schemas(&self, before: &ReadSelector, after: &ReadSelector) -> Result<SchemaDiff> {
        // Both are fixed first, so that the answer is about the commits it names.
        let (before, after) = (self.graph().snapshot(before).await?, self.graph().snapshot(after).await?);
        let (before, after) = (before.head().to_string(), after.head().to_string());
        let commit = |id: &String| ReadSelector::Commit(id.clone());
        let steps = self.graph().schema_changes(&commit(&before), &commit(&after)).await?;
        // They lie between two states that both are, so nothing stands against them.
        let taken = |step| SchemaStep { work: StepWork::Metadata, loses_data: false, refusal: None, ..step };
        Ok(SchemaDiff { before, after, steps: steps.into_iter().map(taken).collect() })
    }
}

impl Remote {
    async fn plan_schema(&self, branch: &str, wish: &Wish) -> Result<Plan> {
        let mut plan = self.graph().plan_schema(wish.source.as_str()).branch(branch);
        for rename in &wish.renames {
            plan = plan.rename(into::rename_out(rename));
        }
        into::plan_in(plan.send().await?)
    }

    async fn apply_schema(&self, wish: &Wish, consent: bool, options: &WriteOptions) -> Result<Evolved> {
        let mut apply = self.graph().apply_schema(wish.source.as_str()).branch(options.branch_name());
        apply = apply.message(&options.message);
        if !options.expected_head.is_empty() {
            apply = apply.expected_head(&options.expected_head);
        }
        if !options.request_id.is_empty() {
            apply = apply.request_id(&options.request_id);
        }
        if consent {
            apply = apply.allow_data_loss();
        }
        for rename in &wish.renames {
            apply = apply.rename(into::rename_out(rename));
        }
        let applied = apply.send().await?;
        let steps = applied.steps.into_iter().map(into::step_in).collect();
        Ok(Evolved { write: convert::receipt_in(applied.receipt), steps })
    }

    async fn diff_schemas(&self, before: &ReadSelector, after: &ReadSelector) -> Result<SchemaDiff> {
        let (before, after) = (self.selector(before).await?, self.selector(after).await?);
        let diff = self.graph().diff_schemas(before, after).await?;
        let steps = diff.steps.into_iter().map(into::step_in).collect();
        Ok(SchemaDiff { before: diff.before.id, after: diff.after.id, steps })
    }
}
