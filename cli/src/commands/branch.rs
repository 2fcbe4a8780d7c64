//! `branch`: its commands.

mod create;
mod delete;
mod list;
mod show;

use clap::Subcommand;

use super::unavailable::Unavailable;
use crate::context::Context;
use crate::failure::Result;

/// Make, look at and delete branches.
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
    /// Merge a branch into another (not available in this release)
    Merge(Unavailable),
    /// Show what differs between branches (not available in this release)
    Diff(Unavailable),
}

impl Branch {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Delete(command) => command.run(context).await,
            Self::Merge(command) => command.run("branch merge"),
            Self::Diff(command) => command.run("branch diff"),
        }
    }
}
