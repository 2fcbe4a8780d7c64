//! Every shape the engine persists. Pure: bytes and batches in, values out. A change here changes what
//! other releases read, so each shape has a test with its exact text.

pub mod arrow;
pub mod commit_row;
mod document;
pub mod intent_json;
pub mod manifest_row;
pub mod paths;
pub mod reader_json;
pub mod recovery_row;
pub mod ref_json;
pub mod retention_json;
pub mod snapshot_json;
pub mod stamp;
pub mod tag_json;
pub mod type_json;
