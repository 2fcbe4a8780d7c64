//! The wire contract of OmniGraph in Rust: messages, clients and services of package `omnigraph.v1`.
//!
//! The contract itself is `omnigraph/v1/*.proto` beside this crate; it says what every rpc and field means, and
//! [`v1`] is generated from it and never edited. What is written by hand here is only what the generator cannot
//! express: the names that go into error details and conditions. The crate knows neither the engine nor the
//! transport's settings, and converts nothing but such names.
//!
//! ```
//! use omnigraph_proto::v1::{ErrorReason, ScanCommand};
//! use prost_types::Any;
//!
//! // Flight commands, tickets and criteria travel inside an `Any`.
//! let command = ScanCommand { graph: "social".into(), ..Default::default() };
//! let wrapped = Any::from_msg(&command)?;
//! assert_eq!(wrapped.type_url, "type.googleapis.com/omnigraph.v1.ScanCommand");
//! assert_eq!(wrapped.to_msg::<ScanCommand>()?, command);
//!
//! // Reasons travel as text in `google.rpc.ErrorInfo`.
//! assert_eq!(ErrorReason::HeadMoved.reason(), "HEAD_MOVED");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod facts;
pub mod feature;
mod reason;

/// Messages, clients and services of package `omnigraph.v1`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    include!("gen/omnigraph.v1.rs");
}

/// The encoded `google.protobuf.FileDescriptorSet` of the contract and its imports, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/omnigraph.v1.bin");

/// The `domain` of every `google.rpc.ErrorInfo` that carries an [`v1::ErrorReason`].
pub const ERROR_DOMAIN: &str = "omnigraph";
