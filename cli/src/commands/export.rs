//! `export`: a whole version as JSONL.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::archive::ArchiveOptions;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::progress::Progress;
use crate::output::{self, Answer, archive};
use crate::target::open_in_files;

/// Write a whole version as JSONL that load reads: all nodes, then all edges. With --all, write all branches, tags and
/// states of a graph in files as an archive that `omnigraph import` makes a graph of.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph export TARGET [OPTIONS]\n       omnigraph export --server URL --graph ID [OPTIONS]\n       omnigraph export --all TARGET [--file FILE]"
)]
pub(crate) struct Export {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// File to write, which appears once it is complete; without it, standard output
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write everything, with its history; compressed if the file's name ends in .zst
    #[arg(long, conflicts_with_all = ["branch", "commit", "tag", "at", "at_version"])]
    all: bool,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if self.all {
            return self.archive(context).await;
        }
        let (reader, _) = context.reader(&self.scope, &self.version, self.words, &Words::NONE).await?;
        let chunks = reader.export().await?;
        send(context, chunks, self.file.as_deref()).await?;
        context.announce(&format!("exported commit {}", reader.commit));
        Ok(())
    }

    async fn archive(self, context: &Context) -> Result<()> {
        let (root, _) = context.root("export --all", "", &self.scope, self.words, &Words::NONE)?;
        context.announce(&format!("exporting everything of {root}"));
        let graph = open_in_files(&root).await?;
        let compress = self.file.as_ref().is_some_and(|file| file.extension().is_some_and(|end| end == "zst"));
        let chunks = graph.export_all(ArchiveOptions { compress }).map_err(Failure::from).boxed();
        let bytes = send(context, chunks, self.file.as_deref()).await?;
        match (&self.file, context.json) {
            (Some(file), true) => output::answer(context, || archive::exported(&root, file, bytes), String::new),
            _ => Ok(()),
        }
    }
}

/// Writes everything to the file, or to stdout. Returns how many bytes.
async fn send(context: &Context, chunks: BoxStream<'static, Result<Bytes>>, file: Option<&Path>) -> Result<u64> {
    let progress = Progress::bytes(context, "exporting", None);
    let done = match file {
        Some(file) => to_file(chunks, file, &progress).await,
        None => to_stdout(chunks, &progress).await,
    };
    progress.finish();
    done
}

async fn to_stdout(mut chunks: BoxStream<'static, Result<Bytes>>, progress: &Progress) -> Result<u64> {
    let mut answer = Answer::new();
    let mut bytes = 0;
    while let Some(chunk) = chunks.try_next().await? {
        answer.bytes(&chunk)?;
        bytes += chunk.len() as u64;
        progress.reach(bytes);
    }
    answer.finish()?;
    Ok(bytes)
}

/// Writes beside the file and moves the whole into place, so that half an export is never taken for one.
async fn to_file(mut chunks: BoxStream<'static, Result<Bytes>>, file: &Path, progress: &Progress) -> Result<u64> {
    let mut bytes = 0;
    let cannot = |e: &std::io::Error| Failure::io(format!("cannot write {}", file.display()), e);
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(|e| cannot(&e))?;
    while let Some(chunk) = chunks.try_next().await? {
        beside.write_all(&chunk).map_err(|e| cannot(&e))?;
        bytes += chunk.len() as u64;
        progress.reach(bytes);
    }
    beside.flush().map_err(|e| cannot(&e))?;
    beside.persist(file).map_err(|e| cannot(&e.error))?;
    Ok(bytes)
}
