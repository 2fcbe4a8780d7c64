//! `get`: entities by id.

use clap::{Args, ValueEnum};
use serde_json::Value as Json;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{Answer, shape, table};

/// Forms of entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table for people; long cells are cut
    Table,
    /// One JSON array
    Json,
    /// One record a line, as load reads it
    Jsonl,
}

/// Show entities by id. Exit code 3 if any of them does not exist.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph get TARGET TYPE ID... [OPTIONS]\n       omnigraph get --server URL --graph ID TYPE ID... [OPTIONS]"
)]
pub(crate) struct Get {
    /// Path or URI of the graph, unless named otherwise, then the type (Person, edge:Knows) and ids
    #[arg(value_name = "[TARGET] TYPE ID", required = true)]
    words: Vec<String>,
    /// Form of the answer
    #[arg(long, short, value_enum, conflicts_with = "json")]
    output: Option<Form>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Get {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::at_least(2, "TYPE ID...");
        let (reader, mut words) = context.reader(&self.scope, &self.version, self.words, &takes).await?;
        let type_ref = reader.type_named(&words.remove(0))?;
        let found = reader.get(&type_ref, &words).await?;
        let mut answer = Answer::new();
        match self.output.unwrap_or(if context.json { Form::Json } else { Form::Table }) {
            Form::Table if found.is_empty() => {}
            Form::Table => answer.line(&table::entities(&found, reader.schema.get(&type_ref)))?,
            Form::Json => {
                let all: Vec<Json> = found.iter().map(|entity| shape::entity(entity, &reader.schema)).collect();
                answer.json(&Json::Array(all))?;
            }
            Form::Jsonl => {
                for entity in &found {
                    answer.json(&shape::entity(entity, &reader.schema))?;
                }
            }
        }
        answer.finish()?;
        let missing: Vec<&String> = words.iter().filter(|id| !found.iter().any(|e| e.id == **id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.iter().map(|id| format!("{id:?}")).collect::<Vec<_>>().join(", ");
        let what = format!("no {} has the id {missing}", type_ref.name);
        Err(Failure::usage(what).because(omnigraph_client::ErrorReason::EntityNotFound))
    }
}
