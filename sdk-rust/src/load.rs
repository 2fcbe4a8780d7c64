//! Loads: a file, bytes or a stream of records as one commit.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::load_request::Part;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::client::Graph;
use crate::entity::TypeRef;
use crate::error::{Error, Result};
use crate::receipt::{Receipt, WriteOptions, describe_write};
use crate::retry::{self, Safety};
use crate::upload::{self, Upload};

/// Bytes in one message of a load: large enough to be cheap, small enough to share a connection.
const CHUNK_BYTES: usize = 256 * 1024;

/// Where the records come from.
pub enum LoadSource {
    /// Bytes in memory. The load can be repeated.
    Bytes(Bytes),
    /// A file, read as it is sent. The load can be repeated.
    File(PathBuf),
    /// Bytes as they come. They are gone once sent, so the client never repeats the load.
    Stream(BoxStream<'static, std::io::Result<Bytes>>),
}

impl LoadSource {
    /// Bytes as they come, for example lines made on the way.
    pub fn stream(chunks: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Self {
        Self::Stream(chunks.boxed())
    }

    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }
}

impl From<Bytes> for LoadSource {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for LoadSource {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<String> for LoadSource {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl From<&'static str> for LoadSource {
    fn from(text: &'static str) -> Self {
        Self::Bytes(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for LoadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Stream(_) => f.write_str("a stream"),
        }
    }
}

/// What a load does with entities that exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadMode {
    /// Strict insert: an id that exists answers `KEY_CONFLICT` and nothing is written.
    #[default]
    Append,
    /// Upsert by id: properties that a record does not mention stay, an explicit null clears.
    Merge,
    /// The types named in the input are replaced as a whole, other types stay.
    Overwrite,
}

impl LoadMode {
    pub(crate) fn to_wire(self) -> i32 {
        match self {
            Self::Append => wire::LoadMode::Append.into(),
            Self::Merge => wire::LoadMode::Merge.into(),
            Self::Overwrite => wire::LoadMode::Overwrite.into(),
        }
    }
}

/// The form of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadFormat {
    /// JSON records one after the other, of any types.
    #[default]
    Jsonl,
    /// One Arrow IPC file or stream, one type.
    ArrowIpc,
    /// One Parquet file, one type.
    Parquet,
    /// CSV with a header line, one type.
    Csv,
}

/// How the bytes are compressed as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// The server tells by the first bytes.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// What a load did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The receipt.
    pub receipt: Receipt,
    /// Records read from the input. Zero if the receipt is replayed.
    pub records: u64,
}

impl Loaded {
    pub(crate) fn read(receipt: Option<wire::Receipt>, records: u64) -> Result<Self> {
        Ok(Self { receipt: Receipt::read(receipt)?, records })
    }
}

impl AsRef<Receipt> for Loaded {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// Told how many bytes a load has sent so far.
type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// A load while it is being described, from [`Graph::load`].
#[must_use = "nothing happens before `send`"]
pub struct Load {
    graph: Graph,
    options: WriteOptions,
    source: LoadSource,
    mode: LoadMode,
    format: LoadFormat,
    compression: Compression,
    type_ref: Option<TypeRef>,
    progress: Option<Progress>,
}

impl Load {
    describe_write!();

    /// What happens to entities that exist; append without it.
    pub fn mode(mut self, mode: LoadMode) -> Self {
        self.mode = mode;
        self
    }

    /// The form of the bytes; JSONL without it.
    pub fn format(mut self, format: LoadFormat) -> Self {
        self.format = format;
        self
    }

    /// How the bytes are compressed; recognised by the server without it.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The type of all records, for the forms that hold one type.
    pub fn of_type(mut self, type_ref: impl Into<TypeRef>) -> Self {
        self.type_ref = Some(type_ref.into());
        self
    }

