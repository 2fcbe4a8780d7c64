//! Following a branch: where it starts and what is told.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::{FeedMessage, WatchRequest, WatchStart};
use omnigraph_proto::v1;
use omnigraph_proto::v1::watch_commits_request::Start;
use omnigraph_proto::v1::watch_commits_response::Part;

use super::{change, commit, evolve, required, selector};

/// What is followed.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming what is missing or unknown.
pub fn to_engine(request: v1::WatchCommitsRequest) -> Result<WatchRequest> {
    let start = match request.start {
        None | Some(Start::Now(())) => WatchStart::Now,
        Some(Start::Beginning(())) => WatchStart::Beginning,
        Some(Start::AfterCommitId(id)) => {
            required("after_commit_id", &id)?;
            WatchStart::After(id)
        }
        Some(Start::Cursor(cursor)) => {
            required("cursor", &cursor)?;
            WatchStart::Cursor(cursor)
        }
    };
    Ok(WatchRequest {
        branch: selector::branch_or_main(request.branch),
        start,
        filter: change::filter_to_engine("filter", request.filter)?,
        changes: request.with_changes,
    })
}

/// What a follower is told, as messages: one, or several if there are too many changes for one.
pub fn to_proto(message: FeedMessage) -> Vec<v1::WatchCommitsResponse> {
    let parts = match message {
        FeedMessage::Begin(info) => vec![Part::Begin(commit::to_proto(*info))],
        FeedMessage::Schema(steps) => {
            let changes = steps.into_iter().map(evolve::difference_to_proto).collect();
            vec![Part::Schema(v1::SchemaChanges { changes })]
        }
        FeedMessage::Changes(changes) => change::cut(changes).into_iter().map(Part::Changes).collect(),
        FeedMessage::End { cursor } => vec![Part::End(v1::WatchPosition { cursor })],
        FeedMessage::Idle { cursor } => vec![Part::Idle(v1::WatchPosition { cursor })],
    };
    parts.into_iter().map(|part| v1::WatchCommitsResponse { part: Some(part) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::{ChangeKind, DiffFilter, EntityChange, TypeRef};
    use std::collections::BTreeSet;

    fn asked(start: Option<Start>) -> v1::WatchCommitsRequest {
        let filter = Some(v1::ChangeFilter { kinds: vec![v1::ChangeKind::Delete.into()], ..Default::default() });
        v1::WatchCommitsRequest { branch: "review/ü".into(), start, filter, with_changes: true, ..Default::default() }
    }

    #[test]
    fn every_start_is_told_from_the_others() {
        for (start, expected) in [
            (None, WatchStart::Now),
            (Some(Start::Now(())), WatchStart::Now),
            (Some(Start::Beginning(())), WatchStart::Beginning),
            (Some(Start::AfterCommitId("C".into())), WatchStart::After("C".into())),
            (Some(Start::Cursor("x".into())), WatchStart::Cursor("x".into())),
        ] {
            let filter = DiffFilter { kinds: BTreeSet::from([ChangeKind::Delete]), ..DiffFilter::default() };
            let expected = WatchRequest { branch: "review/ü".into(), start: expected, filter, changes: true };
            assert_eq!(to_engine(asked(start)).unwrap(), expected);
        }
        let plain = to_engine(v1::WatchCommitsRequest::default()).unwrap();
        assert_eq!(plain, WatchRequest { branch: "main".into(), ..WatchRequest::default() });
        for (start, field) in
            [(Start::AfterCommitId(String::new()), "after_commit_id"), (Start::Cursor(String::new()), "cursor")]
        {
            assert_eq!(to_engine(asked(Some(start))).unwrap_err().metadata()["field"], field);
        }
    }

    #[test]
    fn what_is_told_keeps_its_order_and_its_cursors() {
        let cursor = || "c".to_string();
        let gone = EntityChange {
            type_ref: TypeRef::node("P"),
            id: "1".into(),
            before: None,
            after: None,
            changed: vec!["x".into()],
        };
        let parts: Vec<Part> = [
            FeedMessage::Changes(vec![gone.clone(), gone]),
            FeedMessage::Changes(Vec::new()),
            FeedMessage::End { cursor: cursor() },
            FeedMessage::Idle { cursor: cursor() },
        ]
        .into_iter()
        .flat_map(to_proto)
        .filter_map(|message| message.part)
        .collect();
        let change = || v1::Change { changed_properties: vec!["x".into()], ..Default::default() };
        let at = || v1::WatchPosition { cursor: cursor() };
        let changes = v1::ChangeBatch { changes: vec![change(), change()] };
        assert_eq!(parts, [Part::Changes(changes), Part::End(at()), Part::Idle(at())]);
    }
}
