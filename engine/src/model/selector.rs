//! What a read reads. Data only.

/// Names one immutable state of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSelector {
    /// The newest commit of a branch.
    Branch(String),
    /// One commit, on whatever branch it was made.
    Commit(String),
    /// A tag.
    Tag(String),
    /// A branch as it was at a time, microseconds since the epoch, inclusive.
    BranchAsOf {
        /// The branch.
        branch: String,
        /// The time.
        micros: i64,
    },
    /// The head of a branch, which must contain this commit already.
    AtLeast {
        /// The branch.
        branch: String,
        /// The commit that must be in its lineage.
        commit: String,
    },
    /// A branch at one version of its manifest, as shown by `snapshot`.
    Version {
        /// The branch.
        branch: String,
        /// The manifest version.
        version: u64,
    },
}

impl Default for ReadSelector {
    fn default() -> Self {
        Self::Branch(super::branch::MAIN.to_string())
    }
}
