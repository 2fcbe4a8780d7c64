//! Commands that are named in the documentation and that this release does not have.

use clap::Args;
use omnigraph_client::ErrorReason;

use crate::failure::{Failure, Result};

/// Takes whatever it is given, and says that it is not available.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Unavailable {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    ignored: Vec<String>,
}

impl Unavailable {
    pub(crate) fn run(self, verb: &str) -> Result<()> {
        tracing::debug!(words = ?self.ignored, "a command is not available");
        let what = format!("`omnigraph {verb}` is not available in this release");
        Err(Failure::usage(what).because(ErrorReason::NotImplemented))
    }
}
