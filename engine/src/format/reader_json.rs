//! The document by which a process says which states its running reads hold.

use serde::{Deserialize, Serialize};

use super::document::{self, Document};
use crate::error::Result;

const FORMAT: u32 = 1;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderDoc {
    /// The shape's number.
    pub format: u32,
    /// Who reads.
    pub reader: ProcessDoc,
    /// Until when it counts, microseconds since the epoch.
    pub lease_until_micros: i64,
    /// What is held, in order, each once.
    pub held: Vec<HeldState>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessDoc {
    /// Fresh for every engine.
    pub id: String,
    /// The machine, as far as a process table can be shared.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in the unit of its process table.
    pub started: u64,
}

/// One version of one line of the manifest, and with it every table version it shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeldState {
    /// The Lance branch of the manifest; absent for main.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
    /// The version. With the Lance branch it names the state.
    pub manifest_version: u64,
    /// The branch incarnation as the reader knows it; for people only.
    pub branch_id: String,
}

impl ReaderDoc {
    /// The shape's number.
    pub const FORMAT: u32 = FORMAT;
}

/// The document's bytes.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &ReaderDoc) -> Result<bytes::Bytes> {
    document::encode(doc)
}

/// Reads the document stored as `file`.
///
/// # Errors
/// [`crate::error::Reason::DataCorrupt`] for damage, [`crate::error::Reason::StorageStampTooNew`] for a later shape.
/// The message names the file.
pub fn decode(file: &str, bytes: &[u8]) -> Result<ReaderDoc> {
    let document = Document {
        what: "the reader's lease",
        file,
        damaged: ", so what it holds is not known; once no process that may have written it runs any more, remove the \
                  file",
        later: "",
    };
    document.decode(bytes, FORMAT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn the_stored_text_is_fixed_and_damage_is_told_from_a_later_shape() {
        let state = |branch: Option<&str>, version| HeldState {
            lance_branch: branch.map(Into::into),
            manifest_version: version,
            branch_id: "b".into(),
        };
        let doc = ReaderDoc {
            format: FORMAT,
            reader: ProcessDoc { id: "E".into(), host: "h".into(), pid: 1, started: 2 },
            lease_until_micros: 3,
            held: vec![state(None, 4), state(Some("L"), 5)],
        };
        let bytes = encode(&doc).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            r#"{"format":1,"reader":{"id":"E","host":"h","pid":1,"started":2},"lease_until_micros":3,"held":[{"manifest_version":4,"branch_id":"b"},{"lance_branch":"L","manifest_version":5,"branch_id":"b"}]}"#
        );
        assert_eq!(decode("f", &bytes).unwrap(), doc);
        let damaged = decode("_refs/readers/x.json", b"{").unwrap_err();
        assert_eq!(damaged.reason(), Reason::DataCorrupt);
        assert!(damaged.message().contains("_refs/readers/x.json"));
        let later = encode(&ReaderDoc { format: 2, ..doc }).unwrap();
        assert_eq!(decode("f", &later).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}
