//! Changes of schema: what they would come to, making them, and how two versions differ. Once begun, a change is
//! finished even if the caller goes away.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::{Actor, ReadSelector, SchemaApply};
use omnigraph_proto::v1;

use crate::convert::{commit, evolve, selector, write};
use crate::state::State;

/// `PlanSchema`.
pub(super) async fn plan(state: &State, request: v1::PlanSchemaRequest) -> Result<v1::PlanSchemaResponse> {
    let wish = evolve::wish_to_engine(request.schema, request.renames)?;
    let branch = selector::branch_or_main(request.branch);
    let graph = state.graph(&request.graph).await?;
    let plan = graph.plan_schema(&branch, &wish).await?;
    let head = graph.snapshot(&ReadSelector::Branch(branch)).await?;
    let read = match head.head() == plan.head {
        true => commit::ref_to_proto(&head, true),
        // The branch moved on meanwhile, so the version is named by its commit.
        false => commit::ref_to_proto(&graph.snapshot(&ReadSelector::Commit(plan.head.clone())).await?, false),
    };
    Ok(evolve::plan_to_proto(plan, read))
}

/// `ApplySchema`.
pub(super) async fn apply(
    state: &State,
    request: v1::ApplySchemaRequest,
    actor: Actor,
) -> Result<v1::ApplySchemaResponse> {
    let (graph, options) = write::options_to_engine(request.options, actor)?;
    let wish = evolve::wish_to_engine(request.schema, request.renames)?;
    let asked = SchemaApply { wish, consent: request.allow_destructive };
    let graph = state.graph(&graph).await?;
    state.ensure_writable()?;
    let branch = options.branch_name().to_string();
    let work = async move { graph.apply_schema(&asked, &options).await };
    let (receipt, steps) = state.finish(work).await.map_err(where_to_agree)?;
    Ok(v1::ApplySchemaResponse {
        receipt: Some(commit::receipt_to_proto(receipt, &branch)),
        changes: steps.into_iter().map(evolve::step_to_proto).collect(),
    })
}

/// Says which field gives the consent that is missing.
fn where_to_agree(error: Error) -> Error {
    match error.reason() {
        Reason::ConfirmationRequired => error.with("field", "allow_destructive").with("expected", true),
        _ => error,
    }
}

/// `DiffSchemas`. Both versions are fixed first, so that the answer is about those it names.
pub(super) async fn diff(state: &State, request: v1::DiffSchemasRequest) -> Result<v1::DiffSchemasResponse> {
    let before = selector::to_engine("before", request.before)?;
    let after = selector::to_engine("after", request.after)?;
    let graph = state.graph(&request.graph).await?;
    let (old, new) = (graph.snapshot(&before).await?, graph.snapshot(&after).await?);
    let fixed = |id: &str| ReadSelector::Commit(id.to_string());
    let steps = graph.schema_changes(&fixed(old.head()), &fixed(new.head())).await?;
    Ok(v1::DiffSchemasResponse {
        before: Some(commit::ref_to_proto(&old, selector::names_branch(&before))),
        after: Some(commit::ref_to_proto(&new, selector::names_branch(&after))),
        changes: steps.into_iter().map(evolve::difference_to_proto).collect(),
    })
}
