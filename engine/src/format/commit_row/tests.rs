//! Rows of commits there and back.

use super::*;

fn sample() -> CommitInfo {
    CommitInfo {
        id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
        parents: vec!["A".into(), "B".into()],
        branch: "main".into(),
        actor: Actor("ada".into()),
        created_at: 5,
        message: "m".into(),
        request_id: "r".into(),
        operation: "load".into(),
        counts: vec![TypeCounts { type_ref: TypeRef::node("P"), inserted: 1, updated: 2, deleted: 3 }],
        manifest_version: 7,
        lance_branch: Some("L".into()),
        merge: None,
        imported: None,
    }
}

#[test]
fn what_a_merge_remembers_is_fixed_and_comes_back() {
    let note = MergeNote {
        outcome: MergeOutcome::Merged,
        base: "B".into(),
        source: "S".into(),
        source_branch: "review".into(),
        strategy: Some(Side::Target),
        settled: 2,
        resolutions: vec![Resolution {
            type_ref: TypeRef::node("P"),
            id: "x".into(),
            property: Some("age".into()),
            take: Side::Source,
        }],
    };
    let commit = CommitInfo { merge: Some(Box::new(note)), ..sample() };
    let extras = CommitExtras { brought_in: true, protects: Some("main".into()), ..CommitExtras::default() };
    let row = encode(&commit, &extras).unwrap();
    let text = row.metadata.clone().unwrap();
    assert!(
        text.ends_with(
            r#""merge":{"outcome":"merged","base":"B","source":"S","branch":"review","strategy":"ours","settled":2,"resolutions":[["node:P","x","age","theirs"]]},"protects":"main","brought_in":true}"#
        ),
        "{text}"
    );
    assert_eq!(decode(&row).unwrap(), (commit, extras));
    let wrong = ManifestRow { metadata: Some(text.replace("ours", "hours")), ..row };
    assert_eq!(decode(&wrong).unwrap_err().reason(), Reason::DataCorrupt);
}

#[test]
fn where_an_imported_commit_came_from_is_fixed_and_comes_back() {
    let imported = Some(Box::new(Imported { id: "X".into(), created_at: 3 }));
    let commit = CommitInfo { imported, ..sample() };
    let row = encode(&commit, &CommitExtras::default()).unwrap();
    let text = row.metadata.clone().unwrap();
    assert!(text.ends_with(r#","imported":{"commit":"X","created_at":3}}"#), "{text}");
    assert_eq!(decode(&row).unwrap().0, commit);
}

#[test]
fn the_stored_text_is_fixed() {
    let row = encode(&sample(), &CommitExtras::default()).unwrap();
    assert_eq!(
        row.metadata.as_deref().unwrap(),
        r#"{"parent":"A","merged_parent":"B","branch":"main","actor":"ada","created_at":5,"operation":"load","message":"m","request_id":"r","manifest_version":7,"lance_branch":"L","changes":[["node:P",1,2,3]]}"#
    );
    assert_eq!(decode(&row).unwrap().0, sample());
}

#[test]
fn damaged_rows_are_named() {
    let mut row = encode(&sample(), &CommitExtras::default()).unwrap();
    for text in ["", "{}", "[]", r#"{"branch":1}"#] {
        row.metadata = Some(text.into());
        let error = decode(&row).unwrap_err();
        assert_eq!(error.reason(), Reason::DataCorrupt);
        assert!(error.message().contains(&row.object_id));
    }
}
