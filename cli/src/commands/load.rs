//! `load`: records from a file or standard input, as one commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use omnigraph_engine::Access;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::model::{LoadMode, ReadSelector};

use crate::address::Words;
use crate::args::{ConsentArgs, ScopeArgs, WriteArgs};
use crate::consent;
use crate::context::{Context, only};
use crate::failure::{Failure, Result};
use crate::output::progress::Progress;
use crate::output::{self, shape, table};
use crate::target::LoadInput;

/// What happens to entities that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Refuse the whole load
    Append,
    /// Change what a record mentions, leave the rest
    Merge,
    /// Replace the types named in the input as a whole
    Overwrite,
}

/// Form of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// By the file's extension; JSONL for standard input
    Auto,
    /// JSON records of any types
    Jsonl,
    /// CSV with a header line, one type
    Csv,
    /// Parquet, one type
    Parquet,
    /// Arrow IPC, one type
    Arrow,
}

/// Compression of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Packing {
    /// By its first bytes
    Auto,
    /// None
    None,
    /// gzip
    Gzip,
    /// Zstandard
    Zstd,
}

/// Load records as one commit, whatever their number.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph load TARGET FILE [OPTIONS]\n       omnigraph load --server URL --graph ID FILE [OPTIONS]"
)]
pub(crate) struct Load {
    /// Path or URI of the graph, unless named otherwise, and the file to load; - is standard input
    #[arg(value_name = "[TARGET] FILE", required = true)]
    words: Vec<String>,
    /// What happens to entities that exist
    #[arg(long, value_enum, default_value_t = Mode::Append)]
    mode: Mode,
    /// Form of the input
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    format: Format,
    /// Compression of the input
    #[arg(long, value_enum, default_value_t = Packing::Auto)]
    compression: Packing,
    /// Type of all rows, for CSV, Parquet and Arrow: Person, or edge:Knows
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Load {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let takes = Words::exactly(1, "FILE");
        let (address, words) = context.address(&self.scope, self.words, &takes)?;
        let file = Some(only(words)?).filter(|word| word != "-").map(PathBuf::from);
        let size = file.as_deref().map(size_of).transpose()?;
        let format = format_of(self.format, file.as_deref())?;
        if self.type_name.is_none() && format != InputFormat::Jsonl {
            return Err(Failure::usage("this form holds one type of rows; say which with --type"));
        }
        if self.type_name.is_some() && format == InputFormat::Jsonl {
            return Err(Failure::usage("JSON records name their types themselves; leave --type out"));
        }
        let target = crate::target::Target::open(&address, &context.caller(&self.scope), Access::ReadWrite).await?;
        let into = format!("{}, branch {}", target.place(), self.write.branch());
        context.announce(&format!("loading into {into}"));
        if self.mode == Mode::Overwrite {
            consent::ask(context, &self.consent, &format!("replace every entity of the input's types in {into}"))?;
        }
        let type_ref = match &self.type_name {
            Some(name) => {
                let branch = ReadSelector::Branch(self.write.branch().to_string());
                Some(target.read(&branch).await?.type_named(name)?)
            }
            None => None,
        };
        let input = LoadInput { file, format, compression: packing_of(self.compression), type_ref };
        let options = self.write.options(target.actor());
        let progress = Progress::bytes(context, "loading", size);
        let told = progress.clone();
        let told = Arc::new(move |bytes| told.reach(bytes));
        let outcome = target.load(input, mode_of(self.mode), &options, told).await;
        progress.finish();
        let outcome = outcome?;
        output::answer(context, || shape::outcome(&outcome), || table::outcome(&outcome))
    }
}

/// The file's bytes. Asked for first, so that a missing file is the same for every target.
fn size_of(file: &Path) -> Result<u64> {
    let found = std::fs::metadata(file);
    let found = found.map_err(|e| Failure::io(format!("cannot load {}", file.display()), &e))?;
    if found.is_dir() {
        return Err(Failure::usage(format!("{} is a folder; load takes one file", file.display())));
    }
    Ok(found.len())
}

fn mode_of(mode: Mode) -> LoadMode {
    match mode {
        Mode::Append => LoadMode::Append,
        Mode::Merge => LoadMode::Merge,
        Mode::Overwrite => LoadMode::Overwrite,
    }
}

fn packing_of(packing: Packing) -> Compression {
    match packing {
        Packing::Auto => Compression::Auto,
        Packing::None => Compression::None,
        Packing::Gzip => Compression::Gzip,
        Packing::Zstd => Compression::Zstd,
    }
}

fn format_of(format: Format, file: Option<&Path>) -> Result<InputFormat> {
    Ok(match format {
        Format::Jsonl => InputFormat::Jsonl,
        Format::Csv => InputFormat::Csv,
        Format::Parquet => InputFormat::Parquet,
        Format::Arrow => InputFormat::ArrowIpc,
        Format::Auto => match file {
            None => InputFormat::Jsonl,
            Some(file) => by_extension(file).ok_or_else(|| {
                Failure::usage(format!("the extension of {} tells no form; say --format", file.display()))
            })?,
        },
    })
}

/// The form a file's name tells, below an extension that tells its compression.
fn by_extension(file: &Path) -> Option<InputFormat> {
    let name = file.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "jsonl" | "ndjson" | "json" => Some(InputFormat::Jsonl),
        "csv" => Some(InputFormat::Csv),
        "parquet" | "pq" => Some(InputFormat::Parquet),
        "arrow" | "arrows" | "ipc" | "feather" => Some(InputFormat::ArrowIpc),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_extension() {
        for (name, expected) in [
            ("a.jsonl", Some(InputFormat::Jsonl)),
            ("dir.x/A.JSONL.GZ", Some(InputFormat::Jsonl)),
            ("a.csv.zst", Some(InputFormat::Csv)),
            ("a.b.parquet", Some(InputFormat::Parquet)),
            ("a.feather", Some(InputFormat::ArrowIpc)),
            ("a.txt", None),
            ("a", None),
            (".gz", None),
        ] {
            assert_eq!(by_extension(Path::new(name)), expected, "{name}");
        }
    }
}
