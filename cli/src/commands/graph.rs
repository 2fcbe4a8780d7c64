//! `graph`: its commands.

pub(crate) mod create;
mod delete;
mod list;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Make, look at and delete graphs.
#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Make a graph
    Create(create::Create),
    /// List the graphs of a server
    List(list::List),
    /// Show where a graph is and how far
    Show(show::Show),
    /// Delete a graph for good
    Delete(delete::Delete),
}

impl Graph {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Create(command) => command.run(context).await,
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
            Self::Delete(command) => command.run(context).await,
        }
    }
}
