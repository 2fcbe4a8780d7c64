//! The whole visible state of a branch at one manifest version, as carried in the properties of the
//! transaction that published it. The rows of the manifest say the same and remain the truth; this copy
//! makes resolving a head independent of history.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};

/// Key of the property.
pub const KEY: &str = "omnigraph:snapshot";
/// Property naming the operation that made a version.
pub const OPERATION: &str = "omnigraph:operation";
/// Property naming the graph commit a version was made for.
pub const COMMIT: &str = "omnigraph:commit";
/// Property naming the version an operation was prepared on.
pub const BASE: &str = "omnigraph:base";

const FORMAT: u32 = 1;
/// Larger texts are compressed: declarations of many types repeat themselves.
const COMPRESS_FROM: usize = 1024;
/// A snapshot of the largest allowed schema stays far below this.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotDoc {
    /// The shape's number.
    pub format: u32,
    /// The newest commit.
    pub commit: String,
    /// Whether the branch was deleted with this commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// The incarnation of the branch that takes no direct writes; a fork of it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<String>,
    /// Every type.
    pub tables: Vec<TableDoc>,
    /// Interface declarations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
}

/// One type and where its rows are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDoc {
    /// `node:<Type>` or `edge:<Type>`.
    pub key: String,
    /// The dataset's path; absent while the type has no dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The Lance branch; absent on the main line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The version; 0 while the type has no dataset.
    #[serde(default)]
    pub version: u64,
    /// The line of the manifest that made the state; absent for main. A state made by another line is
    /// inherited, and the first write forks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Rows at that version.
    #[serde(default)]
    pub rows: u64,
    /// The type's declaration.
    pub decl: String,
}

/// The property's value.
///
/// # Errors
/// None in practice.
pub fn encode(doc: &SnapshotDoc) -> Result<String> {
    let text = serde_json::to_string(doc).map_err(|e| Error::internal("a snapshot does not serialize").caused_by(e))?;
    if text.len() < COMPRESS_FROM {
        return Ok(text);
    }
    let packed = zstd::bulk::compress(text.as_bytes(), 3)
        .map_err(|e| Error::internal("a snapshot does not compress").caused_by(e))?;
    Ok(format!("zstd:{}", STANDARD_NO_PAD.encode(packed)))
}

/// Reads the property's value.
///
/// # Errors
/// [`Reason::DataCorrupt`] for damage, [`Reason::StorageStampTooNew`] for a later shape.
pub fn decode(value: &str) -> Result<SnapshotDoc> {
    let corrupt = |what: &str| Error::new(Reason::DataCorrupt, format!("a published snapshot is damaged: {what}"));
    let unpacked;
    let text: &[u8] = match value.strip_prefix("zstd:") {
        None => value.as_bytes(),
        Some(packed) => {
            let bytes = STANDARD_NO_PAD.decode(packed).map_err(|_| corrupt("not base64"))?;
            unpacked = zstd::bulk::decompress(&bytes, MAX_BYTES).map_err(|_| corrupt("not zstd"))?;
            &unpacked
        }
    };
    let doc: SnapshotDoc = serde_json::from_slice(text).map_err(|e| corrupt("not the expected JSON").caused_by(e))?;
    if doc.format != FORMAT {
        return Err(Error::new(
            Reason::StorageStampTooNew,
            format!("a published snapshot has shape {}; upgrade omnigraph first", doc.format),
        ));
    }
    Ok(doc)
}

impl SnapshotDoc {
    /// A snapshot of the current shape.
    pub fn new(commit: String, tables: Vec<TableDoc>, interfaces: Vec<String>) -> Self {
        Self { format: FORMAT, commit, closed: false, protected: None, tables, interfaces }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(types: usize) -> SnapshotDoc {
        let tables = (0..types)
            .map(|n| TableDoc {
                key: format!("node:T{n}"),
                location: (n > 0).then(|| format!("nodes/{n}")),
                branch: None,
                version: n as u64,
                line: None,
                rows: 3,
                decl: "{\"a\":\"long enough to be worth packing\"}".into(),
            })
            .collect();
        SnapshotDoc::new("C".into(), tables, Vec::new())
    }

    #[test]
    fn the_small_form_is_fixed_and_the_large_one_packs() {
        let small = encode(&doc(1)).unwrap();
        assert_eq!(
            small,
            r#"{"format":1,"commit":"C","tables":[{"key":"node:T0","version":0,"rows":3,"decl":"{\"a\":\"long enough to be worth packing\"}"}]}"#
        );
        let large = encode(&doc(100)).unwrap();
        assert!(large.len() < 2_000, "{}", large.len());
        assert_eq!(decode(&large).unwrap(), doc(100));
        assert_eq!(decode(&small).unwrap(), doc(1));
    }

    #[test]
    fn damage_is_reported_and_never_panics() {
        for bad in ["", "zstd:!!", "zstd:AAAA", "{}", "[1]", "null"] {
            assert_eq!(decode(bad).unwrap_err().reason(), Reason::DataCorrupt, "{bad}");
        }
        let later = encode(&SnapshotDoc { format: 2, ..doc(1) }).unwrap();
        assert_eq!(decode(&later).unwrap_err().reason(), Reason::StorageStampTooNew);
    }
}
