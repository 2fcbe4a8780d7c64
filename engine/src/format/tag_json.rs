//! The document of a tag.

use serde::{Deserialize, Serialize};

use super::document::{self, Document};
use super::paths;
use crate::error::Result;

const FORMAT: u32 = 1;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagDoc {
    /// The shape's number.
    pub format: u32,
    /// The incarnation: a name deleted and made again gets another.
    pub tag_id: String,
    /// The commit it names.
    pub commit: String,
    /// The branch the commit was found on.
    pub branch: String,
    /// The Lance branch of the manifest that shows the commit; absent for main.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
    /// The version on it.
    pub manifest_version: u64,
    /// When it was made, microseconds since the epoch.
    pub created_at: i64,
    /// Who made it.
    pub actor: String,
    /// A note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether it refuses to be deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// A deleted tag leaves its document behind, so that its name can be reused safely.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl TagDoc {
    /// The shape's number.
    pub const FORMAT: u32 = FORMAT;
}

/// The document's bytes.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &TagDoc) -> Result<bytes::Bytes> {
    document::encode(doc)
}

/// Reads the document of tag `name`.
///
/// # Errors
/// [`crate::error::Reason::DataCorrupt`] for damage, [`crate::error::Reason::StorageStampTooNew`] for a later shape.
/// The message names the file.
pub fn decode(name: &str, bytes: &[u8]) -> Result<TagDoc> {
    let document = Document {
        what: "the tag document",
        file: &paths::tag(name),
        damaged: ", so what it keeps is not known; removing the file gives the tag up",
        later: "",
    };
    document.decode(bytes, FORMAT).map_err(|e| e.with("tag", name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn the_stored_text_is_fixed() {
        let plain = TagDoc {
            format: FORMAT,
            tag_id: "T".into(),
            commit: "C".into(),
            branch: "main".into(),
            lance_branch: None,
            manifest_version: 3,
            created_at: 9,
            actor: "ada".into(),
            message: String::new(),
            protected: false,
            deleted: false,
        };
        let full = TagDoc {
            branch: "review".into(),
            lance_branch: Some("L".into()),
            message: "as sent".into(),
            protected: true,
            deleted: true,
            ..plain.clone()
        };
        for (doc, text) in [
            (
                &plain,
                r#"{"format":1,"tag_id":"T","commit":"C","branch":"main","manifest_version":3,"created_at":9,"actor":"ada"}"#,
            ),
            (
                &full,
                r#"{"format":1,"tag_id":"T","commit":"C","branch":"review","lance_branch":"L","manifest_version":3,"created_at":9,"actor":"ada","message":"as sent","protected":true,"deleted":true}"#,
            ),
        ] {
            let bytes = encode(doc).unwrap();
            assert_eq!(std::str::from_utf8(&bytes).unwrap(), text);
            assert_eq!(decode("t", &bytes).unwrap(), *doc);
        }
    }

    #[test]
    fn damage_is_told_from_a_later_shape_and_names_the_file() {
        let damaged = decode("a/b", b"{").unwrap_err();
        assert_eq!(damaged.reason(), Reason::DataCorrupt);
        assert!(damaged.message().contains("_refs/tags/a%2Fb.json"), "{damaged}");
        assert_eq!(damaged.metadata()["tag"], "a/b");
        assert_eq!(decode("t", br#"{"format":2}"#).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}
