//! `recoveries`: its commands.

mod list;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Look at what became of interrupted operations.
#[derive(Debug, Subcommand)]
pub(crate) enum Recoveries {
    /// List the recoveries
    List(list::List),
    /// Show a recovery
    Show(show::Show),
}

impl Recoveries {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List(command) => command.run(context).await,
            Self::Show(command) => command.run(context).await,
        }
    }
}
