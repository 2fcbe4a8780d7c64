//! `branch restore`.

use clap::Args;
use omnigraph_engine::Access;

use crate::address::Words;
use crate::args::{ConsentArgs, NoteArgs, ScopeArgs};
use crate::consent;
use crate::context::{Context, only};
use crate::failure::Result;
use crate::output::{self, merge, table};
use crate::selector;

const VERSIONS: &str = "A version is a branch by its name, a commit as commit:ID, a tag as tag:NAME, or a branch at a \
                        time as NAME@2013-01-31T09:30:00Z or NAME@2013-01-31.";

/// Make a branch show what another version shows, as a new commit. What it showed before stays in the history.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph branch restore TARGET NAME --to VERSION [OPTIONS]\n       omnigraph branch restore --server URL --graph ID NAME --to VERSION [OPTIONS]",
    after_help = VERSIONS
)]
pub(crate) struct Restore {
    /// Path or URI of the graph, unless named otherwise, and the branch's name
    #[arg(value_name = "[TARGET] NAME", required = true)]
    words: Vec<String>,
    /// The version to show
    #[arg(long, value_name = "VERSION")]
    to: String,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    note: NoteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Restore {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let to = selector::read(&self.to)?;
        let takes = Words::exactly(1, "NAME");
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let name = only(words)?;
        let branch = format!("branch {name} of {}", target.place());
        context.announce(&format!("restoring {branch} to {}", self.to));
        consent::ask(context, &self.consent, &format!("replace all that {branch} shows by what {} shows", self.to))?;
        let options = self.note.options(&name, target.actor());
        let (source, outcome) = target.restore(&to, &options).await?;
        output::answer(context, || merge::restored_json(&source, &outcome), || table::outcome(&outcome))
    }
}
