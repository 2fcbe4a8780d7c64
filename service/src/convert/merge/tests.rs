//! What a merge asks for survives the way there and back; what it answers keeps everything.

use super::*;
use omnigraph_engine::Reason;
use omnigraph_engine::model::{Actor, CommitInfo, Entity, Receipt, TypeCounts, TypeRef};
use std::collections::BTreeMap;

fn resolution(id: &str, property: Option<&str>, take: Side) -> Resolution {
    Resolution { type_ref: TypeRef::edge("Knows"), id: id.into(), property: property.map(str::to_string), take }
}

fn resolutions() -> Vec<Resolution> {
    vec![
        resolution("a/ü", None, Side::Base),
        resolution("a/ü", Some("since"), Side::Target),
        resolution("b", Some("since"), Side::Source),
    ]
}

#[test]
fn what_is_asked_for_comes_back() {
    for strategy in [None, Some(Side::Target), Some(Side::Source)] {
        for granularity in [Granularity::Property, Granularity::Entity] {
            let how = MergeHow { granularity, strategy, resolutions: resolutions() };
            assert_eq!(how_to_engine("how", Some(how_to_proto(how.clone()))).unwrap(), how);
        }
    }
    assert_eq!(how_to_engine("how", None).unwrap(), MergeHow::default());
    assert_eq!(how_to_engine("how", Some(v1::MergeHow::default())).unwrap(), MergeHow::default());
}

