//! `branch`: its commands.

mod create;
mod delete;
mod diff;
mod list;
mod merge;
mod protect;
mod restore;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Make, look at, compare, merge and delete branches.
#[derive(Debug, Subcommand)]
pub(crate) enum Branch {
    /// Make a branch that starts at an existing version
    Create(create::Create),
    /// List the live branches
    List(list::List),
    /// Show a branch
    Show(show::Show),
    /// Delete a branch
    Delete(delete::Delete),
    /// Protect a branch against deletion and direct writes
    Protect(protect::Protect),
    /// Show what differs between two versions
    Diff(diff::Diff),
    /// Merge a branch into another
    Merge(merge::Merge),
    /// Make a branch show what another version shows
    Restore(restore::Restore),
}

impl Branch {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Delete(command) => command.run(context).await,
            Self::Protect(command) => command.run(context).await,
            Self::Diff(command) => command.run(context).await,
            Self::Merge(command) => command.run(context).await,
            Self::Restore(command) => command.run(context).await,
        }
    }
}
