//! `commit`: its commands.

mod changes;
mod cherry_pick;
mod list;
mod log;
mod revert;
mod show;
mod watch;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Look at history, follow it, and write by it.
#[derive(Debug, Subcommand)]
pub(crate) enum Commit {
    /// List the commits of a branch
    List(list::List),
    /// Show the history of a branch, or draw it with --graph
    Log(log::Log),
    /// Show a commit
    Show(show::Show),
    /// Show what a commit changed
    Changes(changes::Changes),
    /// Follow commits as they are published
    Watch(watch::Watch),
    /// Take a commit back
    Revert(revert::Revert),
    /// Make a commit again on another branch
    CherryPick(cherry_pick::CherryPick),
}

impl Commit {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Log(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Changes(command) => command.run(context).await,
            Self::Watch(command) => command.run(context).await,
            Self::Revert(command) => command.run(context).await,
            Self::CherryPick(command) => command.run(context).await,
        }
    }
}
