//! `export`: a whole version as JSONL.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::address::Words;
use crate::args::{ScopeArgs, VersionArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::Answer;
use crate::output::progress::Progress;

/// Write a whole version as JSONL that load reads: all nodes, then all edges.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph export TARGET [OPTIONS]\n       omnigraph export --server URL --graph ID [OPTIONS]"
)]
pub(crate) struct Export {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// File to write, which appears once it is complete; without it, standard output
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (reader, _) = context.reader(&self.scope, &self.version, self.words, &Words::NONE).await?;
        let chunks = reader.export().await?;
        let progress = Progress::bytes(context, "exporting", None);
        let done = match &self.file {
            Some(file) => to_file(chunks, file, &progress).await,
            None => to_stdout(chunks, &progress).await,
        };
        progress.finish();
        done?;
        context.announce(&format!("exported commit {}", reader.commit));
        Ok(())
    }
}

async fn to_stdout(mut chunks: BoxStream<'static, Result<Bytes>>, progress: &Progress) -> Result<()> {
    let mut answer = Answer::new();
    while let Some(chunk) = chunks.try_next().await? {
        answer.bytes(&chunk)?;
        progress.advance(chunk.len() as u64);
    }
    answer.finish()
}

/// Writes beside the file and moves the whole into place, so that half an export is never taken for one.
async fn to_file(mut chunks: BoxStream<'static, Result<Bytes>>, file: &Path, progress: &Progress) -> Result<()> {
    let cannot = |e: &std::io::Error| Failure::io(format!("cannot write {}", file.display()), e);
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(|e| cannot(&e))?;
    while let Some(chunk) = chunks.try_next().await? {
        beside.write_all(&chunk).map_err(|e| cannot(&e))?;
        progress.advance(chunk.len() as u64);
    }
    beside.flush().map_err(|e| cannot(&e))?;
    beside.persist(file).map_err(|e| cannot(&e.error))?;
    Ok(())
}
