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

/// Entities of one type that may differ between two states that are compared; each takes about 100 bytes. Beyond it a
/// comparison is refused.
pub const MAX_DELTA_ENTRIES: usize = 20_000_000;

/// Common ancestors a merge compares with, those of them included: more are a history nobody can follow.
pub const MAX_MERGE_BASES: usize = 16;

/// Tables a merge writes to at once: each waits for the store.
pub const STAGE_PARALLELISM: usize = 8;

/// Bytes of images a merge keeps between deciding and writing; the rest is read again.
pub const MERGE_IMAGE_BYTES: usize = 64 * 1024 * 1024;

/// Conflicts of one merge that are listed. With more it is refused without a list.
pub const MAX_CONFLICTS: usize = 100_000;

/// Bytes of images in the conflicts of one merge.
pub const CONFLICT_BYTES: usize = 256 * 1024 * 1024;

/// Resolutions one merge takes.
pub const MAX_RESOLUTIONS: usize = 100_000;

/// Resolutions kept with a merge's commit; more are counted only.
pub const MAX_KEPT_RESOLUTIONS: usize = 100;

/// Entities whose images a comparison or a merge holds at once, on each side.
pub const DELTA_CHUNK_ENTITIES: usize = 512;

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

/// Vectors a property must have before they are indexed: fewer are compared one by one as fast.
pub const MIN_INDEXED_VECTORS: u64 = 1_000;

/// Vectors up to which the index is a graph of all of them, which finds more; beyond it, they are quantised.
pub const MAX_HNSW_VECTORS: u64 = 1_000_000;

/// Parts an index over vectors, words or labels is made of before they become one.
pub const MAX_INDEX_SEGMENTS: usize = 4;

/// Fragment ids a compaction leaves to writers that add rows while it rewrites.
pub const FRAGMENT_ID_DISTANCE: u64 = 4_096;

/// Files of one dataset that are told apart when its space is measured: each takes about 100 bytes of memory.
pub const MAX_LISTED_FILES: usize = 10_000_000;

/// How long a read of a branch's head goes on before it is announced to cleanups. Most reads are shorter and cost
/// no request for it.
pub const READ_LEASE_AFTER: Duration = Duration::from_secs(1);

/// How long an announcement counts. It is renewed three times as often and honoured for as long again after its end,
/// so neither a slow store nor clocks that differ a little end a read.
pub const READ_LEASE: Duration = Duration::from_secs(30);

/// How long a state stays after the branch has moved on, whatever a cleanup is told: reads and writes that began on
/// it may still be at work and nobody knows of them yet. Twice the length of a reader's lease.
pub const RETENTION_GRACE: Duration = Duration::from_secs(60);

/// How long something that nothing refers to is left alone: a writer may have made it and not yet published what
/// refers to it.
pub const ORPHAN_GRACE: Duration = Duration::from_secs(60 * 60);

/// How long a row of the recovery log stays at least, so that somebody can still look.
pub const RECOVERY_LOG_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Objects of one folder that are deleted at once.
pub const DELETES_AT_ONCE: usize = 16;

/// How long what a cleanup announced to remove counts before it begins, which is a few requests later. After that
/// whoever meets it takes it back.
pub const ANNOUNCEMENT: Duration = Duration::from_secs(60);

/// Cleanups that may be removing states of one graph at once, or may have died of it. The next one finishes their work.
pub const MAX_REMOVALS: usize = 16;

/// Entities that are named where rows stand against a change of schema.
pub const MAX_NAMED_OFFENDERS: usize = 5;

/// How often a cleanup looks again because branches were made meanwhile.
pub const MAX_CLEANUP_LOOKS: u32 = 8;

/// Hits of one search. They are ranked in memory whole; more belongs in a scan.
pub const MAX_SEARCH_RESULTS: u64 = 10_000;

/// Candidates each ranking gives to a search by both, for each hit asked for: a row that neither ranks so high does
/// not come high in both.
pub const FUSION_DEPTH_FACTOR: u64 = 4;

/// Candidates each ranking gives to a search by both at least, so that few hits are chosen well, too.
pub const MIN_FUSION_DEPTH: u64 = 100;

