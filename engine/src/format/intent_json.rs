//! The document a writer leaves before its first effect: everything another process needs to finish or
//! undo the operation.

use serde::{Deserialize, Serialize};

use super::document::{self, Document};
use super::manifest_row::ManifestRow;
use super::paths;
use crate::error::Result;

const FORMAT: u32 = 1;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentDoc {
    /// The shape's number.
    pub format: u32,
    /// The operation, fresh for every attempt.
    pub operation_id: String,
    /// What kind of operation, for the audit. Recovery never branches on it.
    pub label: String,
    /// Who asked for it.
    pub actor: String,
    /// Who carries it out.
    pub writer: WriterDoc,
    /// The branch it is on.
    pub branch: BranchDoc,
    /// The state it was prepared on.
    pub base: BaseDoc,
    /// The commit it makes.
    pub commit: String,
    /// What it does to each table, in table-key order.
    pub tables: Vec<EffectDoc>,
    /// The rows it publishes.
    pub rows: Vec<ManifestRow>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterDoc {
    /// Fresh for every engine.
    pub id: String,
    /// The machine, as far as a process table can be shared.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in the unit of its process table.
    pub started: u64,
    /// Until when others should wait, microseconds since the epoch.
    pub lease_until: i64,
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchDoc {
    /// Its name.
    pub name: String,
    /// Its incarnation.
    pub branch_id: String,
    /// Its Lance branch; absent for main.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
}

/// A state of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseDoc {
    /// The manifest's version.
    pub manifest_version: u64,
    /// Its newest commit.
    pub head: String,
}

/// What an operation does to one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectDoc {
    /// `node:<Type>` or `edge:<Type>`.
    pub table_key: String,
    /// The dataset's path.
    pub location: String,
    /// The Lance branch it commits to; absent for the main line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
    /// Where a new Lance branch was forked from; absent if it existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_from: Option<ForkDoc>,
    /// Whether the dataset is new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create: bool,
    /// The version it commits on top of.
    pub base_version: u64,
    /// Its transactions, at `base_version + 1` and on.
    pub effects: Vec<String>,
}

/// A table state that was forked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkDoc {
    /// The Lance branch; absent for the main line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
    /// The version.
    pub version: u64,
}

impl IntentDoc {
    /// The shape's number.
    pub const FORMAT: u32 = FORMAT;

    /// The claim this intent holds: its file's name follows from its content.
    pub fn claim_id(&self) -> String {
        paths::claim_id(&self.branch.branch_id, self.base.manifest_version)
    }
}

/// The document's bytes.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &IntentDoc) -> Result<bytes::Bytes> {
    document::encode(doc)
}

/// Reads the document stored under claim `name`.
///
/// # Errors
/// [`crate::error::Reason::DataCorrupt`] for damage or a name that does not follow from the content,
/// [`crate::error::Reason::StorageStampTooNew`] for a later shape. The message names the file.
pub fn decode(name: &str, bytes: &[u8]) -> Result<IntentDoc> {
    const THEN: &str = "; other branches are not affected, and `omnigraph verify` shows what it blocks";
    let file = paths::intent(name);
    let document = Document { what: "the intent", file: &file, damaged: THEN, later: THEN };
    let doc: IntentDoc = document.decode(bytes, FORMAT)?;
    if doc.claim_id() != name {
        return Err(document.corrupt("does not belong under its name"));
    }
    Ok(doc)
}

#[cfg(test)]
pub(crate) fn sample() -> IntentDoc {
    IntentDoc {
        format: FORMAT,
        operation_id: "O".into(),
        label: "load".into(),
        actor: "ada".into(),
        writer: WriterDoc { id: "W".into(), host: "h".into(), pid: 1, started: 2, lease_until: 3 },
        branch: BranchDoc { name: "main".into(), branch_id: "main".into(), lance_branch: None },
        base: BaseDoc { manifest_version: 4, head: "H".into() },
        commit: "C".into(),
        tables: vec![EffectDoc {
            table_key: "node:P".into(),
            location: "nodes/x".into(),
            lance_branch: None,
            fork_from: None,
            create: true,
            base_version: 1,
            effects: vec!["u".into()],
        }],
        rows: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn the_stored_text_is_fixed_and_its_name_follows_from_it() {
        let doc = sample();
        let bytes = encode(&doc).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            r#"{"format":1,"operation_id":"O","label":"load","actor":"ada","writer":{"id":"W","host":"h","pid":1,"started":2,"lease_until":3},"branch":{"name":"main","branch_id":"main"},"base":{"manifest_version":4,"head":"H"},"commit":"C","tables":[{"table_key":"node:P","location":"nodes/x","create":true,"base_version":1,"effects":["u"]}],"rows":[]}"#
        );
        assert_eq!(decode(&doc.claim_id(), &bytes).unwrap(), doc);
    }

    #[test]
    fn misnamed_damaged_and_later_intents_are_told_apart() {
        let doc = sample();
        let name = doc.claim_id();
        let later = encode(&IntentDoc { format: 2, ..doc.clone() }).unwrap();
        assert_eq!(decode(&name, &later).unwrap_err().reason(), Reason::StorageStampTooNew);
        assert_eq!(decode(&name, b"garbage").unwrap_err().reason(), Reason::DataCorrupt);
        let misnamed = decode("01ARZ3NDEKTSV4RRFFQ69G5FAV", &encode(&doc).unwrap()).unwrap_err();
        assert_eq!(misnamed.reason(), Reason::DataCorrupt);
        assert!(misnamed.message().contains("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    }
}
