//! The one commit path. Every writer, whatever it does, comes through [`commit::commit`].
//!
//! An [`Action`] says what it needs and what it would change; the path decides when it may take effect,
//! takes the branch's turn, applies the effects, publishes, and reports. No action commits for itself.

pub mod commit;
pub mod core;
mod turn;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::core::Core;

use crate::error::Result;
use crate::format::commit_row::CommitExtras;
use crate::format::manifest_row::ManifestRow;
use crate::manifest::View;
use crate::model::{Actor, Imported, MergeNote, TypeCounts, TypeRef};
use crate::store::lance::stage::Staged;
use crate::store::lance::{Table, TableAt};

/// What a writer wants to do. Prepared anew whenever the state it was prepared on has changed in a way
/// that matters to it.
#[async_trait]
pub trait Action: Send {
    /// The kind of operation, for the log and the audit.
    fn label(&self) -> &'static str;

    /// What happens when data it read or writes changed before it took effect.
    fn on_change(&self) -> OnChange {
        OnChange::Prepare
    }

    /// Whether to queue before preparing. Right for small work, which would be wasted if another writer
    /// came first; wrong for long staging, which nobody should wait for.
    fn queues_first(&self) -> bool {
        true
    }

    /// Whether it is what repairs tables left ahead of their published version.
    fn restores(&self) -> bool {
        false
    }

    /// Whether a protected branch refuses it. True for what changes a branch without review, its end included; merges
    /// and maintenance go on.
    fn writes_directly(&self) -> bool {
        false
    }

    /// Who does it, if not the caller.
    fn actor(&self) -> Option<Actor> {
        None
    }

    /// Stages everything on top of `view`; nothing becomes visible. `None` means there is nothing to do.
    ///
    /// # Errors
    /// Whatever makes the operation impossible as asked.
    async fn prepare(&mut self, core: &Arc<Core>, view: &View) -> Result<Option<Prepared>>;
}

/// See [`Action::on_change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnChange {
    /// Prepare again, silently and a bounded number of times.
    Prepare,
    /// Report a conflict; nothing has happened.
    Refuse,
}

/// Staged work: requirements and effects.
#[derive(Debug, Default)]
pub struct Prepared {
    /// What happens to each table.
    pub effects: Vec<Effect>,
    /// Table versions to publish that stand already. No version is made for them.
    pub pins: Vec<PinMove>,
    /// Tables that must not change before it takes effect, beside those it writes.
    pub reads: Vec<TypeRef>,
    /// What it changes, for the commit and the receipt.
    pub counts: Vec<TypeCounts>,
    /// Rows to publish beside the table versions and the commit.
    pub rows: Vec<ManifestRow>,
    /// Declarations of types that change. They take effect behind the versions of tables that were declared before, so
    /// effects name those by their names before, and ahead of `pins`, which name all by their names after.
    pub declarations: Vec<ManifestRow>,
    /// What the commit's row says beside the commit.
    pub extras: CommitExtras,
    /// The commit's second parent, if it has one.
    pub merged: Option<String>,
    /// What the commit remembers of a merge.
    pub note: Option<MergeNote>,
    /// The commit of another graph that it stands for.
    pub imported: Option<Imported>,
    /// Whether nothing at all may have happened to the branch meanwhile.
    pub exact: bool,
}

/// A version of a table that is there and becomes the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinMove {
    /// The type.
    pub type_ref: TypeRef,
    /// The version.
    pub at: TableAt,
    /// Rows it holds.
    pub rows: u64,
    /// The line of the manifest that made it, if not the branch's own: the first write then forks it.
    pub inherited_from: Option<Option<String>>,
}

/// Called with the version that holds a change, once it is published.
pub type Landed = Box<dyn FnOnce(&Table) + Send>;

/// What happens to one table.
pub struct Effect {
    /// The type.
    pub type_ref: TypeRef,
    /// The table version it commits on top of.
    pub base: Table,
    /// The change, not committed.
    pub staged: Staged,
    /// Further changes, each a version of its own on top of the one before.
    pub then: Vec<Staged>,
    /// Where a fork made for this change came from.
    pub fork_from: Option<TableAt>,
    /// Whether the dataset was made for this change.
    pub create: bool,
    /// Told the version that holds the change, once it is published.
    pub landed: Option<Landed>,
}

impl Effect {
    /// A change on a line of the table that exists already, of which nobody needs to be told.
    pub fn in_place(type_ref: TypeRef, base: Table, staged: Staged) -> Self {
        Self { type_ref, base, staged, then: Vec::new(), fork_from: None, create: false, landed: None }
    }

    /// Every change in order.
    pub fn changes(&self) -> impl Iterator<Item = &Staged> {
        std::iter::once(&self.staged).chain(&self.then)
    }

    /// The version that holds all of them.
    fn last_version(&self) -> u64 {
        self.base.version() + 1 + self.then.len() as u64
    }

    /// Rows once all of them are committed.
    fn rows_after(&self) -> u64 {
        self.then.last().unwrap_or(&self.staged).rows_after()
    }
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Effect").field("type", &self.type_ref).field("base", self.base.at()).finish_non_exhaustive()
    }
}
