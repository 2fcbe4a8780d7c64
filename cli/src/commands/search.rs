//! `search`: entities near a vector, entities whose texts answer some words, or both.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use omnigraph_engine::limits;
use omnigraph_engine::model::{Metric, PropertyType, TypeRef};
use omnigraph_engine::read::search::{SearchRequest, TextQuery, VectorQuery};

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::{Context, only};
use crate::failure::{Failure, Result};
use crate::filter;
use crate::output::rows::{self, RowFormat};
use crate::target::Reader;

/// How vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// By the angle between them
    Cosine,
    /// By the square of their distance
    L2,
    /// By their inner product
    Dot,
}

const RANKS: &str = "Hits come best first, and those as good by id. After their columns come _distance for a vector \
(less is nearer), _score for words (more is better), and _relevance for both together (more is better). Conditions are \
those of scan, and hold before hits are chosen.";

/// Show the entities of a type that are nearest to a vector, whose texts best answer some words, or that do both.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph search TARGET TYPE [--text WORDS] [--vector NUMBERS] [OPTIONS]\n       omnigraph search --server URL --graph ID TYPE [--text WORDS] [--vector NUMBERS] [OPTIONS]",
    after_help = RANKS
)]
pub(crate) struct Search {
    /// Path or URI of the graph, unless named otherwise, and the type: Person, edge:Knows
    #[arg(value_name = "[TARGET] TYPE", required = true)]
    words: Vec<String>,
    /// Words to look for; an entity matches if it has any of them
    #[arg(long, value_name = "WORDS", required_unless_present_any = ["vector", "vector_file"])]
    text: Option<String>,
    /// Properties to look for words in [default: those with a text index, else all texts]
    #[arg(long = "in", value_name = "NAME,...", value_delimiter = ',', requires = "text")]
    within: Vec<String>,
    /// Vector to be near to, as a JSON array of numbers
    #[arg(long, value_name = "[N,...]", conflicts_with = "vector_file")]
    vector: Option<String>,
    /// File that holds the vector as a JSON array of numbers
    #[arg(long, value_name = "FILE")]
    vector_file: Option<PathBuf>,
    /// Property whose vectors are compared [default: the only one]
    #[arg(long, value_name = "NAME")]
    property: Option<String>,
    /// How vectors are compared [default: as the property's index does]
    #[arg(long, value_enum)]
    metric: Option<By>,
    /// Only entities that satisfy this; several all have to hold
    #[arg(long = "where", visible_alias = "filter", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Only these columns, in this order: properties, id, src, dst
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Hits at most
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=limits::MAX_SEARCH_RESULTS))]
    limit: u64,
    /// Form of the answer
    #[arg(long, short, value_enum, conflicts_with = "json")]
    output: Option<RowFormat>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Search {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let numbers = match (&self.vector, &self.vector_file) {
            (Some(text), _) => Some(numbers("--vector", text)?),
            (None, Some(file)) => Some(numbers(&file.display().to_string(), &text_of(file)?)?),
            (None, None) => None,
        };
        if numbers.is_none() && (self.property.is_some() || self.metric.is_some()) {
            return Err(Failure::usage("--property and --metric speak of a vector; give --vector or --vector-file"));
        }
        let takes = Words::exactly(1, "TYPE");
        let (reader, words) = context.reader(&self.scope, &self.version, self.words, &takes).await?;
        let type_ref = reader.type_named(&only(words)?)?;
        let metric = self.metric.map(|by| match by {
            By::Cosine => Metric::Cosine,
            By::L2 => Metric::L2,
            By::Dot => Metric::Dot,
        });
        let vector = match numbers {
            Some(query) => Some(VectorQuery { property: property(self.property, &reader, &type_ref)?, query, metric }),
            None => None,
        };
        let request = SearchRequest {
            vector,
            text: self.text.map(|query| TextQuery { properties: self.within, query }),
            filter: filter::read_all(&self.conditions, &reader, &type_ref)?,
            columns: self.columns,
            limit: self.limit,
            type_ref,
        };
        let format = self.output.unwrap_or(if context.json { RowFormat::Json } else { RowFormat::Table });
        rows::write(reader.search(&request).await?, format).await
    }
}

/// The property that was named, or the only one that has vectors.
fn property(named: Option<String>, reader: &Reader, type_ref: &TypeRef) -> Result<String> {
    if let Some(name) = named {
        return Ok(name);
    }
    let properties = reader.schema.get(type_ref).map(|ty| ty.properties.as_slice()).unwrap_or_default();
    let vectors = properties.iter().filter(|p| matches!(p.ty, PropertyType::Vector(_)));
    let names: Vec<&str> = vectors.map(|p| p.name.as_str()).collect();
    match names.as_slice() {
        [only] => Ok((*only).to_string()),
        [] => Err(Failure::usage(format!("{} has no property of the type Vector", type_ref.name))),
        many => Err(Failure::usage(format!("say which vectors to compare: --property {}", many.join(" or ")))),
    }
}

fn text_of(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| Failure::io(format!("cannot read {}", file.display()), &e))
}

/// A vector as JSON.
fn numbers(place: &str, text: &str) -> Result<Vec<f32>> {
    serde_json::from_str(text)
        .map_err(|e| Failure::usage(format!("{place} is no JSON array of numbers like [0.1,-2,3e-4]: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_json_arrays_of_numbers() {
        assert_eq!(numbers("x", " [1, -0.5,\n3e2] ").unwrap(), [1.0, -0.5, 300.0]);
        for wrong in ["", "1,2", "[1,\"2\"]", "[1,null]", "[[1]]"] {
            assert!(numbers("x", wrong).is_err(), "{wrong}");
        }
    }
}
