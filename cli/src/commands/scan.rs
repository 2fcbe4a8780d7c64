//! `scan`: rows of one type.

use clap::Args;
use omnigraph_engine::model::OrderBy;
use omnigraph_engine::read::scan::ScanRequest;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::{Context, only};
use crate::failure::Result;
use crate::filter;
use crate::output::rows::{self, RowFormat};

const CONDITIONS: &str = "A condition compares properties with values, read for the property's type:

  age >= 30 and (role = staff or role is null)
  name starts_with 'A' and not slug in (ada, grace)

Tests: = != < <= > >=, in (…), is null, is not null, starts_with, contains. Quote texts that hold spaces or
signs with ' or \", and names that could be keywords with `.";

/// Show rows of one type.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph scan TARGET TYPE [OPTIONS]\n       omnigraph scan --server URL --graph ID TYPE [OPTIONS]",
    after_help = CONDITIONS
)]
pub(crate) struct Scan {
    /// Path or URI of the graph, unless named otherwise, and the type: Person, edge:Knows
    #[arg(value_name = "[TARGET] TYPE", required = true)]
    words: Vec<String>,
    /// Only rows that satisfy this; several all have to hold
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Only these columns, in this order: properties, id, src, dst
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Sort by these columns; NAME:desc for largest first
    #[arg(long, value_name = "NAME[:desc],...", value_delimiter = ',')]
    order_by: Vec<String>,
    /// Rows at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Form of the answer
    #[arg(long, short, value_enum, conflicts_with = "json")]
    output: Option<RowFormat>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Scan {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "TYPE");
        let (reader, words) = context.reader(&self.scope, &self.version, self.words, &takes).await?;
        let type_ref = reader.type_named(&only(words)?)?;
        let request = ScanRequest {
            predicate: filter::read_all(&self.conditions, &reader, &type_ref)?,
            columns: self.columns,
            order: self.order_by.iter().map(|key| order_key(key)).collect(),
            limit: self.limit,
            type_ref,
        };
        let format = self.output.unwrap_or(if context.json { RowFormat::Json } else { RowFormat::Table });
        rows::write(reader.scan(&request).await?, format).await
    }
}

/// `name`, `name:asc` or `name:desc`.
fn order_key(key: &str) -> OrderBy {
    let (property, descending) = match key.rsplit_once(':') {
        Some((name, "desc")) => (name, true),
        Some((name, "asc")) => (name, false),
        _ => (key, false),
    };
    OrderBy { property: property.to_string(), descending }
}
