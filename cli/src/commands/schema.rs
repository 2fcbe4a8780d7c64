//! `schema`: its commands.

mod show;

use clap::Subcommand;

use super::unavailable::Unavailable;
use crate::context::Context;
use crate::failure::Result;

/// Look at the schema.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
pub(crate) enum Schema {
    /// Show the schema of a version
    Show(show::Show),
    /// Show the steps to another schema (not available in this release)
    Plan(Unavailable),
    /// Change the schema (not available in this release)
    Apply(Unavailable),
}

impl Schema {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Show(command) => command.run(context).await,
            Self::Plan(command) => command.run("schema plan"),
            Self::Apply(command) => command.run("schema apply"),
        }
    }
}
