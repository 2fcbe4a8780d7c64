//! `neighbors`: what is near some nodes.

use clap::{Args, ValueEnum};
use omnigraph_engine::limits;
use omnigraph_engine::model::TypeRef;
use omnigraph_engine::read::neighbors::{Direction, NeighborsQuery};

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{self, note, shape, table};

/// Which way edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    /// From the node an edge leaves
    Out,
    /// From the node an edge enters
    In,
    /// Both ways
    Both,
}

/// Show nodes within some steps of given nodes, and the edges that lead there.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph neighbors TARGET TYPE ID... [OPTIONS]\n       omnigraph neighbors --server URL --graph ID TYPE ID... [OPTIONS]"
)]
pub(crate) struct Neighbors {
    /// Path or URI of the graph, unless named otherwise, then the node type and ids to start from
    #[arg(value_name = "[TARGET] TYPE ID", required = true)]
    words: Vec<String>,
    /// Follow only edges of this type; may be repeated
    #[arg(long = "edge", value_name = "TYPE")]
    edges: Vec<String>,
    /// Which way to follow them
    #[arg(long, value_enum, default_value_t = Way::Out)]
    direction: Way,
    /// Steps to go
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::MAX_HOPS)))]
    hops: u32,
    /// Nodes and edges at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = limit)]
    limit: usize,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Neighbors {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::at_least(2, "TYPE ID...");
        let (reader, mut words) = context.reader(&self.scope, &self.version, self.words, &takes).await?;
        let start = TypeRef::node(words.remove(0).trim_start_matches("node:"));
        let edge = |name: &String| TypeRef::edge(name.trim_start_matches("edge:"));
        let query = NeighborsQuery {
            start: words.into_iter().map(|id| (start.clone(), id)).collect(),
            edges: self.edges.iter().map(edge).collect(),
            direction: match self.direction {
                Way::Out => Direction::Out,
                Way::In => Direction::In,
                Way::Both => Direction::Both,
            },
            hops: self.hops,
            limit: self.limit,
        };
        let found = reader.neighbors(&query).await?;
        let json = || shape::neighborhood(&reader.commit, &found, &reader.schema);
        output::answer(context, json, || table::neighborhood(&found, &reader.schema))?;
        if found.truncated && !context.quiet {
            note::say("there is more; raise --limit to see it");
        }
        Ok(())
    }
}

fn limit(text: &str) -> std::result::Result<usize, String> {
    let range = 1..=limits::MAX_NEIGHBORS;
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
}
