//! Where the lines of an archive go: through a checksum and, if wanted, a compression, to whoever reads the stream.

use std::io::Write as _;

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::line::{EndDoc, Line};
use crate::error::{Error, Reason, Result};
use crate::limits;

/// Level of compression: the library's own default, fast and close to the best.
const LEVEL: i32 = 3;

/// Takes lines.
pub(super) struct Sink {
    to: mpsc::Sender<Result<Bytes>>,
    text: Vec<u8>,
    checksum: Sha256,
    packed: Option<zstd::stream::write::Encoder<'static, Vec<u8>>>,
}

impl Sink {
    pub(super) fn new(to: mpsc::Sender<Result<Bytes>>, compress: bool) -> Result<Self> {
        let packed = compress.then(|| zstd::stream::write::Encoder::new(Vec::new(), LEVEL)).transpose();
        Ok(Self { to, text: Vec::new(), checksum: Sha256::new(), packed: packed.map_err(cannot)? })
    }

    /// Adds a line.
    pub(super) async fn line(&mut self, line: &Line) -> Result<()> {
        self.json(line).await
    }

    /// Adds the line `{"name":text}`, of which `text` is JSON already.
    pub(super) async fn row(&mut self, name: &str, text: &[u8]) -> Result<()> {
        if text.len() >= limits::MAX_ARCHIVE_LINE_BYTES - 64 {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!("an entity takes {} bytes; a line of an archive has less", text.len()),
            )
            .with("limit", limits::MAX_ARCHIVE_LINE_BYTES));
        }
        for part in [b"{\"".as_slice(), name.as_bytes(), b"\":", text, b"}\n"] {
            self.text.extend_from_slice(part);
        }
        self.flush_if_full().await
    }

    async fn json(&mut self, line: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.text, line)
            .map_err(|e| Error::internal("a line of an archive does not serialize").caused_by(e))?;
        self.text.push(b'\n');
        self.flush_if_full().await
    }

    async fn flush_if_full(&mut self) -> Result<()> {
        match self.text.len() >= limits::EXPORT_CHUNK_BYTES {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<()> {
        self.checksum.update(&self.text);
        let text = std::mem::take(&mut self.text);
        match &mut self.packed {
            None => send(&self.to, text).await,
            Some(packed) => {
                packed.write_all(&text).map_err(cannot)?;
                let ready = std::mem::take(packed.get_mut());
                send(&self.to, ready).await
            }
        }
    }

    /// Adds the last line.
    pub(super) async fn finish(mut self, points: u64) -> Result<()> {
        self.flush().await?;
        let sha256 = hex(&self.checksum.clone().finalize());
        self.line(&Line::End(EndDoc { points, sha256 })).await?;
        self.flush().await?;
        match self.packed.take() {
            Some(packed) => send(&self.to, packed.finish().map_err(cannot)?).await,
            None => Ok(()),
        }
    }
}

/// A checksum as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn send(to: &mpsc::Sender<Result<Bytes>>, bytes: Vec<u8>) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    // Nobody hears of it: whoever read the stream is gone.
    let gone = |_| Error::new(Reason::StoreUnavailable, "the archive was given up while it was written");
    to.send(Ok(Bytes::from(bytes))).await.map_err(gone)
}

fn cannot(e: std::io::Error) -> Error {
    Error::internal("an archive cannot be compressed").caused_by(e)
}
