//! The document of a graph branch.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefDoc {
    /// The incarnation.
    pub branch_id: String,
    /// The Lance branch of the manifest.
    pub lance_branch: String,
    /// The branch it was forked from.
    pub parent: String,
    /// Where it was forked.
    pub forked_from: ForkPoint,
    /// When, microseconds since the epoch.
    pub created_at: i64,
    /// Who.
    pub actor: String,
    /// The commit it was forked at, which is the root of its own lineage.
    pub root: String,
    /// A deleted branch leaves its document behind, so that its name can be reused safely.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// A version of the parent's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The parent's Lance branch; absent for main.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lance_branch: Option<String>,
    /// The version on it.
    pub manifest_version: u64,
    /// The commit it shows.
    pub commit: String,
}

/// The document's bytes.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &RefDoc) -> Result<bytes::Bytes> {
    serde_json::to_vec(doc)
        .map(bytes::Bytes::from)
        .map_err(|e| Error::internal("a branch document does not serialize").caused_by(e))
}

/// Reads the document of branch `name`.
///
/// # Errors
/// [`Reason::DataCorrupt`] naming the branch.
pub fn decode(name: &str, bytes: &[u8]) -> Result<RefDoc> {
    serde_json::from_slice(bytes).map_err(|e| {
        Error::new(
            Reason::DataCorrupt,
            format!("the document of branch {name:?} is damaged; `branch delete --force` removes the branch"),
        )
        .with("branch", name)
        .caused_by(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_text_is_fixed() {
        let doc = RefDoc {
            branch_id: "I".into(),
            lance_branch: "L".into(),
            parent: "main".into(),
            forked_from: ForkPoint { lance_branch: None, manifest_version: 3, commit: "C".into() },
            created_at: 9,
            actor: "ada".into(),
            root: "C".into(),
            deleted: false,
        };
        let bytes = encode(&doc).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            r#"{"branch_id":"I","lance_branch":"L","parent":"main","forked_from":{"manifest_version":3,"commit":"C"},"created_at":9,"actor":"ada","root":"C"}"#
        );
        assert_eq!(decode("b", &bytes).unwrap(), doc);
        assert_eq!(decode("b", b"{").unwrap_err().reason(), Reason::DataCorrupt);
    }
}
