//! Merges: how they are asked for, what stands against them, what they came to.

use omnigraph_engine::error::{Error, Result};
use omnigraph_engine::model::{
    Conflict, ConflictKind, Granularity, MergeHow, MergeNote, MergeOutcome, MergePreview, MergeRequest, MergeResult,
    MergeSummary, Resolution, Side,
};
use omnigraph_proto::v1;

use super::{commit, entity, invalid, required, selector, set};

/// A merge into `target`, the branch that the options of the request name.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming what is missing or unknown, and for a source that is the
/// target.
pub fn request_to_engine(request: v1::MergeBranchRequest, target: &str) -> Result<MergeRequest> {
    Ok(MergeRequest {
        source: source_to_engine(request.source_branch, target)?,
        expected_source_head: request.expected_source_head,
        how: how_to_engine("how", request.how)?,
        delete_source: request.delete_source,
    })
}

/// The name of the branch to merge from.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] if it is the one to merge into.
pub fn source_to_engine(source: String, target: &str) -> Result<String> {
    let source = selector::branch_or_main(source);
    if source == target {
        return Err(invalid("source_branch", format!("{target:?} cannot be merged into itself")));
    }
    Ok(source)
}

/// How conflicts are found and settled; the default for nothing said.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming what is missing or unknown.
pub fn how_to_engine(path: &str, how: Option<v1::MergeHow>) -> Result<MergeHow> {
    let how = how.unwrap_or_default();
    let granularity = match v1::Granularity::try_from(how.granularity) {
        Ok(v1::Granularity::Unspecified | v1::Granularity::Property) => Granularity::Property,
        Ok(v1::Granularity::Entity) => Granularity::Entity,
        Err(_) => return Err(unknown(format!("{path}.granularity"), how.granularity)),
    };
    let strategy = match v1::Strategy::try_from(how.strategy) {
        Ok(v1::Strategy::Unspecified | v1::Strategy::Fail) => None,
        Ok(v1::Strategy::Ours) => Some(Side::Target),
        Ok(v1::Strategy::Theirs) => Some(Side::Source),
        Err(_) => return Err(unknown(format!("{path}.strategy"), how.strategy)),
    };
    let resolution = |(i, resolution)| resolution_to_engine(&format!("{path}.resolutions[{i}]"), resolution);
    let resolutions = how.resolutions.into_iter().enumerate().map(resolution).collect::<Result<_>>()?;
    Ok(MergeHow { granularity, strategy, resolutions })
}

