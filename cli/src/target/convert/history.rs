//! Merges, differences, tags and feeds: the client's form for the engine's, and the other way.

use omnigraph_client as client;
use omnigraph_client::MergeOutcome as Outcome;
use omnigraph_engine::model::{
    ChangeKind, Conflict, ConflictKind, DiffFilter, EntityChange, FeedMessage, Granularity, MergeHow, MergeNote,
    MergeOutcome, MergePreview, MergeSummary, Resolution, Side, TagInfo, WatchRequest, WatchStart,
};

use super::evolve::step_in;
use super::{actor_in, commit_in, counts_in, entity_in, micros, receipt_in, type_in, type_out};
use crate::failure::{Exit, Failure, Result};
use crate::target::{Applied, Merged};

fn outcome_in(outcome: Outcome) -> MergeOutcome {
    match outcome {
        Outcome::AlreadyUpToDate => MergeOutcome::AlreadyUpToDate,
        Outcome::FastForward => MergeOutcome::FastForward,
        // It is done, whatever a newer server calls it.
        Outcome::Merged | Outcome::Unknown => MergeOutcome::Merged,
    }
}

fn side_in(side: client::Side) -> Side {
    match side {
        client::Side::Base => Side::Base,
        client::Side::Ours => Side::Target,
        client::Side::Theirs => Side::Source,
    }
}

fn side_out(side: Side) -> client::Side {
    match side {
        Side::Base => client::Side::Base,
        Side::Target => client::Side::Ours,
        Side::Source => client::Side::Theirs,
    }
}

fn resolution_in(resolution: client::Resolution) -> Resolution {
    Resolution {
        type_ref: type_in(resolution.type_ref),
        id: resolution.id,
        property: resolution.property,
        take: side_in(resolution.take),
    }
}

fn resolution_out(resolution: &Resolution) -> client::Resolution {
    client::Resolution {
        type_ref: type_out(&resolution.type_ref),
        id: resolution.id.clone(),
        property: resolution.property.clone(),
        take: side_out(resolution.take),
    }
}

pub(in crate::target) fn granularity_out(how: &MergeHow) -> client::Granularity {
    match how.granularity {
        Granularity::Property => client::Granularity::Property,
        Granularity::Entity => client::Granularity::Entity,
    }
}

/// The contract has no strategy that takes the base; nothing here asks for one.
pub(in crate::target) fn strategy_out(how: &MergeHow) -> Option<client::Strategy> {
    match how.strategy? {
        Side::Target => Some(client::Strategy::Ours),
        Side::Source => Some(client::Strategy::Theirs),
        Side::Base => None,
    }
}

pub(in crate::target) fn resolutions_out(how: &MergeHow) -> impl Iterator<Item = client::Resolution> + use<'_> {
    how.resolutions.iter().map(resolution_out)
}

pub(in crate::target) fn merged_in(merged: client::Merged) -> Merged {
    Merged {
        outcome: outcome_in(merged.outcome),
        base: merged.base,
        source: merged.source,
        settled: merged.conflicts_settled,
        write: receipt_in(merged.receipt),
        source_deleted: merged.source_deletion.map(deletion_in),
    }
}

pub(in crate::target) fn applied_in(applied: client::Applied) -> Applied {
    Applied {
        outcome: outcome_in(applied.outcome),
        settled: applied.conflicts_settled,
        write: receipt_in(applied.receipt),
    }
}

fn deletion_in(deletion: client::SourceDeletion) -> Result<()> {
    if deletion.deleted {
        return Ok(());
    }
    let failure = Failure::new(Exit::Failed, deletion.message);
    Err(match deletion.reason {
        Some(reason) => failure.because(reason),
        None => failure,
    })
}

fn kind_in(kind: client::ConflictKind) -> Result<ConflictKind> {
    use client::ConflictKind as K;
    Ok(match kind {
        K::DivergentInsert => ConflictKind::DivergentInsert,
        K::DivergentUpdate => ConflictKind::DivergentUpdate,
        K::DeleteVsUpdate => ConflictKind::DeleteVsUpdate,
        K::OrphanEdge => ConflictKind::OrphanEdge,
        K::UniqueViolation => ConflictKind::UniqueViolation,
        K::CardinalityViolation => ConflictKind::CardinalityViolation,
        K::ValueConstraintViolation => ConflictKind::ValueConstraintViolation,
        K::Schema => ConflictKind::Schema,
        K::Unknown => {
            let what = "the server names a kind of conflict that this release does not know; upgrade it";
            return Err(Failure::new(Exit::Failed, what));
        }
    })
}

pub(in crate::target) fn preview_in(preview: client::MergePreview) -> Result<MergePreview> {
    let summary = preview.summary;
    let summary = MergeSummary {
        outcome: outcome_in(summary.outcome),
        base: summary.base,
        source: summary.source,
        target: summary.target,
        counts: counts_in(summary.counts),
        settled: summary.conflicts_settled,
    };
    let conflict = |conflict: client::Conflict| {
        Ok(Conflict {
            kind: kind_in(conflict.kind)?,
            type_ref: type_in(conflict.type_ref),
            id: conflict.id,
            properties: conflict.properties,
            base: conflict.base.map(entity_in),
            target: conflict.ours.map(entity_in),
            source: conflict.theirs.map(entity_in),
            message: conflict.message,
        })
    };
    Ok(MergePreview { summary, conflicts: preview.conflicts.into_iter().map(conflict).collect::<Result<_>>()? })
}

