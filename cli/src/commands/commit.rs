//! `commit`: its commands.

mod list;
mod show;

use clap::Subcommand;

use super::unavailable::Unavailable;
use crate::context::Context;
use crate::failure::Result;

/// Look at history.
#[derive(Debug, Subcommand)]
pub(crate) enum Commit {
    /// List the commits of a branch
    List(list::List),
    /// Show a commit
    Show(show::Show),
    /// Show what commits changed (not available in this release)
    Changes(Unavailable),
    /// Follow commits as they are published (not available in this release)
    Watch(Unavailable),
}

impl Commit {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Changes(command) => command.run("commit changes"),
            Self::Watch(command) => command.run("commit watch"),
        }
    }
}
