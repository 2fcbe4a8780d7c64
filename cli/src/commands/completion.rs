//! `completion`: a script for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Cli;
use crate::failure::Result;
use crate::output;

/// Print a completion script, for example `omnigraph completion bash > ~/.local/share/bash-completion/completions/omnigraph`.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "omnigraph", &mut script);
        output::text(&script)
    }
}
