//! `index`: its commands.

mod status;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Look at indexes.
#[derive(Debug, Subcommand)]
pub(crate) enum Index {
    /// Show how far the indexes are
    Status(status::Status),
}

impl Index {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Status(command) => command.run(context).await,
        }
    }
}
