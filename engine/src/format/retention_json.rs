//! The marker a cleanup moves before it removes anything, and the states of the manifest that are being removed.

use serde::{Deserialize, Serialize};

use super::document::{self, Document};
use super::paths;
use crate::error::Result;

const FORMAT: u32 = 2;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionDoc {
    /// The shape's number.
    pub format: u32,
    /// One more with every cleanup, from 1.
    pub generation: u64,
    /// The cleanup, fresh for every attempt.
    pub operation_id: String,
    /// When it began, microseconds since the epoch.
    pub started_at_micros: i64,
    /// What was replaced before this moment may be removed, microseconds since the epoch.
    pub cutoff_micros: i64,
    /// What cleanups have announced to remove and may not have removed completely.
    pub removing: Vec<Removing>,
}

/// What one cleanup removes of the manifest. Nobody may begin to refer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removing {
    /// The cleanup.
    pub operation_id: String,
    /// When it said so, microseconds since the epoch.
    pub announced_at_micros: i64,
    /// Whether anything may be gone already. Until then it can be taken back, by anybody if it is old.
    pub begun: bool,
    /// The versions, line by line.
    pub lines: Vec<GoingLine>,
}

/// Versions of one line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoingLine {
    /// The line; `None` for main.
    pub lance_branch: Option<String>,
    /// Ranges of versions, both ends included, which together hold no version that stays.
    pub versions: Vec<(u64, u64)>,
}

impl Removing {
    /// Whether a version of a line is among it.
    pub fn names(&self, lance_branch: Option<&str>, version: u64) -> bool {
        let lines = self.lines.iter().filter(|line| line.lance_branch.as_deref() == lance_branch);
        lines.flat_map(|line| &line.versions).any(|(first, last)| (*first..=*last).contains(&version))
    }
}

impl RetentionDoc {
    /// The shape's number.
    pub const FORMAT: u32 = FORMAT;
}

/// The document's bytes.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &RetentionDoc) -> Result<bytes::Bytes> {
    document::encode(doc)
}

/// Reads the marker.
///
/// # Errors
/// [`crate::error::Reason::DataCorrupt`] for damage, [`crate::error::Reason::StorageStampTooNew`] for a later shape.
/// The message names the file.
pub fn decode(bytes: &[u8]) -> Result<RetentionDoc> {
    let document = Document {
        what: "the retention marker",
        file: paths::RETENTION,
        damaged: "; make sure that no cleanup runs, then remove the file",
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
        let doc = RetentionDoc {
            format: FORMAT,
            generation: 3,
            operation_id: "O".into(),
            started_at_micros: 9,
            cutoff_micros: 7,
            removing: vec![Removing {
                operation_id: "P".into(),
                announced_at_micros: 4,
                begun: true,
                lines: vec![GoingLine { lance_branch: None, versions: vec![(1, 3), (5, 5)] }],
            }],
        };
        let bytes = encode(&doc).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            concat!(
                r#"{"format":2,"generation":3,"operation_id":"O","started_at_micros":9,"cutoff_micros":7,"#,
                r#""removing":[{"operation_id":"P","announced_at_micros":4,"begun":true,"#,
                r#""lines":[{"lance_branch":null,"versions":[[1,3],[5,5]]}]}]}"#
            )
        );
        assert_eq!(decode(&bytes).unwrap(), doc);
        assert_eq!(decode(b"{").unwrap_err().reason(), Reason::DataCorrupt);
        let named = |line, version| doc.removing[0].names(line, version);
        assert!([1, 2, 3, 5].iter().all(|v| named(None, *v)) && !named(None, 4) && !named(Some("b"), 2));
        let later = encode(&RetentionDoc { format: 3, ..doc }).unwrap();
        assert_eq!(decode(&later).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}
