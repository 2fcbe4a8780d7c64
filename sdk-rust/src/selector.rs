//! Which version a read looks at.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::read_selector::Selector as Arm;

use crate::time;

/// Names one version of a graph. A read sees exactly that version from beginning to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The newest commit of a branch.
    Branch(String),
    /// One commit.
    Commit(String),
    /// The commit a tag points at.
    Tag(String),
    /// A branch as it was at a moment, to the microsecond.
    AsOf {
        /// The branch.
        branch: String,
        /// The moment, inclusive.
        moment: SystemTime,
    },
    /// The newest commit of a branch, which has to be this commit or a later one.
    AtLeast {
        /// The branch.
        branch: String,
        /// The commit.
        commit: String,
    },
}

/// The newest commit of main.
impl Default for Selector {
    fn default() -> Self {
        Self::Branch(String::new())
    }
}

impl From<Selector> for wire::ReadSelector {
    fn from(selector: Selector) -> Self {
        let arm = match selector {
            Selector::Branch(name) => Arm::Branch(name),
            Selector::Commit(id) => Arm::CommitId(id),
            Selector::Tag(name) => Arm::Tag(name),
            Selector::AsOf { branch, moment } => {
                Arm::BranchAsOf(wire::BranchAsOf { branch, as_of: Some(time::to_wire(moment)) })
            }
            Selector::AtLeast { branch, commit } => Arm::AtLeast(wire::AtLeast { branch, commit_id: commit }),
        };
        Self { selector: Some(arm) }
    }
}

/// The methods of a read that choose the version. The type needs a field `selector`.
macro_rules! choose_version {
    () => {
        /// Reads the newest commit of this branch. Without a choice it is main's.
        #[must_use]
        pub fn branch(mut self, name: impl Into<String>) -> Self {
            self.selector = $crate::Selector::Branch(name.into());
            self
        }

        /// Reads this commit.
        #[must_use]
        pub fn commit(mut self, id: impl Into<String>) -> Self {
            self.selector = $crate::Selector::Commit(id.into());
            self
        }

        /// Reads a branch as it was at a moment.
        #[must_use]
        pub fn as_of(mut self, branch: impl Into<String>, moment: std::time::SystemTime) -> Self {
            self.selector = $crate::Selector::AsOf { branch: branch.into(), moment };
            self
        }

        /// Reads the branch a write went to, no older than that write. For reading one's own writes through
        /// another server.
        #[must_use]
        pub fn at_least(mut self, write: &impl AsRef<$crate::Receipt>) -> Self {
            let receipt = write.as_ref();
            let (branch, commit) = (receipt.branch.clone(), receipt.commit_id.clone());
            self.selector = $crate::Selector::AtLeast { branch, commit };
            self
        }

        /// Reads the version that is named like this.
        #[must_use]
        pub fn at(mut self, selector: $crate::Selector) -> Self {
            self.selector = selector;
            self
        }
    };
}

pub(crate) use choose_version;
