//! Every bound of the engine: name, unit, value, reason. Exceeding one is a typed error that carries
//! the number.

use std::time::Duration;

/// Problems listed in one error. More are counted, not listed, so that an error stays readable.
pub const MAX_REPORTED_VIOLATIONS: usize = 100;

/// Bytes in a branch or tag name, so that its percent-encoded document name fits every file system.
pub const MAX_NAME_BYTES: usize = 200;

/// Bytes in an entity id or a text key part: a longer one is a document, not a name.
pub const MAX_ID_BYTES: usize = 4096;

/// Bytes in a commit message.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// Bytes in a request id.
pub const MAX_REQUEST_ID_BYTES: usize = 256;

/// Bytes in a schema source text.
pub const MAX_SCHEMA_BYTES: usize = 4 * 1024 * 1024;

/// Types in one schema.
pub const MAX_TYPES: usize = 10_000;

/// Properties in one type.
pub const MAX_PROPERTIES: usize = 1_000;

/// Dimensions of a vector.
pub const MAX_VECTOR_DIMENSIONS: u32 = 65_536;

/// Rows in one decoded batch of a load, and in one batch of a scan.
pub const BATCH_ROWS: usize = 8_192;

/// Bytes in one decoded batch of a load after which it is handed on even if it has few rows.
pub const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Bytes in one JSON record of an input. One record is held whole.
pub const MAX_RECORD_BYTES: usize = 512 * 1024 * 1024;

/// Steps in one mutation. More belongs in a load.
pub const MAX_CHANGES: usize = 100_000;

/// Entities one mutation may touch, cascades included: it is held in memory whole. More belongs in a load.
pub const MAX_MUTATED_ENTITIES: usize = 1_000_000;

/// Nodes of a predicate tree, so that planning it stays cheap and its depth harmless.
pub const MAX_PREDICATE_NODES: usize = 10_000;

/// Depth of a predicate tree: it is walked recursively.
pub const MAX_PREDICATE_DEPTH: usize = 64;

/// Attempts of one write against other writers before it reports contention.
pub const MAX_COMMIT_ATTEMPTS: u32 = 32;

/// Entries a warm handle keeps per table to know which ids exist, about 48 bytes each.
pub const MAX_KEY_DIRECTORY_ENTRIES: usize = 16_000_000;

/// How long a claim is honoured before others may recover it.
pub const CLAIM_LEASE: Duration = Duration::from_secs(10);

/// First pause while waiting for another process's claim; doubles up to [`CLAIM_POLL_MAX`].
pub const CLAIM_POLL_MIN: Duration = Duration::from_millis(5);

/// Longest pause while waiting for another process's claim.
pub const CLAIM_POLL_MAX: Duration = Duration::from_millis(250);

/// Commits whose rows one fragment of the manifest gathers before it is sealed. Small enough that
/// rewriting it with every commit costs little, large enough that fragments stay few.
pub const MANIFEST_FANOUT: usize = 8;

/// Bytes of the session's cache for decoded metadata.
pub const METADATA_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of the session's cache for index pages.
pub const INDEX_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Entities one page of a listing holds at most.
pub const MAX_PAGE_SIZE: usize = 10_000;

/// Hops of one neighbourhood read.
pub const MAX_HOPS: u32 = 16;

/// Entities one neighbourhood read may return.
pub const MAX_NEIGHBORS: usize = 100_000;

/// Commits kept in memory per branch for look-ups by id, request id or time.
pub const MAX_LINEAGE_ENTRIES: usize = 1_000_000;
