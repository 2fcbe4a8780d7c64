//! The lines of an archive. Format 1; a shape may not change for a format number that was ever written, but members
//! may be added that older releases ignore.
//!
//! ```text
//! {"archive":{…}}                       what this is
//! {"branch":{…}}  {"tag":{…}}           every live branch, every tag
//! {"point":{…}}                         a state, and what it changes:
//!   {"type":{…}}                          the type of the rows that follow
//!   {"new":{…}} {"set":{…}} {"gone":"…"}  its rows
//!   {"sum":{…}}                           what its changed types come to
//! {"state":{…}}                         what the head of a branch comes to
//! {"end":{…}}                           that this is all
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use crate::error::{Error, Reason, Result};
use crate::format::commit_row::MergeDoc;
use crate::format::type_json;
use crate::model::Schema;

/// The format this release writes, and the newest it reads.
pub(super) const FORMAT: u32 = 1;

/// The line of main in the words of an archive.
pub(super) const MAIN_LINE: &str = "main";

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Archive(ArchiveDoc),
    Branch(BranchDoc),
    Tag(TagDoc),
    Point(Box<PointDoc>),
    Type(TypeDoc),
    New(RowDoc),
    Set(RowDoc),
    Gone(String),
    Sum(BTreeMap<String, Digest>),
    State(StateDoc),
    End(EndDoc),
}

impl Line {
    /// Whether it is a row of a type.
    pub(super) fn is_row(&self) -> bool {
        matches!(self, Self::New(_) | Self::Set(_) | Self::Gone(_))
    }
}

/// What an archive is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchiveDoc {
    pub format: u32,
    /// The storage stamp of the graph it was made from.
    pub stamp: u32,
    /// What follows, for whoever looks into the file.
    pub follows: String,
}

/// A live branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BranchDoc {
    pub name: String,
    /// Which points are its own: those of the same line.
    pub line: String,
    pub head: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub forked_from: String,
    pub created_at: i64,
    pub actor: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TagDoc {
    pub name: String,
    pub commit: String,
    pub created_at: i64,
    pub actor: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
}

/// A state: the commit that made it, and what it is told against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PointDoc {
    pub id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// The point that its rows are changes of; absent if they are all there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether it shows the same as the base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_content: bool,
    /// Which incarnation of which branch it was made on.
    pub line: String,
    pub branch: String,
    pub actor: String,
    pub created_at: i64,
    pub operation: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeDoc>,
    /// The schema, if it is not the base's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaDoc>,
}

/// Declarations, with their stable ids, in the form in which a graph stores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SchemaDoc {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<serde_json::Value>,
    types: Vec<serde_json::Value>,
}

impl SchemaDoc {
    pub(super) fn of(schema: &Schema) -> Result<Self> {
        let parsed = |text: String| {
            serde_json::from_str(&text).map_err(|e| Error::internal("a declaration is no JSON").caused_by(e))
        };
        Ok(Self {
            interfaces: schema.interfaces.iter().map(type_json::encode_interface).map(parsed).collect::<Result<_>>()?,
            types: schema.types.iter().map(type_json::encode_type).map(parsed).collect::<Result<_>>()?,
        })
    }

    /// # Errors
    /// [`Reason::DataCorrupt`], [`Reason::StorageStampTooNew`].
    pub(super) fn schema(&self) -> Result<Schema> {
        Ok(Schema {
            interfaces: (self.interfaces.iter())
                .map(|doc| type_json::decode_interface(&doc.to_string()))
                .collect::<Result<_>>()?,
            types: self.types.iter().map(|doc| type_json::decode_type(&doc.to_string())).collect::<Result<_>>()?,
        })
    }
}

/// The type of the rows that follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TypeDoc {
    /// `node:<Type>` or `edge:<Type>`.
    pub key: String,
    /// Whether they are all the type has, whatever it had before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// A row as it is from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RowDoc {
    pub id: String,
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub to: Option<String>,
    pub data: serde_json::Map<String, serde_json::Value>,
}

/// What the head of a branch comes to. Types without rows are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StateDoc {
    pub branch: String,
    pub types: BTreeMap<String, Digest>,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndDoc {
    pub points: u64,
    /// Of every byte before this line, in hexadecimal.
    pub sha256: String,
}

/// Reads a line of format 1.
///
/// # Errors
/// [`Reason::InvalidRecord`].
pub(super) fn decode(text: &[u8]) -> Result<Line> {
    serde_json::from_slice(text)
        .map_err(|e| Error::new(Reason::InvalidRecord, format!("it is no line of an archive: {e}")).caused_by(e))
}

/// Reads the first line, whatever its format may be.
///
/// # Errors
/// [`Reason::InvalidRecord`] if this is no archive, [`Reason::StorageStampTooNew`] for a later format.
pub(super) fn decode_head(text: &[u8]) -> Result<ArchiveDoc> {
    #[derive(Deserialize)]
    struct Shape {
        archive: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let foreign = || Error::new(Reason::InvalidRecord, "this is no archive: `export --all` writes one");
    let shape: Shape = serde_json::from_slice(text).map_err(|e| foreign().caused_by(e))?;
    match shape.archive.format {
        FORMAT => match decode(text)? {
            Line::Archive(doc) => Ok(doc),
            _ => Err(foreign()),
        },
        other => Err(Error::new(
            Reason::StorageStampTooNew,
            format!("the archive has format {other}, this release reads {FORMAT}: upgrade omnigraph first"),
        )
        .with("found", other)
        .with("supported", FORMAT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_fixed() {
        for text in [
            r#"{"archive":{"format":1,"stamp":4,"follows":"points"}}"#,
            r#"{"branch":{"name":"b","line":"L","head":"H","parent":"main","forked_from":"F","created_at":5,"actor":"ada","protected":true}}"#,
            r#"{"tag":{"name":"t","commit":"C","created_at":5,"actor":"ada","message":"m","protected":true}}"#,
            r#"{"point":{"id":"P","parents":["A","B"],"base":"A","same_content":true,"line":"main","branch":"main","actor":"ada","created_at":5,"operation":"merge","message":"m","request_id":"r","merge":{"outcome":"merged","base":"A","source":"B"},"schema":{"types":[]}}}"#,
            r#"{"type":{"key":"node:P","whole":true}}"#,
            r#"{"gone":"ada"}"#,
            r#"{"sum":{"node:P":[2,"000000000000000000000000000000ff"]}}"#,
            r#"{"state":{"branch":"main","types":{"node:P":[2,"000000000000000000000000000000ff"]}}}"#,
            r#"{"end":{"points":3,"sha256":"00"}}"#,
        ] {
            let line = decode(text.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&line).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_archive_or_a_later_one_is_told_apart() {
        let later = decode_head(br#"{"archive":{"format":2,"else":1}}"#).unwrap_err();
        assert_eq!(later.reason(), Reason::StorageStampTooNew);
        for text in ["", "{}", r#"{"type":"Person","data":{}}"#, r#"{"archive":{"format":1}}"#] {
            assert_eq!(decode_head(text.as_bytes()).unwrap_err().reason(), Reason::InvalidRecord, "{text}");
        }
    }
}
