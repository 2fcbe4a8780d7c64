//! `schema`: its commands.

mod apply;
mod diff;
mod plan;
mod show;
mod wish;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Look at the schema and change it.
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Show the schema of a version
    Show(show::Show),
    /// Show the steps to another schema, what they cost, and what stands against them
    Plan(plan::Plan),
    /// Give a branch another schema, as one commit
    Apply(apply::Apply),
    /// Show how the schemas of two versions differ
    Diff(diff::Diff),
}

impl Schema {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Show(command) => command.run(context).await,
            Self::Plan(command) => command.run(context).await,
            Self::Apply(command) => command.run(context).await,
            Self::Diff(command) => command.run(context).await,
        }
    }
}
