//! What merges and conflicts look like, for people and for programs.

use super::*;
use omnigraph_client::ErrorReason;
use omnigraph_engine::model::{MergeSummary, TypeCounts, TypeRef, Value};

fn schema() -> Schema {
    let source = "node Person { slug: String @key age: I32? bio: String? } edge Knows: Person -> Person {}";
    omnigraph_engine::schema::parse(source).unwrap()
}

fn person(age: i64, bio: &str) -> Entity {
    let properties =
        [("slug", Value::String("ada".into())), ("age", Value::I64(age)), ("bio", Value::String(bio.into()))];
    Entity {
        type_ref: TypeRef::node("Person"),
        id: "ada".into(),
        endpoints: None,
        properties: properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
    }
}

fn conflict(kind: ConflictKind, properties: &[&str], sides: [Option<Entity>; 3]) -> Conflict {
    let [base, target, source] = sides;
    Conflict {
        kind,
        type_ref: TypeRef::node("Person"),
        id: "ada".into(),
        properties: properties.iter().map(ToString::to_string).collect(),
        base,
        target,
        source,
        message: "ada is told twice".into(),
    }
}

/// The cells of a table's rows; they are apart by two spaces or more.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| !line.is_empty() && !line.contains('─'));
    rows.map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect()
}

#[test]
fn a_conflict_has_a_row_for_each_property() {
    let sides = [Some(person(36, "x")), Some(person(37, &"long ".repeat(20))), Some(person(38, "y"))];
    let text = conflicts_text(&[conflict(ConflictKind::DivergentUpdate, &["age", "bio"], sides)], &schema());
    let rows = rows(&text);
    assert_eq!(rows[0], ["conflict", "type", "id", "property", "base", "ours", "theirs"]);
    assert_eq!(rows[1], ["divergent_update", "node:Person", "ada", "age", "36", "37", "38"]);
    assert_eq!(rows[2], ["divergent_update", "node:Person", "ada", "bio", "x", "long long long long long…", "y"]);
    assert_eq!(rows.len(), 3, "the values say it all:\n{text}");
}

#[test]
fn what_is_not_there_was_deleted_or_never_was() {
    let kind = ConflictKind::DeleteVsUpdate;
    let deleted = conflict(kind, &["age"], [Some(person(1, "")), None, Some(person(2, ""))]);
    assert_eq!(rows(&conflicts_text(&[deleted], &schema()))[1][4..], ["1", "(deleted)", "2"]);
    let whole = conflict(ConflictKind::DivergentInsert, &[], [None, Some(person(1, "b")), Some(person(2, "b"))]);
    let text = conflicts_text(&[whole], &schema());
    assert!(text.contains("(absent)") && text.contains("slug=ada age=1 bio=b"), "{text}");
}

#[test]
fn constraints_are_told_in_words() {
    let text = conflicts_text(&[conflict(ConflictKind::UniqueViolation, &[], [None, None, None])], &schema());
    assert!(text.ends_with("  node:Person/ada: ada is told twice\n") && !text.contains("(absent)"), "{text}");
}

fn preview(outcome: MergeOutcome, conflicts: Vec<Conflict>) -> MergePreview {
    let counts = vec![TypeCounts { type_ref: TypeRef::node("Person"), inserted: 1, updated: 2, deleted: 0 }];
    let name = |text: &str| text.to_string();
    let summary = MergeSummary { outcome, base: name("B"), source: name("S"), target: name("T"), counts, settled: 3 };
    MergePreview { summary, conflicts }
}

#[test]
fn a_preview_has_everything_that_a_resolution_needs() {
    let sides = [Some(person(1, "")), Some(person(2, "")), None];
    let conflicts = vec![conflict(ConflictKind::DeleteVsUpdate, &["age"], sides)];
    let json = preview_json(&preview(MergeOutcome::Merged, conflicts), &schema());
    assert_eq!((&json["outcome"], &json["base"], &json["settled"]), (&json!("merged"), &json!("B"), &json!(3)));
    assert_eq!(json["counts"][0]["updated"], 2);
    let conflict = &json["conflicts"][0];
    assert_eq!(conflict["conflict"], "delete_vs_update");
    assert_eq!(
        (&conflict["kind"], &conflict["type"], &conflict["id"]),
        (&json!("node"), &json!("Person"), &json!("ada"))
    );
    assert_eq!((&conflict["ours"]["data"]["age"], &conflict["theirs"]), (&json!(2), &Json::Null));
}

