//! `graph delete`.

use clap::Args;

use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs};
use crate::consent;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, shape};
use crate::target::delete;

/// Delete a graph with all its branches, history and data, for good.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph graph delete TARGET [OPTIONS]\n       omnigraph graph delete --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Delete {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Delete {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (address, _) = context.address(&self.scope, self.words, &Words::NONE)?;
        let place = address.to_string();
        context.announce(&format!("deleting {place}"));
        consent::ask(context, &self.consent, &format!("delete {place} with everything in it, for good"))?;
        delete(&address, &context.caller(&self.scope)).await?;
        output::answer(context, || shape::deleted("graph", address.name()), || format!("deleted {place}"))
    }
}
