//! `mutate`: operations on entities, as one commit.

use std::path::Path;

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::ReadSelector;

use crate::address::Words;
use crate::args::{ScopeArgs, WriteArgs};
use crate::changes;
use crate::context::{Context, only};
use crate::failure::{Failure, Result};
use crate::output::{self, shape, table};

const FORM: &str = r#"The operations are JSON, in order, each seeing what the earlier ones did:

  {"operations": [
    {"insert": {"type": "Person", "data": {"slug": "ada", "age": 36}}},
    {"upsert": {"edge": "Knows", "from": "ada", "to": "grace", "data": {"since": "1843-01-31"}}},
    {"update": {"type": "Person", "where": "age >= 30", "set": {"role": "staff", "bio": null}}},
    {"update": {"type": "Person", "ids": ["ada"], "set": {"age": 37}}},
    {"delete": {"type": "Person", "ids": ["bob"], "edges": "restrict"}}
  ]}

A bare array does as well. Values are written as in the data format."#;

/// Apply operations as one commit.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph mutate TARGET FILE [OPTIONS]\n       omnigraph mutate TARGET --inline JSON [OPTIONS]\n       omnigraph mutate --server URL --graph ID FILE [OPTIONS]",
    after_help = FORM
)]
pub(crate) struct Mutate {
    /// Path or URI of the graph, unless named otherwise, and the file with the operations; - is standard input
    #[arg(value_name = "[TARGET] FILE")]
    words: Vec<String>,
    /// The operations themselves, in place of a file
    #[arg(long, short, value_name = "JSON")]
    inline: Option<String>,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Mutate {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = match self.inline {
            Some(_) => Words::NONE,
            None => Words::exactly(1, "FILE, or --inline JSON"),
        };
        let (target, words) = context.target(&self.scope, self.words, &takes, Access::ReadWrite).await?;
        let text = match self.inline {
            Some(text) => text,
            None => read_text(&only(words)?)?,
        };
        context.announce(&format!("writing to {}, branch {}", target.place(), self.write.branch()));
        let head = ReadSelector::Branch(self.write.branch().to_string());
        let changes = changes::read(&text, &target.read(&head).await?)?;
        let options = self.write.options(target.actor());
        let outcome = target.mutate(changes, &options).await?;
        output::answer(context, || shape::outcome(&outcome), || table::outcome(&outcome))
    }
}

/// The text of a file, or of standard input.
pub(crate) fn read_text(file: &str) -> Result<String> {
    let text = match file {
        "-" => std::io::read_to_string(std::io::stdin()),
        file => std::fs::read_to_string(Path::new(file)),
    };
    text.map_err(|e| Failure::io(format!("cannot read {file}"), &e))
}
