//! Loads.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::data::{Compression, InputFormat};
use crate::model::{LoadMode, Receipt, TypeRef, WriteOptions};
use crate::txn::Core;

/// Where the bytes of a load come from. They may be read more than once, when another writer came first.
#[derive(Clone, Debug)]
pub struct LoadSource {
    /// The bytes.
    pub bytes: LoadBytes,
    /// Their format.
    pub format: InputFormat,
    /// Their compression.
    pub compression: Compression,
    /// The type, for formats that hold one type.
    pub type_ref: Option<TypeRef>,
}

/// See [`LoadSource`].
#[derive(Clone, Debug)]
pub enum LoadBytes {
    /// A file, not changed while the load runs.
    File(PathBuf),
    /// Bytes in memory.
    Memory(bytes::Bytes),
    /// A temporary file that is removed when the last handle is dropped.
    Spooled(Arc<tempfile::NamedTempFile>),
}

/// Loads an input as one commit.
///
/// # Errors
/// Every wrong record and every violation.
pub async fn load(_core: &Arc<Core>, _source: LoadSource, _mode: LoadMode, _options: &WriteOptions) -> Result<Receipt> {
    Err(Error::new(Reason::NotImplemented, "load"))
}
