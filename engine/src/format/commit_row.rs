//! The manifest row of a graph commit, and of a branch's head.

use serde::{Deserialize, Serialize};

use super::manifest_row::{ManifestRow, ObjectType};
use crate::error::{Error, Reason, Result};
use crate::model::{Actor, CommitInfo, Imported, MergeNote, MergeOutcome, Resolution, Side, TypeCounts, TypeRef};

/// The metadata of a `graph_commit` row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CommitMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merged_parent: Option<String>,
    branch: String,
    actor: String,
    created_at: i64,
    operation: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    request_id: String,
    manifest_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lance_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<(String, u64, u64, u64)>,
    // Interface declarations, on commits that set the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    closes_branch: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merge: Option<MergeDoc>,
    // The incarnation that is protected from now on; empty if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protects: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    brought_in: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imported: Option<ImportedDoc>,
}

/// The stored form of an [`Imported`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ImportedDoc {
    commit: String,
    created_at: i64,
}

/// The stored form of a [`MergeNote`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MergeDoc {
    outcome: String,
    base: String,
    source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    branch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strategy: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    settled: u64,
    // Type, id, property, side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resolutions: Vec<(String, String, Option<String>, String)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl MergeDoc {
    pub(crate) fn of(note: &MergeNote) -> Self {
        let side = |s: Side| s.as_str().to_string();
        let resolution = |r: &Resolution| (r.type_ref.to_string(), r.id.clone(), r.property.clone(), side(r.take));
        Self {
            outcome: note.outcome.as_str().to_string(),
            base: note.base.clone(),
            source: note.source.clone(),
            branch: note.source_branch.clone(),
            strategy: note.strategy.map(side),
            settled: note.settled,
            resolutions: note.resolutions.iter().map(resolution).collect(),
        }
    }

    /// The note; `None` if the document is damaged.
    pub(crate) fn note(self) -> Option<MergeNote> {
        let resolution = |(ty, id, property, side): (String, String, Option<String>, String)| {
            Some(Resolution { type_ref: TypeRef::parse(&ty)?, id, property, take: Side::parse(&side)? })
        };
        Some(MergeNote {
            outcome: MergeOutcome::parse(&self.outcome)?,
            base: self.base,
            source: self.source,
            source_branch: self.branch,
            strategy: self.strategy.map(|s| Side::parse(&s).ok_or(())).transpose().ok()?,
            settled: self.settled,
            resolutions: self.resolutions.into_iter().map(resolution).collect::<Option<_>>()?,
        })
    }
}

/// What a commit row says beyond the commit itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitExtras {
    /// Interface declarations, if this commit set the schema.
    pub interfaces: Option<Vec<String>>,
    /// Nothing may follow on the branch.
    pub closes_branch: bool,
    /// The incarnation of the branch that is protected from now on; empty if it is not any more. `None` changes nothing.
    pub protects: Option<String>,
    /// The commit was made on another line and came in with a merge: it is an ancestor of what follows, but no state of
    /// this line.
    pub brought_in: bool,
}

/// The row of a commit.
///
/// # Errors
/// None in practice.
pub fn encode(commit: &CommitInfo, extras: &CommitExtras) -> Result<ManifestRow> {
    let metadata = CommitMetadata {
        parent: commit.parents.first().cloned(),
        merged_parent: commit.parents.get(1).cloned(),
        branch: commit.branch.clone(),
        actor: commit.actor.0.clone(),
        created_at: commit.created_at,
        operation: commit.operation.clone(),
        message: commit.message.clone(),
        request_id: commit.request_id.clone(),
        manifest_version: commit.manifest_version,
        lance_branch: commit.lance_branch.clone(),
        changes: commit.counts.iter().map(|c| (c.type_ref.to_string(), c.inserted, c.updated, c.deleted)).collect(),
        interfaces: extras.interfaces.clone(),
        closes_branch: extras.closes_branch,
        merge: commit.merge.as_deref().map(MergeDoc::of),
        protects: extras.protects.clone(),
        brought_in: extras.brought_in,
        imported: (commit.imported.as_deref())
            .map(|from| ImportedDoc { commit: from.id.clone(), created_at: from.created_at }),
    };
    let text =
        serde_json::to_string(&metadata).map_err(|e| Error::internal("a commit does not serialize").caused_by(e))?;
    Ok(lineage_row(commit.id.clone(), ObjectType::GraphCommit, text))
}

/// Reads a commit row.
///
/// # Errors
/// [`Reason::DataCorrupt`].
pub fn decode(row: &ManifestRow) -> Result<(CommitInfo, CommitExtras)> {
    let corrupt = || Error::new(Reason::DataCorrupt, format!("the commit row {} is damaged", row.object_id));
    let text = row.metadata.as_deref().ok_or_else(corrupt)?;
    let m: CommitMetadata = serde_json::from_str(text).map_err(|e| corrupt().caused_by(e))?;
    let counts = m
        .changes
        .into_iter()
        .map(|(key, inserted, updated, deleted)| {
            let type_ref = TypeRef::parse(&key).ok_or_else(corrupt)?;
            Ok(TypeCounts { type_ref, inserted, updated, deleted })
        })
        .collect::<Result<Vec<_>>>()?;
    let commit = CommitInfo {
        id: row.object_id.clone(),
        parents: m.parent.into_iter().chain(m.merged_parent).collect(),
        branch: m.branch,
        actor: Actor(m.actor),
        created_at: m.created_at,
        message: m.message,
        request_id: m.request_id,
        operation: m.operation,
        counts,
        manifest_version: m.manifest_version,
        lance_branch: m.lance_branch,
        merge: m.merge.map(|doc| doc.note().map(Box::new).ok_or_else(corrupt)).transpose()?,
        imported: m.imported.map(|doc| Box::new(Imported { id: doc.commit, created_at: doc.created_at })),
    };
    let extras = CommitExtras {
        interfaces: m.interfaces,
        closes_branch: m.closes_branch,
        protects: m.protects,
        brought_in: m.brought_in,
    };
    Ok((commit, extras))
}

/// The row that names a branch's newest commit.
pub fn head(branch: &str, commit: &str) -> ManifestRow {
    lineage_row(head_id(branch), ObjectType::GraphHead, format!(r#"{{"commit":"{commit}"}}"#))
}

/// The id of a branch's head row.
fn head_id(branch: &str) -> String {
    format!("graph_head:{branch}")
}

fn lineage_row(object_id: String, object_type: ObjectType, metadata: String) -> ManifestRow {
    ManifestRow {
        object_id,
        object_type,
        location: None,
        metadata: Some(metadata),
        table_key: String::new(),
        table_version: None,
        table_branch: None,
        row_count: None,
    }
}

#[cfg(test)]
mod tests;