    /// Calls back with the bytes sent so far, after each message. A repetition counts from zero again.
    pub fn progress(mut self, told: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    /// Loads everything as one commit.
    ///
    /// # Errors
    /// Every wrong record up to a hundred, and every violated constraint, with nothing written. A source that
    /// fails breaks the load off, with nothing written.
    pub async fn send(self) -> Result<Loaded> {
        let safety = Safety::of_write(&self.options.request_id);
        let header = self.header();
        let Self { graph, source, progress, .. } = self;
        let attempt = |source| {
            let messages = messages(header.clone(), source, progress.clone());
            let mut stub = graph.core.graph();
            async move {
                let (upload, failed) = Upload::new(messages);
                let answer = upload::call(stub.load(upload), failed).await?;
                Loaded::read(answer.receipt, answer.records)
            }
        };
        match source {
            LoadSource::Stream(_) => attempt(source).await,
            LoadSource::Bytes(bytes) => {
                retry::run(graph.core.settings.retry, safety, || attempt(LoadSource::Bytes(bytes.clone()))).await
            }
            LoadSource::File(path) => {
                retry::run(graph.core.settings.retry, safety, || attempt(LoadSource::File(path.clone()))).await
            }
        }
    }

    fn header(&self) -> wire::LoadHeader {
        let format = match self.format {
            LoadFormat::Jsonl => wire::LoadFormat::Jsonl,
            LoadFormat::ArrowIpc => wire::LoadFormat::ArrowIpc,
            LoadFormat::Parquet => wire::LoadFormat::Parquet,
            LoadFormat::Csv => wire::LoadFormat::Csv,
        };
        let compression = match self.compression {
            Compression::Auto => wire::Compression::Unspecified,
            Compression::None => wire::Compression::None,
            Compression::Gzip => wire::Compression::Gzip,
            Compression::Zstd => wire::Compression::Zstd,
        };
        let type_ref = self.type_ref.clone();
        wire::LoadHeader {
            options: Some(self.options.clone().into_wire(&self.graph.id)),
            mode: self.mode.to_wire(),
            format: format.into(),
            compression: compression.into(),
            kind: type_ref.as_ref().map_or(0, |t| t.kind.to_wire()),
            type_name: type_ref.map(|t| t.name).unwrap_or_default(),
        }
    }
}

/// Header and chunks, as one stream.
fn messages(
    header: wire::LoadHeader,
    source: LoadSource,
    progress: Option<Progress>,
) -> BoxStream<'static, Result<wire::LoadRequest>> {
    let header = stream::once(async { Ok(Part::Header(header)) });
    let mut sent = 0;
    let chunks = chunks(source).map_ok(move |chunk| {
        sent += chunk.len() as u64;
        if let Some(told) = &progress {
            told(sent);
        }
        Part::Chunk(chunk)
    });
    header.chain(chunks).map_ok(|part| wire::LoadRequest { part: Some(part) }).boxed()
}

fn chunks(source: LoadSource) -> BoxStream<'static, Result<Bytes>> {
    match source {
        LoadSource::Bytes(bytes) => stream::iter(cut(bytes)).map(Ok).boxed(),
        LoadSource::Stream(chunks) => chunks
            .map_err(|e| Error::local("the input cannot be read", e))
            .map_ok(|bytes| stream::iter(cut(bytes)).map(Ok))
            .try_flatten()
            .boxed(),
        LoadSource::File(path) => {
            let opened = async move {
                let file = File::open(&path).await;
                let file = file.map_err(|e| Error::local(format!("cannot open {}", path.display()), e))?;
                Ok::<_, Error>(read_file(file, path))
            };
            opened.into_stream().try_flatten().boxed()
        }
    }
}

fn read_file(file: File, path: PathBuf) -> impl Stream<Item = Result<Bytes>> + Send {
    stream::try_unfold((file, path), |(mut file, path)| async {
        let mut buffer = BytesMut::with_capacity(CHUNK_BYTES);
        match file.read_buf(&mut buffer).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some((buffer.freeze(), (file, path)))),
            Err(e) => Err(Error::local(format!("cannot read {}", path.display()), e)),
        }
    })
}

/// Bytes in pieces of the size of a message.
fn cut(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let piece = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        (!piece.is_empty()).then_some(piece)
    })
}

impl Graph {
    /// Begins a load.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::{LoadFormat, LoadMode, LoadSource};
    ///
    /// let loaded = graph
    ///     .load(LoadSource::file("people.jsonl.zst"))
    ///     .mode(LoadMode::Merge)
    ///     .request_id("import-42")
    ///     .send()
    ///     .await?;
    /// println!("{} records in commit {}", loaded.records, loaded.receipt.commit_id);
    ///
    /// graph.load("slug,age\nada,36\n").format(LoadFormat::Csv).of_type("Person").send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn load(&self, source: impl Into<LoadSource>) -> Load {
        Load {
            graph: self.clone(),
            options: WriteOptions::new(),
            source: source.into(),
            mode: LoadMode::default(),
            format: LoadFormat::default(),
            compression: Compression::default(),
            type_ref: None,
            progress: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(source: LoadSource) -> Result<Vec<usize>> {
        chunks(source).map_ok(|chunk| chunk.len()).try_collect().await
    }

    #[tokio::test]
    async fn sources_are_cut_into_messages() {
        let bytes = Bytes::from(vec![7; CHUNK_BYTES + 1]);
        assert_eq!(sent(bytes.clone().into()).await.unwrap(), [CHUNK_BYTES, 1]);
        assert_eq!(sent(Bytes::new().into()).await.unwrap(), [0_usize; 0]);
        let stream = LoadSource::stream(stream::iter([Ok(bytes), Ok(Bytes::from_static(b"x"))]));
        assert_eq!(sent(stream).await.unwrap(), [CHUNK_BYTES, 1, 1]);
    }

    #[tokio::test]
    async fn a_missing_file_is_named() {
        let error = sent(LoadSource::file("no/such/file")).await.unwrap_err();
        assert!(error.message().contains("no/such/file"), "{error}");
    }
}
