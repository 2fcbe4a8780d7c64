//! Histories: with parents, as a drawing, and as blocks that are followed. The JSON forms are documented in
//! `docs/history.md` and stable. Pure.

use std::collections::BTreeMap;

use omnigraph_engine::model::{BranchInfo, CommitInfo, EntityChange, Schema, TagInfo};
use serde_json::{Value as Json, json};

use super::colour::{Ink, Paint};
use super::dag::{self, Node};
use super::table::{cell, counts_text, with_heads};
use super::{diff, shape};
use crate::literal::{datetime, shown};

/// Commits of a branch with their parents, newest first.
pub(crate) fn commits(commits: &[CommitInfo]) -> String {
    let mut table = with_heads(["commit", "parents", "created", "actor", "operation", "changes", "message"]);
    for commit in commits {
        table.add_row([
            commit.id.clone(),
            commit.parents.join(" "),
            datetime(commit.created_at),
            cell(&commit.actor.0),
            cell(&commit.operation),
            cell(&counts_text(&commit.counts)),
            cell(&commit.message),
        ]);
    }
    table.to_string()
}

/// What names commits: heads of branches, and tags. By commit.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: BTreeMap<String, Vec<String>>,
}

impl Names {
    pub(crate) fn new(branches: &[BranchInfo], tags: &[TagInfo]) -> Self {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for branch in branches {
            names.entry(branch.head.clone()).or_default().push(branch.name.clone());
        }
        for tag in tags {
            names.entry(tag.commit.clone()).or_default().push(format!("tag: {}", tag.name));
        }
        Self { names }
    }

    fn of(&self, commit: &str) -> Option<String> {
        Some(format!("({})", self.names.get(commit)?.iter().map(|name| cell(name)).collect::<Vec<_>>().join(", ")))
    }
}

/// A history drawn with its lanes, a line for each commit and one wherever lanes fork or join.
pub(crate) fn graph(commits: &[CommitInfo], names: &Names, paint: Paint) -> String {
    let nodes: Vec<Node<'_>> = commits.iter().map(|c| Node { id: &c.id, parents: &c.parents }).collect();
    let mut text = String::new();
    for row in dag::draw(&nodes) {
        text.push_str(&row.text(paint));
        if let Some(commit) = row.commit.and_then(|at| commits.get(at)) {
            text.push_str("  ");
            text.push_str(&line(commit, names, paint));
        }
        text.push('\n');
    }
    text
}

/// A commit on one line.
fn line(commit: &CommitInfo, names: &Names, paint: Paint) -> String {
    let mut parts = vec![paint.with(Ink::Yellow, &commit.id)];
    parts.extend(names.of(&commit.id).map(|names| paint.with(Ink::Cyan, &names)));
    parts.push(datetime(commit.created_at));
    parts.push(format!("{} {}", cell(&commit.actor.0), cell(&commit.operation)));
    let counts = counts_text(&commit.counts);
    if !counts.is_empty() {
        parts.push(cell(&counts));
    }
    if !commit.message.is_empty() {
        parts.push(cell(&commit.message));
    }
    parts.join("  ")
}

/// The head of a commit that is followed.
pub(crate) fn block(commit: &CommitInfo, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.with(Ink::Yellow, &format!("commit {}", commit.id)));
    let mut about =
        format!("{}, {} by {}", datetime(commit.created_at), cell(&commit.operation), cell(&commit.actor.0));
    let counts = counts_text(&commit.counts);
    if !counts.is_empty() {
        about.push_str(&format!(": {counts}"));
    }
    text.push_str(&format!("{about}\n"));
    if !commit.message.is_empty() {
        text.push_str(&format!("    {}\n", shown(&commit.message, 400)));
    }
    text
}

/// A commit that is followed, or a part of one: it is complete if there is a cursor. No changes at all where only
/// commits were asked for.
pub(crate) fn block_json(
    commit: &CommitInfo,
    changes: Option<&[EntityChange]>,
    schema: &Schema,
    cursor: Option<&str>,
) -> Json {
    let mut json = json!({"commit": shape::commit(commit), "cursor": cursor});
    if let Some(changes) = changes {
        json["changes"] = changes.iter().map(|change| diff::json(change, schema)).collect();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::Actor;

    fn commit(id: &str, parents: &[&str]) -> CommitInfo {
        CommitInfo {
            id: id.into(),
            parents: parents.iter().map(ToString::to_string).collect(),
            branch: "main".into(),
            actor: Actor("ada".into()),
            created_at: 0,
            message: format!("made {id}"),
            request_id: String::new(),
            operation: "load".into(),
            counts: Vec::new(),
            manifest_version: 1,
            lance_branch: None,
            merge: None,
            imported: None,
        }
    }

    fn names() -> Names {
        let branch = BranchInfo {
            name: "review".into(),
            branch_id: "R".into(),
            parent: "main".into(),
            forked_from: "A".into(),
            head: "C".into(),
            created_at: 0,
            actor: Actor::default(),
            protected: false,
        };
        let tag = TagInfo {
            name: "v1".into(),
            commit: "C".into(),
            branch: "main".into(),
            created_at: 0,
            actor: Actor::default(),
            message: String::new(),
            protected: true,
        };
        Names::new(&[branch], &[tag])
    }

    #[test]
    fn a_drawing_has_a_line_for_each_commit_with_what_names_it() {
        let text = graph(&[commit("C", &["B"]), commit("B", &[])], &names(), Paint::Plain);
        let moment = "1970-01-01T00:00:00Z";
        assert_eq!(
            text,
            format!("●  C  (review, tag: v1)  {moment}  ada load  made C\n●  B  {moment}  ada load  made B\n")
        );
    }

    #[test]
    fn a_block_is_complete_when_it_has_a_cursor() {
        let schema = omnigraph_engine::schema::parse("node A {}").unwrap();
        let open = block_json(&commit("C", &[]), Some(&[]), &schema, None);
        assert_eq!((&open["cursor"], &open["changes"], &open["commit"]["id"]), (&Json::Null, &json!([]), &json!("C")));
        let complete = block_json(&commit("C", &[]), None, &schema, Some("x"));
        assert_eq!(complete["cursor"], "x");
        assert!(complete.get("changes").is_none(), "nobody asked for changes");
        assert_eq!(block(&commit("C", &[]), Paint::Plain), "commit C\n1970-01-01T00:00:00Z, load by ada\n    made C\n");
    }
}
