//! Exports: a whole version as text that a load takes.

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::export_response::Part;

use crate::client::Graph;
use crate::commits::CommitRef;
use crate::error::{Error, Result};
use crate::selector::{Selector, choose_version};

/// An export under way.
pub struct Export {
    /// The version.
    pub read: CommitRef,
    /// The bytes, cut anywhere. Complete only if the stream ends without an error; dropping it stops the work.
    pub chunks: BoxStream<'static, Result<Bytes>>,
}

/// An export to begin, from [`Graph::export`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct ExportRead {
    graph: Graph,
    selector: Selector,
}

impl ExportRead {
    choose_version!();

    /// Begins.
    ///
    /// # Errors
    /// The graph or the version does not exist.
    pub async fn send(self) -> Result<Export> {
        let ask = wire::ExportRequest { graph: self.graph.id, selector: Some(self.selector.into()) };
        let core = &self.graph.core;
        let call = |ask| {
            let mut stub = core.graph();
            async move { stub.export(ask).await }
        };
        let mut answers = core.streaming(ask, call).await?.map_err(Error::from_status);
        let read = match answers.try_next().await?.and_then(|answer| answer.part) {
            Some(Part::Header(header)) => CommitRef::read(header.read)?,
            _ => return Err(Error::malformed("an export begins without its header")),
        };
        let chunks = answers.map(|answer| match answer?.part {
            Some(Part::Chunk(chunk)) => Ok(chunk),
            _ => Err(Error::malformed("an export holds something that is no chunk")),
        });
        Ok(Export { read, chunks: chunks.boxed() })
    }
}

impl Graph {
    /// Begins an export: JSONL, all nodes, then all edges.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut export = graph.export().branch("review").send().await?;
    /// while let Some(chunk) = export.chunks.try_next().await? {
    ///     println!("{} bytes", chunk.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self) -> ExportRead {
        ExportRead { graph: self.clone(), selector: Selector::default() }
    }
}