#[test]
fn what_makes_no_sense_is_refused_by_path() {
    let good = || resolution_to_proto(resolution("a", None, Side::Base));
    let second = |bad| v1::MergeHow { resolutions: vec![good(), bad], ..Default::default() };
    let typed = |kind, name: &str| Some(v1::TypeRef { kind, type_name: name.into() });
    for (how, field) in [
        (v1::MergeHow { granularity: 9, ..Default::default() }, "how.granularity"),
        (v1::MergeHow { strategy: 9, ..Default::default() }, "how.strategy"),
        (second(v1::Resolution { r#type: None, ..good() }), "how.resolutions[1].type"),
        (second(v1::Resolution { r#type: typed(0, "P"), ..good() }), "how.resolutions[1].type.kind"),
        (second(v1::Resolution { r#type: typed(1, ""), ..good() }), "how.resolutions[1].type.type_name"),
        (second(v1::Resolution { id: String::new(), ..good() }), "how.resolutions[1].id"),
        (second(v1::Resolution { take: 0, ..good() }), "how.resolutions[1].take"),
        (second(v1::Resolution { take: 9, ..good() }), "how.resolutions[1].take"),
    ] {
        let error = how_to_engine("how", Some(how)).unwrap_err();
        assert_eq!((error.reason(), error.metadata()["field"].as_str()), (Reason::InvalidArgument, field));
    }
}

#[test]
fn a_branch_is_not_merged_into_itself() {
    let request = |source: &str| v1::MergeBranchRequest {
        source_branch: source.into(),
        expected_source_head: "C".into(),
        delete_source: true,
        ..Default::default()
    };
    let asked = request_to_engine(request("review"), "main").unwrap();
    assert_eq!((asked.source.as_str(), asked.expected_source_head.as_str()), ("review", "C"));
    assert!(asked.delete_source);
    assert_eq!(request_to_engine(request(""), "review").unwrap().source, "main");
    for source in ["", "main"] {
        assert_eq!(request_to_engine(request(source), "main").unwrap_err().metadata()["field"], "source_branch");
    }
}

fn result(outcome: MergeOutcome) -> MergeResult {
    let commit = CommitInfo {
        id: "C3".into(),
        parents: vec!["C2".into(), "S2".into()],
        branch: "main".into(),
        actor: Actor("ada".into()),
        created_at: 1,
        message: String::new(),
        request_id: String::new(),
        operation: "merge".into(),
        counts: Vec::new(),
        manifest_version: 3,
        lance_branch: None,
        merge: None,
        imported: None,
    };
    let receipt = Receipt { commit, changed: true, replayed: false, steps: Vec::new(), records: 0 };
    MergeResult { outcome, base: "B".into(), source: "S2".into(), settled: 2, receipt, source_deleted: None }
}

#[test]
fn answers_keep_what_was_done() {
    let kept = Some(v1::SourceDeletion { deleted: true, ..Default::default() });
    let merged = merged_to_proto(result(MergeOutcome::Merged), "main", kept.clone());
    assert_eq!((merged.base_commit_id.as_str(), merged.source_commit_id.as_str()), ("B", "S2"));
    assert_eq!((merged.conflicts_settled, merged.outcome()), (2, v1::MergeOutcome::Merged));
    assert_eq!((merged.receipt.unwrap().parent_ids.len(), merged.source_deletion), (2, kept));
    let reverted = reverted_to_proto(result(MergeOutcome::AlreadyUpToDate), "main");
    assert_eq!((reverted.conflicts_settled, reverted.outcome()), (2, v1::MergeOutcome::AlreadyUpToDate));
    let picked = picked_to_proto(result(MergeOutcome::FastForward), "main");
    assert_eq!((picked.conflicts_settled, picked.outcome()), (2, v1::MergeOutcome::FastForward));
    let restored = restored_to_proto(result(MergeOutcome::Merged), "main");
    assert_eq!((restored.source_commit_id.as_str(), restored.receipt.unwrap().branch.as_str()), ("S2", "main"));
}

fn conflict(kind: ConflictKind) -> Conflict {
    let side = |id: &str| {
        let (id, properties) = (id.to_string(), BTreeMap::new());
        Some(Entity { type_ref: TypeRef::node("P"), id, endpoints: None, properties })
    };
    Conflict {
        kind,
        type_ref: TypeRef::node("P"),
        id: "x".into(),
        properties: vec!["age".into()],
        base: side("base"),
        target: side("target"),
        source: side("source"),
        message: "m".into(),
    }
}

#[test]
fn conflicts_keep_every_side() {
    let message = conflict_to_proto(conflict(ConflictKind::DivergentUpdate));
    let ids = [message.base, message.source, message.target].map(|side| side.unwrap().id);
    assert_eq!(ids, ["base", "source", "target"]);
    assert_eq!((message.id.as_str(), message.properties, message.message.as_str()), ("x", vec!["age".into()], "m"));
    assert_eq!(message.r#type, Some(entity::type_to_proto(&TypeRef::node("P"))));
    for kind in [
        ConflictKind::DivergentInsert,
        ConflictKind::DivergentUpdate,
        ConflictKind::DeleteVsUpdate,
        ConflictKind::OrphanEdge,
        ConflictKind::UniqueViolation,
        ConflictKind::CardinalityViolation,
        ConflictKind::ValueConstraintViolation,
        ConflictKind::Schema,
    ] {
        // The names are the engine's, in the contract's spelling.
        let name = conflict_to_proto(conflict(kind)).kind().as_str_name();
        assert_eq!(name, format!("CONFLICT_KIND_{}", kind.as_str().to_uppercase()));
    }
}

#[test]
fn a_preview_begins_with_its_summary() {
    use v1::preview_merge_response::Part;
    let counts = vec![TypeCounts { type_ref: TypeRef::node("P"), inserted: 1, updated: 0, deleted: 0 }];
    let summary = MergeSummary {
        outcome: MergeOutcome::Merged,
        base: "B".into(),
        source: "S".into(),
        target: "T".into(),
        counts,
        settled: 3,
    };
    let conflicts = vec![conflict(ConflictKind::Schema), conflict(ConflictKind::OrphanEdge)];
    let mut parts = preview_to_proto(MergePreview { summary, conflicts }).filter_map(|message| message.part);
    let Some(Part::Summary(summary)) = parts.next() else { panic!("no summary") };
    let ids = [&summary.base_commit_id, &summary.source_commit_id, &summary.target_commit_id];
    assert_eq!(ids, ["B", "S", "T"]);
    assert_eq!((summary.conflicts_settled, summary.conflicts, summary.counts.len()), (3, 2, 1));
    assert!(parts.all(|part| matches!(part, Part::Conflict(_))));
}

#[test]
fn notes_keep_everything() {
    let note = MergeNote {
        outcome: MergeOutcome::FastForward,
        base: "B".into(),
        source: "S".into(),
        source_branch: "review".into(),
        strategy: Some(Side::Source),
        settled: 2,
        resolutions: resolutions(),
    };
    let message = note_to_proto(note.clone());
    assert_eq!((message.outcome(), message.strategy()), (v1::MergeOutcome::FastForward, v1::Strategy::Theirs));
    assert_eq!((message.base_commit_id.as_str(), message.source_commit_id.as_str()), ("B", "S"));
    assert_eq!((message.source_branch.as_str(), message.conflicts_settled), ("review", 2));
    let back = message.resolutions.into_iter().map(|r| resolution_to_engine("r", r).unwrap());
    assert_eq!(back.collect::<Vec<_>>(), note.resolutions);
    assert_eq!(note_to_proto(MergeNote { strategy: None, ..note }).strategy(), v1::Strategy::Fail);
}
