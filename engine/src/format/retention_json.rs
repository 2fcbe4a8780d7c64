//! The marker a cleanup moves before it removes anything.

use serde::{Deserialize, Serialize};

use super::document::{self, Document};
use super::paths;
use crate::error::Result;

const FORMAT: u32 = 1;

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
        };
        let bytes = encode(&doc).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            r#"{"format":1,"generation":3,"operation_id":"O","started_at_micros":9,"cutoff_micros":7}"#
        );
        assert_eq!(decode(&bytes).unwrap(), doc);
        assert_eq!(decode(b"{").unwrap_err().reason(), Reason::DataCorrupt);
        let later = encode(&RetentionDoc { format: 2, ..doc }).unwrap();
        assert_eq!(decode(&later).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}
