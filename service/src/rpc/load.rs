//! Loads over gRPC: a header, then bytes, then one commit.
//!
//! What the header gets wrong is answered before a byte of the input is read. The input is spooled to disk;
//! only when the caller has closed its side does the engine see it. From then on the load is finished even
//! if the caller goes away.

use omnigraph_engine::Graph;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::error::Result;
use omnigraph_engine::model::{Actor, LoadMode, ReadSelector, Receipt, TypeRef, WriteOptions};
use omnigraph_engine::write::load::{LoadBytes, LoadSource};
use omnigraph_proto::v1;
use omnigraph_proto::v1::load_request::Part;
use tonic::Streaming;

use super::broken_upload;
use crate::convert::{commit, invalid, write};
use crate::state::{Spool, State};

/// A load whose header was accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) graph: Graph,
    pub(crate) options: WriteOptions,
    pub(crate) mode: LoadMode,
    pub(crate) format: InputFormat,
    pub(crate) compression: Compression,
    pub(crate) type_ref: Option<TypeRef>,
}

impl Accepted {
    /// Checks what can be known of a load before its input.
    ///
    /// # Errors
    /// The graph, the branch or the type does not exist; nothing may be written.
    pub(crate) async fn check(&self, state: &State) -> Result<()> {
        state.ensure_writable()?;
        let head = ReadSelector::Branch(self.options.branch_name().to_string());
        let snapshot = self.graph.snapshot(&head).await?;
        if let Some(type_ref) = &self.type_ref {
            snapshot.ty(type_ref)?;
        }
        Ok(())
    }

    /// Loads the whole input. Finished even if the caller goes away.
    ///
    /// # Errors
    /// Every wrong record and every violation, with nothing changed.
    pub(crate) async fn carry_out(self, state: &State, spool: Spool) -> Result<Receipt> {
        let spooled = spool.finish().await?;
        let Self { graph, options, mode, format, compression, type_ref } = self;
        let work = async move {
            let bytes = LoadBytes::Spooled(spooled.file.clone());
            let source = LoadSource { bytes, format, compression, type_ref };
            let receipt = graph.load(source, mode, &options).await;
            drop(spooled);
            receipt
        };
        state.finish(work).await
    }
}

/// The first message, which has to be the header.
pub(super) async fn header(parts: &mut Streaming<v1::LoadRequest>) -> Result<v1::LoadHeader> {
    match parts.message().await.map_err(|e| broken_upload(&e))?.and_then(|m| m.part) {
        Some(Part::Header(header)) => Ok(header),
        Some(Part::Chunk(_)) => Err(invalid("header", "the first message must be the header, and was a chunk")),
        None => Err(invalid("header", "must be set in the first message")),
    }
}

/// `Load`, after its header.
pub(super) async fn load(
    state: &State,
    header: v1::LoadHeader,
    mut parts: Streaming<v1::LoadRequest>,
    actor: Actor,
) -> Result<v1::LoadResponse> {
    let mode = write::mode_to_engine("header.mode", header.mode)?;
    let (format, compression, type_ref) = write::format_to_engine(&header)?;
    let (graph, options) = write::options_to_engine(header.options, actor)?;
    let graph = state.graph(&graph).await?;
    let accepted = Accepted { graph, options, mode, format, compression, type_ref };
    accepted.check(state).await?;
    let mut spool = state.spool()?;
    while let Some(message) = parts.message().await.map_err(|e| broken_upload(&e))? {
        match message.part {
            Some(Part::Chunk(bytes)) => spool.push(&bytes).await?,
            Some(Part::Header(_)) => {
                return Err(invalid("header", "must be in the first message only"));
            }
            None => {
                return Err(invalid("chunk", "must be set in every message but the first"));
            }
        }
    }
    let branch = accepted.options.branch_name().to_string();
    let receipt = accepted.carry_out(state, spool).await?;
    let records = receipt.records;
    Ok(v1::LoadResponse { receipt: Some(commit::receipt_to_proto(receipt, &branch)), records })
}
