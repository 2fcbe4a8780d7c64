//! What every write says about itself and what it answers.

use std::time::SystemTime;

use omnigraph_proto::feature;
use omnigraph_proto::v1 as wire;

use crate::entity::{EntityKind, TypeRef};
use crate::error::{Error, Result};
use crate::time;

/// How many entities of one type a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeCounts {
    /// The type.
    pub type_ref: TypeRef,
    /// Entities that did not exist before.
    pub inserted: u64,
    /// Entities that existed before and after.
    pub updated: u64,
    /// Entities that no longer exist, edges deleted along with a node included.
    pub deleted: u64,
}

impl From<wire::TypeCounts> for TypeCounts {
    fn from(counts: wire::TypeCounts) -> Self {
        Self {
            type_ref: TypeRef { kind: EntityKind::from_wire(counts.kind), name: counts.type_name },
            inserted: counts.inserted,
            updated: counts.updated,
            deleted: counts.deleted,
        }
    }
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The commit that was made. If nothing changed: the head the write was evaluated against.
    pub commit_id: String,
    /// Parents of the commit, first parent first. Empty if nothing changed.
    pub parents: Vec<String>,
    /// The branch written to.
    pub branch: String,
    /// Whether a commit was made.
    pub changed: bool,
    /// Whether this is the receipt of an earlier request with the same request id.
    pub replayed: bool,
    /// What changed, one entry for each type concerned.
    pub counts: Vec<TypeCounts>,
    /// When the commit was made. `None` if nothing changed.
    pub created_at: Option<SystemTime>,
}

impl Receipt {
    pub(crate) fn read(receipt: Option<wire::Receipt>) -> Result<Self> {
        let receipt = receipt.ok_or_else(|| Error::malformed("a write answered no receipt"))?;
        Ok(Self {
            commit_id: receipt.commit_id,
            parents: receipt.parent_ids,
            branch: receipt.branch,
            changed: receipt.changed,
            replayed: receipt.replayed,
            counts: receipt.counts.into_iter().map(Into::into).collect(),
            created_at: receipt.created_at.map(|moment| time::from_wire(Some(moment))),
        })
    }
}

/// So that a read can name the answer of any write; see `at_least`.
impl AsRef<Receipt> for Receipt {
    fn as_ref(&self) -> &Receipt {
        self
    }
}

/// The options of a write while it is being described.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) branch: String,
    pub(crate) expected_head: String,
    /// Made up where the caller gives none, so that repeating the call is safe.
    pub(crate) request_id: String,
    pub(crate) message: String,
}

impl WriteOptions {
    pub(crate) fn new() -> Self {
        Self {
            branch: String::new(),
            expected_head: String::new(),
            request_id: crate::id::fresh_request_id(),
            message: String::new(),
        }
    }

    /// The message form, which requires the server to understand what it relies on.
    pub(crate) fn into_wire(self, graph: &str) -> wire::WriteOptions {
        let mut required_features = Vec::new();
        if !self.expected_head.is_empty() {
            required_features.push(feature::EXPECTED_HEAD.to_string());
        }
        if !self.request_id.is_empty() {
            required_features.push(feature::REQUEST_ID.to_string());
        }
        wire::WriteOptions {
            graph: graph.to_string(),
            branch: self.branch,
            expected_head: self.expected_head,
            request_id: self.request_id,
            message: self.message,
            required_features,
        }
    }
}

/// The methods of a write that say something about it. The type needs a field `options`.
macro_rules! describe_write {
    () => {
        /// Writes to this branch. Without a choice it is main.
        #[must_use]
        pub fn branch(mut self, name: impl Into<String>) -> Self {
            self.options.branch = name.into();
            self
        }

        $crate::receipt::describe_conditions!();
    };
}

pub(crate) use describe_write;

/// The same without the branch.
macro_rules! describe_conditions {
    () => {
        /// Writes only while this commit is the branch's head; otherwise the answer is `HEAD_MOVED` and
        /// nothing changes.
        #[must_use]
        pub fn expected_head(mut self, commit: impl Into<String>) -> Self {
            self.options.expected_head = commit.into();
            self
        }

        /// Names the write, so that the same write made again answers the first receipt, whoever repeats it and
        /// when. Without a name the client makes one up, which covers its own repetitions.
        #[must_use]
        pub fn request_id(mut self, id: impl Into<String>) -> Self {
            self.options.request_id = id.into();
            self
        }

        /// Sends no request id. A repetition then has a second effect, so the client never repeats the call
        /// unless the server asks for it.
        #[must_use]
        pub fn without_request_id(mut self) -> Self {
            self.options.request_id.clear();
            self
        }

        /// A note that is stored with the commit.
        #[must_use]
        pub fn message(mut self, note: impl Into<String>) -> Self {
            self.options.message = note.into();
            self
        }
    };
}

pub(crate) use describe_conditions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_write_relies_on_is_required() {
        let options = WriteOptions::new();
        assert!(!options.request_id.is_empty());
        assert_eq!(options.clone().into_wire("g").required_features, ["request_id"]);
        let options = WriteOptions { expected_head: "c".into(), request_id: String::new(), ..options };
        assert_eq!(options.into_wire("g").required_features, ["expected_head"]);
    }
}
