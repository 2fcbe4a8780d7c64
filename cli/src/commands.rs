//! The commands. Each is a file: its flags, and what it does with a target. Shared meaning is elsewhere.

mod branch;
mod cleanup;
mod commit;
mod completion;
mod export;
mod get;
mod graph;
mod import;
mod index;
mod init;
mod load;
mod mutate;
mod neighbors;
mod optimize;
mod recoveries;
mod repair;
mod resolve;
mod scan;
mod schema;
mod search;
mod snapshot;
mod stats;
mod tag;
mod upkeep;
mod verify;
mod version;
mod wanted;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a graph in files
    Init(init::Init),
    /// Load records as one commit
    Load(load::Load),
    /// Apply operations as one commit
    Mutate(mutate::Mutate),
    /// Show entities by id
    Get(get::Get),
    /// Show rows of one type
    Scan(scan::Scan),
    /// Show what is near a vector, or answers some words
    Search(search::Search),
    /// Show what is near some nodes
    Neighbors(neighbors::Neighbors),
    /// Write a whole version as JSONL that load reads, or a graph with its history
    Export(export::Export),
    /// Make a graph in files of an archive that export wrote
    Import(import::Import),
    /// Show how a version is stored
    Snapshot(snapshot::Snapshot),
    /// Make, look at, compare, merge and delete branches
    #[command(subcommand)]
    Branch(branch::Branch),
    /// Look at history, follow it, take commits back
    #[command(subcommand)]
    Commit(commit::Commit),
    /// Look at the schema, plan and make changes of it
    #[command(subcommand)]
    Schema(schema::Schema),
    /// Make, look at and delete graphs
    #[command(subcommand)]
    Graph(graph::Graph),
    /// Name commits
    #[command(subcommand)]
    Tag(tag::Tag),
    /// Check every invariant of a graph in files
    Verify(verify::Verify),
    /// Show what the tables of a graph take
    Stats(stats::Stats),
    /// Look at indexes
    #[command(subcommand)]
    Index(index::Index),
    /// Look at what became of interrupted operations
    #[command(subcommand)]
    Recoveries(recoveries::Recoveries),
    /// Rewrite small fragments of a graph in files into fewer large ones
    Optimize(optimize::Optimize),
    /// Examine and settle drift of a graph in files
    Repair(repair::Repair),
    /// Remove old states of a graph in files, and what nothing refers to
    Cleanup(cleanup::Cleanup),
    /// Print a completion script for a shell
    Completion(completion::Completion),
    /// Show the release and the storage format it serves
    Version(version::Version),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Init(command) => command.run(context).await,
            Self::Load(command) => command.run(context).await,
            Self::Mutate(command) => command.run(context).await,
            Self::Get(command) => command.run(context).await,
            Self::Scan(command) => command.run(context).await,
            Self::Search(command) => command.run(context).await,
            Self::Neighbors(command) => command.run(context).await,
            Self::Export(command) => command.run(context).await,
            Self::Import(command) => command.run(context).await,
            Self::Snapshot(command) => command.run(context).await,
            Self::Branch(command) => command.run(context).await,
            Self::Commit(command) => command.run(context).await,
            Self::Schema(command) => command.run(context).await,
            Self::Graph(command) => command.run(context).await,
            Self::Verify(command) => command.run(context).await,
            Self::Stats(command) => command.run(context).await,
            Self::Index(command) => command.run(context).await,
            Self::Recoveries(command) => command.run(context).await,
            Self::Optimize(command) => command.run(context).await,
            Self::Completion(command) => command.run(),
            Self::Version(command) => command.run(context),
            Self::Tag(command) => command.run(context).await,
            Self::Repair(command) => command.run(context).await,
            Self::Cleanup(command) => command.run(context).await,
        }
    }
}
