//! `tag create`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, tags};
use crate::selector;

const VERSIONS: &str = "A version is a branch by its name, a commit as commit:ID, a tag as tag:NAME, or a branch at a \
                        time as NAME@2013-01-31T09:30:00Z or NAME@2013-01-31.";

/// Name the commit of a version, for ever.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph tag create TARGET NAME [OPTIONS]\n       omnigraph tag create --server URL --graph ID NAME [OPTIONS]",
    after_help = VERSIONS
)]
pub(crate) struct Create {
    /// Path or URI of the graph, unless named otherwise, and the name of the new tag
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    /// The version to name
    #[arg(long, value_name = "VERSION", default_value = MAIN)]
    at: String,
    /// Note to store with the tag
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    message: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Create {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let at = selector::read(&self.at)?;
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let name = only(words)?;
        context.announce(&format!("naming {} of {} {name}", self.at, target.place()));
        let tag = target.create_tag(&name, &at, &self.message).await?;
        output::answer(context, || tags::json(&tag), || tags::text(&tag))
    }
}