#[test]
fn a_preview_begins_with_what_would_happen() {
    for (outcome, begins) in [
        (MergeOutcome::AlreadyUpToDate, "already up to date"),
        (MergeOutcome::FastForward, "would fast-forward"),
        (MergeOutcome::Merged, "would merge"),
    ] {
        assert!(preview_text(&preview(outcome, Vec::new()), &schema()).starts_with(begins));
    }
    let conflicts = vec![conflict(ConflictKind::UniqueViolation, &[], [None, None, None])];
    let text = preview_text(&preview(MergeOutcome::Merged, conflicts), &schema());
    assert!(text.starts_with("1 conflicts stand against it") && text.contains("unique_violation"), "{text}");
}

fn merged(outcome: MergeOutcome) -> Merged {
    let changed = outcome != MergeOutcome::AlreadyUpToDate;
    let write = Outcome {
        commit: "C".into(),
        parents: vec!["T".into(), "S".into()],
        branch: "main".into(),
        changed,
        replayed: false,
        counts: Vec::new(),
        created_at: None,
    };
    Merged { outcome, base: "B".into(), source: "S".into(), settled: 0, write, source_deleted: None }
}

#[test]
fn a_merge_says_what_it_came_to() {
    assert_eq!(merged_text(&merged(MergeOutcome::FastForward)), "fast-forward: C on main");
    let settled = Merged { settled: 2, ..merged(MergeOutcome::Merged) };
    assert_eq!(merged_text(&settled), "merged: C on main; 2 conflicts settled");
    assert!(merged_text(&merged(MergeOutcome::AlreadyUpToDate)).starts_with("already up to date: nothing changed"));
    let mut again = merged(MergeOutcome::Merged);
    again.write.replayed = true;
    assert!(merged_text(&again).starts_with("C (done before"));
}

#[test]
fn a_revert_says_that_there_was_nothing_to_do() {
    let applied = |outcome| Applied { outcome, settled: 1, write: merged(outcome).write };
    assert_eq!(applied_text(&applied(MergeOutcome::Merged)), "C on main; 1 conflicts settled");
    assert!(applied_text(&applied(MergeOutcome::AlreadyUpToDate)).starts_with("nothing to do: nothing changed"));
    let json = applied_json(&applied(MergeOutcome::Merged));
    assert_eq!((&json["outcome"], &json["receipt"]["commit"]), (&json!("merged"), &json!("C")));
}

#[test]
fn a_source_that_stays_is_no_failure_of_the_merge() {
    let failure = Failure::usage("it is protected").because(ErrorReason::BranchProtected);
    assert_eq!(
        source_stays("review", &failure),
        "merged, but branch review could not be deleted: it is protected [BRANCH_PROTECTED]"
    );
    let json = merged_json(&Merged { source_deleted: Some(Err(failure)), ..merged(MergeOutcome::Merged) });
    assert_eq!(
        json["source_deletion"],
        json!({"deleted": false, "reason": "BRANCH_PROTECTED", "message": "it is protected"})
    );
    assert_eq!(json["receipt"]["commit"], "C");
    assert_eq!(merged_json(&merged(MergeOutcome::Merged))["source_deletion"], Json::Null);
}

#[test]
fn a_commit_remembers_what_settled_its_conflicts() {
    let resolution = Resolution {
        type_ref: TypeRef::node("Person"),
        id: "ada".into(),
        property: Some("age".into()),
        take: Side::Source,
    };
    let note = MergeNote {
        outcome: MergeOutcome::Merged,
        base: "B".into(),
        source: "S".into(),
        source_branch: "review".into(),
        strategy: Some(Side::Target),
        settled: 2,
        resolutions: vec![resolution],
    };
    let facts = note_facts(&note);
    assert!(facts.contains(&("brought in", "S of branch review".to_string())));
    assert!(facts.contains(&("resolution", "node:Person/ada.age=theirs".to_string())));
    let json = note_json(&note);
    assert_eq!((&json["strategy"], &json["resolutions"][0]["take"]), (&json!("ours"), &json!("theirs")));
}