/// Bytes in the text of a search: a longer one is a document, not a question.
pub const MAX_SEARCH_TEXT_BYTES: usize = 16 * 1024;

/// Different words of one search: every one is looked up on its own.
pub const MAX_SEARCH_WORDS: usize = 256;

/// Properties one search looks for words in: every one is read on its own.
pub const MAX_SEARCH_PROPERTIES: usize = 64;

/// Places where one search may find its words. Each takes about 40 bytes of memory until all are known.
pub const MAX_WORD_HITS: usize = 32 * 1024 * 1024;

/// Batches of one search whose vectors or words are compared at the same time.
pub const SEARCH_TASKS: usize = 4;

/// Nodes of a graph of vectors that a search keeps looking around, so that at least 95 of 100 nearest ones are found
/// also where vectors have hundreds of dimensions and no clusters.
pub const VECTOR_SEARCH_BREADTH: usize = 2_000;

/// Candidates for each hit that an index of lightly rounded vectors proposes, to be compared exactly.
pub const VECTOR_CANDIDATES: usize = 4;

/// Candidates for each hit that an index of strongly compressed vectors proposes, to be compared exactly.
pub const COMPRESSED_VECTOR_CANDIDATES: usize = 32;

/// Candidates that an index proposes at least, however few hits are wanted.
pub const MIN_VECTOR_CANDIDATES: usize = 100;

/// Groups of vectors that a search looks into at least, if the index has groups.
pub const MIN_VECTOR_PROBES: usize = 64;

/// The part of all groups of vectors that a search looks into: one of so many.
pub const VECTOR_PROBE_SHARE: usize = 8;

/// Bytes of the parts of text indexes kept in memory for each graph: words, and lengths of texts.
pub const TEXT_INDEX_CACHE_BYTES: u64 = 128 * 1024 * 1024;

/// How often a repair looks again at tables that were written while it looked at them.
pub const MAX_REPAIR_LOOKS: u32 = 8;

/// Operations listed for one table that stands ahead of what is published. More are counted by its versions, not listed.
pub const MAX_LISTED_OPERATIONS: usize = 100;

/// Passes a compaction makes over one table until nothing is left to join.
pub const MAX_COMPACTION_PASSES: usize = 8;

/// How often a follower at the head of a branch looks whether another process moved it: one request each time.
pub const FEED_POLL: Duration = Duration::from_millis(500);

/// How long a follower hears nothing before it is told that nothing happened.
pub const FEED_IDLE: Duration = Duration::from_secs(15);

/// How often a waiting follower asks a store again that does not answer; with the pauses, for most of a minute.
pub const FEED_RETRIES: u32 = 8;

/// Longest pause of a waiting follower before it asks such a store again.
pub const FEED_RETRY_MAX: Duration = Duration::from_secs(10);

/// Commits that a follower looks ahead.
pub const FEED_PAGE: usize = 256;

/// Changes one message to a follower holds at most.
pub const FEED_BATCH_ENTITIES: usize = 1_000;

/// Bytes of changes after which a message to a follower is full. A single larger change still travels whole.
pub const FEED_BATCH_BYTES: usize = 1024 * 1024;

/// Bytes in a follower's cursor: room for the longest branch name.
pub const MAX_CURSOR_BYTES: usize = 2 * 1024;

/// Commits that one merge may bring in: each becomes a row of the target's manifest.
pub const MAX_BROUGHT_IN: usize = 100_000;

/// Documents of tags read at once.
pub const TAGS_READ_AT_ONCE: usize = 16;

/// Bytes in one line of an archive: room for an entity of the largest record.
pub const MAX_ARCHIVE_LINE_BYTES: usize = MAX_RECORD_BYTES + 1024 * 1024;

/// Bytes of lines of an archive that are handed on together.
pub const ARCHIVE_BATCH_BYTES: usize = 1024 * 1024;

/// Table states whose digests an export or an import remembers, each in about 200 bytes. Others are read again.
pub const MAX_KNOWN_DIGESTS: usize = 100_000;
