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

/// Key indexes kept warm per graph: one per table line and key. Beyond it, those not in use are dropped.
pub const MAX_KEY_INDEXES: usize = 256;

/// Branches kept warm per graph. Beyond it, those not in use are dropped and resolved again when needed.
pub const MAX_WARM_BRANCHES: usize = 256;

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

/// Bytes one batch of a scan aims at. A single larger row still travels whole.
pub const SCAN_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Fragments a scan reads ahead, so that small ones do not each cost a round trip.
pub const SCAN_FRAGMENT_READAHEAD: usize = 4;

/// Batches a scan decodes at once.
pub const SCAN_BATCH_READAHEAD: usize = 4;

/// Bytes read but not decoded that a scan holds before it stops asking for more.
pub const SCAN_IO_BUFFER_BYTES: u64 = 32 * 1024 * 1024;

/// Bytes a sorted scan keeps in memory; what is beyond goes to the machine's temporary folder.
pub const SORT_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// Bytes one batch of a sort aims at: merging holds a few for each of many sorted runs.
pub const SORT_BATCH_BYTES: usize = 1024 * 1024;

/// Rows read ahead of a sort to learn how wide they are.
pub const SORT_SAMPLE_ROWS: usize = 1_024;

/// Rows that justify one more part of a split scan: fewer are read faster by one reader.
pub const MIN_PART_ROWS: u64 = 64 * 1024;

/// Columns and sort keys one scan may name.
pub const MAX_SCAN_COLUMNS: usize = 4 * MAX_PROPERTIES;

/// Ids in one membership filter: enough to spare passes, few enough to plan quickly.
pub const FILTER_IDS: usize = 1_000;

/// Rows taken by address at once.
pub const TAKE_ROWS: usize = 1_024;

/// Rows with blobs taken by address at once: their payloads are held together.
pub const TAKE_BLOB_ROWS: usize = 16;

/// Bytes one chunk of an export aims at. A single longer line still travels whole.
pub const EXPORT_CHUNK_BYTES: usize = 1024 * 1024;

/// How long a read waits for the index of ids while a writer works with it, before it reads the table
/// instead.
pub const KEY_INDEX_PATIENCE: Duration = Duration::from_millis(50);

/// Bytes in one data file that a compaction writes.
pub const MAX_FRAGMENT_BYTES: usize = 4 * 1024 * 1024 * 1024;

/// How often a compaction of one table starts over because the rows it rewrote were changed meanwhile.
pub const MAX_COMPACTION_ROUNDS: u32 = 4;

/// Tables that maintenance works on at once, unless told otherwise.
pub const MAINTENANCE_CONCURRENCY: usize = 8;

/// Versions above a published one that a check looks at one by one.
pub const MAX_VERIFIED_VERSIONS: u64 = 1_000;

/// Problems a check lists for one table. More are counted, not listed.
pub const MAX_TABLE_PROBLEMS: usize = 20;