pub(in crate::target) fn note_in(note: client::MergeNote) -> MergeNote {
    MergeNote {
        outcome: outcome_in(note.outcome),
        base: note.base,
        source: note.source,
        source_branch: note.source_branch,
        strategy: note.strategy.map(|strategy| match strategy {
            client::Strategy::Ours => Side::Target,
            client::Strategy::Theirs => Side::Source,
        }),
        settled: note.conflicts_settled,
        resolutions: note.resolutions.into_iter().map(resolution_in).collect(),
    }
}

pub(in crate::target) fn tag_in(tag: client::Tag) -> TagInfo {
    TagInfo {
        name: tag.name,
        commit: tag.commit_id,
        branch: tag.branch,
        created_at: micros(tag.created_at),
        actor: actor_in(tag.actor),
        message: tag.message,
        protected: tag.protected,
    }
}

pub(in crate::target) fn change_in(change: client::EntityChange) -> EntityChange {
    EntityChange {
        type_ref: type_in(change.type_ref),
        id: change.id,
        before: change.before.map(entity_in),
        after: change.after.map(entity_in),
        changed: change.changed,
    }
}

fn change_kind_out(kind: ChangeKind) -> client::ChangeKind {
    match kind {
        ChangeKind::Insert => client::ChangeKind::Insert,
        ChangeKind::Update => client::ChangeKind::Update,
        ChangeKind::Delete => client::ChangeKind::Delete,
    }
}

pub(in crate::target) fn changes_out(read: client::ChangesRead, filter: &DiffFilter) -> client::ChangesRead {
    let read = filter.types.iter().fold(read, |read, type_ref| read.of_type(type_out(type_ref)));
    let read = filter.kinds.iter().fold(read, |read, kind| read.of_kind(change_kind_out(*kind)));
    read.ids(&filter.ids)
}

pub(in crate::target) fn watch_out(graph: &client::Graph, request: &WatchRequest) -> client::Watch {
    let watch = graph.watch(&request.branch);
    let watch = match &request.start {
        WatchStart::Now => watch,
        WatchStart::Beginning => watch.from_beginning(),
        WatchStart::After(commit) => watch.after(commit),
        WatchStart::Cursor(cursor) => watch.cursor(cursor),
    };
    let watch = if request.changes { watch.with_changes() } else { watch };
    let filter = &request.filter;
    let watch = filter.types.iter().fold(watch, |watch, type_ref| watch.of_type(type_out(type_ref)));
    let watch = filter.kinds.iter().fold(watch, |watch, kind| watch.of_kind(change_kind_out(*kind)));
    watch.ids(&filter.ids)
}

pub(in crate::target) fn message_in(message: client::FeedMessage) -> FeedMessage {
    match message {
        client::FeedMessage::Begin(commit) => FeedMessage::Begin(Box::new(commit_in(*commit))),
        client::FeedMessage::Schema(steps) => FeedMessage::Schema(steps.into_iter().map(step_in).collect()),
        client::FeedMessage::Changes(changes) => FeedMessage::Changes(changes.into_iter().map(change_in).collect()),
        client::FeedMessage::End { cursor } => FeedMessage::End { cursor },
        client::FeedMessage::Idle { cursor } => FeedMessage::Idle { cursor },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_theirs_are_the_same_on_both_sides() {
        for side in [Side::Base, Side::Target, Side::Source] {
            assert_eq!(side_in(side_out(side)), side);
            assert_eq!(side_out(side).as_str(), side.as_str());
        }
        let how = |side| MergeHow { strategy: Some(side), ..MergeHow::default() };
        for side in [Side::Target, Side::Source] {
            assert_eq!(strategy_out(&how(side)).unwrap().as_str(), side.as_str());
        }
    }

    #[test]
    fn kinds_of_conflicts_keep_their_names() {
        use client::ConflictKind as K;
        for kind in [
            K::DivergentInsert,
            K::DivergentUpdate,
            K::DeleteVsUpdate,
            K::OrphanEdge,
            K::UniqueViolation,
            K::CardinalityViolation,
            K::ValueConstraintViolation,
            K::Schema,
        ] {
            assert_eq!(kind_in(kind).unwrap().as_str(), kind.as_str());
        }
        assert!(kind_in(K::Unknown).is_err());
    }

    #[test]
    fn a_source_that_stays_has_the_reason_of_the_server() {
        let deletion = |deleted, reason| client::SourceDeletion { deleted, reason, message: "why".into() };
        assert!(deletion_in(deletion(true, None)).is_ok());
        let stays = deletion_in(deletion(false, Some(client::ErrorReason::BranchProtected))).unwrap_err();
        assert_eq!((stays.reason(), stays.message()), (Some("BRANCH_PROTECTED"), "why"));
        assert_eq!(deletion_in(deletion(false, None)).unwrap_err().reason(), None);
    }
}
