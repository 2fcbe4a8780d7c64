//! The whole graph as text that a load reads back.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::error::{Error, Reason, Result};
use crate::manifest::Snapshot;
use crate::txn::Core;

/// Newline-delimited JSON, nodes first, then edges, in chunks of whole lines.
pub fn export(_core: Arc<Core>, _snapshot: Snapshot) -> BoxStream<'static, Result<Bytes>> {
    futures::stream::once(async { Err(Error::new(Reason::NotImplemented, "export")) }).boxed()
}
