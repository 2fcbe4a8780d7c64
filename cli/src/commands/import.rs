//! `import`: a graph of an archive.

use std::io::Read;
use std::path::Path;

use clap::Args;
use omnigraph_engine::data::Source;

use crate::address::Words;
use crate::args::ScopeArgs;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::progress::Progress;
use crate::output::{self, archive};
use crate::target::import_in_files;

/// Make a graph in files of an archive that `export --all` wrote: its branches, tags and states, with new commit ids.
/// All or nothing: the target must be empty, and stays so if the archive is damaged.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph import ARCHIVE TARGET\n       omnigraph import ARCHIVE --cluster DIR|URI --graph ID"
)]
pub(crate) struct Import {
    /// The archive, compressed or not; - is standard input
    #[arg(value_name = "ARCHIVE")]
    archive: String,
    /// Path or URI of the new graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (root, _) = context.root("import", "", &self.scope, self.words, &Words::NONE)?;
        let (from, size) = open(&self.archive)?;
        context.announce(&format!("importing into {root}"));
        let progress = Progress::bytes(context, "importing", size);
        let source = Source::stream(Counted { from, bytes: 0, told: progress.clone() });
        let done = import_in_files(&root, source, &context.caller(&self.scope)).await;
        progress.finish();
        let (root, report) = done?;
        output::answer(context, || archive::imported_json(&root, &report), || archive::imported(&root, &report))
    }
}

/// The archive and its size, if that is known.
fn open(archive: &str) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if archive == "-" {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let cannot = |e: std::io::Error| Failure::io(format!("cannot read {archive}"), &e);
    let file = std::fs::File::open(Path::new(archive)).map_err(cannot)?;
    let found = file.metadata().map_err(cannot)?;
    if found.is_dir() {
        return Err(Failure::usage(format!("{archive} is a folder; an archive is one file")));
    }
    Ok((Box::new(file), Some(found.len())))
}

/// Tells how much was read.
struct Counted {
    from: Box<dyn Read + Send>,
    bytes: u64,
    told: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes += read as u64;
        self.told.reach(self.bytes);
        Ok(read)
    }
}
