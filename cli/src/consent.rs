//! Consent to destroy something: asked for on a terminal, given by `--yes` elsewhere, never assumed.

use std::io::{BufRead as _, IsTerminal as _};

use crate::args::ConsentArgs;
use crate::context::Context;
use crate::failure::{Exit, Failure, Result};
use crate::output::note;

/// Goes on if the caller agrees to `deed`, which says what would be destroyed.
pub(crate) fn ask(context: &Context, consent: &ConsentArgs, deed: &str) -> Result<()> {
    if consent.yes {
        return Ok(());
    }
    // A program that reads JSON answers no questions.
    let someone = !context.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !someone {
        return Err(refused(format!("this would {deed}; repeat it with --yes if that is meant")));
    }
    note::question(&format!("This will {deed}. Go on? [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|e| Failure::io("cannot read the answer", &e))?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(refused("nothing was done".to_string())),
    }
}

fn refused(message: String) -> Failure {
    Failure::new(Exit::Consent, message)
}
