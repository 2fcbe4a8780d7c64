//! `tag`: its commands.

mod create;
mod delete;
mod list;
mod protect;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Names for commits that never move, and that keep their commits from being cleaned up.
#[derive(Debug, Subcommand)]
pub(crate) enum Tag {
    /// Name the commit of a version
    Create(create::Create),
    /// List the tags
    List(list::List),
    /// Show a tag
    Show(show::Show),
    /// Delete a tag
    Delete(delete::Delete),
    /// Protect a tag against deletion
    Protect(protect::Protect),
}

impl Tag {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Delete(command) => command.run(context).await,
            Self::Protect(command) => command.run(context).await,
        }
    }
}