/// One decision of the caller.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming what is missing or unknown.
pub fn resolution_to_engine(path: &str, resolution: v1::Resolution) -> Result<Resolution> {
    let field = format!("{path}.type");
    let ty = set(&field, resolution.r#type)?;
    let type_ref = entity::type_to_engine(&format!("{field}."), ty.kind, &ty.type_name)?;
    required(&format!("{path}.id"), &resolution.id)?;
    let field = format!("{path}.take");
    let take = match v1::Side::try_from(resolution.take) {
        Ok(v1::Side::Base) => Side::Base,
        Ok(v1::Side::Ours) => Side::Target,
        Ok(v1::Side::Theirs) => Side::Source,
        Ok(v1::Side::Unspecified) => return Err(invalid(field, "must say whose version is taken")),
        Err(_) => return Err(unknown(field, resolution.take)),
    };
    let property = (!resolution.property.is_empty()).then_some(resolution.property);
    Ok(Resolution { type_ref, id: resolution.id, property, take })
}

fn unknown(field: String, number: i32) -> Error {
    invalid(field, format!("{number} has no meaning this server knows"))
}

/// How conflicts are found and settled, as a message.
pub fn how_to_proto(how: MergeHow) -> v1::MergeHow {
    let granularity = match how.granularity {
        Granularity::Property => v1::Granularity::Property,
        Granularity::Entity => v1::Granularity::Entity,
    };
    v1::MergeHow {
        granularity: granularity.into(),
        strategy: strategy_to_proto(how.strategy),
        resolutions: how.resolutions.into_iter().map(resolution_to_proto).collect(),
    }
}

/// A decision of the caller as a message.
pub fn resolution_to_proto(resolution: Resolution) -> v1::Resolution {
    let take = match resolution.take {
        Side::Base => v1::Side::Base,
        Side::Target => v1::Side::Ours,
        Side::Source => v1::Side::Theirs,
    };
    v1::Resolution {
        r#type: Some(entity::type_to_proto(&resolution.type_ref)),
        id: resolution.id,
        property: resolution.property.unwrap_or_default(),
        take: take.into(),
    }
}

/// No strategy takes the base; if a commit says so, it is one that the contract has no name for.
fn strategy_to_proto(strategy: Option<Side>) -> i32 {
    match strategy {
        None => v1::Strategy::Fail,
        Some(Side::Target) => v1::Strategy::Ours,
        Some(Side::Source) => v1::Strategy::Theirs,
        Some(Side::Base) => v1::Strategy::Unspecified,
    }
    .into()
}

/// What a merge came to, as its number in messages.
pub fn outcome_to_proto(outcome: MergeOutcome) -> i32 {
    match outcome {
        MergeOutcome::AlreadyUpToDate => v1::MergeOutcome::AlreadyUpToDate,
        MergeOutcome::FastForward => v1::MergeOutcome::FastForward,
        MergeOutcome::Merged => v1::MergeOutcome::Merged,
    }
    .into()
}

/// What a merge into `branch` did, as an answer, with what became of the source.
pub fn merged_to_proto(
    result: MergeResult,
    branch: &str,
    source_deletion: Option<v1::SourceDeletion>,
) -> v1::MergeBranchResponse {
    v1::MergeBranchResponse {
        outcome: outcome_to_proto(result.outcome),
        receipt: Some(commit::receipt_to_proto(result.receipt, branch)),
        base_commit_id: result.base,
        source_commit_id: result.source,
        conflicts_settled: result.settled,
        source_deletion,
    }
}

/// What a revert on `branch` did, as an answer.
pub fn reverted_to_proto(result: MergeResult, branch: &str) -> v1::RevertCommitResponse {
    v1::RevertCommitResponse {
        outcome: outcome_to_proto(result.outcome),
        receipt: Some(commit::receipt_to_proto(result.receipt, branch)),
        conflicts_settled: result.settled,
    }
}

/// What a cherry-pick on `branch` did, as an answer.
pub fn picked_to_proto(result: MergeResult, branch: &str) -> v1::CherryPickCommitResponse {
    v1::CherryPickCommitResponse {
        outcome: outcome_to_proto(result.outcome),
        receipt: Some(commit::receipt_to_proto(result.receipt, branch)),
        conflicts_settled: result.settled,
    }
}

/// What restoring `branch` did, as an answer.
pub fn restored_to_proto(result: MergeResult, branch: &str) -> v1::RestoreBranchResponse {
    v1::RestoreBranchResponse {
        receipt: Some(commit::receipt_to_proto(result.receipt, branch)),
        source_commit_id: result.source,
    }
}

/// What a merge would be, as the messages of an answer: the summary, then every conflict.
pub fn preview_to_proto(preview: MergePreview) -> impl Iterator<Item = v1::PreviewMergeResponse> {
    use v1::preview_merge_response::Part;
    let summary = summary_to_proto(preview.summary, preview.conflicts.len());
    let conflicts = preview.conflicts.into_iter().map(|conflict| Part::Conflict(conflict_to_proto(conflict)));
    let parts = std::iter::once(Part::Summary(summary)).chain(conflicts);
    parts.map(|part| v1::PreviewMergeResponse { part: Some(part) })
}

fn summary_to_proto(summary: MergeSummary, conflicts: usize) -> v1::MergeSummary {
    v1::MergeSummary {
        outcome: outcome_to_proto(summary.outcome),
        base_commit_id: summary.base,
        source_commit_id: summary.source,
        target_commit_id: summary.target,
        counts: commit::counts_to_proto(&summary.counts),
        conflicts_settled: summary.settled,
        conflicts: conflicts as u64,
    }
}

/// What stands against a merge, as a message.
pub fn conflict_to_proto(conflict: Conflict) -> v1::MergeConflict {
    let kind = match conflict.kind {
        ConflictKind::DivergentInsert => v1::ConflictKind::DivergentInsert,
        ConflictKind::DivergentUpdate => v1::ConflictKind::DivergentUpdate,
        ConflictKind::DeleteVsUpdate => v1::ConflictKind::DeleteVsUpdate,
        ConflictKind::OrphanEdge => v1::ConflictKind::OrphanEdge,
        ConflictKind::UniqueViolation => v1::ConflictKind::UniqueViolation,
        ConflictKind::CardinalityViolation => v1::ConflictKind::CardinalityViolation,
        ConflictKind::ValueConstraintViolation => v1::ConflictKind::ValueConstraintViolation,
        ConflictKind::Schema => v1::ConflictKind::Schema,
    };
    v1::MergeConflict {
        kind: kind.into(),
        r#type: Some(entity::type_to_proto(&conflict.type_ref)),
        id: conflict.id,
        properties: conflict.properties,
        base: conflict.base.map(entity::to_proto),
        source: conflict.source.map(entity::to_proto),
        target: conflict.target.map(entity::to_proto),
        message: conflict.message,
    }
}

/// What a commit remembers of its merge, as a message.
pub fn note_to_proto(note: MergeNote) -> v1::MergeNote {
    v1::MergeNote {
        outcome: outcome_to_proto(note.outcome),
        base_commit_id: note.base,
        source_commit_id: note.source,
        source_branch: note.source_branch,
        strategy: strategy_to_proto(note.strategy),
        conflicts_settled: note.settled,
        resolutions: note.resolutions.into_iter().map(resolution_to_proto).collect(),
    }
}

#[cfg(test)]
mod tests;
